// copy, where another dimension becomes the fastest: matrices are transposed through tiles in
// shared memory, so that both what is read and what is written lies side by side.
//
// Macros: NAME; SIZE, the bytes of an element: 1, 2, 4, 8, 16, at multiples of which elements lie;
// PACK, how many elements are moved at once: 1, or also 4 of 1 byte, or 2 of 2 bytes.
// Launch with blocks of (32, 8) threads; README.md says how many.
#include "common.cuh"

typedef Element<SIZE> T;
typedef Element<SIZE * PACK> Word;

// What a warp reads or writes of a row is 128 bytes at least.
constexpr int ELEMENTS_OF_WORD = SIZE < 4 ? 4 / SIZE : 1;
constexpr int SIDE = 32 * ELEMENTS_OF_WORD;
constexpr int WORDS = SIDE / PACK;
// One word of 4 bytes more, or one element, and a column of the tile lies in as many banks.
constexpr int PITCH = WORDS + (PACK == 1 ? ELEMENTS_OF_WORD : 1);
// A square of elements, in whose words each row becomes a column.
template <class W>
DEVICE void turn(W (&)[1]) {}

template <class W>
DEVICE void turn(W (&square)[2]) {
  W a = square[0], b = square[1];
  square[0] = __byte_perm(a, b, 0x5410);
  square[1] = __byte_perm(a, b, 0x7632);
}

template <class W>
DEVICE void turn(W (&square)[4]) {
  W low_of_ab = __byte_perm(square[0], square[1], 0x5140);
  W low_of_cd = __byte_perm(square[2], square[3], 0x5140);
  W high_of_ab = __byte_perm(square[0], square[1], 0x7362);
  W high_of_cd = __byte_perm(square[2], square[3], 0x7362);
  square[0] = __byte_perm(low_of_ab, low_of_cd, 0x5410);
  square[1] = __byte_perm(low_of_ab, low_of_cd, 0x7632);
  square[2] = __byte_perm(high_of_ab, high_of_cd, 0x5410);
  square[3] = __byte_perm(high_of_ab, high_of_cd, 0x7632);
}

DEVICE int least(u64 size, int most) { return size < u64(most) ? int(size) : most; }

// For each matrix, out[column * out_stride + row] = x[row * x_stride + column]. `matrices` is of
// out and x, over all other dimensions. With PACK above 1, both pointers are at multiples of 4
// bytes, and rows, columns and all strides are multiples of PACK. There are less than 2^31 tiles.
KERNEL(tiles)(const T* x, T* out, const __grid_constant__ Strided<2> matrices, u32 matrix_count,
              u64 rows, u64 columns, i64 x_stride, i64 out_stride) {
  __shared__ Word tile[PACK][WORDS][PITCH];  // the words of a column, and by columns
  u32 tile_columns = u32((columns + SIDE - 1) / SIDE);
  u32 tiles_of_matrix = u32((rows + SIDE - 1) / SIDE) * tile_columns;
#pragma unroll 1
  for (u32 number = blockIdx.x; number < matrix_count * tiles_of_matrix; number += gridDim.x) {
    u32 matrix = number / tiles_of_matrix;
    u32 place = number - matrix * tiles_of_matrix;
    u64 first_row = u64(place / tile_columns) * SIDE;
    u64 first_column = u64(place % tile_columns) * SIDE;
    int row_count = least(rows - first_row, SIDE);
    int column_count = least(columns - first_column, SIDE);
    i64 offsets[2];
    locate(matrices, matrix, offsets);

    const T* from = x + offsets[1] + first_row * x_stride + first_column;
#pragma unroll 4
    for (int i = threadIdx.y; i < WORDS; i += 8) {
#pragma unroll
      for (int j = threadIdx.x; j < WORDS; j += 32) {
        if (i * PACK >= row_count || j * PACK >= column_count) continue;
        Word square[PACK];
#pragma unroll
        for (int k = 0; k < PACK; ++k) {
          const T* word = from + (i * PACK + k) * x_stride + j * PACK;
          square[k] = *reinterpret_cast<const Word*>(word);
        }
        turn(square);
#pragma unroll
        for (int k = 0; k < PACK; ++k) tile[k][j][i] = square[k];
      }
    }
    __syncthreads();

    T* to = out + offsets[0] + first_column * out_stride + first_row;
#pragma unroll 4
    for (int i = threadIdx.y; i < SIDE; i += 8) {
#pragma unroll
      for (int j = threadIdx.x; j < WORDS; j += 32) {
        if (i >= column_count || j * PACK >= row_count) continue;
        T* word = to + i * out_stride + j * PACK;
        *reinterpret_cast<Word*>(word) = tile[i % PACK][i / PACK][j];
      }
    }
    __syncthreads();  // Before the tile is filled again.
  }
}
