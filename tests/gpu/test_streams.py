"""Order: what a slow stream writes late is visible to readers on another one. Without the order it
wouldn't be.
"""

import pytest
from slow import torch_sleeps, torch_writes_late

import dlbridge


def call_everything(torch, count):
    """What is called for the first time compiles and loads code, and has memory for its pools, all
    of which may wait for the GPU. So it is done before anything is slow."""
    tensor = torch.zeros(count, device="cuda")
    out = torch.empty_like(tensor)
    torch_sleeps(torch, 1e-4)
    tensor.fill_(1)
    out.copy_(tensor)
    dlbridge.ops.add(tensor, tensor, out=out)
    made = dlbridge.ops.add(tensor, tensor)
    ours = dlbridge.from_dlpack(made).to("torch")
    ours = (ours.clone() * 2 == 4).all()
    assert bool(ours) and dlbridge.ones(count, device="cuda").to("torch").any()
    dlbridge.ops.add(tensor, tensor, like=dlbridge.zeros(1, "float32", device="cuda"))


@pytest.fixture
def streams(torch):
    streams = torch.cuda.Stream(), torch.cuda.Stream()
    for stream in streams:
        with torch.cuda.stream(stream):
            call_everything(torch, 1 << 16)
        torch.cuda.synchronize()
    return streams


def test_read_without_a_wait_sees_the_old_value(torch, streams):
    """The control: reading on another stream, without a wait, sees the old value."""
    slow, fast = streams
    tensor = torch.zeros(1 << 16, device="cuda")
    out = torch.empty_like(tensor)
    torch.cuda.synchronize()
    with torch.cuda.stream(slow):
        torch_writes_late(torch, tensor, 1)
    with torch.cuda.stream(fast):
        out.copy_(tensor)
    torch.cuda.synchronize()
    assert not out.any(), "the slow stream isn't slow, so the other tests here say nothing"


def test_op_runs_on_the_current_torch_stream(torch, streams):
    slow, _ = streams
    tensor = torch.zeros(1 << 16, device="cuda")
    out = torch.empty_like(tensor)
    torch.cuda.synchronize()
    with torch.cuda.stream(slow):
        torch_writes_late(torch, tensor, 1)
        dlbridge.ops.add(tensor, tensor, out=out)
        assert not slow.query(), "nothing was waited for"
    torch.cuda.synchronize()
    assert bool((out == 2).all())


def test_export_to_another_stream_is_ordered(torch, streams):
    slow, fast = streams
    with torch.cuda.stream(slow):
        tensor = torch.zeros(1 << 16, device="cuda")
        torch.cuda.synchronize()
        torch_writes_late(torch, tensor, 1)
        ours = dlbridge.from_dlpack(tensor)
    with torch.cuda.stream(fast):
        theirs = ours.to("torch")
        out = theirs.clone()
    torch.cuda.synchronize()
    assert bool((out == 1).all())


def test_op_on_dlbridge_stream_is_ordered(torch, streams):
    slow, _ = streams
    with torch.cuda.stream(slow):
        tensor = torch.zeros(1 << 16, device="cuda")
        torch.cuda.synchronize()
        torch_writes_late(torch, tensor, 1)
        with dlbridge.cuda.stream(dlbridge.cuda.Stream(device="cuda:0")) as ours:
            out = dlbridge.ops.add(tensor, tensor, like=dlbridge.zeros(1, "float32", device="cuda"))
            assert dlbridge.cuda.current_stream() == ours
    assert out.tolist()[:3] == [2.0, 2.0, 2.0]


def test_streams_of_torch_and_cupy_are_ordered(torch, cupy, streams):
    slow, _ = streams
    array = cupy.full(1 << 16, 3, dtype="float32")
    tensor = torch.zeros(1 << 16, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(slow), cupy.cuda.Stream(non_blocking=True):
        for value in (1, 2):  # The first round loads what CuPy needs, which may wait.
            torch_writes_late(torch, tensor, value)
            out = cupy.empty_like(array)
            dlbridge.ops.add(array, tensor, out=out)
            # CuPy's own stream waits for the sum, which waits for PyTorch's.
            result = (out == 3 + value).all()
            assert bool(result)


def test_jax_array_is_ready_before_the_op(jax, torch):
    array = jax.numpy.full(1 << 16, 2.0, dtype="float32") * 3
    tensor = torch.ones(1 << 16, device="cuda")
    out = dlbridge.ops.add(tensor, array)
    assert isinstance(out, torch.Tensor) and bool((out == 7).all())


def test_memory_is_released_after_its_last_use(torch, streams):
    slow, fast = streams
    for _ in range(20):
        with torch.cuda.stream(slow):
            ours = dlbridge.ones(1 << 16, "float32", device="cuda")
            theirs = ours.to("torch")
            torch_sleeps(torch, 0.005)
            out = theirs * 2
        del ours, theirs
        with torch.cuda.stream(fast):
            # Might get the same memory.
            other = dlbridge.zeros(1 << 16, "float32", device="cuda").to("torch")
            other.fill_(9)
        torch.cuda.synchronize()
        assert bool((out == 2).all())
        del other


def test_framework_stream_becomes_current(torch, cupy):
    for theirs, handle in [
        (torch.cuda.Stream(), lambda stream: stream.cuda_stream),
        (cupy.cuda.Stream(non_blocking=True), lambda stream: stream.ptr),
    ]:
        with dlbridge.cuda.stream(theirs) as ours:
            assert ours.handle == handle(
                theirs
            ) and dlbridge.cuda.current_stream().handle == handle(theirs)
            assert dlbridge.zeros(3, device="cuda").tolist() == [0, 0, 0]
    assert dlbridge.cuda.current_stream().handle == 0


def test_calls_do_not_block_on_the_gpu(torch):
    """Calls return while the GPU is still busy with what came before."""
    call_everything(torch, 1 << 10)
    tensor = torch.ones(1 << 10, device="cuda")
    out = torch.empty_like(tensor)
    torch.cuda.synchronize()
    done = torch.cuda.Event()
    torch_sleeps(torch)
    done.record()
    for _ in range(10):
        dlbridge.ops.add(tensor, tensor, out=out)
        made = dlbridge.ops.add(tensor, tensor)
        dlbridge.from_dlpack(made).to("torch")
        assert not done.query(), "something waited"
    torch.cuda.synchronize()
