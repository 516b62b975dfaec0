// Functions applied element by element, from one or more inputs to an output, which may be one of
// the inputs itself.
#pragma once

#include "common.cuh"

// A tensor that is read, and which of the layout's tensors it is; the output is number 0.
template <int number, class T>
struct Input {
  const T* at;
};
template <int number, class T>
DEVICE Input<number, T> input(const T* at) {
  return {at};
}

template <int N, class F, class O, class... I>
DEVICE void store_pack(F function, O* out, const Pack<I, N>&... inputs) {
  Pack<O, N> results;
#pragma unroll
  for (int i = 0; i < N; ++i) results.at[i] = function(inputs.at[i]...);
  store<N>(out, results);
}

// Everything contiguous, and aligned to packs of N elements.
template <int N, class F, class O, class... I>
DEVICE void map_flat(F function, u64 count, O* out, const I*... inputs) {
  u64 packs = count / N;
#pragma unroll 1
  for (u64 pack = thread_number(); pack < packs; pack += thread_count()) {
    store_pack<N>(function, out + pack * N, load<N>(inputs + pack * N)...);
  }
  u64 rest = packs * N + thread_number();
  if (rest < count) out[rest] = function(inputs[rest]...);
}

// One pack of a row; of a broadcast input, its one element N times.
template <int N, class T>
DEVICE Pack<T, N> load_of_row(const T* from, bool is_broadcast) {
  if (!is_broadcast) return load<N>(from);
  Pack<T, N> pack;
  T element = *from;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.at[i] = element;
  return pack;
}

// The fastest dimension has stride 1 in the output, and 1 or 0 in each input; the rows of those
// with stride 1 begin at multiples of N elements. One pack a thread, whose place is worked out
// once.
template <int N, int tensors, class F, class O, class... I, int... number>
DEVICE void map_rows(F function, const Strided<tensors>& layout, u32 rows, O* out,
                     Input<number, I>... inputs) {
  u64 columns = layout.sizes[0];
  u32 packs_of_row = u32((columns + N - 1) / N);
  u32 packs = packs_of_row * rows;
#pragma unroll 1
  for (u32 pack = u32(thread_number()); pack < packs; pack += u32(thread_count())) {
    u32 row = pack / packs_of_row;
    u64 column = u64(pack - row * packs_of_row) * N;
    i64 offsets[tensors];
    locate<1>(layout, row, offsets);
    if (columns - column >= N) {
      store_pack<N>(function, out + offsets[0] + column,
                    load_of_row<N>(inputs.at + offsets[number] + column * layout.strides[number][0],
                                   layout.strides[number][0] == 0)...);
    } else {
#pragma unroll 1
      for (; column < columns; ++column) {
        out[offsets[0] + column] = function(
            inputs.at[offsets[number] + column * layout.strides[number][0]]...);
      }
    }
  }
}

// Some elements of an input, which a thread loads before it calculates with any.
template <class T, int elements>
struct Loaded {
  T at[elements];
};

template <int number, int elements, int tensors, class Offset, class T>
DEVICE Loaded<T, elements> load_at(const T* from, const Offset (&offsets)[elements][tensors]) {
  Loaded<T, elements> loaded;
#pragma unroll
  for (int k = 0; k < elements; ++k) loaded.at[k] = from[offsets[k][number]];
  return loaded;
}

template <class F, class O, class Number, class Offset, int elements, int tensors, class... I>
DEVICE void store_at(F function, O* out, Number first, Number count,
                     const Offset (&offsets)[elements][tensors],
                     const Loaded<I, elements>&... inputs) {
#pragma unroll
  for (int k = 0; k < elements; ++k) {
    if (first + Number(k) * blockDim.x >= count) break;
    out[offsets[k][0]] = function(inputs.at[k]...);
  }
}

// Any strides. A thread takes several elements, so that loads don't wait for each other; neighbours
// in a warp are neighbours along the fastest dimension.
template <int elements, class Number, class Offset, int tensors, class F, class O, class... I,
          int... number>
DEVICE void map_strided(F function, const Strided<tensors>& layout, Number count, O* out,
                        Input<number, I>... inputs) {
  u64 start = u64(blockIdx.x) * elements * blockDim.x + threadIdx.x;
  if (start >= count) return;
  // As far beyond the end as a grid may reach, a number may wrap around: so it is what is left that
  // is compared, and what is added is less than that.
  u64 step = thread_count() * elements;
  Number first = Number(start);
#pragma unroll 1
  while (true) {
    Number numbers[elements];
    Offset offsets[elements][tensors];
    number_all(numbers, first, blockDim.x, count);
    locate_all(layout, numbers, offsets);
    store_at(function, out, first, count, offsets, load_at<number>(inputs.at, offsets)...);
    if (count - first <= step) break;
    first += Number(step);
  }
}
