"""The op on the CPU, and what it says where there is no GPU."""

import cuda_interop  # noqa: F401
import numpy as np
import pytest

import dlbridge


def test_swish_on_cpu_equals_numpy():
    x = np.linspace(-3, 3, 7, dtype="float32")
    np.testing.assert_allclose(dlbridge.ops.interop.swish(x), x / (1 + np.exp(-x)), rtol=1e-6)


def test_swish_has_kernels_for_cpu_and_cuda():
    devices = {kernel["device"] for kernel in dlbridge.kernels("interop.swish")}
    assert devices == {"cpu", "cuda"}


@pytest.mark.skipif(
    dlbridge.cuda.is_available(), reason="there is a GPU: the programs of this example show it"
)
def test_swish_without_gpu_raises_buffer_error():
    with pytest.raises(BufferError, match="no CUDA driver"):
        dlbridge.asarray([1.0, 2.0], "float32", device="cuda")


@pytest.mark.skipif(not dlbridge.cuda.is_available(), reason="there is no GPU")
def test_swish_on_gpu_equals_numpy():
    x = np.linspace(-3, 3, 1000, dtype="float32")
    y = dlbridge.ops.interop.swish(dlbridge.asarray(x, device="cuda"))
    np.testing.assert_allclose(y.to("cpu"), x / (1 + np.exp(-x)), rtol=1e-4, atol=1e-6)
