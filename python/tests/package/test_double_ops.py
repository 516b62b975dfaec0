"""Ops with tensors on a GPU: on which stream they run, for whom they wait, and who waits
for them.
"""

import gc
import sys

import build_extension
import dlbridge
import double
import double_driver as driver
import pytest
from double_frameworks import KINDS, cupy, given, handle_of, jax, torch
from support import refused

sys.path.insert(0, str(build_extension.build_cuda()))
import dlbridge_cuda_testing as ext  # noqa: E402

pytestmark = pytest.mark.usefixtures("settled")
ops = dlbridge.ops.gpu
KNOWN = ["torch", "cupy", "strange", "numba"]
# Of it no stream is known, so it is asked to have its data ready on the current one.
UNKNOWN = ["jax"]
names = pytest.mark.parametrize("name", [*KNOWN, *UNKNOWN])


def target(kind):
    """Where something can be written: JAX's arrays never change."""
    return kind() if kind is not jax.Array else dlbridge.empty(16, "uint8", device="cuda")


def address(x):
    return x.address if hasattr(x, "address") else x.data_ptr


def values(x):
    return x.values() if hasattr(x, "values") else x.tolist()


def ran_on(function, call):
    """The names of the streams on which a function of the driver's was called meanwhile."""
    double.forget_journal()
    result = call()
    calls = (line for line in double.journal() if line.startswith(f"{function}("))
    return result, [line.split("stream: ")[1].split(")")[0] for line in calls]


def name_of(handle):
    """What the double calls a stream on which there is nothing to do."""
    double.forget_journal()
    with driver.on():
        driver.call("cuStreamQuery", handle)
    (query,) = (line for line in double.journal() if line.startswith("cuStreamQuery("))
    return query.split("stream: ")[1].split(")")[0]


def copies_on(handle, call):
    """Whether a call copies once, on this stream and no other."""
    driver.synchronize()
    expected = name_of(handle)
    result, streams = ran_on("cuMemcpyAsync", call)
    assert streams == [expected]
    return result


@names
def test_op_runs_on_the_frameworks_stream(name):
    kind = KINDS[name]
    stream = kind.work.new()
    with kind.work.on(stream):
        x = kind().fill(7)
        y = target(kind)
        expected = handle_of(stream) if name in KNOWN else 0
        out = copies_on(expected, lambda: ops.copy(x, out=y))
        assert out is y
        assert values(y) == [7] * 16


@names
def test_op_runs_on_the_current_stream(name):
    kind, ours = KINDS[name], dlbridge.cuda.Stream()
    with kind.work.on(kind.work.new()):
        x, y = kind().fill(7), target(kind)
        with dlbridge.cuda.stream(ours):
            copies_on(ours.handle, lambda: ops.copy(x, out=y))
        # The CPU didn't block, and the framework's next work comes after it.
        if name in KNOWN:
            assert set(y.peek()) == {0xA5}
            assert y.values() == [7] * 16
            x.fill(1)
        assert values(y) == [7] * 16


@pytest.mark.parametrize("name", ["torch", "cupy", "jax"])
def test_op_returns_tensor_of_the_framework(name):
    kind = KINDS[name]
    with kind.work.on(kind.work.new()):
        x = kind().fill(7)
        y = ops.copy(x)
        assert type(y) is kind and y.address != x.address
        assert y.values() == [7] * 16
        z = ops.copy(y)
        del y
        assert z.values() == [7] * 16


def test_op_without_allocator_returns_dlbridge_tensor():
    x = KINDS["numba"]().fill(7)
    y = ops.copy(x)
    assert type(y).__name__ == "Tensor" and y.tolist() == [7] * 16
    y = ops.copy(dlbridge.full(16, 3, "uint8", device="cuda:1"))
    assert (y.device, y.tolist()) == ("cuda:1", [3] * 16)
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
        y = ops.copy(dlbridge.full(16, 4, "uint8", device="cuda"))
    assert y.tolist() == [4] * 16


