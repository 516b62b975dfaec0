// sum, mean, max: elements are merged along some dimensions, by groups of threads that take one
// result each. For when what is merged lies side by side, or neither that nor what is kept does;
// see reduce_columns.cu for the latter.
//
// Macros: NAME; TYPE, the type of the elements; RESULT, that of the results, which only Sum has
// another of; OPERATION, one of Sum, Mean, Max (Mean for floats only).
// `kept` is of out and x, over the dimensions of the result. `count` is how many elements are
// merged into one, for the mean. Launch with (lanes, groups) threads, 512 at most, as group.cuh
// says; README.md says how many.
#include "reduce.cuh"

typedef TYPE T;
typedef RESULT R;
typedef OPERATION<T, R> Reduction;
typedef typename Reduction::Merged Merged;
constexpr int N = WIDEST / sizeof(T);

DEVICE void merge(Merged& merged, T element) {
  merged = Reduction()(merged, Merged(widen(element)));
}

// Of the whole group, elements that lie side by side, wherever they begin.
DEVICE Merged merge_run(const T* from, u64 length) {
  constexpr int SUMS = N < 4 ? N : 4;  // that don't wait for each other
  constexpr int PACKS = 2;
  Merged merged[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; ++i) merged[i] = Reduction::nothing();

  u64 before = (N - reinterpret_cast<u64>(from) / sizeof(T) % N) % N;
  u64 head = before < length ? before : length;
  for (u64 i = threadIdx.x; i < head; i += blockDim.x) merge(merged[0], from[i]);
  from += head;
  u64 packs = (length - head) / N;
  for (u64 first = threadIdx.x; first < packs; first += PACKS * blockDim.x) {
    Pack<T, N> pack[PACKS];
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      u64 number = first + k * blockDim.x;
      if (number < packs) pack[k] = load<N>(from + number * N);
    }
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      if (first + k * blockDim.x >= packs) break;
#pragma unroll
      for (int i = 0; i < N; ++i) merge(merged[i % SUMS], pack[k].at[i]);
    }
  }
  for (u64 i = packs * N + threadIdx.x; i < length - head; i += blockDim.x) {
    merge(merged[0], from[i]);
  }
#pragma unroll
  for (int i = 1; i < SUMS; ++i) merged[0] = Reduction()(merged[0], merged[i]);
  return merge_group(merged[0], Reduction());
}

// What is merged lies side by side: `length` elements.
KERNEL_OF(512, rows)(const T* x, R* out, Merged* partials, const __grid_constant__ Strided<2> kept,
                     u32 results, u64 length, u32 splits, u64 count) {
#pragma unroll 1
  for (Rows rows(results * splits); rows.has_round(); rows.next()) {
    u32 result = rows.row() / splits, split = rows.row() % splits;
    i64 offsets[2];
    locate(kept, result, offsets);
    Part part = part_of(length, split, splits, N);
    Merged merged = merge_run(x + offsets[1] + part.begin, rows.has_row() ? part.end - part.begin : 0);
    if (rows.has_row() && threadIdx.x == 0) {
      put(Reduction(), merged, out, partials, offsets[0], result, split, splits, count);
    }
  }
}

// How many elements a thread loads before it merges any.
constexpr int LOADS = 4;

// What is merged lies anywhere: `merged_layout` is of x, over the dimensions that are merged, and
// `length` the number of elements in it.
KERNEL_OF(512, strided)(const T* x, R* out, Merged* partials,
                        const __grid_constant__ Strided<2> kept, u32 results,
                        const __grid_constant__ Strided<1> merged_layout, u64 length, u32 splits,
                        u64 count) {
#pragma unroll 1
  for (Rows rows(results * splits); rows.has_round(); rows.next()) {
    u32 result = rows.row() / splits, split = rows.row() % splits;
    i64 offsets[2];
    locate(kept, result, offsets);
    Part part = part_of(length, split, splits, N);
    Merged merged = Reduction::nothing();
    for (u64 first = part.begin + threadIdx.x; first < part.end; first += LOADS * blockDim.x) {
      u64 numbers[LOADS];
      i64 places[LOADS][1];
      number_all(numbers, first, blockDim.x, part.end);
      locate_all(merged_layout, numbers, places);
      T elements[LOADS];
#pragma unroll
      for (int k = 0; k < LOADS; ++k) elements[k] = x[offsets[1] + places[k][0]];
#pragma unroll
      for (int k = 0; k < LOADS; ++k) {
        if (first + k * blockDim.x < part.end) merge(merged, elements[k]);
      }
    }
    merged = merge_group(merged, Reduction());
    if (rows.has_row() && threadIdx.x == 0) {
      put(Reduction(), merged, out, partials, offsets[0], result, split, splits, count);
    }
  }
}

// Merges what the others left in `partials`.
KERNEL_OF(512, finish)(const Merged* partials, R* out, const __grid_constant__ Strided<2> kept,
                       u32 results, u32 splits, u64 count) {
  merge_partials(Reduction(), partials, out, kept, results, splits, count);
}
