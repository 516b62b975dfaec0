// add, sub, mul, div: out = a + b, and so on, by element. `out` may be `a` or `b` itself.
//
// Macros: NAME; TYPE, an element type; OPERATION, one of Add, Sub, Mul, Div (Div for floats only).
// Launch with 256 threads a block; README.md says how many blocks.
#include "map.cuh"

typedef TYPE T;
constexpr int N = WIDEST / sizeof(T);

// Contiguous, all three at multiples of 16 bytes.
KERNEL(flat)(const T* a, const T* b, T* out, u64 count) {
  map_flat<N>(OPERATION(), count, out, a, b);
}

// `layout` is of out, a and b. Along the fastest dimension `out` has stride 1, the inputs 1 or 0
// (of what is broadcast). What has stride 1 there begins at a multiple of 16 bytes, and its other
// strides are multiples of 16 bytes. `rows` is the product of the other sizes.
KERNEL(rows)(const T* a, const T* b, T* out, const __grid_constant__ Strided<3> layout, u32 rows) {
  map_rows<N>(OPERATION(), layout, rows, out, input<1>(a), input<2>(b));
}

// Any layouts, in which numbers and offsets of elements are below 2^31.
KERNEL(strided)(const T* a, const T* b, T* out, const __grid_constant__ Strided<3> layout, u32 count) {
  map_strided<4, u32, i32>(OPERATION(), layout, count, out, input<1>(a), input<2>(b));
}

// Any layouts.
KERNEL(strided_wide)(const T* a, const T* b, T* out, const __grid_constant__ Strided<3> layout,
                     u64 count) {
  map_strided<1, u64, i64>(OPERATION(), layout, count, out, input<1>(a), input<2>(b));
}
