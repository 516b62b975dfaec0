// softmax, as in softmax.cu, of rows that are too long for registers. `online` reads them twice.
// Where there are too few rows to keep the device busy, `measured` and then `scaled` split each of
// them.
//
// Macros: NAME; TYPE, a type of floats; PACK, how many elements are loaded at once: 1, or as many
// as make 16 bytes. With the latter, both strides along the axis are 1; x, out, their other strides
// and the length of a row are multiples of PACK elements. `kept` is of out and x, over all
// dimensions but the axis. `rows` is the product of their sizes. Launch with (lanes, 1) threads, 32
// to 1024; README.md says how many.
#include "softmax.cuh"

typedef TYPE T;
typedef Wide<T> W;

// Packs that a thread reads before it calculates with any.
constexpr int AT_ONCE = (PACK == 1 ? 4 : 2) / (sizeof(T) == 8 ? 2 : 1);

// Of the whole group.
DEVICE Exponentials<T> measure(const Row<T, PACK>& row, u64 begin, u64 end) {
  Exponentials<T> sums = Exponentials<T>::none();
  u64 step = u64(blockDim.x) * PACK;
  for (u64 first = begin + threadIdx.x * PACK; first < end; first += AT_ONCE * step) {
    W values[AT_ONCE * PACK];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      if (first + k * step < end) {
        row.read(first + k * step, values + k * PACK);
      } else {
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[k * PACK + i] = -W(__uint_as_float(0x7f800000));
      }
    }
    sums.add(values);
  }
  return merge_group(sums, MergeExponentials());
}

DEVICE void scale(const Row<T, PACK>& row, u64 begin, u64 end, Exponentials<T> sums) {
  W factor = 1 / sums.sum;
  u64 step = u64(blockDim.x) * PACK;
  for (u64 first = begin + threadIdx.x * PACK; first < end; first += AT_ONCE * step) {
    W values[AT_ONCE * PACK];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      if (first + k * step < end) row.read(first + k * step, values + k * PACK);
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      if (first + k * step >= end) break;
#pragma unroll
      for (int i = k * PACK; i < (k + 1) * PACK; ++i) {
        values[i] = exponential<T>(values[i] - sums.largest) * factor;
      }
      row.write(first + k * step, values + k * PACK);
    }
  }
}

// Rows of any length, a block for each.
KERNEL_OF(1024, online)(const T* x, T* out, const __grid_constant__ Strided<2> kept, u32 rows,
                        u64 length, i64 x_stride, i64 out_stride) {
#pragma unroll 1
  for (u32 number = blockIdx.x; number < rows; number += gridDim.x) {
    Row<T, PACK> row(x, out, kept, number, x_stride, out_stride);
    scale(row, 0, length, measure(row, 0, length));
  }
}

struct Part {
  u64 begin, end;
};
DEVICE Part part_of(u64 length, u32 split, u32 splits) {
  u64 size = (length + splits - 1) / splits;
  size = (size + PACK - 1) / PACK * PACK;
  u64 begin = size * split < length ? size * split : length;
  return {begin, length - begin < size ? length : begin + size};
}

// A block for each of the parts of each row. `measures` has a place for each.
KERNEL_OF(1024, measured)(const T* x, Exponentials<T>* measures,
                          const __grid_constant__ Strided<2> kept, u32 rows, u64 length, i64 x_stride,
                          u32 splits) {
#pragma unroll 1
  for (u32 number = blockIdx.x; number < rows * splits; number += gridDim.x) {
    Row<T, PACK> row(x, nullptr, kept, number / splits, x_stride, 0);
    Part part = part_of(length, number % splits, splits);
    Exponentials<T> sums = measure(row, part.begin, part.end);
    if (threadIdx.x == 0) measures[number] = sums;
  }
}

// The same parts, now that all are measured.
KERNEL_OF(1024, scaled)(const T* x, T* out, const Exponentials<T>* measures,
                        const __grid_constant__ Strided<2> kept, u32 rows, u64 length, i64 x_stride,
                        i64 out_stride, u32 splits) {
#pragma unroll 1
  for (u32 number = blockIdx.x; number < rows * splits; number += gridDim.x) {
    Row<T, PACK> row(x, out, kept, number / splits, x_stride, out_stride);
    const Exponentials<T>* of_row = measures + u64(number / splits) * splits;
    Exponentials<T> sums = Exponentials<T>::none();
    for (u32 split = threadIdx.x; split < splits; split += blockDim.x) {
      sums = MergeExponentials()(sums, of_row[split]);
    }
    Part part = part_of(length, number % splits, splits);
    scale(row, part.begin, part.end, merge_group(sums, MergeExponentials()));
  }
}
