// sum, mean, max: elements are merged along some dimensions, by threads that take one result or
// some neighbours each. For when what is kept lies side by side.
//
// Macros: NAME; TYPE, the type of the elements; RESULT, that of the results, which only Sum has
// another of; OPERATION, one of Sum, Mean, Max (Mean for floats only).
// `kept` is of out and x, over the dimensions of the result; `merged_layout` of x, over those that
// are merged, and `length`, less than 2^31, the number of elements in it: a loop's number goes
// beyond it by less than that. `count` is how many elements are merged into one, for the mean.
// Launch with (columns, rows) threads, both powers of 2, 256 together; README.md says how many.
#include "reduce.cuh"

typedef TYPE T;
typedef RESULT R;
typedef OPERATION<T, R> Reduction;
typedef typename Reduction::Merged Merged;
// 16 bytes; of the smallest elements 8, as the sums of more don't fit into registers.
constexpr int N = sizeof(T) == 1 ? 8 : WIDEST / sizeof(T);

DEVICE void merge(Merged& merged, T element) {
  merged = Reduction()(merged, Merged(widen(element)));
}

// A thread merges `width` columns, which are neighbours along the fastest dimension of what is
// kept; the threads of a block with the same threadIdx.x share them, each with its part of
// their elements.
template <int width>
DEVICE void merge_columns(const T* x, R* out, Merged* partials, const Strided<2>& kept, u32 results,
                          const Strided<1>& merged_layout, u32 length, u32 splits, u64 count) {
  constexpr int LOADS = width == 1 ? 4 : 2;
  __shared__ Merged of_threads[width][256];
  u32 blocks_of_columns = (results + width * blockDim.x - 1) / (width * blockDim.x);
#pragma unroll 1
  for (u32 task = blockIdx.x; task < blocks_of_columns * splits; task += gridDim.x) {
    u32 split = task / blocks_of_columns;
    u32 column = ((task - split * blocks_of_columns) * blockDim.x + threadIdx.x) * width;
    bool has_column = column < results;
    i64 offsets[2];
    locate(kept, has_column ? column : 0, offsets);
    Merged merged[width];
#pragma unroll
    for (int i = 0; i < width; ++i) merged[i] = Reduction::nothing();

    Part part = part_of(length, split, splits, 1);
    u32 end = has_column ? u32(part.end) : 0;
    for (u32 first = u32(part.begin) + threadIdx.y; first < end; first += LOADS * blockDim.y) {
      u32 numbers[LOADS];
      i64 places[LOADS][1];
      number_all(numbers, first, blockDim.y, end);
      locate_all(merged_layout, numbers, places);
      Pack<T, width> pack[LOADS];
#pragma unroll
      for (int k = 0; k < LOADS; ++k) pack[k] = load<width>(x + offsets[1] + places[k][0]);
#pragma unroll
      for (int k = 0; k < LOADS; ++k) {
        if (first + k * blockDim.y >= end) break;
#pragma unroll
        for (int i = 0; i < width; ++i) merge(merged[i], pack[k].at[i]);
      }
    }

    merge_rows(merged, of_threads, Reduction());
    if (!has_column || threadIdx.y > 0) continue;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      i64 offset = offsets[0] + i * kept.strides[0][0];
      put(Reduction(), merged[i], out, partials, offset, column + i, split, splits, count);
    }
  }
}

KERNEL(columns)(const T* x, R* out, Merged* partials, const __grid_constant__ Strided<2> kept,
                u32 results, const __grid_constant__ Strided<1> merged_layout, u32 length, u32 splits,
                u64 count) {
  merge_columns<1>(x, out, partials, kept, results, merged_layout, length, splits, count);
}

// The same with N elements a load: along the fastest dimension of `kept`, x has stride 1 and a size
// that is a multiple of N; x lies at a multiple of N elements, and its other strides are multiples.
KERNEL(columns_packed)(const T* x, R* out, Merged* partials, const __grid_constant__ Strided<2> kept,
                       u32 results, const __grid_constant__ Strided<1> merged_layout, u32 length,
                       u32 splits, u64 count) {
  merge_columns<N>(x, out, partials, kept, results, merged_layout, length, splits, count);
}

// Merges what the others left in `partials`.
KERNEL_OF(512, finish)(const Merged* partials, R* out, const __grid_constant__ Strided<2> kept,
                       u32 results, u32 splits, u64 count) {
  merge_partials(Reduction(), partials, out, kept, results, splits, count);
}
