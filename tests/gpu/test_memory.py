"""Memory stays flat, and what the CPU reaches, too, is in order."""

import gc

import pytest

import dlbridge

TIMES = 10_000


def used(torch):
    torch.cuda.synchronize()
    dlbridge.cuda.synchronize()
    gc.collect()
    free, all_ = torch.cuda.mem_get_info()
    return all_ - free


@pytest.mark.parametrize("way", ["torch", "cupy", "jax", "op", "kernel", "send and fetch"])
def test_repeated_calls_do_not_leak(request, torch, way):
    x = torch.ones(1 << 18, device="cuda")  # 1 MiB
    out = torch.empty_like(x)
    host = dlbridge.ones(
        1 << 16, "float32"
    )  # 10,000 of these, too, are more than the pools may grow by.
    if way == "cupy":
        request.getfixturevalue("cupy")
    if way == "jax":
        request.getfixturevalue("jax")
    if way == "kernel":
        kernel = dlbridge.cuda.compile(
            'extern "C" __global__ void f(float* x) { x[0] = 1; }'
        ).kernel("f")
    ways = {
        # New tensors, as nothing would be seen of another one of an old one's keepers.
        "torch": lambda: dlbridge.from_dlpack(x.clone()).to("torch"),
        "cupy": lambda: dlbridge.convert(x.clone(), "cupy"),
        "jax": lambda: dlbridge.convert(x.clone(), "jax"),
        "op": lambda: (dlbridge.ops.add(x, x), dlbridge.ops.add(x, x, out=out)),
        "kernel": lambda: kernel(1, 1, x),
        "send and fetch": lambda: host.to("cuda").to("cpu"),
    }
    for _ in range(100):
        ways[way]()
    before = used(torch)
    for _ in range(TIMES):
        ways[way]()
    # The pools may grow by a little, and not by 10,000 MiB.
    assert used(torch) - before < 256 << 20


@pytest.mark.parametrize("kind", ["cuda_managed", "cuda_host"])
def test_host_access_waits_for_kernels(kind):
    source = 'extern "C" __global__ void count(float* x) { for (int i = 0; i < 1000; ++i) x[threadIdx.x] += 1; }'
    kernel = dlbridge.cuda.compile(source).kernel("count")
    x = dlbridge.zeros(256, "float32", device=kind)
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
        for _ in range(100):
            kernel(1, 256, x)
        assert x.tolist() == [100_000.0] * 256
    for _ in range(100):
        kernel(1, 256, x)
    assert memoryview(x)[255] == 200_000.0
