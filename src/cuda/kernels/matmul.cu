// matmul: out[i, j] = the sum over k of a[i, k] * b[k, j], for matrices with any strides.
//
// Macros: NAME; TYPE, an element type of numbers. A result is added up in the order of k, in f32
// for the floats of 16 bits and in f64 for the others, with the roundings of the CPU's kernel; so
// it is the same, bit for bit. Launch with 256 threads a block, and a block for each tile of 64 x
// 64 results, or fewer.
#include "common.cuh"

typedef TYPE T;
typedef Choose<is_half<T>, f32, Choose<is_float<T>, f64, Wrapping<T>>> Sum;

// A block makes a square of results, from a tile of rows and columns of the inputs at a time.
constexpr int SIDE = 64;
constexpr int DEPTH = 16;
constexpr int THREADS = 256;
// A thread makes a square of results: those at every so manieth row and column.
constexpr int STEP = 16;
constexpr int EACH = SIDE / STEP;

// Products of f16 are exact in f32, and those of f32 in f64, so that fused operations round as
// others do.
template <class S>
DEVICE S add_product(S sum, S a, S b) {
  if constexpr (is_same<T, f16>) {
    return fmaf(a, b, sum);
  } else if constexpr (is_same<T, f32>) {
    return fma(a, b, sum);
  } else if constexpr (is_same<T, bf16>) {
    return __fadd_rn(sum, __fmul_rn(a, b));
  } else if constexpr (is_same<T, f64>) {
    return __dadd_rn(sum, __dmul_rn(a, b));
  } else {
    return sum + a * b;
  }
}

DEVICE T finish(Sum sum) { return narrow<T>(Wide<T>(sum)); }

DEVICE i64 magnitude(i64 number) { return number < 0 ? -number : number; }
DEVICE int least(u64 size, int most) { return size < u64(most) ? int(size) : most; }

// What a thread reads of an input for one tile after another. The input is seen as lines along k,
// of which SIDE are in a tile.
struct Reader {
  const T* next;
  i64 stride_along, step;
  int line, k, line_step, k_step, lines;

  // From a line on, of `lines`.
  DEVICE_MEMBER Reader(const T* first, int lines, i64 stride, i64 stride_along)
      : stride_along(stride_along), lines(lines) {
    int thread = threadIdx.x;
    // Neighbours in a warp read what lies closest together.
    bool is_along = magnitude(stride_along) < magnitude(stride);
    line = is_along ? thread / DEPTH : thread % SIDE;
    k = is_along ? thread % DEPTH : thread / SIDE;
    line_step = is_along ? THREADS / DEPTH : 0;
    k_step = is_along ? 0 : THREADS / SIDE;
    step = line_step * stride + k_step * stride_along;
    next = first + line * stride + k * stride_along;
  }

  // The tile [k][line], with 0 in the place of what isn't there.
  DEVICE_MEMBER void fill(Sum (&tile)[DEPTH][SIDE + 1], int depth) {
    const T* at = next;
#pragma unroll
    for (int n = 0; n < SIDE * DEPTH / THREADS; ++n) {
      int i = line + n * line_step, j = k + n * k_step;
      tile[j][i] = i < lines && j < depth ? Sum(widen(*at)) : Sum(0);
      at += step;
    }
    next += DEPTH * stride_along;
  }
};

KERNEL_IN(256, 2, tiles)(const T* a, const T* b, T* out, u64 rows, u64 columns, u64 depth,
                         i64 a_row, i64 a_column, i64 b_row, i64 b_column, i64 out_row,
                         i64 out_column) {
  __shared__ Sum a_tile[DEPTH][SIDE + 1];
  __shared__ Sum b_tile[DEPTH][SIDE + 1];
  u64 tile_columns = (columns + SIDE - 1) / SIDE;
  u64 tiles = (rows + SIDE - 1) / SIDE * tile_columns;
  int y = threadIdx.x / STEP, x = threadIdx.x % STEP;
  for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
    i64 row = i64(number / tile_columns) * SIDE;
    i64 column = i64(number % tile_columns) * SIDE;
    int row_count = least(rows - row, SIDE), column_count = least(columns - column, SIDE);
    Reader of_a(a + row * a_row, row_count, a_row, a_column);
    Reader of_b(b + column * b_column, column_count, b_column, b_row);
    Sum sums[EACH][EACH] = {};
    for (u64 k = 0; k < depth; k += DEPTH) {
      __syncthreads();  // What was there before has been read.
      int depth_of_tile = least(depth - k, DEPTH);
      of_a.fill(a_tile, depth_of_tile);
      of_b.fill(b_tile, depth_of_tile);
      __syncthreads();
#pragma unroll 4
      for (int at = 0; at < DEPTH; ++at) {
        Sum of_row[EACH], of_column[EACH];
#pragma unroll
        for (int i = 0; i < EACH; ++i) of_row[i] = a_tile[at][y + i * STEP];
#pragma unroll
        for (int j = 0; j < EACH; ++j) of_column[j] = b_tile[at][x + j * STEP];
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
#pragma unroll
          for (int j = 0; j < EACH; ++j) {
            sums[i][j] = add_product(sums[i][j], of_row[i], of_column[j]);
          }
        }
      }
    }
    T* to = out + (row + y) * out_row + (column + x) * out_column;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
#pragma unroll
      for (int j = 0; j < EACH; ++j) {
        bool is_there = y + i * STEP < row_count && x + j * STEP < column_count;
        if (is_there) to[i * STEP * out_row + j * STEP * out_column] = finish(sums[i][j]);
      }
    }
  }
}
