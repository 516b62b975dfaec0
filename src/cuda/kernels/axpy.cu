// axpy: y += alpha * x, by element. The product and the sum are both rounded to T, as on the CPU.
//
// Macros: NAME; TYPE, an element type.
// Launch with 256 threads a block; README.md says how many blocks.
#include "map.cuh"

typedef TYPE T;
constexpr int N = WIDEST / sizeof(T);

struct AddMultiple {
  T alpha;

  DEVICE_MEMBER T operator()(T y, T x) const { return Add()(y, Mul()(alpha, x)); }
};

// Contiguous, both at multiples of 16 bytes.
KERNEL(flat)(T alpha, const T* x, T* y, u64 count) {
  map_flat<N>(AddMultiple{alpha}, count, y, y, x);
}

// `layout` is of y and x. Along the fastest dimension y has stride 1, and x has 1, or 0 where it is
// broadcast. What has stride 1 there begins at a multiple of 16 bytes, and its other strides are
// multiples of 16 bytes. `rows` is the product of the other sizes.
KERNEL(rows)(T alpha, const T* x, T* y, const __grid_constant__ Strided<2> layout, u32 rows) {
  map_rows<N>(AddMultiple{alpha}, layout, rows, y, input<0>(y), input<1>(x));
}

// Any layouts, in which numbers and offsets of elements are below 2^31.
KERNEL(strided)(T alpha, const T* x, T* y, const __grid_constant__ Strided<2> layout, u32 count) {
  map_strided<4, u32, i32>(AddMultiple{alpha}, layout, count, y, input<0>(y), input<1>(x));
}

// Any layouts.
KERNEL(strided_wide)(T alpha, const T* x, T* y, const __grid_constant__ Strided<2> layout,
                     u64 count) {
  map_strided<1, u64, i64>(AddMultiple{alpha}, layout, count, y, input<0>(y), input<1>(x));
}
