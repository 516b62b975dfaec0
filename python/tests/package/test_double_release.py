"""When memory on a GPU is given back: after all work that uses it, on whichever streams, and
whether they are still there or not."""

import gc
import threading

import dlbridge
import double
import double_driver as driver
import pytest
from double_frameworks import KINDS, cupy, given, handle_of, jax, torch
from double_tables import Strange

pytestmark = pytest.mark.usefixtures("settled")
names = pytest.mark.parametrize("name", KINDS)


def sink(count=16):
    """Where something is copied to, so that it can be seen afterwards."""
    address = driver.allocate(count)
    driver.synchronize()
    return address


def seen(address, count=16):
    """What came there once all is done."""
    driver.synchronize()
    values = list(double.peek(address, count))
    driver.free(address)
    return values


@names
def test_framework_memory_outlives_work_on_another_stream(name):
    kind = KINDS[name]
    with kind.work.on(kind.work.new()):
        x = kind().fill(7)
        tensor = dlbridge.from_dlpack(x)
        del x
        with dlbridge.cuda.stream(dlbridge.cuda.Stream()) as ours:
            copy = tensor.copy()
        del tensor
        gc.collect()
    assert set(double.peek(copy.data_ptr, 16)) == {0xA5}, "nothing waited for the copy"
    ours.synchronize()
    assert set(double.peek(copy.data_ptr, 16)) == {7}


def test_early_release_is_detected_by_the_double():
    """What the test above would find: the double tells of memory that is released before
    the work.
    """
    x = KINDS["torch"]().fill(7)
    ours, target = driver.stream(), sink()
    driver.wait(ours, 0)
    driver.copy(target, x.address, 16, ours)
    del x
    driver.synchronize()
    assert "release" in double.mistakes()
    double.forget_mistakes()
    driver.free(target)


@names
def test_exported_memory_outlives_work_of_the_framework(name):
    kind, target = KINDS[name], sink()
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()) as ours:
        tensor = dlbridge.full(16, 5, "uint8", device="cuda")
    stream = kind.work.new()
    with kind.work.on(stream):
        y = given(name, tensor)
        driver.copy(target, y.address, 16, handle_of(stream))
        if name in ("numba", "strange"):
            # They don't report the stream on which they work. They have the one wait on which they
            # were given it.
            driver.wait(ours.handle if name == "numba" else 0, stream)
        del tensor, y
        gc.collect()
    assert seen(target) == [5] * 16


def test_cupy_stream_dropped_before_the_tensor_is_kept():
    tensor, target = dlbridge.full(16, 5, "uint8", device="cuda"), sink()
    stream = cupy.cuda.Stream()
    before = double.live("streams")
    with cupy.ndarray.work.on(stream):
        y = given("cupy", tensor)
        driver.copy(target, y.address, 16, stream.ptr)
    del stream
    gc.collect()
    assert double.live("streams") == before, "the tensor is to be released on it, and keeps it"
    del y, tensor
    gc.collect()
    assert seen(target) == [5] * 16
    assert double.live("streams") == before - 1


@pytest.mark.parametrize("use", ["read", "copy", "give to torch", "interface", "again", "nothing"])
@pytest.mark.parametrize("name", ["jax", "strange", "one that torch was told of", "a handle"])
def test_tensor_of_destroyed_stream_stays_usable(name, use):
    target, stream = sink(), driver.stream()
    if name == "a handle":
        with dlbridge.cuda.stream(stream):
            tensor = dlbridge.full(16, 5, "uint8", device="cuda")
    elif name == "jax":
        tensor = dlbridge.full(16, 5, "uint8", device="cuda")
        with jax.Array.work.on(stream):
            given("jax", tensor)
    else:
        torch.cuda.external.add(stream)
        kind = Strange if name == "strange" else torch.Tensor
        memory = kind(16)
        driver.synchronize()
        with kind.work.on(stream):
            tensor = dlbridge.from_dlpack(memory.fill(5))
        del memory
    driver.copy(target, tensor.data_ptr, 16, stream)
    # Its work goes on.
    driver.destroy(stream)
    torch.cuda.external.discard(stream)
    if use == "read":
        assert tensor.tolist() == [5] * 16
    elif use == "copy":
        with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
            assert tensor.copy().tolist() == [5] * 16
    elif use == "give to torch":
        with KINDS["torch"].work.on(driver.stream()):
            assert given("torch", tensor).values() == [5] * 16
    elif use == "interface":
        assert tensor.__cuda_array_interface__["stream"] == driver.DEFAULT
        assert KINDS["numba"]().copy_from(tensor.data_ptr).values() == [5] * 16
    elif use == "again":
        again = dlbridge.from_dlpack(tensor)
        assert again.data_ptr == tensor.data_ptr
    del tensor
    gc.collect()
    assert seen(target) == [5] * 16


def test_each_write_of_framework_is_waited_for():
    kind, theirs = KINDS["torch"], driver.stream()
    with kind.work.on(theirs):
        x = kind().fill(1)
        tensor = dlbridge.from_dlpack(x)
        with dlbridge.cuda.stream(dlbridge.cuda.Stream()) as ours:
            for value in (1, 2, 3):
                x.fill(value)
                copy = tensor.copy()
                assert set(double.peek(copy.data_ptr, 16)) == {0xA5}, "nothing waited for it"
                ours.synchronize()
                assert set(double.peek(copy.data_ptr, 16)) == {value}
                # As the framework would, before it writes again.
                driver.wait(theirs, ours.handle)


def test_per_thread_streams_of_two_threads_differ():
    with dlbridge.cuda.stream(driver.PER_THREAD):
        tensor = dlbridge.full(16, 5, "uint8", device="cuda")

    def use():
        with dlbridge.cuda.stream(driver.PER_THREAD):
            found.append(tensor.copy().tolist())

    found = []
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert found == [[5] * 16]


@names
def test_last_handle_dropped_on_another_thread_releases_memory(name):
    x = KINDS[name]().fill(7)
    held = [dlbridge.from_dlpack(x)]
    threads = [threading.Thread(target=held.clear)]
    for thread in threads:
        thread.start()
        thread.join()
    dlbridge.cuda.synchronize()
    assert x.deleted == ([] if name == "numba" else [1])


def test_unconsumed_capsule_releases_its_tensor():
    for _ in range(3):
        dlbridge.zeros(16, "uint8", device="cuda").__dlpack__(stream=1)
    assert double.live("memory") == 0


def test_pinned_memory_is_kept_until_the_copy_ends():
    target = dlbridge.zeros(16, "uint8", device="cuda")
    stream = dlbridge.cuda.Stream()
    with dlbridge.cuda.stream(stream):
        there = dlbridge.full(16, 9, "uint8", device="cuda_host").to("cuda:0")
    gc.collect()
    assert double.live("pinned memory") == 1, "the copy is still to be made"
    stream.synchronize()
    assert there.tolist() == [9] * 16
    dlbridge.cuda.synchronize()
    assert double.live("pinned memory") == 0
    assert target.tolist() == [0] * 16
