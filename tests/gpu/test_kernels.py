"""Kernels that are compiled at run time, with tensors of any framework."""

import numpy as np
import pytest

import dlbridge

AXPY = r"""
extern "C" __global__ void axpy(float a, const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += a * x[i];
}
"""


@pytest.fixture(scope="module")
def axpy():
    if not dlbridge.cuda.is_available():
        pytest.skip("there is no GPU")
    return dlbridge.cuda.compile(AXPY, name="axpy.cu").kernel("axpy")


def test_launch_accepts_tensors_of_every_framework(axpy, torch, cupy, jax):
    y = torch.ones(1000, device="cuda")
    axpy(4, 256, 2.0, torch.ones(1000, device="cuda"), y, 1000)
    axpy(4, 256, 2.0, cupy.ones(1000, dtype="float32"), y, 1000)
    axpy(4, 256, 2.0, jax.numpy.ones(1000, dtype="float32"), y, 1000)
    axpy(4, 256, 2.0, dlbridge.ones(1000, "float32", device="cuda"), y, 1000)
    assert bool((y == 9).all())


def test_launch_refuses_to_write_read_only_tensor(axpy, torch, jax):
    x = torch.ones(10, device="cuda")
    with pytest.raises(BufferError, match="argument 2: the tensor is read-only"):
        axpy(1, 32, 1.0, x, jax.numpy.ones(10), 10)
    with pytest.raises(BufferError, match="argument 1: the tensor is on cpu"):
        axpy(1, 32, 1.0, np.ones(10, "float32"), x, 10)
    with pytest.raises(TypeError, match="takes 4 arguments but 3 were given"):
        axpy(1, 32, 1.0, x, x)


def test_compile_error_shows_the_line():
    with pytest.raises(ValueError) as caught:
        dlbridge.cuda.compile(
            'extern "C" __global__ void f(int* x) {\n  x[0] = wrong;\n}\n', name="bad.cu"
        )
    assert "bad.cu(2)" in str(caught.value) and "x[0] = wrong;" in str(caught.value)


@pytest.mark.parametrize("header", ["cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"])
def test_cuda_headers_are_found(header):
    module = dlbridge.cuda.compile(f'#include <{header}>\nextern "C" __global__ void f() {{}}')
    module.kernel("f")(1, 1)


def test_launch_with_invalid_block_is_refused(axpy, torch):
    x = torch.ones(10, device="cuda")
    with pytest.raises((ValueError, BufferError), match="threads|block"):
        axpy(1, 4096, 1.0, x, x.clone(), 10)
