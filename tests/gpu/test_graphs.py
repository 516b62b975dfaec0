"""An op in a CUDA graph: captured, and replayed with other numbers."""

import pytest
from slow import torch_sleeps

import dlbridge

FILL = """
extern "C" __global__ void fill(float* x, float value) { x[threadIdx.x] = value; }
"""
NEGATE = """
extern "C" __global__ void negate(const short* x, short* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = -x[i];
}
"""


def test_op_is_captured_and_replayed(torch):
    a = torch.ones(1000, device="cuda")
    b = torch.ones(1000, device="cuda")
    out = torch.zeros(1000, device="cuda")
    # Their kernels are compiled before.
    dlbridge.ops.add(a, b, out=out)
    dlbridge.ops.mul(out, b, out=out)
    out.zero_()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dlbridge.ops.add(a, b, out=out)
        dlbridge.ops.mul(out, b, out=out)
    assert not out.any(), "it was captured, and not run"
    for value in (1.0, 2.0, 5.0):
        b.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert bool((out == (1 + value) * value).all())


def test_compiled_kernel_is_captured(torch):
    module = dlbridge.cuda.compile(
        'extern "C" __global__ void scale(float* x, float by, int count) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < count) x[i] *= by; }"
    )
    scale = module.kernel("scale")
    x = torch.ones(300, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scale(2, 256, x, 3.0, 300)
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert bool((x == 9).all())


def test_allocation_during_capture_is_refused(torch):
    a = torch.ones(10, device="cuda")
    dlbridge.ops.add(a, a)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(RuntimeError, match="while a graph is captured"):
            dlbridge.ops.add(a, a)  # Its result would need memory.
        with pytest.raises(RuntimeError, match="while a graph is captured"):
            dlbridge.from_dlpack(a).tolist()
        a.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    assert bool((a == 2).all())


class Stranger:
    """An object of an unknown framework: it is kept until an event says that the GPU is done with
    it.
    """

    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self, **asked):
        return self.inner.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()


def subtract(x, out):
    dlbridge.ops.sub(out, x, out=out)  # `out` is 0.


def negate(x, out):
    kernel = dlbridge.cuda.compile(NEGATE).kernel("negate")
    kernel(4, 256, x, out, 1000)
    return kernel  # A graph doesn't keep it.


# No other test here calls these, so each loads its module while a graph is captured.
@pytest.mark.parametrize("first_call", [subtract, negate])
def test_module_loaded_during_capture_keeps_it_valid(torch, first_call):
    """Meanwhile memory waits for a slow stream, and is looked at when the module is loaded: that
    may not end the capture, either."""
    slow = torch.cuda.Stream()
    fill = dlbridge.cuda.compile(FILL).kernel("fill")
    x = torch.ones(1000, device="cuda", dtype=torch.int16)
    out = torch.zeros_like(x)
    other = torch.ones(1000, device="cuda", dtype=torch.int32)

    def made_on_the_slow_stream():
        pinned = dlbridge.zeros(256, "float32", device="cuda_host")
        with torch.cuda.stream(slow), dlbridge.cuda.stream(slow):
            torch_sleeps(torch)
            fill(1, 256, pinned, 5.0)
            return pinned, dlbridge.ops.copy(Stranger(other))

    made_on_the_slow_stream()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        released = made_on_the_slow_stream()
        assert not dlbridge.cuda.Stream(slow).is_done(), "it isn't slow, so nothing waits"
        del released
        kept = first_call(x, out)
    torch.cuda.synchronize()
    assert not out.any(), "it was captured, and not run"
    for value in (3, 4):
        x.fill_(value)
        out.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert bool((out == -value).all())
    del kept


def test_first_matmul_during_capture_keeps_it_valid(torch):
    a, b = (torch.randn(64, 64, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.zeros_like(a)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dlbridge.ops.matmul(a, b, out=out)
    graph.replay()
    torch.cuda.synchronize()
    theirs = (a.double() @ b.double()).half()
    torch.testing.assert_close(out, theirs, rtol=2e-3, atol=2e-2)
