"""Streams from Python: whose they may be, which one is current where, and what producers and
consumers are told.
"""

import ctypes
import threading

import dlbridge
import double
import double_driver as driver
import pytest
from double_frameworks import KINDS, cupy, torch
from support import refused

pytestmark = pytest.mark.usefixtures("settled")
current = dlbridge.cuda.current_stream


class Protocol:
    """A foreign stream."""

    def __init__(self, handle):
        self.handle_of_it = handle

    def __cuda_stream__(self):
        return (0, self.handle_of_it)


class OfNumba:
    def __init__(self, handle):
        self.handle = ctypes.c_void_p(handle)


def kinds():
    """Streams of each kind, with their handles."""
    ours, theirs, of_cupy, handle = (
        dlbridge.cuda.Stream(),
        torch.cuda.Stream(),
        cupy.cuda.Stream(),
        driver.stream(),
    )
    return {
        "ours": (ours, ours.handle),
        "torch": (theirs, theirs.cuda_stream),
        "cupy": (of_cupy, of_cupy.ptr),
        "cupy's default": (cupy.cuda.Stream(ptr=0), 0),
        "numba": (OfNumba(handle), handle),
        "numba's default": (OfNumba(0), 0),
        "the protocol": (Protocol(handle), handle),
        "a handle": (handle, handle),
        "the default, by number": (driver.DEFAULT, 0),
        "the default": (0, 0),
        "the thread's own": (driver.PER_THREAD, driver.PER_THREAD),
    }


def fills():
    """On which streams memory was filled."""
    calls = (line for line in double.journal() if line.startswith("cuMemsetD8Async("))
    return [line.split("stream: ")[1].split(")")[0] for line in calls]


@pytest.mark.parametrize("name", kinds())
def test_every_kind_of_stream_becomes_current(name):
    stream, handle = kinds()[name]
    assert current().handle == 0
    with dlbridge.cuda.stream(stream) as entered:
        assert (entered.handle, current().handle) == (handle, handle)
        assert entered == current()
        double.forget_journal()
        tensor = dlbridge.zeros(16, "uint8", device="cuda")
        ours = fills()
    assert current().handle == 0
    double.forget_journal()
    driver.fill(tensor.data_ptr, 0, 16, handle)
    assert ours == fills() and len(ours) == 1


def test_streams_of_two_gpus_are_current_at_once():
    first, second = dlbridge.cuda.Stream(), dlbridge.cuda.Stream(device="cuda:1")
    with dlbridge.cuda.stream(first), dlbridge.cuda.stream(second):
        assert (current(), current("cuda:0"), current(1)) == (first, first, second)
        with dlbridge.cuda.stream(dlbridge.cuda.Stream()) as inner:
            assert (current(), current(1)) == (inner, second)
        assert current() == first
    assert current(1).handle == 0


def test_exception_restores_the_previous_stream():
    with pytest.raises(KeyError), dlbridge.cuda.stream(dlbridge.cuda.Stream()):
        raise KeyError
    assert current().handle == 0


def test_stream_entered_twice_is_restored():
    stream = dlbridge.cuda.Stream()
    with stream, stream:
        assert current() == stream
    assert current().handle == 0


def test_object_that_is_not_a_stream_is_refused():
    for wrong in ("a text", 1.5, True, object(), [1]):
        with refused(TypeError, "expected a CUDA stream, got"):
            dlbridge.cuda.stream(wrong)
    with refused(BufferError, "there is no device cuda:7"):
        dlbridge.cuda.stream(5, device="cuda:7")
    with refused(BufferError, "the stream is one of cuda:0, not cuda:1"):
        dlbridge.cuda.stream(torch.cuda.Stream(), device="cuda:1")
    with refused(BufferError, "the stream is one of cuda:0, not cuda:1"):
        dlbridge.cuda.stream(dlbridge.cuda.Stream(), device="cuda:1")
    assert dlbridge.cuda.stream(torch.cuda.Stream(1)).device == "cuda:1"


def test_streams_compare_and_hash_by_handle():
    stream = dlbridge.cuda.Stream()
    same = dlbridge.cuda.Stream(stream.handle)
    assert stream == same and hash(stream) == hash(same) and stream != current() and stream != 5
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert repr(stream) == f"Stream({stream.handle:#x}, device='cuda:0')"


def test_stream_is_destroyed_with_its_last_handle():
    before = double.live("streams")
    stream = dlbridge.cuda.Stream()
    with dlbridge.cuda.stream(stream):
        tensor = dlbridge.zeros(16, "uint8", device="cuda")
    del stream
    assert double.live("streams") == before + 1, "the tensor is to be released on it"
    del tensor
    assert double.live("streams") == before


