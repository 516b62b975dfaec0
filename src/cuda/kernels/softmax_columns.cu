// softmax, as in softmax.cu, along an axis that isn't the one along which elements lie side by
// side: threads take one column each, or some neighbours. They read it twice, the second time
// mostly from a cache.
//
// Macros: NAME; TYPE, a type of floats; PACK, how many columns a thread takes: 1, or as many as
// make 16 bytes. With the latter, the fastest dimension of `kept` has stride 1 in both tensors, and
// its size, both tensors and their other strides are multiples of PACK elements. `kept` is of out
// and x, over all dimensions but the axis. `columns` is the product of their sizes. Launch with
// (columns, rows) threads, both powers of 2, 256 together; README.md says how many.
#include "softmax.cuh"

typedef TYPE T;
typedef Wide<T> W;

// Packs that a thread has under way; more of f64 don't fit into registers.
constexpr int AT_ONCE = sizeof(T) == 8 ? 1 : 2;

KERNEL(columns)(const T* x, T* out, const __grid_constant__ Strided<2> kept, u32 columns, u64 length,
                i64 x_stride, i64 out_stride) {
  __shared__ Exponentials<T> of_threads[PACK][256];
  u32 columns_of_block = blockDim.x * PACK;
#pragma unroll 1
  for (u32 start = blockIdx.x * columns_of_block; start < columns;
       start += gridDim.x * columns_of_block) {
    u32 column = start + threadIdx.x * PACK;
    bool has_column = column < columns;
    i64 offsets[2];
    locate(kept, has_column ? column : 0, offsets);
    const T* from = x + offsets[1];
    T* to = out + offsets[0];

    Exponentials<T> sums[PACK];
#pragma unroll
    for (int i = 0; i < PACK; ++i) sums[i] = Exponentials<T>::none();
    u64 end = has_column ? length : 0;
#pragma unroll AT_ONCE
    for (u64 k = threadIdx.y; k < end; k += blockDim.y) {
      Pack<T, PACK> pack = load<PACK>(from + k * x_stride);
#pragma unroll
      for (int i = 0; i < PACK; ++i) {
        W values[1] = {widen(pack.at[i])};
        sums[i].add(values);
      }
    }

    merge_rows(sums, of_threads, MergeExponentials());
    // And back to all rows, by way of where no other thread looked.
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
      if (threadIdx.y == 0) of_threads[i][threadIdx.x] = sums[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
      sums[i] = of_threads[i][threadIdx.x];
      sums[i].sum = 1 / sums[i].sum;
    }

#pragma unroll AT_ONCE
    for (u64 k = threadIdx.y; k < end; k += blockDim.y) {
      Pack<T, PACK> pack = load<PACK>(from + k * x_stride);
#pragma unroll
      for (int i = 0; i < PACK; ++i) {
        W value = exponential<T>(widen(pack.at[i]) - sums[i].largest);
        pack.at[i] = narrow<T>(value * sums[i].sum);
      }
      store<PACK>(to + k * out_stride, pack);
    }
  }
}
