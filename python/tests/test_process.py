"""Tests of process exit with live tensors, and of what child processes inherit."""

import os

import pytest
from support import framework, in_fork, in_new_process

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

ALIVE = {
    "our object": "ext.from_list([1, 2], [2])",
    "a counted one": "ext.counted_mut(4)",
    "ours, of numpy": "ext.identity(np.ones(3, 'f4'))",
    "ours, of torch": "ext.identity(torch.ones(3))",
    "ours, of jax": "ext.identity(jax.numpy.ones(3))",
    "ours, of a buffer": "ext.identity(bytearray(4))",
    "ours, of a class": "ext.identity(Forwarding(np.ones(3, 'f4')))",
    "a capsule": "ext.counted_mut(4).__dlpack__()",
    "a versioned capsule": "ext.identity(np.ones(3, 'f4')).__dlpack__(max_version=(1, 0))",
    "numpy's, of ours": "ext.to(ext.counted_mut(4), 'numpy')",
    "torch's, of ours": "ext.to(ext.counted_mut(4), 'torch')",
    "jax's, of ours": "ext.to(ext.counted_mut(4), 'jax')",
    "torch's, of ours, of numpy": "ext.to(np.ones(3, 'f4'), 'torch')",
}
KEEPERS = {
    "a module": "sys.kept = getattr(sys, 'kept', []) + [{x}]",
    "a cycle": "kept = [{x}]; kept.append(kept)",
    "a static of Rust's": "ext.keep({x})",
    "a thread's last moment": "ext.keep_until_exit({x})",
}
START = """
import sys, threading, time
import dlbridge_testing as ext
import numpy as np
class Forwarding:
    def __init__(self, inner):
        self.inner = inner
    def __dlpack__(self, **keywords):
        return self.inner.__dlpack__(**keywords)
"""


@pytest.mark.parametrize(
    "name, keepers",
    [("numpy", [keeper]) for keeper in KEEPERS]
    + [("torch", list(KEEPERS)), ("jax", list(KEEPERS))],
)
def test_exit_with_live_tensors_succeeds(name, keepers):
    framework(name)
    frameworks = {"torch", "jax"}
    wanted = [x for x in ALIVE.values() if not any(other in x for other in frameworks - {name})]
    assert len(wanted) >= 8
    lines = [START, f"import {name}"]
    lines += [KEEPERS[keeper].format(x=x) for keeper in keepers for x in wanted]
    # Nothing else is written, and the status is 0: what can't be released any more is left to the
    # system.
    said = "released at exit\n" if "a thread's last moment" in keepers else ""
    assert in_new_process("\n".join(lines)) == said


@needs_fork
def test_fork_has_the_imports_alone_and_ends_like_a_process():
    code = """
        import atexit, os, sys
        atexit.register(print, "exit")
        print("numpy" in sys.modules, "dlbridge_testing" in sys.modules, os.environ["VARIABLE"])
        {end}
    """
    for value, end, status in [
        ("1", "raise SystemExit(3)", 3),
        ("2", "sys.stdout.flush(); os.abort()", -6),
        ("3", "import time; sys.stdout.flush(); time.sleep(60)", -9),
        ("4", "", 0),
    ]:
        said = in_fork("numpy", code.format(end=end), status, timeout=5, VARIABLE=value)
        assert said == f"True False {value}\n" + "exit\n" * (status >= 0)


def test_exit_by_an_error_keeps_its_status():
    code = START + "sys.kept = ext.counted(4)\next.keep(np.ones(3))\nraise SystemExit(3)"
    assert in_new_process(code, status=3) == ""


def test_exit_with_deleter_that_runs_python_succeeds():
    # A producer whose memory goes with an object that has `__del__`, kept by Rust code until after
    # Python.
    code = (
        START
        + """
class Loud(np.ndarray):
    def __del__(self):
        print("deleted")
x = np.ones(3, "f4").view(Loud)
ext.{keep}(x)
del x
"""
    )
    # There is no Python any more to run it.
    assert in_new_process(code.replace("{keep}", "keep_until_exit")) == "released at exit\n"
    assert in_new_process(code.replace("{keep}", "keep")) == ""


