// copy: the elements, whatever they are, in another layout. transpose.cu is for when another
// dimension becomes the fastest.
//
// Macros: NAME; SIZE, the bytes of an element: 1, 2, 4, 8, 16. Elements lie at multiples of that.
// Launch with 256 threads a block; README.md says how many blocks.
#include "map.cuh"

typedef Element<SIZE> T;
constexpr int N = WIDEST / SIZE;

struct Same {
  DEVICE_MEMBER T operator()(T element) const { return element; }
};

// Contiguous, both at multiples of 16 bytes.
KERNEL(flat)(const T* x, T* out, u64 count) { map_flat<N>(Same(), count, out, x); }

// `layout` is of out and x. Along the fastest dimension out has stride 1, and x has 1, or 0 where
// it is broadcast. What has stride 1 there begins at a multiple of 16 bytes, and its other strides
// are multiples of 16 bytes. `rows` is the product of the other sizes.
KERNEL(rows)(const T* x, T* out, const __grid_constant__ Strided<2> layout, u32 rows) {
  map_rows<N>(Same(), layout, rows, out, input<1>(x));
}

// Any layouts, in which numbers and offsets of elements are below 2^31.
KERNEL(strided)(const T* x, T* out, const __grid_constant__ Strided<2> layout, u32 count) {
  map_strided<4, u32, i32>(Same(), layout, count, out, input<1>(x));
}

// Any layouts.
KERNEL(strided_wide)(const T* x, T* out, const __grid_constant__ Strided<2> layout, u64 count) {
  map_strided<1, u64, i64>(Same(), layout, count, out, input<1>(x));
}
