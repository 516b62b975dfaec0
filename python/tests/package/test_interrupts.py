"""What ends a program passes through calls that read a value or ask a producer twice."""

import dlbridge
import numpy as np
import pytest
from dlbridge import ops

FINAL = [KeyboardInterrupt, SystemExit, MemoryError, RecursionError]


class Raises:
    """A number that can't be read."""

    def __init__(self, error):
        self.error = error

    def __index__(self):
        raise self.error

    __float__ = __index__


class Producer:
    """Raises at the first request, which is for a copy, and at the second."""

    def __init__(self, first, second=None):
        self.errors = [first, second]
        self.array = np.arange(3.0)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **wanted):
        if error := self.errors.pop(0):
            raise error
        return self.array.__dlpack__()


@pytest.mark.parametrize("error", FINAL)
@pytest.mark.parametrize(
    "call",
    [
        lambda value: ops.sum(np.ones(3), axis=value),
        lambda value: ops.sum(np.ones(3), threads=value),
        lambda value: ops.argmax(np.ones(3), axis=value),
        lambda value: ops.rms_norm(np.ones(3, "f4"), np.ones(3, "f4"), eps=value),
        lambda value: dlbridge.zeros(value),
        lambda value: dlbridge.ones(6).reshape([value, 1]),
        lambda value: dlbridge.ones(6).broadcast_to([value, 6]),
        lambda value: dlbridge.ones((6, 1)).transpose([value]),
        lambda value: dlbridge.Device((value, 0)),
        lambda value: dlbridge.ones(6).__dlpack__(max_version=(value, 0)),
        lambda value: dlbridge.ones(6).__dlpack__(dl_device=(value, 0)),
    ],
)
def test_end_of_a_program_while_a_value_is_read_is_raised(call, error):
    with pytest.raises(error):
        call(Raises(error))


@pytest.mark.parametrize("error", FINAL)
def test_end_of_a_program_while_a_producer_copies_is_raised(error):
    with pytest.raises(error):
        dlbridge.from_dlpack(Producer(error), copy=True)
    with pytest.raises(error):
        dlbridge.from_dlpack(Producer(BufferError, error), copy=True)


def test_other_errors_of_a_producer_that_copies_lead_to_another_request():
    for error in (BufferError, OSError):
        tensor = dlbridge.from_dlpack(Producer(error), copy=True)
        assert np.from_dlpack(tensor).tolist() == [0, 1, 2]
        with pytest.raises(error):
            dlbridge.from_dlpack(Producer(error, ValueError), copy=True)


def test_other_errors_while_a_value_is_read_say_what_was_expected():
    with pytest.raises(TypeError, match='attribute "axis" is of kind ints'):
        ops.sum(np.ones(3), axis=Raises(ValueError))


def test_sizes_too_large_for_the_machine_are_called_so():
    with pytest.raises(OverflowError, match="too large"):
        dlbridge.zeros(2**70)


def test_arange_counts_as_numpy_does():
    assert dlbridge.arange(True).dtype == "int64"
    assert np.from_dlpack(dlbridge.arange(False, 3, True)).tolist() == [0, 1, 2]
    for numbers in ((float("nan"),), (0, float("nan")), (0, 1, float("nan"))):
        with pytest.raises(ValueError, match="NaN"):
            dlbridge.arange(*numbers)
