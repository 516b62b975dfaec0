"""Recording calls of ops."""

import asyncio
import contextvars
import sys
import threading
import time

import dlbridge
import dlbridge_testing
import pytest
from dlbridge import ops
from support import framework, refused
from test_threads import in_threads

np = framework("numpy")
if not hasattr(ops, "testing"):
    dlbridge_testing.publish_ops()


def test_time_of_a_call_is_without_the_wait_for_the_gil():
    x = np.ones((300, 300), "f4")
    before, is_done = sys.getswitchinterval(), threading.Event()

    def work():
        while not is_done.is_set():
            pass

    thread = threading.Thread(target=work)
    sys.setswitchinterval(3)
    try:
        thread.start()
        with dlbridge.record() as calls:
            ops.matmul(x, x)
    finally:
        is_done.set()
        sys.setswitchinterval(before)
        thread.join()
    assert calls[0].seconds < 2


def test_record_has_op_device_and_shapes():
    x, y = np.ones((2, 3), "f4"), np.ones((3, 1), "i8")
    with dlbridge.record() as calls:
        assert len(calls) == 0 and list(calls) == [] and repr(calls) == "<0 calls>"
        ops.add(x, 1)
        ops.matmul(y, np.ones((1, 4), "i8"), out=np.zeros((3, 4), "i8"))
        ops.axpy(2, x, x.copy())
        ops.add(x, x[0])
    first, second, third, fourth = calls
    assert isinstance(first, dlbridge.Call) and repr(first) == "<call of add (cpu, T=float32)>"
    assert (calls[0].bytes, calls[-1].bytes) == (first.bytes, fourth.bytes)
    assert [call.op for call in calls[1:3]] == ["matmul", "axpy"]
    assert (first.op, first.kernel) == ("add", "add (cpu, T=float32)")
    # A number that stands for a tensor is broadcast, and its elements are counted.
    assert (
        first.shapes == [[2, 3]] * 3 and first.dtypes == ["float32"] * 3 and first.bytes == 3 * 24
    )
    assert second.shapes == [[3, 1], [1, 4], [3, 4]] and second.dtypes == ["int64"] * 3
    assert second.bytes == 8 * (3 + 4 + 12) and second.op == "matmul" and "T=int64" in second.kernel
    assert (
        third.op == "axpy" and third.shapes == [[], [2, 3], [2, 3]] and third.bytes == 4 + 24 + 24
    )
    assert fourth.shapes == [[2, 3]] * 3
    assert fourth.addresses[:2] == [x.ctypes.data] * 2 and len(first.addresses) == 3
    assert not any(call.failed for call in calls) and all(0 <= call.seconds < 1 for call in calls)
    ops.add(x, 1)
    assert len(calls) == 4 and repr(calls) == "<4 calls>"


def test_record_has_the_kernels_time():
    a = np.ones((200, 200))
    with dlbridge.record() as calls:
        before = time.perf_counter()
        ops.matmul(a, a)
        took = time.perf_counter() - before
        ops.sum(a[:1, :1])
    large, small = calls
    assert small.seconds < large.seconds <= took and large.seconds > 0.0002


def test_failed_calls_are_recorded():
    x = np.ones(3, "f4")
    with dlbridge.record() as calls:
        with refused(RuntimeError, "3 are too many"):
            ops.testing.fails(x)
        with pytest.raises(BaseException, match="-1 is negative"):
            ops.testing.panics(-x)
        for wrong in (
            lambda: ops.add(x),
            lambda: ops.add(x, x > 0),
            lambda: ops.sum(x, axis=3),
            lambda: ops.add(x, "x"),
        ):
            with pytest.raises((TypeError, ValueError, IndexError)):
                wrong()
    # Calls that no kernel was called for aren't there.
    gave_up, panicked = calls
    assert gave_up.failed and gave_up.op == "testing.fails" and gave_up.shapes == [[3]] * 2
    assert panicked.failed and panicked.op == "testing.panics"
    assert [line.endswith("failed") for line in str(calls).splitlines()[2:]] == [True] * 2


def test_recorder_stops_after_an_exception():
    x = np.ones(3, "f4")
    with refused(ZeroDivisionError, "1"), dlbridge.record() as calls:
        ops.add(x, x)
        raise ZeroDivisionError("1")
    ops.add(x, x)
    assert len(calls) == 1


def test_nested_recorders_record_their_calls():
    x = np.ones(3, "f4")
    with dlbridge.record() as outer:
        ops.add(x, 1)
        with dlbridge.record() as inner:
            ops.sum(x)
        ops.add(x, 2)
    assert [call.op for call in outer] == ["add", "sum", "add"] and [call.op for call in inner] == [
        "sum"
    ]
    first, second = dlbridge.record(), dlbridge.record()
    one, two = first.__enter__(), second.__enter__()
    ops.add(x, x)
    first.__exit__(None, None, None)
    ops.sum(x)
    second.__exit__(None, None, None)
    assert ([call.op for call in one], [call.op for call in two]) == (["add"], ["add", "sum"])


