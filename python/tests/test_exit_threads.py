"""Daemon threads that are inside of Python code when the interpreter ends, called from Rust
frames.
"""

import pytest
from support import framework, in_new_process

START = """
import ctypes, sys, threading, time
import dlbridge_testing as ext
import numpy as np
from made import Made, Producer
reached = threading.Event()
def hold(*_, **__):
    # The GIL is given up, and wanted back while the interpreter is finalized.
    reached.set()
    time.sleep(0.1)
"""
# Keeps the interpreter in its last phase, in which other threads don't get the GIL any more.
LEAVE = """
threading.Thread(target=body, daemon=True).start()
assert reached.wait(30)
class Last:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)
sys.last_of_all = Last()
print("leaving")
"""
BODIES = {
    "__dlpack__ with keywords": """
class Slow:
    def __dlpack__(self, **keywords):
        hold()
        return np.ones(3, "f4").__dlpack__(**keywords)
def body(): ext.own_f32(Slow())
""",
    "__dlpack__ for an argument that is borrowed": """
class Slow:
    def __dlpack__(self, **keywords):
        hold()
        return np.ones(3, "f4").__dlpack__(**keywords)
def body(): ext.read_f32(Slow())
""",
    "__dlpack__ without keywords": """
class Slow:
    def __dlpack__(self):
        hold()
        return np.ones(3, "f4").__dlpack__()
def body(): ext.own_f32(Slow())
""",
    "__dlpack__ that copies": """
class Slow:
    def __dlpack__(self, **keywords):
        hold()
        return np.ones(3, "f4").__dlpack__(**keywords)
def body(): ext.import_(Slow(), copy=True)
""",
    "a property": """
class Slow:
    @property
    def __dlpack__(self):
        hold()
        return np.ones(3, "f4").__dlpack__
def body(): ext.own_f32(Slow())
""",
    "__del__ of an array": """
class Slow(np.ndarray):
    __del__ = hold
def body():
    key = ext.keep(np.ones(3, "f4").view(Slow))
    ext.release(key)
""",
    "__del__ of an array, from another thread": """
class Slow(np.ndarray):
    __del__ = hold
def body():
    key = ext.keep(np.ones(3, "f4").view(Slow))
    ext.release_on_thread(key)
""",
    "a deleter": """
made = Made()
made.when_deleted = hold
def body():
    key = ext.keep(made.capsule())
    ext.release(key)
""",
}


@pytest.mark.parametrize("body", BODIES)
def test_exit_with_daemon_thread_in_a_callback_succeeds(body):
    framework("numpy")
    assert in_new_process(START + BODIES[body] + LEAVE) == "leaving\n"
