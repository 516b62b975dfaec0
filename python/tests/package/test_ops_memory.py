"""Ops called millions of times (a twentieth of that in short runs) leave nothing behind: neither
what Python counts nor what the system does.
"""

import sys
import weakref

import dlbridge
import pytest
from dlbridge import ops
from made import Made, Producer
from support import framework, in_new_process
from test_memory import START

np = framework("numpy")

MILLIONS = """
import tracemalloc
from support import repeats
import dlbridge

def many(x, y, out, rounds):
    add = dlbridge.ops.add
    for _ in range(rounds):
        add(x, y, out=out)

x, y, out = (np.ones(6, "f4") for _ in range(3))
counts = [sys.getrefcount(one) for one in (x, y, out, dlbridge.ops.add)]
many(x, y, out, 100_000)
gc.collect()
blocks, memory = sys.getallocatedblocks(), resident_kilobytes()
many(x, y, out, repeats(2_000_000))
gc.collect()
more, grown = sys.getallocatedblocks() - blocks, resident_kilobytes() - memory
assert more < 100 and grown < 256, f"{more} more blocks, {grown} more KB"
tracemalloc.start()
many(x, y, out, 1000)
before = tracemalloc.take_snapshot()
many(x, y, out, repeats(200_000))
traced = sum(one.size_diff for one in tracemalloc.take_snapshot().compare_to(before, "filename"))
assert traced < 1 << 16, f"{traced} more bytes that Python knows of"
tracemalloc.stop()
assert counts == [sys.getrefcount(one) for one in (x, y, out, dlbridge.ops.add)] and out[0] == 2
print("flat")
"""

CALLS = """
import dlbridge, dlbridge_testing, torch
from support import repeats
from dlbridge import ops
dlbridge_testing.publish_ops()

import ml_dtypes
bf16, wide, big = np.ones(6, ml_dtypes.bfloat16), np.zeros((4, 4), "f4"), np.zeros(1 << 16, "u1")
large = np.ones((40, 40), "f4")
x, out, whole = np.ones(6, "f4"), np.zeros(6, "f4"), np.ones((3, 4), "f4")
t, ours, fixed = torch.ones(6), dlbridge.ones(6, "float32"), np.ones(6, "f4")
fixed.flags.writeable = False
strange = {"axis": (0, 5)}

class Failing:
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **_): raise BufferError("no")

for name, function in {
    "a result": lambda: ops.add(x, x),
    "PyTorch's": lambda: ops.add(t, t),
    "PyTorch's, in its memory": lambda: ops.add(t, t, memory="caller"),
    "ours": lambda: ops.add(ours, ours),
    "mixed": lambda: ops.add(x, t, like=ours),
    "numbers": lambda: ops.add(x, 1, out=out),
    "numbers alone": lambda: ops.add(1, 2.5),
    "attributes": lambda: ops.sum(whole, axis=(0, 1), keepdims=True),
    "broadcast": lambda: ops.add(whole, whole[:1]),
    "in place": lambda: ops.axpy(0, t, x),
    "a factory's": lambda: ops.sum(whole, axis=-1),
    "without the GIL": lambda: ops.matmul(large, large),
    "old ones": lambda: ops.add(Old(x), Forwarding(x), out=out),
    "a capsule": lambda: ops.add(x.__dlpack__(), x),
    "bfloat16": lambda: ops.add(bf16, bf16),
    "strided": lambda: ops.add(whole[::2, ::-1], whole.T[::-1, :2].T, out=wide[::2]),
    "NumPy's numbers": lambda: ops.add(x, np.float32(1)),
    "buffers": lambda: ops.add(memoryview(x), array.array("f", range(6))),
    "a big one": lambda: ops.add(big, big, out=big),
}.items():
    check(name, function, repeats(40_000))

axes = iter(range(10**9))
huge = np.ones((1,) * 60, "f4")
check("thousands of signatures", lambda: ops.sum(huge, axis=(next(axes) % 60, -1 - next(axes) % 7 * 8)[: 1]), repeats(40_000))
for name, function in {
    "no tensor": lambda: ops.add(x, "x"),
    "missing": lambda: ops.add(x),
    "unknown": lambda: ops.add(x, x, other=x),
    "no such axis": lambda: ops.sum(whole, **strange),
    "no such kind": lambda: ops.sum(whole, axis="x"),
    "no kernel": lambda: ops.add(x > 0, x > 0),
    "no label": lambda: ops.add(x, x, label="fast"),
    "read-only": lambda: ops.add(x, t, out=fixed),
    "shared": lambda: ops.add(x[1:], x[1:], out=x[:-1]),
    "shapes": lambda: ops.add(t, whole),
    "a number": lambda: ops.add(x, 1 << 1000),
    "like nothing": lambda: ops.add(x, t, like=3),
    "raised": lambda: ops.add(x, Failing()),
    "the second": lambda: ops.add(Old(x), Failing(), out=out),
    "too large": lambda: ops.add(np.broadcast_to(x[:1], (1 << 40, 1)), np.broadcast_to(x[:1], (1 << 40,))),
}.items():
    check_refused(name, function, repeats(20_000))
def repeat_failed(function, rounds):
    for _ in range(rounds):
        try:
            function()
        except RuntimeError:
            continue
        raise AssertionError("it did not fail")
check("a kernel that fails", lambda: ops.testing.fails(x), repeats(20_000), repeat_failed)
with dlbridge.record():
    pass
print("flat")
"""


def test_millions_of_calls_do_not_leak():
    assert "flat\n" in in_new_process(START + MILLIONS)


def test_calls_of_every_kind_do_not_leak():
    framework("torch")
    assert "flat\n" in in_new_process(START + CALLS)


@pytest.mark.parametrize("fails", [False, True])
def test_borrowed_arguments_are_released_once(fails):
    mades = [Made((6,), values=[1] * 6) for _ in range(3)]
    a, b, out = (Producer(lambda made=made, **_: made.capsule()) for made in mades)
    if fails:
        with pytest.raises(ValueError):
            ops.add(a, b, out=np.zeros(3, "f4"))
        with pytest.raises(IndexError):
            ops.sum(out, axis=3)
    else:
        ops.add(a, b, out=out, like=dlbridge.zeros(1))
    assert [made.deleted for made in mades] == [1, 1, 1]


def test_results_are_released_once():
    made = Made((6,), values=[1] * 6)
    result = ops.add(Producer(lambda **_: made.capsule()), 1, like=np.zeros(1))
    assert made.deleted == 1 and result.tolist() == [2] * 6
    sources = [np.ones(6, "f4") for _ in range(3)]
    counts = [sys.getrefcount(source) for source in sources]
    assert ops.add(*sources[:2], out=sources[2]) is sources[2]
    gone = [weakref.ref(source) for source in sources]
    assert [sys.getrefcount(source) for source in sources] == counts
    del sources
    assert [one() for one in gone] == [None] * 3
