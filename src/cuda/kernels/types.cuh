// The element types, conversions between them, and arithmetic with the roundings that the ops
// promise.
//
// The floats of 16 bits are types of ours, converted by the instructions themselves: code that
// compiles this at run time then needs no header of the toolkit, and doesn't wait for those to be
// parsed.
#pragma once

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
// A truth value in a byte. Memory of others may hold bytes other than 0 and 1: those are true.
struct b8 {
  u8 byte;
};

#define DEVICE_MEMBER __device__ __forceinline__
#define DEVICE static DEVICE_MEMBER

template <class T>
constexpr bool is_half = false;
template <>
constexpr bool is_half<f16> = true;
template <>
constexpr bool is_half<bf16> = true;

template <class T>
constexpr bool is_float = is_half<T>;
template <>
constexpr bool is_float<f32> = true;
template <>
constexpr bool is_float<f64> = true;

template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;

template <bool condition, class A, class B>
struct ChooseType {
  typedef A Type;
};
template <class A, class B>
struct ChooseType<false, A, B> {
  typedef B Type;
};
template <bool condition, class A, class B>
using Choose = typename ChooseType<condition, A, B>::Type;

// What a type is calculated with: itself, f32 for the floats of 16 bits, 0 or 1 for truth values.
template <class T>
using Wide = Choose<is_half<T>, f32, Choose<is_same<T, b8>, u8, T>>;

// In which integers wrap around: those with a sign would be undefined where they overflow.
template <class I>
using Wrapping = Choose<sizeof(I) == 8, u64, u32>;

template <class I>
struct Ends {
  static constexpr bool has_sign = I(-1) < I(0);
  static constexpr I lowest = has_sign ? I(u64(1) << (8 * sizeof(I) - 1)) : I(0);
  static constexpr I highest = I(~lowest);
};

#ifdef __CUDA_ARCH__
DEVICE f32 f16_to_f32(u16 bits) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
DEVICE u16 f16_from_f32(f32 value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif  // Elsewhere, who compiles this has them.

DEVICE f32 bf16_to_f32(u16 bits) { return __uint_as_float(u32(bits) << 16); }

DEVICE u16 bf16_from_f32(f32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  u32 bits = __float_as_uint(value);
  if (value != value) return 0x7fff;
  // Half of what is cut off, or a little less where that leaves an even number.
  return u16((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
#endif
}

template <class T>
DEVICE Wide<T> widen(T value) {
  if constexpr (is_same<T, f16>) {
    return f16_to_f32(value.bits);
  } else if constexpr (is_same<T, bf16>) {
    return bf16_to_f32(value.bits);
  } else if constexpr (is_same<T, b8>) {
    return value.byte != 0;
  } else {
    return value;
  }
}

// Back to the type itself: rounded once, to the nearest.
template <class T>
DEVICE T narrow(Wide<T> value) {
  if constexpr (is_same<T, f16>) {
    return f16{f16_from_f32(value)};
  } else if constexpr (is_same<T, bf16>) {
    return bf16{bf16_from_f32(value)};
  } else if constexpr (is_same<T, b8>) {
    return b8{value};
  } else {
    return value;
  }
}

// An f32 that rounds to any narrower float as the number itself does: what doesn't fit is cut off,
// and the last bit tells of it, so that no number comes to lie on the middle between two.
template <class W>
DEVICE f32 to_odd_f32(W value) {
  if constexpr (sizeof(W) <= 2) return f32(value);
  f32 cut;
  bool is_exact;
  if constexpr (is_same<W, f64>) {
    cut = __double2float_rz(value);
    is_exact = f64(cut) == value;
  } else if constexpr (is_same<W, u64>) {
    cut = __ull2float_rz(value);
    is_exact = u64(cut) == value;
  } else {
    cut = __ll2float_rz(value);
    is_exact = i64(cut) == i64(value);
  }
  return is_exact ? cut : __uint_as_float(__float_as_uint(cut) | 1);
}

// Towards zero; the ends for what is beyond them, and 0 for NaN.
template <class I, class F>
DEVICE I to_integer(F value) {
  if (value != value) return 0;
  if (value <= F(Ends<I>::lowest)) return Ends<I>::lowest;
  if (value >= F(Ends<I>::highest)) return Ends<I>::highest;
  return I(value);
}

// A number of one type as one of another, by value.
template <class D, class S>
DEVICE D convert(S source) {
  typedef Wide<S> W;
  W value = widen(source);
  if constexpr (is_same<S, D>) {
    return source;
  } else if constexpr (is_same<D, b8>) {
    return b8{u8(value != 0)};
  } else if constexpr (is_half<D> && !is_same<W, f32>) {
    return narrow<D>(to_odd_f32(value));
  } else if constexpr (is_half<D>) {
    return narrow<D>(value);
  } else if constexpr (!is_float<D> && is_float<W>) {
    return to_integer<D>(value);
  } else {
    return D(value);
  }
}

// Sums, differences, products and quotients. Integers wrap around; floats of 16 bits are
// calculated in f32 and rounded once, which is what they would round to if calculated exactly. The
// functions for f32 and f64 are ones that the compiler never merges into fused operations.
struct Add {
  template <class T>
  DEVICE_MEMBER T operator()(T a, T b) const {
    if constexpr (is_same<T, f64>) {
      return __dadd_rn(a, b);
    } else if constexpr (is_float<T>) {
      return narrow<T>(__fadd_rn(widen(a), widen(b)));
    } else {
      return T(Wrapping<T>(a) + Wrapping<T>(b));
    }
  }
};
struct Sub {
  template <class T>
  DEVICE_MEMBER T operator()(T a, T b) const {
    if constexpr (is_same<T, f64>) {
      return __dsub_rn(a, b);
    } else if constexpr (is_float<T>) {
      return narrow<T>(__fsub_rn(widen(a), widen(b)));
    } else {
      return T(Wrapping<T>(a) - Wrapping<T>(b));
    }
  }
};
struct Mul {
  template <class T>
  DEVICE_MEMBER T operator()(T a, T b) const {
    if constexpr (is_same<T, f64>) {
      return __dmul_rn(a, b);
    } else if constexpr (is_float<T>) {
      return narrow<T>(__fmul_rn(widen(a), widen(b)));
    } else {
      return T(Wrapping<T>(a) * Wrapping<T>(b));
    }
  }
};
struct Div {
  template <class T>
  DEVICE_MEMBER T operator()(T a, T b) const {
    if constexpr (is_same<T, f64>) {
      return __ddiv_rn(a, b);
    } else {
      static_assert(is_float<T>, "integers have no quotients");
      return narrow<T>(__fdiv_rn(widen(a), widen(b)));
    }
  }
};
