// What the kernels share: how they are declared, loads and stores of several elements at once, and
// layouts.
#pragma once

#include "types.cuh"

// `KERNEL(rows)(...)` in a module that is compiled with `-DNAME=add_f32` is the entry point
// `add_f32_rows`. Blocks have 256 threads at most, unless the kernel says otherwise. At least 1024
// threads fit into a multiprocessor, with 64 registers each; requested here, and not left to
// choose, the compiler doesn't move numbers to memory to make room for more threads.
#define KERNEL_OF(threads, entry) KERNEL_IN(threads, 1024 / threads, entry)
#define KERNEL(entry) KERNEL_OF(256, entry)
// The same, with the least number of resident blocks: fewer threads have more registers.
#define KERNEL_IN(threads, blocks, entry) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) KERNEL_JOINED(NAME, entry)
#define KERNEL_JOINED(name, entry) KERNEL_JOINED_AFTER_EXPANSION(name, entry)
#define KERNEL_JOINED_AFTER_EXPANSION(name, entry) name##_##entry

// The most bytes that one instruction loads.
constexpr int WIDEST = 16;

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

template <int bytes>
struct WordsOf;
template <>
struct WordsOf<1> {
  typedef u8 Type;
};
template <>
struct WordsOf<2> {
  typedef u16 Type;
};
template <>
struct WordsOf<4> {
  typedef u32 Type;
};
template <>
struct WordsOf<8> {
  typedef uint2 Type;
};
template <>
struct WordsOf<16> {
  typedef uint4 Type;
};

// An element of which only the size is known.
template <int bytes>
using Element = Choose<bytes == 16, uint4, Choose<bytes == 8, u64, typename WordsOf<bytes>::Type>>;

// Several elements by one instruction; their address must be a multiple of their size. They go
// through words, as elements of 16 bits would otherwise be loaded 4 at a time, and stores are the
// intrinsic, as the compiler takes others apart.
template <int N, class T>
DEVICE Pack<T, N> load(const T* from) {
  typedef typename WordsOf<sizeof(T) * N>::Type Words;
  Words words = *reinterpret_cast<const Words*>(from);
  Pack<T, N> pack;
  memcpy(&pack, &words, sizeof pack);
  return pack;
}

template <int N, class T>
DEVICE void store(T* to, const Pack<T, N>& pack) {
  typedef typename WordsOf<sizeof(T) * N>::Type Words;
  Words words;
  memcpy(&words, &pack, sizeof pack);
  __stwb(reinterpret_cast<Words*>(to), words);
}

// The sizes of N tensors of one shape, and their strides, counted in elements. The dimension that
// changes fastest comes FIRST. A tensor that is broadcast along a dimension has stride 0 there.
constexpr int MOST_DIMENSIONS = 8;

template <int N>
struct Strided {
  i64 rank;
  i64 sizes[MOST_DIMENSIONS];
  i64 strides[N][MOST_DIMENSIONS];
};

// Where elements lie in each of the tensors, from their numbers in row-major order. With 32 bits
// each, which is faster, all numbers and offsets must be less than 2^31 in magnitude. Dimensions
// before the first are left out. The numbers are used up.
//
// The layout is an argument of the kernel, in constant memory, where an index may be one that is
// only known at run time; several elements share what is loaded and the reciprocal of each size.
template <int first = 0, int elements, int N, class Number, class Offset>
DEVICE void locate_all(const Strided<N>& layout, Number (&numbers)[elements],
                       Offset (&offsets)[elements][N]) {
  // They wrap around as the numbers do; they are right where the results fit.
  typedef Choose<sizeof(Offset) == 4, u32, u64> Sum;
  Sum sums[elements][N] = {};
  int d = first;
#pragma unroll 1
  for (; d + 1 < layout.rank; ++d) {
    Number size = Number(layout.sizes[d]);
#pragma unroll
    for (int e = 0; e < elements; ++e) {
      Number index = numbers[e] % size;
      numbers[e] /= size;
#pragma unroll
      for (int k = 0; k < N; ++k) sums[e][k] += Sum(index) * Sum(layout.strides[k][d]);
    }
  }
  // Of the slowest dimension, what is left is the index.
#pragma unroll
  for (int e = 0; e < elements; ++e) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      offsets[e][k] = Offset(sums[e][k] + Sum(numbers[e]) * Sum(layout.strides[k][d]));
    }
  }
}

// The same of one element.
template <int first = 0, int N, class Number, class Offset>
DEVICE void locate(const Strided<N>& layout, Number number, Offset (&offsets)[N]) {
  Number numbers[1] = {number};
  Offset of_elements[1][N];
  locate_all<first>(layout, numbers, of_elements);
#pragma unroll
  for (int k = 0; k < N; ++k) offsets[k] = of_elements[0][k];
}

// The numbers of some elements that a thread takes, `step` apart. Those from `end` on, which there
// aren't, are the first again: it does no harm to load that once more.
template <int elements, class Number>
DEVICE void number_all(Number (&numbers)[elements], Number first, u32 step, Number end) {
#pragma unroll
  for (int e = 0; e < elements; ++e) {
    Number number = first + Number(e) * step;
    numbers[e] = number < end ? number : first;
  }
}

// The number of this thread among all of the grid, and how many there are.
DEVICE u64 thread_number() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
DEVICE u64 thread_count() { return u64(gridDim.x) * blockDim.x; }
