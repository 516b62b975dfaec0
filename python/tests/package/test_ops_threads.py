"""Ops called by many threads, and what others do while one works without the GIL."""

import sys
import threading
import time

import pytest
from dlbridge import ops
from support import framework, in_new_process, refused
from test_threads import in_threads

np = framework("numpy")

SIZE = 300
THREADS = 8


@pytest.fixture(autouse=True)
def no_turns():
    """Threads run until they give way."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(100)
    yield
    sys.setswitchinterval(before)


def others_turns(function, meanwhile=lambda: None):
    """How often this thread came to run while another one was inside of a call."""
    turns, inside, done = 0, [], threading.Event()

    def body():
        try:
            for _ in range(5):
                before = turns
                function()
                inside.append(turns - before)
        finally:
            done.set()

    thread = threading.Thread(target=body)
    thread.start()
    while not done.is_set():
        turns += 1
        meanwhile()
        time.sleep(0)  # gives way
    thread.join()
    assert len(inside) == 5
    return sum(inside)


def test_large_op_releases_the_gil():
    a = np.ones((SIZE, SIZE))
    out = np.zeros((SIZE, SIZE))
    large = np.ones(1 << 22, "f4")
    for work in (
        lambda: ops.matmul(a, a),
        lambda: ops.matmul(a, a, out=out),
        lambda: ops.add(large, large),
        lambda: ops.sum(large),
        lambda: ops.axpy(1, large, large.copy()),
    ):
        assert others_turns(work) > 0
    assert (out == SIZE).all()


def test_small_op_keeps_the_gil():
    a, out = np.ones((8, 8)), np.zeros((8, 8))
    for work in (
        lambda: ops.add(a, a, out=out),
        lambda: ops.matmul(a, a, out=out),
        lambda: ops.sum(a),
    ):
        assert others_turns(work) == 0


def test_memory_written_by_another_call_is_refused():
    a, out, row = np.ones((SIZE, SIZE)), np.zeros((SIZE, SIZE)), np.zeros(SIZE)
    seen = []

    def meanwhile():
        for call in (
            lambda: ops.sum(out[:2]),
            lambda: ops.add(out[:1], 1),
            lambda: ops.add(row, 1, out=out[-1]),
            lambda: ops.axpy(0, row, a[0]),
        ):
            try:
                call()
            except ValueError as error:
                seen.append(str(error))

    assert others_turns(lambda: ops.matmul(a, a, out=out), meanwhile) > 0
    read = "memory that is to be read is being written by another argument, or another call; pass a copy"
    written = "memory that is to be written is also in use by another argument, or another call; pass a copy"
    assert set(seen) == {
        f'sum: argument "x": {read}',
        f'add: argument "a": {read}',
        f'add: argument "out": {written}',
        f'axpy: argument "y": {written}',
    }
    # When the calls are over, all of it can be used again.
    assert ops.add(a, a, out=out) is out and ops.axpy(1, a, out) is out and (out == 3).all()


def test_memory_is_locked_during_the_call():
    x = bytearray(b"\1" * (1 << 24))
    refusals = []

    def meanwhile():
        try:
            x.pop()
        except BufferError:
            refusals.append(x)
        else:
            x.append(1)

    assert others_turns(lambda: ops.sum(x), meanwhile) > 0
    assert refusals and len(x) == 1 << 24
    x.clear()


def test_calls_by_many_threads_equal_numpy():
    sys.setswitchinterval(1e-5)
    shared = np.arange(1000, dtype="f4")

    def body(i):
        own, matrix = np.full(1000, i, "f4"), np.full((40, 40), i, "i4")
        for turn in range(200):
            assert (ops.add(shared, own) == shared + i).all()
            assert ops.sum(own) == 1000 * i
            assert (ops.matmul(matrix, matrix) == 40 * i * i).all()
            assert ops.add(own, 0, out=own) is own
            # A new signature now and then.
            assert (
                ops.max(np.ones((1,) * (turn % 20 + 1), "u1"), axis=turn % (turn % 20 + 1)).dtype
                == "u1"
            )
            with refused(ValueError, "add: "):
                ops.add(shared, own[:1], out=own[::-1][:1])

    in_threads(body, THREADS)


FIRST_USE = """
    import sys, threading
    import dlbridge, numpy as np
    sys.setswitchinterval(1e-6)
    errors, gate = [], threading.Barrier(16)
    def body(i):
        try:
            x = np.ones(3, "f4")
            gate.wait()
            assert dlbridge.ops.add(x, x).tolist() == [2, 2, 2]
            assert dlbridge.ops.sum(x, axis=0) == 3 and len(dlbridge.kernels("sum")) == 2
            assert {kernel["op"] for kernel in dlbridge.kernels()} == set(dir(dlbridge.ops))
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=body, args=(i,)) for i in range(16)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not errors, errors
    print("done")
"""


def test_first_calls_by_many_threads_succeed():
    for _ in range(3):
        assert in_new_process(FIRST_USE) == "done\n"
