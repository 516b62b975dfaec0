"""`__cuda_array_interface__` of objects that may say anything: its numbers are bounded by what the
driver knows.
"""

import ctypes
import sys

import build_extension
import dlbridge
import double
import double_driver as driver
import numpy as np
import pytest
from double_arrays import Array, Work
from double_capsules import NumbaStream
from support import refused

sys.path.insert(0, str(build_extension.build_cuda()))
import dlbridge_cuda_testing  # noqa: E402, F401  It brings ops that the double runs.

ops = dlbridge.ops.gpu
pytestmark = pytest.mark.usefixtures("settled")


class Plain(Array):
    """An object with the interface and no library behind it."""

    work = Work()

    def __init__(self, *arguments, **says):
        super().__init__(*arguments)
        self.says = says

    @property
    def __cuda_array_interface__(self):
        usual = {
            "shape": (self.count,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
            "strides": None,
        }
        return {**usual, "stream": self.handle() or None, **self.says}


def wild():
    """A handle that isn't a stream."""
    return 0xDEAD_BEE0


# How elements can leave 16 bytes: by offset, size and strides, also with sizes that overflow.
OUTSIDE = {
    "longer": {"shape": (17,)},
    "wider": {"typestr": "<f8", "shape": (3,)},
    "rows": {"shape": (3, 6)},
    "far apart": {"shape": (2,), "strides": (16,)},
    "before": {"shape": (2,), "strides": (-1,)},
    "before and after": {"shape": (2, 2), "strides": (-1, 1)},
    "huge": {"shape": (2**62,)},
    "far": {"shape": (2,), "strides": (2**62,)},
    "far before": {"shape": (2,), "strides": (-(2**63),)},
    "overflowing": {"shape": (2**62, 2**62, 2**62)},
    "overflowing with strides": {"shape": (2**62,) * 3, "strides": (2**62,) * 3},
}


UNREACHABLE = ["far before", "overflowing", "overflowing with strides"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_interface_beyond_its_allocation_is_refused(name):
    x = Plain(**OUTSIDE[name])
    for use in (dlbridge.from_dlpack, ops.copy):
        with refused(
            BufferError,
            "than there are addresses" if name in UNREACHABLE else "aren't inside one allocation",
        ):
            use(x)


def test_interface_at_end_of_allocation_is_accepted():
    x = Plain().fill(7)
    address = x.address
    x.says = {"data": (address + 12, False), "shape": (4,)}
    assert dlbridge.from_dlpack(x).tolist() == [7] * 4
    x.says = {"data": (address + 15, False), "shape": (4, 4), "strides": (-4, -1)}
    assert dlbridge.from_dlpack(x).shape == (4, 4)
    for says in (
        {"data": (address + 12, False), "shape": (5,)},
        {"data": (address + 14, False), "shape": (4, 4), "strides": (-4, -1)},
    ):
        x.says = says
        with refused(BufferError, "aren't inside one allocation", f"{address:#x}"):
            dlbridge.from_dlpack(x)
    x.says = {"shape": (0, 2**62), "data": (0x10, False)}
    assert dlbridge.from_dlpack(x).shape == (0, 2**62)


def test_interface_to_unknown_memory_is_refused():
    host = ctypes.create_string_buffer(64)
    for address in (0, 0x10, ctypes.addressof(host), 2**63):
        with refused(BufferError, "in no memory that CUDA knows"):
            dlbridge.from_dlpack(Plain(data=(address, False)))


def test_interface_to_freed_memory_is_refused():
    address = driver.allocate(16, 0, 0)
    driver.free(address, 0, 0)
    with refused(BufferError, "in no memory that CUDA knows"):
        dlbridge.from_dlpack(Plain(data=(address, False)))
    assert "was freed by" in double.mistakes(), "the double tells that the driver was asked"
    double.forget_mistakes()


@pytest.mark.parametrize(
    "says, parts",
    [
        (
            {"typestr": "<f8", "shape": (1,), "data": "odd"},
            ["isn't a multiple of the element's 8 bytes"],
        ),
        ({"typestr": "<<u1"}, ["has no DLPack equivalent"]),
        ({"typestr": 5}, ['["typestr"] must be a str, and is int']),
        (
            {"typestr": "<f2", "shape": (2,), "descr": [("a", "|u1"), ("b", "|u1")]},
            ["describes other elements"],
        ),
        ({"descr": [("", "|i1")]}, ["describes other elements"]),
        ({"descr": "|u1"}, ["describes other elements"]),
        ({"shape": 16}, ['["shape"] must be a tuple of ints, and is int']),
        ({"shape": (2**63,)}, ['["shape"] must be a tuple of ints']),
        ({"shape": (-16,)}, ["a negative size: -16"]),
        ({"shape": (1,) * 65}, ["65 dimensions, and 64 is the most"]),
        ({"strides": (None,)}, ['["strides"] must be a tuple of ints, or None']),
        ({"data": 4096}, ['["data"] must be a pair']),
        ({"data": (-1, False)}, ['["data"] must be a pair']),
        ({"data": b"bytes"}, ['["data"] must be a pair']),
        ({"version": "3"}, ['["version"] must be an int, and is str']),
        ({"version": 2**70}, ['["version"] must be an int']),
        ({"mask": np.zeros(16, bool)}, ["a mask", "drop the mask"]),
        ({"stream": -1}, ['["stream"] must be the handle of a stream, or None']),
        ({"stream": "1"}, ['["stream"] must be the handle of a stream, or None']),
    ],
)
def test_interface_with_invalid_field_is_refused(says, parts):
    x = Plain()
    x.says = {**says, "data": (x.address + 1, False)} if says.get("data") == "odd" else says
    for use in (dlbridge.from_dlpack, ops.copy):
        with refused(BufferError, *parts):
            use(x)


def test_interface_that_is_not_a_dict_is_refused():
    class List:
        __cuda_array_interface__ = [1]

    with refused(BufferError, "must be a dict, and is list"):
        dlbridge.from_dlpack(List())


def test_interface_with_plain_descr_is_accepted():
    x = Plain(descr=[("", "|u1")]).fill(3)
    assert dlbridge.from_dlpack(x).tolist() == [3] * 16


def test_exception_of_interface_field_is_passed_on():
    class Endless:
        def __index__(self):
            return self.__index__()

    with pytest.raises(RecursionError):
        dlbridge.from_dlpack(Plain(version=Endless()))


def test_interface_with_invalid_stream_handle_is_imported_without_using_it():
    x, y = Plain(stream=wild()).fill(5), Plain(stream=wild()).fill(0)
    assert dlbridge.from_dlpack(x).tolist() == [5] * 16
    assert ops.copy(x).tolist() == [5] * 16
    ops.copy(x, out=y)
    assert y.values() == [5] * 16
    assert not any(f"{wild():#x}" in line for line in double.journal()), "the driver isn't given it"
    assert double.mistakes() == ""


def test_interface_with_untracked_stream_waits_for_it():
    with Plain.work.on(driver.stream()):
        x, y = Plain().fill(5), Plain().fill(0)
        tensor = dlbridge.from_dlpack(x)
        assert x.peek() == bytes([5] * 16), "its work is done"
        assert tensor.tolist() == [5] * 16
        x.fill(6)
        ops.copy(x, out=y)
        x.fill(9)  # After the copy has read it, though no event orders the two.
        assert y.values() == [6] * 16
        assert double.mistakes() == ""


def test_interface_with_known_stream_stays_asynchronous():
    for number in (driver.DEFAULT, driver.PER_THREAD):
        x = Plain(stream=number).fill(3)
        y = dlbridge.zeros(16, "uint8", device="cuda")
        before = double.calls("cuCtxSynchronize"), double.calls("cuStreamSynchronize")
        ops.copy(x, out=y)
        assert (double.calls("cuCtxSynchronize"), double.calls("cuStreamSynchronize")) == before
        assert y.tolist() == [3] * 16
    stream = dlbridge.cuda.Stream()
    with dlbridge.cuda.stream(stream), Plain.work.on(stream.handle):
        x = Plain()
        before = double.calls("cuCtxSynchronize")
        ops.copy(x, out=y)
        assert double.calls("cuCtxSynchronize") == before


def test_interface_with_mismatched_numba_stream_ignores_it():
    x = Plain(stream=wild()).fill(4)
    for stream in (
        NumbaStream(driver.stream()),
        object(),
        type("Stream", (NumbaStream,), {})(wild()),
    ):
        x.stream = stream
        assert dlbridge.from_dlpack(x).tolist() == [4] * 16
    assert not any(f"{wild():#x}" in line for line in double.journal())


def test_managed_memory_is_ready_before_host_access():
    managed = dlbridge.zeros(16, "uint8", device="cuda_managed")
    with Plain.work.on(driver.stream()):
        x = Plain(data=(managed.data_ptr, False))
        driver.fill(managed.data_ptr, 8, 16, x.handle(), 0)
        tensor = dlbridge.from_dlpack(x)
        assert tensor.device == "cuda_managed:0"
        assert tensor.tolist() == [8] * 16
        driver.fill(managed.data_ptr, 9, 16, x.handle(), 0)
        driver.synchronize()


def test_capture_with_untracked_stream_is_refused():
    stream = dlbridge.cuda.Stream()
    x = Plain(stream=wild())
    driver.synchronize()
    with dlbridge.cuda.stream(stream), driver.Graph(stream.handle) as graph:
        with refused(
            dlbridge.CudaError,
            "whose stream isn't known can't be waited for",
            "while a graph is captured",
        ):
            dlbridge.from_dlpack(x)
    graph.destroy()
