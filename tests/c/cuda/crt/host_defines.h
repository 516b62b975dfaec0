// In the place of a header that comes with NVIDIA's compiler: what CUDA's other headers use of it,
// for a compiler of C alone.
#pragma once

#define CUDARTAPI
#define __cudart_builtin__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __host__
#define __device__
#define __forceinline__ inline