def test_wait_orders_streams():
    one, other = dlbridge.cuda.Stream(), dlbridge.cuda.Stream()
    address = driver.allocate(16, one.handle)
    driver.fill(address, 7, 16, one.handle)
    assert not one.is_done() and other.is_done()
    other.wait(one)
    copy = driver.allocate(16, other.handle)
    driver.copy(copy, address, 16, other.handle)
    assert not other.is_done()
    other.synchronize()
    assert one.is_done() and set(double.peek(copy, 16)) == {7}
    one.wait(other)
    driver.free(address, one.handle)
    driver.free(copy, other.handle)


@pytest.mark.parametrize("name", ["cupy", "jax"])
def test_producer_gets_the_current_stream(name):
    kind, ours = KINDS[name], dlbridge.cuda.Stream()
    # CuPy reports its stream, so no wait is needed. JAX's is unknown.
    for number, stream in ((1, 0), (ours.handle, ours), (2, 2)):
        x = kind()
        with dlbridge.cuda.stream(stream):
            dlbridge.from_dlpack(x)
            assert x.asked == [number if name == "jax" else 1]
            with kind.work.on(kind.work.new()):
                theirs = kind.work.handle()
                dlbridge.from_dlpack(x)
            assert x.asked[1] == (number if name == "jax" else theirs)
        assert None not in x.asked and 0 not in x.asked


def test_exchange_table_reports_the_stream():
    for name in ("torch", "strange"):
        x = KINDS[name](device=1)
        KINDS[name].work.asked.clear()
        dlbridge.from_dlpack(x)
        assert set(KINDS[name].work.asked) == {1}


def waits():
    return double.calls("cuStreamWaitEvent")


def test_consumer_stream_is_ordered():
    stream, tensor = dlbridge.cuda.Stream(), dlbridge.zeros(16, "uint8", device="cuda")
    before = waits()
    for none in (1, None, -1):
        tensor.__dlpack__(stream=none)
    assert waits() == before, "it is ready there, or the consumer didn't request an order"
    tensor.__dlpack__(stream=stream.handle)
    assert waits() == before + 1
    tensor.__dlpack__(stream=-1)
    assert waits() == before + 1
    copy = driver.allocate(16, stream.handle)
    driver.copy(copy, tensor.data_ptr, 16, stream.handle)
    stream.synchronize()
    assert set(double.peek(copy, 16)) == {0}
    driver.free(copy, stream.handle)


def test_capsule_without_stream_is_ready_on_the_default_stream():
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
        tensor = dlbridge.zeros(16, "uint8", device="cuda")
    before = waits()
    capsule = tensor.to_dlpack()
    assert waits() == before + 1
    copy = driver.allocate(16, 0)
    driver.copy(copy, tensor.data_ptr, 16, 0)
    driver.synchronize()
    assert set(double.peek(copy, 16)) == {0}
    driver.free(copy, 0)
    del capsule


def test_invalid_consumer_stream_is_refused():
    tensor = dlbridge.zeros(16, "uint8", device="cuda")
    with refused(ValueError, "stream 0 is ambiguous", "1 for the default stream"):
        tensor.__dlpack__(stream=0)
    for wrong in (-2, 1 << 70):
        with refused(ValueError, f"expected a CUDA stream, got {wrong}"):
            tensor.__dlpack__(stream=wrong)
    for wrong in (True, "1", 1.0):
        with refused(TypeError, "stream"):
            tensor.__dlpack__(stream=wrong)


def test_per_thread_stream_is_not_current_on_another_thread():
    with dlbridge.cuda.stream(driver.PER_THREAD):
        tensor = dlbridge.zeros(16, "uint8", device="cuda")

    def read():
        found.append(current().handle)
        found.append(tensor.tolist())

    found = []
    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert found == [0, [0] * 16]


def test_current_stream_is_per_thread():
    streams = [dlbridge.cuda.Stream() for _ in range(8)]
    begin, wrong = threading.Barrier(len(streams)), []

    def work(at):
        begin.wait()
        for turn in range(50):
            with dlbridge.cuda.stream(streams[at]):
                tensor = dlbridge.full(16, at, "uint8", device="cuda")
                if current() != streams[at] or tensor.copy().tolist() != [at] * 16:
                    wrong.append((at, turn))
            x = torch.Tensor()
            with dlbridge.cuda.stream(streams[at]):
                if dlbridge.from_dlpack(x).copy().size != 16:
                    wrong.append((at, turn))

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(streams))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_streams_are_left_in_any_order():
    first, second = dlbridge.cuda.Stream(), dlbridge.cuda.Stream()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert current() == second
    first.__exit__(None, None, None)
    assert current() == second, "it was left before"
    second.__exit__(None, None, None)
    assert current().handle == 0


def test_stream_of_a_thread_is_refused_on_others():
    own = dlbridge.cuda.Stream(driver.PER_THREAD)
    errors = []

    def use():
        try:
            own.synchronize()
        except dlbridge.CudaError as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    own.synchronize()
    assert [error.found for error in errors] == ["the default stream of another thread"]
