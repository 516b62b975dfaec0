"""Every call of the driver's fails once in each way that a tensor takes: it comes out as an
exception, and nothing is lost."""

import ctypes
import gc
import sys
import traceback

import build_extension
import dlbridge
import double
import double_driver as driver
import pytest
from double_frameworks import KINDS, given
from double_settle import settle
from support import refused

sys.path.insert(0, str(build_extension.build_cuda()))
import dlbridge_cuda_testing  # noqa: E402, F401

pytestmark = pytest.mark.usefixtures("settled")
CODES = [double.INVALID_VALUE, double.OUT_OF_MEMORY, double.INVALID_HANDLE]


def imported(kind, x):
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
        return dlbridge.from_dlpack(x).copy().tolist()


def exported(name, tensor):
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
        y = given(name, tensor.copy())
        return dlbridge.from_dlpack(y).tolist()


def moved(tensor):
    return tensor.to("cuda:1").to("cuda_host").to("cuda").to("cuda_managed").to("cpu").tolist()


def asked(tensor):
    stream = dlbridge.cuda.Stream()
    capsule = tensor.__dlpack__(stream=stream.handle, max_version=(1, 3))
    host = tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 3))
    return dlbridge.from_dlpack(capsule).tolist() and dlbridge.from_dlpack(host).tolist()


def called(x):
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
        y = dlbridge.empty(16, "uint8", device="cuda")
        dlbridge.ops.gpu.copy(x, out=y)
        return dlbridge.ops.gpu.copy(y).tolist()


def ways():
    yield "moved", lambda: moved, False
    yield "asked", lambda: asked, False
    for name in KINDS:
        yield f"{name} imported", lambda name=name: lambda x: imported(KINDS[name], x), name
        yield f"{name} exported", lambda name=name: lambda tensor: exported(name, tensor), False
        yield f"{name} called", lambda name=name: called, name


WAYS = {name: (make, source) for name, make, source in ways()}


@pytest.fixture
def quick():
    """Has the collector look only at what comes from now on, as it is called often."""
    gc.freeze()
    yield
    gc.unfreeze()


def leave_contexts():
    """One is left where the call failed that was to leave it."""
    while driver.current_context():
        driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("way", WAYS)
def test_failing_driver_call_leaks_nothing(way):
    make, source = WAYS[way]
    act, whole = make(), [7] * 16
    kept = double.live("memory") + 1  # that of `x`

    def has_settled():
        return double.live("memory") == kept

    def tried(nth=0, code=None):
        """The outcome, what was raised, and how many calls of the driver's there were."""
        x = KINDS[source]().fill(7) if source else dlbridge.full(16, 7, "uint8", device="cuda")
        settle(has_settled)
        calls, found, text = double.calls(), None, None
        if nth:
            double.fail(nth, code)
        try:
            found = act(x)
        except (RuntimeError, MemoryError) as error:
            text = str(error)
            # The frames of what failed keep what they had.
            traceback.clear_frames(error.__traceback__)
        calls = double.calls() - calls
        double.forget_failures()
        leave_contexts()
        settle(has_settled)
        assert double.mistakes() == "", (nth, code, double.mistakes())
        assert double.live("memory") == kept, (nth, code, double.allocations())
        double.forget_journal()
        return found, text, calls

    assert tried()[:2] == (whole, None)
    count = tried()[2]
    assert count > 10, "there is something to fail"
    seen = 0
    for nth in range(1, count + 1):
        code = CODES[nth % len(CODES)]
        found, text, _ = tried(nth, code)
        # A failure that could be made up for isn't told.
        assert found == whole or text, (nth, code)
        if text:
            seen += 1
            is_clear = "CUDA_ERROR_" in text or "not enough memory" in text or " answered " in text
            assert is_clear, (nth, code, text)
    assert seen > count // 3, f"{seen} failures were seen, of {count} calls"


def test_allocation_failure_raises_memory_error():
    x = KINDS["torch"]().fill(1)
    tensor = dlbridge.from_dlpack(x)
    makers = {
        "cuMemAllocFromPoolAsync": [
            lambda: dlbridge.zeros(16, device="cuda"),
            lambda: dlbridge.empty(16, device="cuda"),
            lambda: dlbridge.full(16, 3, device="cuda"),
            lambda: dlbridge.zeros(16).to("cuda"),
            lambda: dlbridge.from_dlpack(dlbridge.zeros(16), device="cuda"),
            lambda: tensor.copy(),
            lambda: dlbridge.from_dlpack(x, copy=True),
            lambda: tensor.__dlpack__(copy=True),
            lambda: dlbridge.ops.gpu.copy(x),
        ],
        "cuMemHostAlloc": [
            lambda: dlbridge.zeros(16, device="cuda_host"),
            lambda: tensor.to("cuda_host"),
        ],
        "cuMemAllocManaged": [
            lambda: dlbridge.zeros(16, device="cuda_managed"),
            lambda: tensor.to("cuda_managed"),
        ],
    }
    for function, attempts in makers.items():
        for attempt in attempts:
            double.fail(1, double.OUT_OF_MEMORY, function)
            with refused(MemoryError, "there is not enough memory on cuda", "bytes"):
                attempt()
            attempt()


def test_allocation_beyond_gpu_memory_raises_memory_error():
    with refused(MemoryError, "there is not enough memory on cuda:1 for 1125899906842624 bytes"):
        dlbridge.empty(1 << 50, "uint8", device="cuda:1")
    with refused(MemoryError, "there is not enough memory on cuda:0"):
        dlbridge.zeros(1 << 50, "uint8", device="cuda")
    assert dlbridge.zeros(4, device="cuda").tolist() == [0] * 4


def test_producer_error_is_passed_on():
    class Fails(KINDS["jax"]):
        def __dlpack__(self, **keywords):
            raise KeyError("no")

    with pytest.raises(KeyError):
        dlbridge.from_dlpack(Fails())
    with pytest.raises(KeyError):
        dlbridge.ops.gpu.copy(Fails())
    driver.synchronize()
