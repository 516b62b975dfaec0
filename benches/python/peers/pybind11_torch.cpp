// A PyTorch extension in C++, as PyTorch's own tutorial writes one.
#include <torch/extension.h>
#include <pybind11/numpy.h>

#include "kernel.h"

namespace py = pybind11;

namespace {

// ANCHOR: check
using In = const at::Tensor&;

void check(In tensor, In like) {
  TORCH_CHECK(tensor.device().is_cpu(), "a CPU tensor is expected");
  TORCH_CHECK(tensor.scalar_type() == at::kFloat, "float32 is expected");
  TORCH_CHECK(tensor.sizes() == like.sizes(), "the sizes differ");
}

void check_contiguous(In tensor, In like) {
  check(tensor, like);
  TORCH_CHECK(tensor.is_contiguous(), "a contiguous tensor is expected");
}
// ANCHOR_END: check

// ANCHOR: add
void add(In a, In b, In out) {
  for (const at::Tensor* tensor : {&a, &b, &out}) check_contiguous(*tensor, out);
  add_contiguous(a.const_data_ptr<float>(), b.const_data_ptr<float>(),
                 out.mutable_data_ptr<float>(), out.numel());
}
// ANCHOR_END: add

void add_strided(In a, In b, In out) {
  for (const at::Tensor* tensor : {&a, &b, &out}) check(*tensor, out);
  add_strides(out.dim(), out.sizes().data(), a.const_data_ptr<float>(), a.strides().data(),
              b.const_data_ptr<float>(), b.strides().data(), out.mutable_data_ptr<float>(),
              out.strides().data());
}

void sum16(In a0, In a1, In a2, In a3, In a4, In a5, In a6, In a7, In a8, In a9, In a10, In a11,
           In a12, In a13, In a14, In out) {
  const at::Tensor* parts[] = {&a0, &a1, &a2,  &a3,  &a4,  &a5,  &a6, &a7,
                               &a8, &a9, &a10, &a11, &a12, &a13, &a14};
  check_contiguous(out, out);
  const float* data[15];
  for (int i = 0; i < 15; ++i) {
    check_contiguous(*parts[i], out);
    data[i] = parts[i]->const_data_ptr<float>();
  }
  sum_contiguous(data, out.mutable_data_ptr<float>(), out.numel());
}

at::Tensor fresh_torch() {
  auto release = [](void* data) { delete[] static_cast<float*>(data); };
  return torch::from_blob(fresh_buffer(), {6}, release, at::kFloat);
}

py::array_t<float> fresh_numpy() {
  float* data = fresh_buffer();
  py::capsule owner(data, [](void* data) { delete[] static_cast<float*>(data); });
  return py::array_t<float>(6, data, owner);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("add", &add);
  m.def("add_released", &add, py::call_guard<py::gil_scoped_release>());
  m.def("add_strided", &add_strided);
  m.def("sum16", &sum16);
  m.def("fresh_torch", &fresh_torch);
  m.def("fresh_numpy", &fresh_numpy);
}
