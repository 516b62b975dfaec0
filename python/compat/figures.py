"""Memory, ways and times of one framework."""

import gc
import sys
import timeit
from pathlib import Path

import dlbridge
import guards
from dlbridge import ops

CALLS = 3000
NBYTES = 1 << 16
# What a leak of each call's tensor would take, many times over.
MOST_GROWTH = CALLS * NBYTES // 4


def resident():
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise OSError("the system doesn't say how much memory a process has")


def check_memory(name):
    x = guards.make(name, range(NBYTES // 4))

    def once():
        dlbridge.from_dlpack(x)
        dlbridge.convert(dlbridge.zeros([NBYTES // 4], "float32"), name, copy=None)
        ops.add(x, 1)

    for _ in range(200):
        once()
    before = resident()
    for _ in range(CALLS):
        once()
    growth = resident() - before
    assert growth < MOST_GROWTH, f"{CALLS} calls took {growth} bytes"


def measure(name):
    """The ways in and out, and times in nanoseconds."""
    x, y, out = (guards.make(name) for _ in range(3))
    ours = dlbridge.zeros([4], "float32")
    times = {
        "import": nanoseconds(lambda: dlbridge.from_dlpack(x)),
        "export": nanoseconds(lambda: dlbridge.convert(ours, name, copy=None)),
        "add": nanoseconds(lambda: ops.add(x, y)),
    }
    own, own_out = own_calls(name, x, y, out)
    if own:
        times["own add"] = nanoseconds(own)
    if name not in guards.IMMUTABLE:
        times["add out"] = nanoseconds(lambda: ops.add(x, y, out=out))
    if own_out:
        times["own add out"] = nanoseconds(own_out)
    return {"ways": ways(name, x, ours), "times": times}


def own_calls(name, x, y, out):
    """The framework's own addition, and the one into `out`, where it has one."""
    if name == "numpy":
        add = guards.module("numpy").add
        return lambda: x + y, lambda: add(x, y, out=out)
    if name == "torch":
        add = guards.module("torch").add
        return lambda: x + y, lambda: add(x, y, out=out)
    if name == "jax":
        return lambda: (x + y).block_until_ready(), None
    if name == "tensorflow":
        return lambda: x + y, None
    if name == "paddle":
        return lambda: x + y, lambda: x.add_(y)
    if name == "mlx":
        evaluate = guards.module("mlx.core").eval
        return lambda: evaluate(x + y), None
    return None, None


def nanoseconds(call, number=2000):
    call()
    return min(timeit.repeat(call, number=number, repeat=3)) / number * 1e9


def ways(name, x, ours):
    """How tensors come in and go out, by what is called for it."""
    tables = ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__")
    has_table = any(hasattr(type(x), table) for table in tables)
    way_in = "exchange table"
    if name == "numpy":
        way_in = "array struct"
    elif name == "torch" and "__dlpack__" not in called(lambda: dlbridge.from_dlpack(x)):
        way_in = "C functions"
    elif not has_table:
        has_method = hasattr(x, "__dlpack__")
        way_in = "`__dlpack__`" if has_method else "capsule"
        if is_buffer(x):
            way_in = "buffer"
    way_out = "exchange table" if has_table else "`from_dlpack`"
    if name == "numpy":
        way_out = "array struct"
    elif name == "pyarrow":
        way_out = "`from_buffers`"
    return {"in": way_in, "out": way_out}


def is_buffer(x):
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def called(call):
    """The names of the Python functions that a call runs."""
    names = set()
    sys.setprofile(lambda frame, event, _: names.add(frame.f_code.co_name))
    try:
        call()
    finally:
        sys.setprofile(None)
    return names