def test_thread_exit_drops_its_tensors():
    code = (
        START
        + """
def body():
    ext.keep_until_exit(np.ones(3, "f4"))
    ext.keep_until_exit(ext.counted(4))
before = ext.drops()
threads = [threading.Thread(target=body) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
# Python's threads are done before the system's are.
end = time.monotonic() + 30
while ext.drops() < before + 4 and time.monotonic() < end:
    time.sleep(0.001)
assert ext.drops() == before + 4 and ext.alive() == 0
"""
    )
    assert in_new_process(code) == "released at exit\n" * 4


@pytest.mark.parametrize("delay", [0, 1, 2, 5, 20])
def test_release_on_foreign_thread_during_exit_succeeds(delay):
    # Each of them wants the GIL for the array. From some moment on it gets it never again.
    code = (
        START
        + """
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.02)
slow = Slow()
for _ in range(10):
    ext.entrust(np.ones(3, "f4")); ext.entrust(bytearray(4)); ext.entrust(ext.counted(4))
    ext.release_later(%d)
"""
        % delay
    )
    assert in_new_process(code) == ""


@pytest.mark.parametrize(
    "call", ["write_until_let_go(x, 1)", "read_until_let_go(x)", "call_while_detached(x, hold)"]
)
@pytest.mark.parametrize("goes_on", [False, True])
def test_exit_with_daemon_thread_in_a_detached_call_succeeds(call, goes_on):
    code = (
        START
        + f"""
reached = threading.Event()
def hold():
    reached.set()
    time.sleep(1000)
x = np.ones(3, "f4")
thread = threading.Thread(target=lambda: ext.{call}, daemon=True)
thread.start()
while not ext.waiting() and not reached.is_set():
    time.sleep(0.001)
class Last:
    # Runs while the interpreter ends, when no other thread gets the GIL any more.
    def __del__(self, let_go=ext.let_go, sleep=time.sleep):
        let_go()
        sleep(0.05)
if {goes_on}:
    sys.last_of_all = Last()
print("leaving")
"""
    )
    assert in_new_process(code) == "leaving\n"


FORK = """
import os, signal

def in_child(function):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # One that hangs ends, with this signal as its status.
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@needs_fork
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_fork_with_live_tensors_leaves_child_usable(name):
    framework(name)
    code = (
        START
        + FORK
        + f"""
import {name} as framework
x = framework.ones(3, dtype=framework.float32)
ours, counted, kept = ext.identity(x), ext.counted_mut(4), ext.keep(x)
theirs = ext.to(counted, "{name}")
ext.read_f32(x)
def child():
    global ours, counted, theirs, x
    assert ext.own_f32(ours) == [1, 1, 1] and ext.read_f32(theirs) == [0, 1, 2, 3]
    x[:] = 5
    assert ext.own_f32(ours) == [5, 5, 5] == ext.own_f32(ext.take_out(kept))
    ext.write_f32(x, 5)
    y = framework.zeros(3, dtype=framework.float32)
    ext.double_detached(x, y)
    assert y.tolist() == [10, 10, 10] and type(ext.like(x, ours)) is type(x)
    before = ext.drops()
    del counted, theirs
    assert ext.drops() == before + 1
    del ours, x
assert in_child(child) == 0
# The child's copy of the memory is its own, and so are its counts.
assert ext.read_f32(x) == [1, 1, 1] and ext.alive() == 1 and ext.kept() == 1
del counted, theirs
assert ext.alive() == 0 and ext.release(kept)
print("both")
"""
    )
    assert in_new_process(code, PYTHONWARNINGS="ignore::DeprecationWarning") == "both\n"


@needs_fork
def test_multiprocessing_by_fork_shares_tensors():
    code = (
        START
        + """
import multiprocessing
x = np.arange(4, dtype="f4")
ours = ext.identity(x)
def work(factor):
    y = np.empty(4, "f4")
    ext.double_detached(ours, y)
    return (y * factor).tolist(), ext.own_f32(ours)
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for factor, (doubled, seen) in enumerate(pool.map(work, range(20))):
            assert doubled == [0, 2 * factor, 4 * factor, 6 * factor] and seen == [0, 1, 2, 3]
    print("done")
