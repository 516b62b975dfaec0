// How sum, mean and max merge elements.
#pragma once

#include "group.cuh"

// E is the type of the elements, and R that of the results.

// What is added up: wider than the elements, so that little is lost. Integers wrap around.
template <class E, class R>
struct Sum {
  typedef Choose<is_half<E>, f32, Choose<is_float<E>, f64, u64>> Merged;

  static DEVICE_MEMBER Merged nothing() { return 0; }
  DEVICE_MEMBER Merged operator()(Merged a, Merged b) const { return a + b; }
  static DEVICE_MEMBER R finish(Merged merged, u64) { return narrow<R>(Wide<R>(merged)); }
};

template <class E, class R>
struct Mean : Sum<E, R> {
  static_assert(is_float<E>, "integers have no mean");
  typedef typename Sum<E, R>::Merged Merged;

  static DEVICE_MEMBER R finish(Merged merged, u64 count) {
    return narrow<R>(Wide<R>(merged / Merged(count)));
  }
};

// NaN is the largest. Elements that are narrower than a register are widened, to be exchanged.
template <class E, class R>
struct Max {
  typedef Choose<Ends<E>::has_sign, i32, u32> WideInteger;
  typedef Choose<sizeof(E) == 8, E, WideInteger> Merged;

  static DEVICE_MEMBER Merged nothing() { return Ends<E>::lowest; }
  DEVICE_MEMBER Merged operator()(Merged a, Merged b) const { return a > b ? a : b; }
  static DEVICE_MEMBER R finish(Merged merged, u64) { return R(merged); }
};
template <class E, class W>
struct MaxOfFloats {
  typedef W Merged;

  static DEVICE_MEMBER W nothing() { return -W(__uint_as_float(0x7f800000)); }
  DEVICE_MEMBER W operator()(W a, W b) const { return a != a || a > b ? a : b; }
  static DEVICE_MEMBER E finish(W merged, u64) { return narrow<E>(merged); }
};
template <>
struct Max<f16, f16> : MaxOfFloats<f16, f32> {};
template <>
struct Max<bf16, bf16> : MaxOfFloats<bf16, f32> {};
template <>
struct Max<f32, f32> : MaxOfFloats<f32, f32> {};
template <>
struct Max<f64, f64> : MaxOfFloats<f64, f64> {};

// The kernels merge the elements of each result in `splits` parts, as where there are few results
// more threads are needed. Several parts are left in `partials`, by results; then the kernel
// `finish` merges them. Beginnings are multiples of `multiple`, so that all are aligned as the
// first is.
struct Part {
  u64 begin, end;
};
DEVICE Part part_of(u64 length, u32 split, u32 splits, u32 multiple) {
  u64 size = (length + splits - 1) / splits;
  size = (size + multiple - 1) / multiple * multiple;
  u64 begin = size * split < length ? size * split : length;
  return {begin, length - begin < size ? length : begin + size};
}

template <class O, class R>
DEVICE void put(O reduction, typename O::Merged merged, R* out, typename O::Merged* partials,
                i64 offset, u64 result, u32 split, u32 splits, u64 count) {
  if (splits > 1) {
    partials[result * splits + split] = merged;
  } else {
    out[offset] = reduction.finish(merged, count);
  }
}

// A group for each result.
template <class O, class R>
DEVICE void merge_partials(O reduction, const typename O::Merged* partials, R* out,
                           const Strided<2>& kept, u32 results, u32 splits, u64 count) {
#pragma unroll 1
  for (Rows rows(results); rows.has_round(); rows.next()) {
    typename O::Merged merged = reduction.nothing();
    for (u32 split = threadIdx.x; split < splits; split += blockDim.x) {
      merged = reduction(merged, partials[u64(rows.row()) * splits + split]);
    }
    merged = merge_group(merged, reduction);
    if (!rows.has_row() || threadIdx.x > 0) continue;
    i64 offsets[2];
    locate(kept, rows.row(), offsets);
    out[offsets[0]] = reduction.finish(merged, count);
  }
}
