// cast: elements of one type as those of another, by value.
//
// Macros: NAME; SOURCE and RESULT, the element types of x and out.
// Launch with 256 threads a block; README.md says how many blocks.
#include "map.cuh"

typedef SOURCE S;
typedef RESULT D;

// As many as make 16 bytes of the larger of the two.
constexpr int N = WIDEST / (sizeof(S) > sizeof(D) ? sizeof(S) : sizeof(D));

struct Convert {
  DEVICE_MEMBER D operator()(S source) const { return convert<D>(source); }
};

// Contiguous, both at multiples of N elements of theirs.
KERNEL(flat)(const S* x, D* out, u64 count) { map_flat<N>(Convert(), count, out, x); }

// Any layouts, in which numbers and offsets of elements are below 2^31. `layout` is of out and x.
KERNEL(strided)(const S* x, D* out, const __grid_constant__ Strided<2> layout, u32 count) {
  map_strided<4, u32, i32>(Convert(), layout, count, out, input<1>(x));
}

// Any layouts.
KERNEL(strided_wide)(const S* x, D* out, const __grid_constant__ Strided<2> layout, u64 count) {
  map_strided<1, u64, i64>(Convert(), layout, count, out, input<1>(x));
}
