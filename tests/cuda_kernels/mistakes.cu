// Kernels that do what they may not do on a device, and one that does everything right: what the
// emulation says of each is tested in test_emulation.py. Blocks have 64 threads.
#include "common.cuh"

KERNEL(barrier_that_some_skip)() {
  if (threadIdx.x < 5) __syncthreads();
}

KERNEL(barriers_of_different_numbers)() {
  for (u32 k = 0; k <= threadIdx.x / 32; ++k) __syncthreads();
}

KERNEL(lane_that_isnt_there)(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1, 1);
}

KERNEL(lane_outside_of_the_mask)(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(0x0000ffff, 1, 16);
}

KERNEL(race)(int* out) {
  __shared__ int of_threads[64];
  of_threads[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = of_threads[63 - threadIdx.x];
}

KERNEL(beyond_the_end)(int* out) { out[threadIdx.x + 1] = 0; }

KERNEL(misaligned)(int* out) { *reinterpret_cast<u64*>(out + 1) = 0; }

KERNEL(overflow)(int* out) { out[threadIdx.x] = int(threadIdx.x) + 2147483647; }

KERNEL(good)(int* out) {
  __shared__ int of_threads[64];
  for (int round = 0; round < 3; ++round) {
    of_threads[threadIdx.x] = threadIdx.x + round;
    __syncthreads();
    int sum = of_threads[63 - threadIdx.x];
    for (int distance = 1; distance < 32; distance *= 2) {
      sum += __shfl_xor_sync(0xffffffff, sum, distance);
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
    __syncthreads();
  }
}
