"""Tests of flat memory: each path, taken ten thousand times, leaves nothing behind."""

import gc
import sys

import build_extension
import dlbridge
import double
import double_driver as driver
import pytest
from double_frameworks import KINDS, given

sys.path.insert(0, str(build_extension.build_cuda()))
import dlbridge_cuda_testing as ext  # noqa: E402

pytestmark = pytest.mark.usefixtures("settled")
TURNS, AT_ONCE = 10_000, 200
COUNTED = ["memory", "streams", "events", "pools", "contexts", "graphs", "pending"]


def state():
    gc.collect()
    for _ in range(2):
        driver.synchronize()
        for device in range(driver.devices()):
            dlbridge.cuda.synchronize(device)
            ext.synchronize(device)  # It has its own that waits.
    # The double's list of what was called isn't to grow either.
    double.forget_journal()
    return {what: double.live(what) for what in COUNTED}


def again(turn, turns=TURNS):
    """Takes a way so often; what it needs at first is there before: events are kept to be used
    again, up to a number.
    """
    for _ in range(2):  # The second round starts with the first one's pending releases.
        for _ in range(AT_ONCE):
            turn()
        driver.synchronize()
    before = state()
    for _ in range(turns // AT_ONCE):
        for _ in range(AT_ONCE):
            turn()
        # The double does nothing before that is needed.
        driver.synchronize()
        double.forget_journal()
    assert state() == before


@pytest.mark.parametrize("name", KINDS)
def test_round_trip_keeps_values(name):
    kind, ours = KINDS[name], dlbridge.cuda.Stream()
    x = kind().fill(7)
    tensor = dlbridge.full(16, 3, "uint8", device="cuda")

    def turn():
        dlbridge.from_dlpack(x)
        y = given(name, tensor)
        assert y.address == tensor.data_ptr
        with dlbridge.cuda.stream(ours):
            dlbridge.from_dlpack(y)
        # Hand-made ones are kept for good, and would make this slower with each turn.
        x.exports.clear()
        y.exports.clear()

    again(turn)


def test_zeros_on_gpu_in_a_loop_does_not_leak():
    def turn():
        dlbridge.zeros(16, "uint8", device="cuda")

    again(turn)


def test_copies_between_devices_in_a_loop_do_not_leak():
    host = dlbridge.full(16, 3, "uint8")

    def turn():
        host.to("cuda:1").to("cuda:0").to("cpu")

    again(turn)


def test_capsules_in_a_loop_do_not_leak():
    tensor, stream = dlbridge.zeros(16, "uint8", device="cuda"), dlbridge.cuda.Stream()

    def turn():
        tensor.__dlpack__(stream=stream.handle, max_version=(1, 3))
        dlbridge.from_dlpack(tensor.__dlpack__(stream=1))

    again(turn)


@pytest.mark.parametrize("name", KINDS)
def test_ops_in_a_loop_do_not_leak(name):
    kind, ours = KINDS[name], dlbridge.cuda.Stream()
    x, y = kind().fill(7), dlbridge.zeros(16, "uint8", device="cuda")

    def turn():
        with dlbridge.cuda.stream(ours):
            dlbridge.ops.gpu.copy(x, out=y)
        x.exports.clear()
        dlbridge.ops.gpu.copy(y)

    again(turn)
    assert ext.address(y) == (y.data_ptr, "cuda:0")


def test_streams_in_a_loop_do_not_leak():
    """The last one: what the double does takes longer with each stream that there ever was."""

    def turn():
        with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
            dlbridge.zeros(16, "uint8", device="cuda")

    again(turn, TURNS // 10)
