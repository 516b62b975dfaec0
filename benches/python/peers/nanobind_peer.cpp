// A nanobind extension. The tags of the argument types are its checks; `noconvert` keeps it from
// copying what doesn't fit.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <stdexcept>

#include "kernel.h"

namespace nb = nanobind;

namespace {

// ANCHOR: types
using In = nb::ndarray<const float, nb::device::cpu, nb::c_contig>;
using Out = nb::ndarray<float, nb::device::cpu, nb::c_contig>;
// ANCHOR_END: types
using StridedIn = nb::ndarray<const float, nb::device::cpu>;
using StridedOut = nb::ndarray<float, nb::device::cpu>;

template <typename Array, typename Like>
void check_shape(const Array& array, const Like& like) {
  if (array.ndim() != like.ndim() ||
      !std::equal(array.shape_ptr(), array.shape_ptr() + array.ndim(), like.shape_ptr()))
    throw std::invalid_argument("the shapes differ");
}

// ANCHOR: add
void add(const In& a, const In& b, const Out& out) {
  check_shape(a, out);
  check_shape(b, out);
  add_contiguous(a.data(), b.data(), out.data(), out.size());
}
// ANCHOR_END: add

void add_strided(const StridedIn& a, const StridedIn& b, const StridedOut& out) {
  check_shape(a, out);
  check_shape(b, out);
  add_strides(out.ndim(), out.shape_ptr(), a.data(), a.stride_ptr(), b.data(), b.stride_ptr(),
              out.data(), out.stride_ptr());
}

template <typename Framework>
nb::ndarray<Framework, float, nb::ndim<1>> fresh() {
  float* data = fresh_buffer();
  nb::capsule owner(data, [](void* data) noexcept { delete[] static_cast<float*>(data); });
  return nb::ndarray<Framework, float, nb::ndim<1>>(data, {6}, owner);
}

}  // namespace

NB_MODULE(nanobind_peer, m) {
  auto arg = [](const char* name) { return nb::arg(name).noconvert(); };
  m.def("add", &add, arg("a"), arg("b"), arg("out"));
  m.def("add_released", &add, arg("a"), arg("b"), arg("out"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def("add_strided", &add_strided, arg("a"), arg("b"), arg("out"));
  m.def("fresh_numpy", &fresh<nb::numpy>);
  m.def("fresh_torch", &fresh<nb::pytorch>);
}
