"""An op in a CUDA graph: captured, and replayed with other numbers."""

import pytest

import dlbridge


def test_an_op_is_captured_and_replayed(torch):
    a = torch.ones(1000, device="cuda")
    b = torch.ones(1000, device="cuda")
    out = torch.zeros(1000, device="cuda")
    dlbridge.ops.add(a, b, out=out)  # Its kernel is compiled before.
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


def test_a_compiled_kernel_is_captured(torch):
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


def test_what_cant_be_captured_says_so(torch):
    a = torch.ones(10, device="cuda")
    dlbridge.ops.add(a, a)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(BufferError, match="while a graph is captured"):
            dlbridge.ops.add(a, a)  # Its result would need memory.
        with pytest.raises(RuntimeError, match="while a graph is captured"):
            dlbridge.from_dlpack(a).tolist()
        a.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    assert bool((a == 2).all())
