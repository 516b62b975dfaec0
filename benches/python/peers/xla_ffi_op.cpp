// An XLA FFI handler in C++, by XLA's header.
#include <algorithm>

#include "kernel.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

bool same_shape(ffi::Span<const int64_t> x, ffi::Span<const int64_t> y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

ffi::Error add(ffi::Buffer<ffi::F32> a, ffi::Buffer<ffi::F32> b,
               ffi::ResultBuffer<ffi::F32> out) {
  if (!same_shape(a.dimensions(), b.dimensions()) ||
      !same_shape(a.dimensions(), out->dimensions())) {
    return ffi::Error::InvalidArgument("the shapes differ");
  }
  add_contiguous(a.typed_data(), b.typed_data(), out->typed_data(), a.element_count());
  return ffi::Error::Success();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* bench_add(
    XLA_FFI_CallFrame* frame);

XLA_FFI_DEFINE_HANDLER_SYMBOL(bench_add, add,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
