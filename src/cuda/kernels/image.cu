// image_to_tensor: images of bytes, colours side by side, become numbers, a plane for each colour:
// (scale * value - mean) / std, calculated in f32. `planes` and `pixels` take images as they are,
// `resized` interpolates between pixels.
//
// Macros: NAME; RESULT, one of f16, bf16, f32; CHANNELS, how many colours `planes` takes: 1, 3 or
// 4. `mean` and `std` lie side by side. No operations are merged, so that all devices agree. Launch
// with 256 threads a block; README.md says how many blocks.
#include "common.cuh"

typedef RESULT D;

struct Colour {
  f32 mean, std;

  DEVICE_MEMBER f32 normalized(f32 value, f32 scale) const {
    return __fdiv_rn(__fsub_rn(__fmul_rn(scale, value), mean), std);
  }
};

// How many pixels a thread takes, so that it writes 16 bytes of each plane; it reads their bytes in
// words as wide as they are aligned.
constexpr int N = WIDEST / sizeof(D);
constexpr int BYTES = N * CHANNELS;
constexpr int LOW_BIT = BYTES & -BYTES;
constexpr int WORD = LOW_BIT < WIDEST ? LOW_BIT : WIDEST;

// Images without gaps between pixels, at multiples of WORD bytes, to planes without gaps, at
// multiples of 16 bytes. `images` is of out and the images, over the dimensions before the last
// three; its strides and `out_channel_stride` are such multiples. `pixel_count`, a multiple of N,
// is that of one.
KERNEL(planes)(const u8* image, const f32* mean, const f32* std, D* out,
               const __grid_constant__ Strided<2> images, u32 image_count, u32 pixel_count,
               i64 out_channel_stride, f32 scale) {
  Colour colours[CHANNELS];
#pragma unroll
  for (int c = 0; c < CHANNELS; ++c) colours[c] = {mean[c], std[c]};
  u32 packs_of_image = pixel_count / N;
  u64 packs = u64(packs_of_image) * image_count;
#pragma unroll 1
  for (u64 pack = thread_number(); pack < packs; pack += thread_count()) {
    u32 number = u32(pack / packs_of_image);
    u32 first = u32(pack - u64(number) * packs_of_image) * N;
    i64 offsets[2];
    locate(images, number, offsets);
    const u8* from = image + offsets[1] + u64(first) * CHANNELS;
    Pack<u8, WORD> words[BYTES / WORD];
#pragma unroll
    for (int k = 0; k < BYTES / WORD; ++k) words[k] = load<WORD>(from + k * WORD);
#pragma unroll
    for (int c = 0; c < CHANNELS; ++c) {
      Pack<D, N> results;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        int byte = i * CHANNELS + c;
        f32 value = words[byte / WORD].at[byte % WORD];
        results.at[i] = narrow<D>(colours[c].normalized(value, scale));
      }
      store<N>(out + offsets[0] + c * out_channel_stride + first, results);
    }
  }
}

// Images of any layout. `pixels` is of out and the images, over all dimensions but that of colours.
KERNEL(pixels)(const u8* image, const f32* mean, const f32* std, D* out,
               const __grid_constant__ Strided<2> pixels, u64 pixel_count, u32 channels,
               i64 image_channel_stride, i64 out_channel_stride, f32 scale) {
#pragma unroll 1
  for (u64 pixel = thread_number(); pixel < pixel_count; pixel += thread_count()) {
    i64 offsets[2];
    locate(pixels, pixel, offsets);
    const u8* from = image + offsets[1];
    D* to = out + offsets[0];
    for (u32 c = 0; c < channels; ++c) {
      Colour colour = {mean[c], std[c]};
      f32 value = from[c * image_channel_stride];
      to[c * out_channel_stride] = narrow<D>(colour.normalized(value, scale));
    }
  }
}

// Between which two of the pixels of a line a pixel of the result lies, and how much of each it is:
// centres are halves, and what is beyond the ends is as the ends are.
struct Between {
  u32 before, after;
  f32 of_before, of_after;

  DEVICE_MEMBER Between(u32 number, u32 out_size, u32 size) {
    f32 ratio = __fdiv_rn(f32(size), f32(out_size));
    f32 place = __fsub_rn(__fmul_rn(ratio, __fadd_rn(f32(number), 0.5f)), 0.5f);
    place = fmaxf(place, 0);
    before = u32(place) < size - 1 ? u32(place) : size - 1;
    after = before < size - 1 ? before + 1 : before;
    of_after = fminf(__fsub_rn(place, f32(before)), 1);
    of_before = __fsub_rn(1, of_after);
  }
  DEVICE_MEMBER f32 mix(f32 a, f32 b) const {
    return __fadd_rn(__fmul_rn(of_before, a), __fmul_rn(of_after, b));
  }
};

// `pixels` is of out and the images, over all dimensions but that of colours; the fastest are width
// and height. The sizes are those of the result, and the strides those of each.
KERNEL(resized)(const u8* image, const f32* mean, const f32* std, D* out,
                const __grid_constant__ Strided<2> pixels, u64 pixel_count, u32 channels,
                i64 image_channel_stride, i64 out_channel_stride, f32 scale, u32 height, u32 width) {
  u32 out_width = u32(pixels.sizes[0]), out_height = u32(pixels.sizes[1]);
#pragma unroll 1
  for (u64 pixel = thread_number(); pixel < pixel_count; pixel += thread_count()) {
    u64 line = pixel / out_width, number = line / out_height;
    u32 column = u32(pixel - line * out_width), row = u32(line - number * out_height);
    i64 offsets[2];
    locate<2>(pixels, number, offsets);
    Between x(column, out_width, width), y(row, out_height, height);
    i64 x_stride = pixels.strides[1][0], y_stride = pixels.strides[1][1];
    const u8* above = image + offsets[1] + y.before * y_stride;
    const u8* below = image + offsets[1] + y.after * y_stride;
    D* to = out + offsets[0] + column * pixels.strides[0][0] + row * pixels.strides[0][1];
    for (u32 c = 0; c < channels; ++c) {
      i64 left = x.before * x_stride + c * image_channel_stride;
      i64 right = x.after * x_stride + c * image_channel_stride;
      f32 value = y.mix(x.mix(above[left], above[right]), x.mix(below[left], below[right]));
      Colour colour = {mean[c], std[c]};
      to[c * out_channel_stride] = narrow<D>(colour.normalized(value, scale));
    }
  }
}