def test_one_object_records_in_itself_and_again():
    x, record = np.ones(3, "f4"), dlbridge.record()
    with record as outer:
        ops.add(x, 1)
        with record as inner:
            ops.sum(x)
        ops.multiply(x, 2)
    with record as after:
        ops.exp(x)
    found = [[call.op for call in calls] for calls in (outer, inner, after)]
    assert found == [["add", "sum", "multiply"], ["sum"], ["exp"]]


def test_recorder_records_calls_of_every_thread():
    x, large = np.ones(3, "f4"), np.ones((64, 64), "f4")

    def body(i):
        for _ in range(100):
            ops.add(x, i)
            ops.matmul(large, large)

    with dlbridge.record() as calls:
        in_threads(body, 6)
    names = [call.op for call in calls]
    assert names.count("add") == names.count("matmul") == 600 and len(calls) == 1200


def test_iteration_over_many_calls_is_linear():
    x = np.ones(3, "f4")
    with dlbridge.record() as calls:
        for _ in range(20_000):
            ops.add(x, x)
    begin = time.perf_counter()
    assert sum(call.bytes for call in calls) == 20_000 * 36 and len(calls) == 20_000
    assert time.perf_counter() - begin < 5  # It was minutes, when each look copied all.


def test_record_prints_as_a_table():
    x = np.ones((2, 3), "f4")
    with dlbridge.record() as calls:
        ops.max(x)
        ops.add(x, x)
    lines = str(calls).splitlines()
    assert lines[0].split() == ["op", "kernel", "shapes", "bytes", "time"] and set(lines[1]) == {
        "-",
        " ",
    }
    assert lines[2].startswith("max  max (cpu, T=float32)  2x3 ()       28     ") and lines[
        2
    ].endswith(" us")
    assert (
        lines[3].startswith("add  add (cpu, T=float32)  2x3 2x3 2x3  72     ") and len(lines) == 4
    )
    with dlbridge.record() as none:
        pass
    assert str(none).splitlines()[0].split() == ["op", "kernel", "shapes", "bytes", "time"]


def test_blocks_of_one_record_in_two_threads_are_their_own():
    record, first_is_in, second_is_in = dlbridge.record(), threading.Event(), threading.Event()
    x, numbers = np.ones(3, "f4"), {}

    def first():
        with record as calls:
            first_is_in.set()
            assert second_is_in.wait(120)
        ops.add(x, x)
        numbers["first"] = len(calls)

    thread = threading.Thread(target=first)
    thread.start()
    assert first_is_in.wait(120)
    with record as calls:
        second_is_in.set()
        thread.join()
        ops.add(x, x)
    ops.add(x, x)
    assert numbers == {"first": 0} and len(calls) == 2


def test_blocks_of_one_record_in_two_tasks_are_their_own():
    record, x = dlbridge.record(), np.ones(3, "f4")

    async def first(is_in, may_end):
        with record as calls:
            is_in.set()
            await may_end.wait()
        ops.add(x, x)
        return len(calls)

    async def both():
        is_in, may_end = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(first(is_in, may_end))
        await is_in.wait()
        with record as calls:
            may_end.set()
            assert await task == 0
            ops.add(x, x)
        ops.add(x, x)
        return len(calls)

    assert asyncio.run(both()) == 2


def test_block_that_another_context_ends_is_ended():
    record, x = dlbridge.record(), np.ones(3, "f4")

    def generator():
        with record as calls:
            yield calls

    running = generator()
    calls = contextvars.Context().run(next, running)
    running.close()
    ops.add(x, x)
    assert len(calls) == 0


def test_record_that_was_not_entered_cannot_be_left():
    record = dlbridge.record()
    with pytest.raises(RuntimeError, match="isn't running; enter it before"):
        record.__exit__(None, None, None)
    with record:
        pass
    with pytest.raises(RuntimeError, match="isn't running"):
        record.__exit__(None, None, None)


def test_known_calls_are_not_read_again():
    with dlbridge.record() as calls:
        for _ in range(3):
            ops.add(1.0, np.ones(3))
        first = calls[0]
        seen = iter(calls)
        ops.add(1.0, np.ones(4))
        assert calls[0] is first and len(list(seen)) == 3 and calls[-1].shapes[-1] == [4]


def test_recorder_started_twice_records_each_call_once():
    recorder = dlbridge._core._Recorder()
    recorder.start()
    recorder.start()
    ops.sum(np.ones(3))
    recorder.stop()
    recorder.stop()
    ops.sum(np.ones(3))
    assert len(recorder) == len(recorder.rows(0)) == 1
