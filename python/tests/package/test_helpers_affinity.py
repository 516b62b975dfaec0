"""The CPUs that helpers of large calls keep to, in builds whose helpers always keep away from that of
the thread that calls.
"""

import os
import platform

import pytest
from support import framework, in_new_process

framework("numpy")

CPUS = getattr(os, "sched_getaffinity", lambda _: ())(0)
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs, and Linux, to choose")

START = """
import os, threading, time
from pathlib import Path
import numpy as np
from dlbridge import ops

x = np.ones(1 << 18, "f4")
out = np.zeros_like(x)

def call():
    ops.add(x, x, out=out)
    assert (out == 2).all()
    time.sleep(0.02)  # The helper falls asleep.

def helper():
    tasks = Path("/proc/self/task").iterdir()
    return next(int(task.name) for task in tasks if (task / "comm").read_text() == "dlbridge\\n")

every = os.sched_getaffinity(0)
for _ in range(5):
    call()
helper = helper()
asleep = os.sched_getaffinity(helper)
"""


def run(code):
    in_new_process(START + code, DLBRIDGE_NUM_THREADS="2")


def test_helper_has_all_its_cpus_at_work_alone():
    run("""
assert len(asleep) == len(every) - 1, "a build without debug assertions"
# The first thread's CPUs are changed while the helper sleeps, which are no other thread's.
os.sched_setaffinity(0, every - asleep)
at_work = set()
square = np.ones((600, 600), "f4")
for _ in range(200):
    thread = threading.Thread(target=ops.matmul, args=(square, square))
    thread.start()
    while thread.is_alive():
        at_work.add(frozenset(os.sched_getaffinity(helper)))
    time.sleep(0.02)
    if frozenset(every) in at_work:
        break
assert frozenset(every) in at_work, at_work
""")


def test_cpus_that_all_threads_were_given_meanwhile_are_kept():
    run("""
for task in os.listdir("/proc/self/task"):
    os.sched_setaffinity(int(task), asleep)
for _ in range(20):
    call()
    assert os.sched_getaffinity(helper) <= asleep, os.sched_getaffinity(helper)
""")


NUMBERS = {"x86_64": 203, "aarch64": 122}


@pytest.mark.skipif(
    platform.machine() not in NUMBERS, reason="knows no number of the system's call"
)
def test_filter_that_ends_the_process_is_not_met():
    number = NUMBERS[platform.machine()]
    forbid = f"""
import ctypes, os, signal, struct

# Loads the call's number, and ends the process if it is that of `sched_setaffinity`.
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, END = 0x7FFF0000, 0x80000000
steps = [(LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, {number}), (RETURN, 0, 0, END), (RETURN, 0, 0, ALLOW)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
described = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, described) == 0
child = os.fork()
if child == 0:
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGSYS
"""
    in_new_process(forbid + START + "assert asleep == every", DLBRIDGE_NUM_THREADS="2")
