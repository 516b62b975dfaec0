"""Tests of stream order: writes on one stream are visible on another, and the tests fail without
order.
"""

import dlbridge
import double
import double_driver as driver
import pytest
from double_frameworks import KINDS, given

pytestmark = pytest.mark.usefixtures("settled")
# What is in new memory before anything is written.
FRESH = 0xA5


def copied_by_dlbridge(tensor):
    return tensor.copy()


def copied_without_order(tensor):
    """The same copy on the same stream, of the same memory, but without the stream order."""
    stream = dlbridge.cuda.current_stream().handle
    copy = dlbridge.empty(16, "uint8", device="cuda")
    driver.copy(copy.data_ptr, tensor.data_ptr, 16, stream)
    return copy


def settle_disorder(values):
    """The bypass read what was there before, and the double saw that."""
    assert set(values) == {FRESH}
    assert double.mistakes() != ""
    double.forget_mistakes()


@pytest.mark.parametrize("copied", [copied_by_dlbridge, copied_without_order])
@pytest.mark.parametrize("name", KINDS)
def test_late_write_by_framework_is_visible_on_another_stream(name, copied):
    kind = KINDS[name]
    theirs, ours = kind.work.new(), dlbridge.cuda.Stream()
    with kind.work.on(theirs):
        x = kind().fill(7)
        assert set(x.peek()) == {FRESH}, "it runs late"
        tensor = dlbridge.from_dlpack(x)
    with dlbridge.cuda.stream(ours):
        copy = copied(tensor)
    assert set(x.peek()) == {FRESH}, "nothing waited for it"
    ours.synchronize()
    values = list(double.peek(copy.data_ptr, 16))
    if copied is copied_without_order:
        settle_disorder(values)
    else:
        assert values == [7] * 16


@pytest.mark.parametrize("is_ordered", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_late_write_by_dlbridge_is_visible_to_framework(name, is_ordered):
    kind = KINDS[name]
    theirs, ours = kind.work.new(), dlbridge.cuda.Stream()
    with dlbridge.cuda.stream(ours):
        tensor = dlbridge.zeros(16, "uint8", device="cuda")
    assert set(double.peek(tensor.data_ptr, 16)) == {FRESH}, "it runs late"
    with kind.work.on(theirs):
        if is_ordered:
            source = given(name, tensor)
            assert source.address == tensor.data_ptr
        copy = kind().copy_from(tensor.data_ptr)
        assert set(double.peek(tensor.data_ptr, 16)) == {FRESH}, "nothing waited for it"
        values = copy.values()
    if is_ordered:
        assert values == [0] * 16
    else:
        settle_disorder(values)
    dlbridge.cuda.synchronize()


@pytest.mark.parametrize("name", KINDS)
def test_fast_consumer_waits_for_slow_producer(name):
    kind = KINDS[name]
    theirs, ours = kind.work.new(), dlbridge.cuda.Stream()
    double.run_late(ours.handle, late=False)
    with kind.work.on(theirs):
        x = kind().fill(7)
        tensor = dlbridge.from_dlpack(x)
        with dlbridge.cuda.stream(ours):
            copy = tensor.copy()
        # It does at once what it may, which isn't this before the other one has done its work.
        assert set(double.peek(copy.data_ptr, 16)) == {FRESH}
        assert x.values() == [7] * 16
    assert copy.tolist() == [7] * 16
