"""Tests of releases on threads without the GIL: soon, and without waiting for its holder."""

import gc
import sys
import time
import weakref

import dlbridge_testing as ext
import pytest
from support import framework, in_new_process

np = framework("numpy")

START = """
import dlbridge_testing as ext
import gc, os, sys, threading, time, weakref
import numpy as np
from made import Made

class Watched(np.ndarray): ...

def until(function, seconds=30):
    end = time.monotonic() + seconds
    while not function():
        assert time.monotonic() < end, "it isn't released"
        time.sleep(0.001)
"""
THINGS = {
    "array": "np.ones(3, 'f4').view(Watched)",
    "buffer": "memoryview(np.ones(3, 'f4').view(Watched))",
    "capsule": "np.ones(3, 'f4').view(Watched).__dlpack__()",
}


@pytest.mark.parametrize("thing", THINGS)
def test_release_under_a_lock_of_the_gil_holder_does_not_deadlock(thing):
    code = (
        START
        + f"""
made = Made()
ext.entrust({THINGS[thing]})
ext.entrust(made.capsule())
# The lock's holder waits for the GIL's, but not for ever.
assert ext.release_under_a_lock() < 10_000
until(lambda: made.deleted == 1)
print("released")
"""
    )
    assert in_new_process(code, timeout=60) == "released\n"


def test_release_by_many_threads_does_not_wait_for_the_gil():
    code = (
        START
        + """
alive = []
for _ in range(500):
    array = np.ones(3, "f4").view(Watched)
    alive.append(weakref.ref(array))
    ext.entrust(array)
    del array
# None of them waits for the GIL, which this thread has.
assert ext.release_on_many_threads(8) < 5_000
until(lambda: not any(ref() is not None for ref in alive))
print("released")
"""
    )
    assert in_new_process(code, timeout=60) == "released\n"


def test_memory_is_released_while_the_main_thread_sleeps():
    code = (
        START
        + """
array = np.ones(3, "f4").view(Watched)
alive, key = weakref.ref(array), ext.keep(array)
del array
seen = []
def worker():
    time.sleep(0.2)
    # By now the main thread waits for this one, and runs no Python. This thread gives the GIL up,
    # and releases.
    ext.release_detached(key)
    until(lambda: alive() is None)
    seen.append(alive() is None)
thread = threading.Thread(target=worker)
thread.start()
thread.join()
assert seen == [True]
print("released")
"""
    )
    assert in_new_process(code, timeout=60) == "released\n"


def test_release_keeps_a_raised_exception():
    class Watched(np.ndarray): ...

    def fail():
        array = np.ones(3, "f4").view(Watched)
        key = ext.keep(array)
        del array
        ext.release_detached(key)
        raise ZeroDivisionError("this one")

    for _ in range(100):
        with pytest.raises(ZeroDivisionError, match="this one"):
            fail()


def test_del_of_a_torch_tensor_releases_before_the_next_statement():
    framework("torch")

    class Watched(np.ndarray): ...

    for _ in range(100):
        array = np.ones(3, "f4").view(Watched)
        alive = weakref.ref(array)
        tensor = ext.to(array, "torch")
        del array
        assert alive() is not None
        is_alive = alive.__call__
        del tensor
        assert is_alive() is None


@pytest.mark.parametrize("release", [ext.release_detached, ext.release_on_thread])
def test_memory_is_released_before_the_call_returns(release):
    class Watched(np.ndarray): ...

    for _ in range(100):
        array = np.ones(3, "f4").view(Watched)
        alive = weakref.ref(array)
        key = ext.keep(array)
        del array
        assert alive() is not None
        assert release(key) and alive() is None


def test_references_do_not_grow():
    shared = np.ones(1000, "f4")
    gc.collect()
    before = sys.getrefcount(shared)
    for _ in range(1000):
        ext.release_on_thread(ext.keep(shared))
    end = time.monotonic() + 30
    while sys.getrefcount(shared) != before:
        assert time.monotonic() < end, sys.getrefcount(shared)
        time.sleep(0.001)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_forked_child_releases_memory():
    code = (
        START
        + """
def once():
    array = np.ones(3, "f4").view(Watched)
    alive = weakref.ref(array)
    key = ext.keep(array)
    del array
    assert ext.release_on_thread(key)
    until(lambda: alive() is None)
once()
# The thread that releases is there, and not in the child.
child = os.fork()
if child == 0:
    status = 1
    try:
        once()
        status = 0
    finally:
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
once()
print("both")
"""
    )
    assert in_new_process(code, timeout=60, PYTHONWARNINGS="ignore::DeprecationWarning") == "both\n"


def test_release_thread_without_work_ends():
    code = (
        START
        + """
def name(task):
    try:
        return open(f"/proc/self/task/{task}/comm").read()
    except OSError:
        return ""  # It has just ended.
def threads():
    return sum(name(task).startswith("dlbridge-releas") for task in os.listdir("/proc/self/task"))
ext.release_on_thread(ext.keep(np.ones(3, "f4")))
assert threads() <= 1
until(lambda: threads() == 0)
ext.release_on_thread(ext.keep(np.ones(3, "f4")))
print("done")
"""
    )
    if not sys.platform.startswith("linux"):
        pytest.skip("threads are counted in /proc")
    assert in_new_process(code, timeout=60) == "done\n"
