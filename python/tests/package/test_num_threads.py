"""The number of threads of a call: which setting counts, and that there are never more."""

import os
import platform

import dlbridge
import pytest
from dlbridge import ops
from support import framework, in_new_process, refused

np = framework("numpy")

# Enough for five threads.
SIZE = 1 << 18
START = f"""
import os, threading, time
import numpy as np, dlbridge
from dlbridge import ops
from pathlib import Path

x = np.arange({SIZE}, dtype="f4")
out = np.zeros_like(x)

def helpers():
    count = 0
    for task in Path("/proc/self/task").iterdir():
        try:
            count += (task / "comm").read_text().strip() == "dlbridge"
        except OSError:  # It has just ended.
            pass
    return count

def expect_helpers(number):
    # A thread that has just begun has no name yet.
    end = time.monotonic() + 30
    while helpers() != number and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.02)
    assert helpers() == number, (helpers(), number)

def check(**options):
    assert np.array_equal(ops.add(x, x, **options), x + x)
"""
linux = pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts tasks in /proc")


@pytest.fixture(autouse=True)
def default():
    yield
    dlbridge.set_num_threads(None)


def child(code, **variables):
    cleared = {"DLBRIDGE_NUM_THREADS": "", "OMP_NUM_THREADS": "", **variables}
    return in_new_process(START + code, **cleared)


@pytest.mark.parametrize("threads", [None, 1, 2, 5, 1024, np.int64(3)])
def test_result_is_the_same_with_any_number_of_threads(threads):
    x = np.arange(SIZE, dtype="f4")
    assert np.array_equal(ops.add(x, 1, threads=threads), x + 1)
    assert np.array_equal(ops.sum(x.reshape(512, -1), axis=1, threads=threads).shape, (512,))


def test_set_num_threads_is_read_back_and_reset():
    default = dlbridge.num_threads()
    dlbridge.set_num_threads(3)
    assert dlbridge.num_threads() == 3
    dlbridge.set_num_threads(None)
    assert dlbridge.num_threads() == default >= 1


@pytest.mark.parametrize("wrong", [0, -1, 1025, 1 << 70])
def test_number_out_of_range_is_refused(wrong):
    x = np.ones(3, "f4")
    for call, name in (
        (lambda: ops.add(x, x, threads=wrong), "add"),
        (lambda: dlbridge.set_num_threads(wrong), "set_num_threads"),
    ):
        with refused(ValueError, f"{name}: expected 1 to 1024 for threads, got {wrong}") as error:
            call()
        fields = error.value.kind, error.value.found, error.value.wanted, error.value.remedy
        assert fields == ("argument", str(wrong), "1 to 1024", None)
    assert dlbridge.num_threads() >= 1


@pytest.mark.parametrize("wrong", ["2", 2.0, True, (2,)])
def test_non_int_is_refused(wrong):
    x, kind = np.ones(3, "f4"), type(wrong).__name__
    for call, name in (
        (lambda: ops.add(x, x, threads=wrong), "add"),
        (lambda: dlbridge.set_num_threads(wrong), "set_num_threads"),
    ):
        with refused(TypeError, f"{name}: expected an int for threads, got {kind}") as error:
            call()
        assert (error.value.kind, error.value.found) == ("argument", kind)


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({"DLBRIDGE_NUM_THREADS": "3", "OMP_NUM_THREADS": "4"}, 3),
        ({"OMP_NUM_THREADS": "4"}, 4),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"DLBRIDGE_NUM_THREADS": "0", "OMP_NUM_THREADS": "4"}, 4),
        ({"DLBRIDGE_NUM_THREADS": "many", "OMP_NUM_THREADS": "-1"}, "affinity"),
        ({}, "affinity"),
        ({"DLBRIDGE_NUM_THREADS": "100000"}, 1024),
    ],
)
def test_first_setting_that_is_given_counts(variables, expected):
    child(
        f"""
usable = len(os.sched_getaffinity(0))
number = dlbridge.num_threads()
# A control group may allow fewer CPUs than the affinity.
assert 1 <= number <= usable if {expected!r} == "affinity" else number == {expected!r}, number
dlbridge.set_num_threads(7)
assert dlbridge.num_threads() == 7
dlbridge.set_num_threads(None)
assert dlbridge.num_threads() == number
""",
        **variables,
    )


@linux
def test_affinity_limits_the_default():
    child("""
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
assert dlbridge.num_threads() == 1
check()
expect_helpers(0)
""")


