// An op of PyTorch's dispatcher in C++, by PyTorch's stable API.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include "kernel.h"

using torch::stable::Tensor;

namespace {

void check(const Tensor& x, const Tensor& like) {
  STD_TORCH_CHECK(x.scalar_type() == torch::headeronly::ScalarType::Float, "float32 is expected");
  STD_TORCH_CHECK(x.is_contiguous(), "a contiguous tensor is expected");
  STD_TORCH_CHECK(x.dim() == like.dim(), "the shapes differ");
  for (int64_t i = 0; i < x.dim(); ++i) {
    STD_TORCH_CHECK(x.size(i) == like.size(i), "the shapes differ");
  }
}

Tensor add(Tensor a, Tensor b) {
  check(a, a);
  check(b, a);
  Tensor out = torch::stable::empty_like(a);
  add_contiguous(static_cast<const float*>(a.const_data_ptr()),
                 static_cast<const float*>(b.const_data_ptr()),
                 static_cast<float*>(out.mutable_data_ptr()), a.numel());
  return out;
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(bench_peer, m) { m.def("add(Tensor a, Tensor b) -> Tensor"); }

STABLE_TORCH_LIBRARY_IMPL(bench_peer, CPU, m) { m.impl("add", TORCH_BOX(&add)); }
