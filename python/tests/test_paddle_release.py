"""Memory that Paddle has twice: it keeps one deleter for each address, and calls it while it holds
a lock.
"""

import gc
import itertools
import sys
import time
import weakref

import dlbridge_testing as ext
import numpy as np
import pytest
from support import framework, in_new_process

if "tensorflow" in sys.modules:
    pytest.skip("Paddle and TensorFlow crash in one process; see run.py", allow_module_level=True)
paddle = framework("paddle")

# In a process of its own, as a deadlock ends it. Paddle takes long to import, so that all of it is
# done in one.
CHAINS = """
import faulthandler, gc, sys, time
import dlbridge_testing as ext
import numpy as np
import paddle

def until(function, seconds=30):
    end = time.monotonic() + seconds
    while not function():
        assert time.monotonic() < end, "it isn't released"
        gc.collect()
        time.sleep(0.001)

FIRST = {
    "Paddle's": lambda: paddle.ones([1000]),
    "ours": lambda: ext.to(ext.counted_mut(1000), "paddle"),
    "NumPy's": lambda: ext.to(np.ones(1000, "f4"), "paddle"),
    "NumPy's, by Paddle itself": lambda: paddle.from_dlpack(np.ones(1000, "f4")),
}
STEPS = {
    "to": lambda x: ext.to(x, "paddle"),
    "by our object": lambda x: ext.to(ext.identity(x), "paddle"),
    "like": lambda x: ext.like(x, x),
}
for first, make in FIRST.items():
    for step, again in STEPS.items():
        faulthandler.dump_traceback_later(60, exit=True)
        chain = [make()]
        for _ in range(4):
            chain.append(again(chain[-1]))
        assert len({x.data_ptr() for x in chain}) == 1
        value = float(chain[0][3])
        while chain:
            assert [float(x[3]) for x in chain] == [value] * len(chain), (first, step)
            chain.pop(0)
        until(lambda: ext.alive() == 0)
        print(first, step, flush=True)

# A part has another address; its deleter releases the whole, which Paddle has too.
faulthandler.dump_traceback_later(60, exit=True)
whole = ext.to(ext.counted_mut(1000), "paddle")
part = ext.to(whole[10:], "paddle")
assert part.data_ptr() == whole.data_ptr() + 40
del whole
assert ext.alive() == 1 and float(part[0]) == 10
del part
until(lambda: ext.alive() == 0)
print("a part")
"""


def test_chains_of_imports_are_dropped_in_order():
    output = in_new_process(CHAINS, timeout=580, PYTHONWARNINGS="ignore")
    assert output.count("\n") >= 13 and output.endswith("a part\n")


def released(counted, count):
    end = time.monotonic() + 30
    while counted() != count:
        assert time.monotonic() < end, f"{counted()} are alive, and not {count}"
        gc.collect()
        time.sleep(0.001)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_tensor_exported_three_times_is_released_in_any_order(counted, order):
    ours = ext.counted_mut(1000)
    theirs = [ext.to(ours, "paddle") for _ in range(3)]
    assert {x.data_ptr() for x in theirs} == {ours.data_ptr}
    theirs[1][5] = 7
    assert [float(x[5]) for x in theirs] == [7] * 3
    del ours
    for i in order:
        assert counted() == 1
        theirs[i] = None
    released(counted, 0)


def test_export_in_a_loop_keeps_the_tensor(counted):
    ours = ext.counted_mut(1000)
    for _ in range(50):
        # The last one is dropped after the next one was made.
        theirs = ext.to(ours, "paddle")
    assert theirs.tolist() == list(range(1000))
    del ours, theirs
    released(counted, 0)


def test_address_is_exported_again_after_release(counted):
    ours = ext.counted_mut(1000)
    for _ in range(3):
        theirs = ext.to(ours, "paddle")
        assert theirs.data_ptr() == ours.data_ptr
        del theirs
        gc.collect()
    del ours
    released(counted, 0)


NAMES = """bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn
    float8_e5m2""".split()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.T,
        lambda x: x[:, ::2],
        lambda x: x[0],
        lambda x: x[0, 0],
        lambda x: x[:0],
    ],
)
def test_second_export_equals_the_first(name, view):
    ours = ext.zeros([2, 4], name)
    x = view(ours)
    first, second = ext.to(x, "paddle"), ext.to(x, "paddle")
    assert (
        type(second) is type(first) and second.dtype == first.dtype and second.shape == first.shape
    )
    assert second.stop_gradient is first.stop_gradient is True
    if x.size:
        assert second.data_ptr() == first.data_ptr() == x.data_ptr
        assert [s for s, n in zip(second.strides, x.shape) if n > 1] == [
            s for s, n in zip(x.strides, x.shape) if n > 1
        ]
    del ours, x, first
    gc.collect()
    assert not ext.to(second, "numpy").any()


def test_exports_release_what_the_releaser_thread_waits_for():
    class Watched(np.ndarray): ...

    interval = sys.getswitchinterval()
    # No other thread gets the GIL before this one gives it up.
    sys.setswitchinterval(60)
    try:
        for _ in range(5):
            array = np.ones(3, "f4").view(Watched)
            alive = weakref.ref(array)
            ext.entrust(array)
            del array
            # The GIL is kept for so long that the releaser thread waits for it. By then it mustn't
            # have taken anything: an export to Paddle releases all of the queue first.
            ext.release_on_many_threads(1, 50)
            ext.to(np.ones(3, "f4"), "paddle")
            assert alive() is None
    finally:
        sys.setswitchinterval(interval)