@pytest.mark.parametrize("second", [*KNOWN, *UNKNOWN, "dlbridge"])
@pytest.mark.parametrize("first", [*KNOWN, *UNKNOWN, "dlbridge"])
def test_op_orders_streams_of_two_frameworks(first, second):
    if first == second:
        return
    streams = {name: KINDS[name].work.new() for name in (first, second) if name != "dlbridge"}

    def made(name, value):
        if name == "dlbridge":
            with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
                return dlbridge.full(16, value, "uint8", device="cuda")
        KINDS[name].work.current[0] = streams[name]
        return KINDS[name]().fill(value)

    try:
        a, b = made(first, 1), made(second, 2)
        out = dlbridge.zeros(16, "uint8", device="cuda")
        ops.second(a, b, out=out)
        waits = double.calls("cuStreamSynchronize"), double.calls("cuCtxSynchronize")
        # What frameworks do with their own next comes after that.
        for x, name in ((a, first), (b, second)):
            if name in KNOWN:
                x.fill(9)
        del a, b, x
        gc.collect()
        assert (double.calls("cuStreamSynchronize"), double.calls("cuCtxSynchronize")) == waits
        assert out.tolist() == [2] * 16
    finally:
        for name in streams:
            del KINDS[name].work.current[0]


@names
def test_op_in_place_writes_its_argument(name):
    kind = KINDS[name]
    with kind.work.on(kind.work.new()):
        x = kind().fill(1)
        if name == "jax":
            with refused(BufferError, "read-only"):
                ops.fill(x, byte=5)
            return
        assert ops.fill(x, byte=5) is x
        assert x.values() == [5] * 16


@names
def test_op_does_not_block_the_cpu(name):
    kind, out = KINDS[name], dlbridge.zeros(16, "uint8", device="cuda")
    with kind.work.on(kind.work.new()):
        x = kind().fill(7)
        waits = [double.calls(f"cu{what}Synchronize") for what in ("Stream", "Ctx", "Event")]
        ops.copy(x, out=out)
        ops.copy(out, out=dlbridge.empty(16, "uint8", device="cuda"))
        assert [
            double.calls(f"cu{what}Synchronize") for what in ("Stream", "Ctx", "Event")
        ] == waits
    assert out.tolist() == [7] * 16


@names
def test_argument_dropped_after_the_call_stays_alive_for_the_kernel(name):
    kind, ours = KINDS[name], dlbridge.cuda.Stream()
    with kind.work.on(kind.work.new()):
        out = dlbridge.zeros(16, "uint8", device="cuda")
        with dlbridge.cuda.stream(ours):
            x = kind().fill(7)
            ops.copy(x, out=out)
            del x
            gc.collect()
        assert set(double.peek(out.data_ptr, 16)) != {7}
    assert out.tolist() == [7] * 16


@names
def test_failing_kernel_with_pending_work_releases_after_it(name):
    kind, ours = KINDS[name], dlbridge.cuda.Stream()
    with kind.work.on(kind.work.new()):
        x, y = kind().fill(7), target(kind)
        with dlbridge.cuda.stream(ours), refused(RuntimeError, "gpu.fails", "it was to fail"):
            ops.fails(x, out=y)
        # The work goes on, and is waited for.
        del x, y
        gc.collect()


def test_op_runs_on_its_tensors_gpu():
    stream = driver.stream(1)
    with torch.Tensor.work.on(stream, 1):
        x = torch.Tensor(device=1).fill(7)
        y = ops.copy(x)
        assert (y.device_id, y.values()) == (1, [7] * 16)
    with refused(ValueError, "gpu.second", "cuda:0", "cuda:1"):
        ops.second(torch.Tensor(), torch.Tensor(device=1))


def test_op_accepts_managed_memory():
    x = dlbridge.full(16, 3, "uint8", device="cuda_managed")
    y = ops.copy(x)
    assert (y.device, y.tolist()) == ("cuda_managed:0", [3] * 16)