"""
    )
    assert in_new_process(code, PYTHONWARNINGS="ignore::DeprecationWarning") == "done\n"


@needs_fork
def test_fork_during_a_detached_call_leaves_child_usable():
    code = (
        START
        + FORK
        + """
x, y, other = np.ones(3, "f4"), np.ones(3, "f4"), np.ones(3, "f4")
threads = [threading.Thread(target=ext.write_until_let_go, args=(x, 7)),
           threading.Thread(target=ext.read_until_let_go, args=(y,))]
for thread in threads:
    thread.start()
while ext.waiting() != 2:
    time.sleep(0.001)
def child():
    # There are no such threads in the child, and what they used can be used by others.
    assert ext.read_f32(other) == ext.read_f32(x) == [1, 1, 1]
    ext.write_f32(x, 3), ext.write_f32(y, 4), ext.write_f32(other, 5)
    # Threads that start in the child have entries of their own, and so does a call that forks
    # again.
    thread = threading.Thread(target=ext.reading, args=(x, lambda: (started.set(), let_go.wait())))
    started, let_go = threading.Event(), threading.Event()
    thread.start()
    started.wait()
    refuses(ext.write_f32, x)
    let_go.set()
    thread.join()
    ext.write_f32(x, 6)
    assert ext.read_f32(x) == [6, 6, 6] and ext.read_f32(y) == [4, 4, 4]
def refuses(write, x):
    try:
        write(x, 1)
    except ValueError as error:
        assert "in use" in str(error)
    else:
        raise AssertionError("it was written")
assert in_child(child) == 0
refuses(ext.write_f32, x)
for thread in threads:
    ext.let_go()
for thread in threads:
    thread.join()
assert ext.read_f32(x) == [7, 7, 7]
ext.write_f32(y, 3)
# What the thread itself uses that forks is in use in the child, too.
assert ext.reading(x, lambda: in_child(lambda: refuses(ext.write_f32, x))) == 0
assert ext.writing(x, lambda: in_child(lambda: refuses(ext.write_f32, x))) == 0
def fork_in_thread():
    outcome.append(ext.reading(x, lambda: in_child(lambda: refuses(ext.write_f32, x))))
outcome = []
thread = threading.Thread(target=fork_in_thread)
thread.start()
thread.join()
assert outcome == [0]
print("both")
"""
    )
    assert in_new_process(code, PYTHONWARNINGS="ignore::DeprecationWarning") == "both\n"


@needs_fork
def test_fork_while_threads_keep_and_drop_leaves_child_usable():
    code = (
        START
        + FORK
        + """
x, done = np.ones(3, "f4"), False
def body():
    mine = np.ones(3, "f4")
    while not done:
        ext.release_on_thread(ext.keep(mine))
threads = [threading.Thread(target=body) for _ in range(4)]
for thread in threads:
    thread.start()
def child():
    key = ext.keep(x)
    ext.release(key)
    ext.write_f32(x, 3)
try:
    for _ in range(60):
        assert in_child(child) == 0
finally:
    done = True
for thread in threads:
    thread.join()
print("both")
"""
    )
    assert in_new_process(code, PYTHONWARNINGS="ignore::DeprecationWarning") == "both\n"


@needs_fork
def test_fork_while_a_thread_without_the_gil_drops_leaves_child_usable():
    """Where no lock is held over forks, about every hundredth child hangs."""
    code = (
        START
        + FORK
        + """
x, mine = np.ones(3, "f4"), np.ones(3, "f4")
def child():
    ext.release(ext.keep(x))
    ext.write_f32(x, 3)
for turn in range(300):
    for _ in range(1000):
        ext.entrust(mine)
    ext.release_later(0)
    time.sleep(turn % 6 * 1e-4)  # Until the thread is at it.
    assert in_child(child) == 0
print("both")
"""
    )
    assert in_new_process(code, PYTHONWARNINGS="ignore::DeprecationWarning") == "both\n"
