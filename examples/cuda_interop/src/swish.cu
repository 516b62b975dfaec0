// x / (1 + exp(-x)), by element.
extern "C" __global__ void swish(const float* x, float* y, unsigned long long count) {
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] / (1.0f + __expf(-x[i]));
}
