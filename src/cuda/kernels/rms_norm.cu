// rms_norm: out = x / sqrt(mean(x * x) + eps) * weight along the last axis, calculated in f32, or
// f64 for f64, and rounded once. `out` may be x itself. `held_*` reads a row once, and holds it in
// registers; `looped` reads it twice, whatever its length.
//
// Macros: NAME; TYPE, a type of floats; PACK, how many elements are loaded at once: 1, or as many
// as make 16 bytes. With the latter, all strides along the axis are 1; x, weight, out, other
// strides and the length of a row are multiples of PACK elements. `kept` is of out and x, over all
// dimensions but the axis. `rows` is the product of their sizes. Launch with (lanes, groups)
// threads as group.cuh says; README.md says how many.
#include "group.cuh"

typedef TYPE T;
typedef Wide<T> W;

DEVICE W reciprocal_root(W value) {
  if constexpr (is_same<T, f64>) {
    return 1 / sqrt(value);
  } else {
    return 1 / sqrtf(value);
  }
}

DEVICE W sum_of_squares(const Pack<T, PACK>& pack) {
  W sum = 0;
#pragma unroll
  for (int i = 0; i < PACK; ++i) sum += widen(pack.at[i]) * widen(pack.at[i]);
  return sum;
}

DEVICE Pack<T, PACK> scaled(Pack<T, PACK> pack, W scale, const Pack<T, PACK>& weight) {
#pragma unroll
  for (int i = 0; i < PACK; ++i) {
    pack.at[i] = narrow<T>(widen(pack.at[i]) * scale * widen(weight.at[i]));
  }
  return pack;
}

// Rows of at most `packs` packs a thread. They are held as they are in memory, which for floats of
// 16 bits takes half of the registers.
template <int packs>
DEVICE void held(const T* x, const T* weight, T* out, const Strided<2>& kept, u32 row_count,
                 u32 length, i64 x_stride, i64 weight_stride, i64 out_stride, W eps) {
#pragma unroll 1
  for (Rows rows(row_count); rows.has_round(); rows.next()) {
    i64 offsets[2];
    locate(kept, rows.row(), offsets);
    Pack<T, PACK> row[packs], weights[packs];
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      u32 first = (k * blockDim.x + threadIdx.x) * PACK;
      if (first < length) row[k] = load<PACK>(x + offsets[1] + first * x_stride);
    }
    // On their way while the sum is made. Single elements would take too many registers.
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      u32 first = (k * blockDim.x + threadIdx.x) * PACK;
      if (PACK > 1 && first < length) weights[k] = load<PACK>(weight + first * weight_stride);
    }
    W sum = 0;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      if ((k * blockDim.x + threadIdx.x) * PACK < length) sum += sum_of_squares(row[k]);
    }
    W scale = reciprocal_root(merge_group(sum, Total()) / W(length) + eps);
    if (!rows.has_row()) continue;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      u32 first = (k * blockDim.x + threadIdx.x) * PACK;
      if (first >= length) break;
      if (PACK == 1) weights[k] = load<PACK>(weight + first * weight_stride);
      store<PACK>(out + offsets[0] + first * out_stride, scaled(row[k], scale, weights[k]));
    }
  }
}

// How many packs a thread holds in each of the kernels.
constexpr int FEW = PACK == 1 ? 2 : 1;
constexpr int SEVERAL = 2 * FEW;
constexpr int MANY = 4 * FEW;

KERNEL_OF(1024, held_few)(const T* x, const T* weight, T* out,
                          const __grid_constant__ Strided<2> kept, u32 rows, u64 length,
                          i64 x_stride, i64 weight_stride, i64 out_stride, f64 eps) {
  held<FEW>(x, weight, out, kept, rows, length, x_stride, weight_stride, out_stride, eps);
}
KERNEL_OF(1024, held_several)(const T* x, const T* weight, T* out,
                              const __grid_constant__ Strided<2> kept, u32 rows, u64 length,
                              i64 x_stride, i64 weight_stride, i64 out_stride, f64 eps) {
  held<SEVERAL>(x, weight, out, kept, rows, length, x_stride, weight_stride, out_stride, eps);
}
KERNEL_OF(1024, held_many)(const T* x, const T* weight, T* out,
                           const __grid_constant__ Strided<2> kept, u32 rows, u64 length,
                           i64 x_stride, i64 weight_stride, i64 out_stride, f64 eps) {
  held<MANY>(x, weight, out, kept, rows, length, x_stride, weight_stride, out_stride, eps);
}

KERNEL_OF(1024, looped)(const T* x, const T* weight, T* out, const __grid_constant__ Strided<2> kept,
                        u32 row_count, u64 length, i64 x_stride, i64 weight_stride, i64 out_stride,
                        f64 eps) {
  u64 step = u64(blockDim.x) * PACK;
#pragma unroll 1
  for (Rows rows(row_count); rows.has_round(); rows.next()) {
    i64 offsets[2];
    locate(kept, rows.row(), offsets);
    const T* from = x + offsets[1];
    W sum = 0;
#pragma unroll 4
    for (u64 first = threadIdx.x * PACK; first < length; first += step) {
      sum += sum_of_squares(load<PACK>(from + first * x_stride));
    }
    W scale = reciprocal_root(merge_group(sum, Total()) / W(length) + W(eps));
    if (!rows.has_row()) continue;
    for (u64 first = threadIdx.x * PACK; first < length; first += step) {
      Pack<T, PACK> weights = load<PACK>(weight + first * weight_stride);
      Pack<T, PACK> pack = load<PACK>(from + first * x_stride);
      store<PACK>(out + offsets[0] + first * out_stride, scaled(pack, scale, weights));
    }
  }
}