def test_jax_array_during_capture_is_refused():
    # It takes the number for "no order" for a stream.
    stream, x = dlbridge.cuda.Stream(), KINDS["jax"]().fill(1)
    y = dlbridge.zeros(16, "uint8", device="cuda")
    with dlbridge.cuda.stream(stream):
        ours = dlbridge.from_dlpack(x)
        driver.synchronize()
        with driver.Graph(stream.handle) as graph:
            with refused(dlbridge.CudaError, "JAX can't export a tensor while a graph is captured"):
                ops.copy(x, out=y)
            ops.copy(ours, out=y)
        graph.launch()
        stream.synchronize()
        assert y.tolist() == [1] * 16
    graph.destroy()


@pytest.mark.parametrize("name", [name for name in KINDS if name != "jax"])
def test_op_in_graph_is_captured_and_replayed(name):
    kind = KINDS[name]
    stream = kind.work.new() if name in KNOWN else dlbridge.cuda.Stream()
    working = kind.work.on if name in KNOWN else dlbridge.cuda.stream
    x, y = kind().fill(1), target(kind)
    driver.synchronize()
    with working(stream):
        ops.copy(x, out=y)  # From now on it is in the order of this stream.
        driver.synchronize()
        with driver.Graph(getattr(stream, "handle", handle_of(stream))) as graph:
            ops.copy(x, out=y)
        x.fill(2)
        driver.synchronize()
        assert set(double.peek(address(y), 16)) == {1}, "it was captured, and not done"
        for value in (2, 3):
            x.fill(value)
            driver.synchronize()
            graph.launch()
            driver.synchronize()
            assert set(double.peek(address(y), 16)) == {value}
    graph.destroy()


def test_allocation_during_capture_is_refused():
    stream = dlbridge.cuda.Stream()
    x = dlbridge.full(16, 1, "uint8", device="cuda")
    y = dlbridge.zeros(16, "uint8", device="cuda")
    with dlbridge.cuda.stream(stream):
        ops.copy(x, out=y)
        stream.synchronize()
        with driver.Graph(stream.handle) as graph:
            ops.copy(x, out=y)
            with refused(
                dlbridge.CudaError,
                '"y" can\'t be made',
                "no memory can be allocated while a graph is captured",
            ):
                ops.copy(x)
            with refused(dlbridge.CudaError, "while a graph is captured"):
                x.tolist()
            assert stream.is_capturing()
        ops.fill(x, byte=4)
        graph.launch()
        stream.synchronize()
        assert y.tolist() == [4] * 16
        graph.destroy()


def test_borrowed_argument_on_gpu_keeps_its_address():
    for name, kind in KINDS.items():
        x = kind(device=1)
        assert ext.address(x) == (x.address, "cuda:1"), name
        if name != "jax":
            assert ext.writable_address(x) == x.address
        tensor = dlbridge.from_dlpack(x)
        assert ext.address(tensor) == (x.address, "cuda:1")
    with refused(ValueError, "also in use"):
        ext.reading(x, lambda: ext.writable_address(x))


def test_written_argument_refuses_read_only_interface():
    x = KINDS["numba"]()
    x.read_only = True
    with refused(BufferError, "read-only"):
        ext.writable_address(x)
    assert ext.address(x)[0] == x.address


def test_current_stream_is_shared_with_other_extensions():
    stream = dlbridge.cuda.Stream()
    with dlbridge.cuda.stream(stream):
        assert ext.current_stream(0) == stream.handle
        assert ext.current_stream(1) == 0
    assert ext.current_stream(0) == 0


def test_cupy_result_in_jax_is_ordered():
    with cupy.ndarray.work.on(cupy.cuda.Stream()), jax.Array.work.on(driver.stream()):
        x = cupy.ndarray().fill(6)
        y = given("jax", dlbridge.from_dlpack(ops.copy(x)))
        assert y.values() == [6] * 16
