// softmax: out = exp(x) / sum(exp(x)) along one axis, calculated in f32, or f64 for f64. `out` may
// be x itself. These kernels read each row once, and hold it in registers; softmax_long.cu has
// those for rows that don't fit, softmax_columns.cu the one for when the axis isn't what lies side
// by side.
//
// Macros: NAME; TYPE, a type of floats; PACK, how many elements are loaded at once: 1, or as many
// as make 16 bytes. With the latter, both strides along the axis are 1; x, out, their other strides
// and the length of a row are multiples of PACK elements. `kept` is of out and x, over all
// dimensions but the axis. `rows` is the product of their sizes. Launch with (lanes, groups)
// threads as group.cuh says; README.md says how many.
#include "softmax.cuh"

typedef TYPE T;
typedef Wide<T> W;

// Rows of at most `packs` packs a thread.
template <int packs>
DEVICE void held(const T* x, T* out, const Strided<2>& kept, u32 row_count, u32 length, i64 x_stride,
                 i64 out_stride) {
#pragma unroll 1
  for (Rows rows(row_count); rows.has_round(); rows.next()) {
    Row<T, PACK> row(x, out, kept, rows.row(), x_stride, out_stride);
    W values[packs * PACK];
    W largest = -W(__uint_as_float(0x7f800000));
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      u32 first = (k * blockDim.x + threadIdx.x) * PACK;
      if (first < length) {
        row.read(first, values + k * PACK);
      } else {
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[k * PACK + i] = -W(__uint_as_float(0x7f800000));
      }
    }
#pragma unroll
    for (int i = 0; i < packs * PACK; ++i) largest = Largest()(largest, values[i]);
    largest = merge_group(largest, Largest());

    W sum = 0;
#pragma unroll
    for (int i = 0; i < packs * PACK; ++i) {
      values[i] = exponential<T>(values[i] - largest);
      sum += values[i];
    }
    W scale = 1 / merge_group(sum, Total());

    if (!rows.has_row()) continue;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      u32 first = (k * blockDim.x + threadIdx.x) * PACK;
      if (first >= length) break;
#pragma unroll
      for (int i = 0; i < PACK; ++i) values[k * PACK + i] *= scale;
      row.write(first, values + k * PACK);
    }
  }
}

// How many packs a thread holds in each of the kernels.
constexpr int FEW = PACK == 1 ? 2 : 1;
constexpr int SEVERAL = 2 * FEW;
constexpr int MANY = 4 * FEW;

KERNEL_OF(1024, held_few)(const T* x, T* out, const __grid_constant__ Strided<2> kept, u32 rows,
                          u64 length, i64 x_stride, i64 out_stride) {
  held<FEW>(x, out, kept, rows, length, x_stride, out_stride);
}
KERNEL_OF(1024, held_several)(const T* x, T* out, const __grid_constant__ Strided<2> kept, u32 rows,
                              u64 length, i64 x_stride, i64 out_stride) {
  held<SEVERAL>(x, out, kept, rows, length, x_stride, out_stride);
}
KERNEL_OF(1024, held_many)(const T* x, T* out, const __grid_constant__ Strided<2> kept, u32 rows,
                           u64 length, i64 x_stride, i64 out_stride) {
  held<MANY>(x, out, kept, rows, length, x_stride, out_stride);
}