@linux
def test_helpers_are_as_many_as_the_call_says():
    child("""
check(threads=1)
expect_helpers(0)
dlbridge.set_num_threads(4)
check(threads=2)
expect_helpers(1)
check()
expect_helpers(3)
check(threads=2)
expect_helpers(3)
""")


@linux
def test_small_tensors_need_no_helpers():
    child("""
ops.add(x[:1000], x[:1000], threads=8)
expect_helpers(0)
""")


@linux
def test_helpers_do_not_grow_with_callers():
    child("""
dlbridge.set_num_threads(3)
most, done, wrong = 0, threading.Event(), []

def call():
    mine = np.zeros_like(x)
    for _ in range(40):
        ops.add(x, x, out=mine)
        if not np.array_equal(mine, x + x):
            wrong.append(threading.get_ident())

def watch():
    global most
    while not done.is_set():
        most = max(most, helpers())

watcher = threading.Thread(target=watch)
watcher.start()
callers = [threading.Thread(target=call) for _ in range(8)]
for caller in callers:
    caller.start()
for caller in callers:
    caller.join()
done.set()
watcher.join()
assert not wrong
assert most <= 2, most
expect_helpers(2)
""")


FORK = """
def forked(body):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            body()
            status = 0
        finally:
            os._exit(status)
    return child

def wait(child):
    assert os.waitpid(child, 0)[1] == 0

def in_child():
    before = helpers()
    for _ in range(3):
        check(threads=3)
    assert before == 0
    expect_helpers(2)

"""


@linux
def test_child_of_fork_has_threads_of_its_own():
    child(
        FORK
        + """
check(threads=3)
for _ in range(10):
    wait(forked(in_child))
    check(threads=3)

def with_children():
    in_child()
    wait(forked(in_child))  # of a pool of its own again

wait(forked(with_children))
expect_helpers(2)
"""
    )


@linux
def test_fork_while_other_threads_are_inside_ops():
    child(
        FORK
        + """
done = threading.Event()

def call():
    mine = np.zeros_like(x)
    while not done.is_set():
        ops.add(x, x, out=mine, threads=3)

callers = [threading.Thread(target=call) for _ in range(3)]
for caller in callers:
    caller.start()
for _ in range(20):
    wait(forked(in_child))
done.set()
for caller in callers:
    caller.join()
""",
        PYTHONWARNINGS="ignore::DeprecationWarning",  # of forks beside threads
    )


@linux
def test_first_ops_run_in_forked_children_of_busy_threads():
    child(
        FORK
        + """
# No call has been made: the number of threads and the pool are found meanwhile.
callers = [threading.Thread(target=check) for _ in range(4)]
for caller in callers:
    caller.start()
children = [forked(in_child) for _ in range(4)]
for caller in callers:
    caller.join()
for each in children:
    wait(each)
""",
        PYTHONWARNINGS="ignore::DeprecationWarning",
    )


@linux
@pytest.mark.skipif(platform.machine() != "x86_64", reason="other CPUs have no such system call")
def test_child_without_the_handlers_of_a_fork_has_threads_of_its_own():
    """As where another thread made the parent's while the process was being forked."""
    child(
        FORK
        + """
import ctypes, signal
check(threads=3)
fork = 57
forked = ctypes.PyDLL(None).syscall(fork)
if forked == 0:
    signal.alarm(60)
    status = 1
    try:
        in_child()
        status = 0
    finally:
        os._exit(status)
wait(forked)
"""
    )


@linux
def test_processes_of_multiprocessing_call_large_ops(tmp_path):
    child("""
import multiprocessing

def body(number):
    return float(ops.sum(ops.add(x, number, threads=2)))

check(threads=2)
with multiprocessing.get_context("fork").Pool(2) as pool:
    sums = pool.map(body, range(6))
assert sums == [float(ops.sum(x + np.float32(number))) for number in range(6)]
""")


@pytest.mark.parametrize("daemon", [True, False])
def test_interpreter_exits_while_threads_are_inside_ops(daemon):
    output = child(f"""
started = threading.Barrier(4)

def call():
    mine = np.zeros_like(x)
    started.wait()
    end = time.monotonic() + (60 if {daemon} else 0.3)
    while time.monotonic() < end:
        ops.add(x, x, out=mine, threads=3)

for _ in range(3):
    threading.Thread(target=call, daemon={daemon}).start()
started.wait()
time.sleep(0.1)
print("leaving")
""")
    assert output == "leaving\n"
