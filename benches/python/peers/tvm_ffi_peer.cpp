// Functions of apache-tvm-ffi in C++, as its kernel library guide writes them.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include "kernel.h"

namespace ffi = tvm::ffi;

namespace {

using ffi::TensorView;

constexpr DLDataType kFloat32{kDLFloat, 32, 1};

bool same_shape(const TensorView& x, const TensorView& y) {
  if (x.ndim() != y.ndim()) return false;
  for (int32_t i = 0; i < x.ndim(); ++i) {
    if (x.shape()[i] != y.shape()[i]) return false;
  }
  return true;
}

// ANCHOR: check
void check(const TensorView& tensor, const TensorView& like) {
  TVM_FFI_CHECK(tensor.device().device_type == kDLCPU, ValueError) << "a CPU tensor is expected";
  TVM_FFI_CHECK(tensor.dtype() == kFloat32, TypeError) << "float32 is expected";
  TVM_FFI_CHECK(same_shape(tensor, like), ValueError) << "the shapes differ";
}

void check_contiguous(const TensorView& tensor, const TensorView& like) {
  check(tensor, like);
  TVM_FFI_CHECK(tensor.IsContiguous(), ValueError) << "a contiguous tensor is expected";
}

float* data(const TensorView& tensor) { return static_cast<float*>(tensor.data_ptr()); }
// ANCHOR_END: check

// ANCHOR: add
void add(TensorView a, TensorView b, TensorView out) {
  for (const TensorView* tensor : {&a, &b, &out}) check_contiguous(*tensor, out);
  add_contiguous(data(a), data(b), data(out), out.numel());
}
// ANCHOR_END: add

void add_strided(TensorView a, TensorView b, TensorView out) {
  for (const TensorView* tensor : {&a, &b, &out}) check(*tensor, out);
  add_strides(out.ndim(), out.shape().data(), data(a), a.strides().data(), data(b),
              b.strides().data(), data(out), out.strides().data());
}

void sum16(TensorView a0, TensorView a1, TensorView a2, TensorView a3, TensorView a4,
           TensorView a5, TensorView a6, TensorView a7, TensorView a8, TensorView a9,
           TensorView a10, TensorView a11, TensorView a12, TensorView a13, TensorView a14,
           TensorView out) {
  const TensorView* parts[] = {&a0, &a1, &a2,  &a3,  &a4,  &a5,  &a6, &a7,
                               &a8, &a9, &a10, &a11, &a12, &a13, &a14};
  check_contiguous(out, out);
  const float* pointers[15];
  for (int i = 0; i < 15; ++i) {
    check_contiguous(*parts[i], out);
    pointers[i] = data(*parts[i]);
  }
  sum_contiguous(pointers, data(out), out.numel());
}

struct HeapAlloc {
  void AllocData(DLTensor* tensor) { tensor->data = fresh_buffer(); }
  void FreeData(DLTensor* tensor) { delete[] static_cast<float*>(tensor->data); }
};

// A buffer of our own.
ffi::Tensor fresh() {
  return ffi::Tensor::FromNDAlloc(HeapAlloc(), ffi::Shape{6}, kFloat32, DLDevice{kDLCPU, 0});
}

// The same. What a function that took torch tensors returns becomes a torch tensor.
ffi::Tensor fresh_like(TensorView) { return fresh(); }

// A buffer from the allocator of the framework that the argument came from.
ffi::Tensor fresh_from_framework(TensorView) {
  auto tensor = ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, ffi::Shape{6}, kFloat32,
                                          DLDevice{kDLCPU, 0});
  for (int i = 0; i < 6; ++i) static_cast<float*>(tensor.data_ptr())[i] = i;
  return tensor;
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, add)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_strided, add_strided)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum16, sum16)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fresh, fresh)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fresh_like, fresh_like)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fresh_from_framework, fresh_from_framework)
