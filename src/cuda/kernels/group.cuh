// Threads that work on one row together: a group is those with the same threadIdx.y.
//
// A block is (lanes, groups) threads. The lanes of a group are a power of 2. Up to 32 of them lie
// in one warp, and then the block is made of whole warps; if they are more, the block is one group.
#pragma once

#include "common.cuh"

template <class A>
DEVICE A from_other_lane(A value, int distance) {
  return __shfl_xor_sync(0xffffffff, value, distance);
}

// The values of all lanes, merged; every lane gets the same. All threads of the block come here.
template <class A, class Merge>
DEVICE A merge_group(A value, Merge merge) {
  constexpr int WARP = 32;
  int lanes = blockDim.x < WARP ? blockDim.x : WARP;
  for (int distance = 1; distance < lanes; distance *= 2) {
    value = merge(value, from_other_lane(value, distance));
  }
  if (blockDim.x > WARP) {
    __shared__ A of_warps[32];
    int warps = blockDim.x / WARP;
    __syncthreads();  // What was merged before has been read.
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = value;
    __syncthreads();
    value = of_warps[threadIdx.x % warps];
    for (int distance = 1; distance < warps; distance *= 2) {
      value = merge(value, from_other_lane(value, distance));
    }
  }
  return value;
}

// What the threads with the same threadIdx.x have, merged, for those of the first row; there is a
// power of 2 of rows. All threads of the block come here. `of_threads` is for what they tell each
// other.
template <class A, int N, class Merge>
DEVICE void merge_rows(A (&values)[N], A (&of_threads)[N][256], Merge merge) {
  u32 thread = threadIdx.y * blockDim.x + threadIdx.x;
  for (u32 rows = blockDim.y / 2; rows > 0; rows /= 2) {
    __syncthreads();  // What was there before has been read.
#pragma unroll
    for (int i = 0; i < N; ++i) of_threads[i][thread] = values[i];
    __syncthreads();
    if (threadIdx.y >= rows) continue;
    u32 other = thread + rows * blockDim.x;
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = merge(values[i], of_threads[i][other]);
  }
}

// Which of `count` rows this thread works on, if any, in each round that the block makes; all of
// its threads make as many.
struct Rows {
  u32 first, count;

  DEVICE_MEMBER Rows(u32 count) : first(blockIdx.x * blockDim.y), count(count) {}
  DEVICE_MEMBER bool has_round() const { return first < count; }
  DEVICE_MEMBER void next() { first += gridDim.x * blockDim.y; }
  DEVICE_MEMBER bool has_row() const { return first + threadIdx.y < count; }
  // Where there is none, one that there is.
  DEVICE_MEMBER u32 row() const { return has_row() ? first + threadIdx.y : first; }
};

struct Largest {
  template <class W>
  DEVICE_MEMBER W operator()(W a, W b) const {
    if constexpr (is_same<W, f64>) {
      return fmax(a, b);
    } else {
      return fmaxf(a, b);
    }
  }
};
struct Total {
  template <class W>
  DEVICE_MEMBER W operator()(W a, W b) const {
    return a + b;
  }
};
