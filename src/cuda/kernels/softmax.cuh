// What the kernels of softmax share: a row in memory, and sums of exponentials.
#pragma once

#include "group.cuh"

// Of floats of 16 bits the fast instruction is more exact than their rounding.
template <class T>
DEVICE Wide<T> exponential(Wide<T> value) {
  if constexpr (is_half<T>) {
    return __expf(value);
  } else if constexpr (is_same<T, f32>) {
    return expf(value);
  } else {
    return exp(value);
  }
}

// The sum of exponentials of some elements, divided by that of the largest. None is less than the
// lowest finite number, so that infinities need no care: elements that are all negative infinity
// have the sum 0, and what is divided by that is NaN.
template <class T>
struct Exponentials {
  typedef Wide<T> W;

  W largest, sum;

  static DEVICE_MEMBER Exponentials none() {
    if constexpr (is_same<W, f64>) {
      return {-1.7976931348623157e308, 0};
    } else {
      return {-3.40282347e38f, 0};
    }
  }
  template <int N>
  DEVICE_MEMBER void add(const W (&values)[N]) {
    W now = largest;
#pragma unroll
    for (int i = 0; i < N; ++i) now = Largest()(now, values[i]);
    sum *= exponential<T>(largest - now);
#pragma unroll
    for (int i = 0; i < N; ++i) sum += exponential<T>(values[i] - now);
    largest = now;
  }
};

template <class T>
DEVICE Exponentials<T> from_other_lane(Exponentials<T> value, int distance) {
  return {from_other_lane(value.largest, distance), from_other_lane(value.sum, distance)};
}

struct MergeExponentials {
  template <class T>
  DEVICE_MEMBER Exponentials<T> operator()(Exponentials<T> a, Exponentials<T> b) const {
    Wide<T> now = Largest()(a.largest, b.largest);
    return {now, a.sum * exponential<T>(a.largest - now) + b.sum * exponential<T>(b.largest - now)};
  }
};

// A row of x and of the result. Elements go to and from registers in packs.
template <class T, int N>
struct Row {
  typedef Wide<T> W;

  const T* x;
  T* out;
  i64 x_stride, out_stride;

  DEVICE_MEMBER Row(const T* x, T* out, const Strided<2>& kept, u32 row, i64 x_stride, i64 out_stride)
      : x_stride(x_stride), out_stride(out_stride) {
    i64 offsets[2];
    locate(kept, row, offsets);
    this->out = out + offsets[0];
    this->x = x + offsets[1];
  }
  DEVICE_MEMBER void read(u64 first, W* values) const {
    Pack<T, N> pack = load<N>(x + first * x_stride);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = widen(pack.at[i]);
  }
  DEVICE_MEMBER void write(u64 first, const W* values) const {
    Pack<T, N> pack;
#pragma unroll
    for (int i = 0; i < N; ++i) pack.at[i] = narrow<T>(values[i]);
    store<N>(out + first * out_stride, pack);
  }
};
