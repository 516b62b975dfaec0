// What the C++ peers compute. The arguments are checked before they come here.
#pragma once

#include <cstdint>

// ANCHOR: kernel
// out = a + b, all three contiguous.
inline void add_contiguous(const float* a, const float* b, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}
// ANCHOR_END: kernel

// out = a + b for any strides, which are counted in elements.
inline void add_strides(int64_t rank, const int64_t* shape, const float* a,
                        const int64_t* a_strides, const float* b, const int64_t* b_strides,
                        float* out, const int64_t* out_strides) {
  if (rank == 0) {
    *out = *a + *b;
    return;
  }
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (rank == 1) {
      out[i * out_strides[0]] = a[i * a_strides[0]] + b[i * b_strides[0]];
    } else {
      add_strides(rank - 1, shape + 1, a + i * a_strides[0], a_strides + 1,
                  b + i * b_strides[0], b_strides + 1, out + i * out_strides[0],
                  out_strides + 1);
    }
  }
}

// out = the sum of 15 arrays, all contiguous.
inline void sum_contiguous(const float* const (&parts)[15], float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (const float* part : parts) sum += part[i];
    out[i] = sum;
  }
}

// A new buffer of 6 floats, for `delete[]`.
inline float* fresh_buffer() { return new float[6]{0, 1, 2, 3, 4, 5}; }
