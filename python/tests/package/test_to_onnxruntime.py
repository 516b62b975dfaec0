"""ONNX Runtime's values, to and from the package."""

import gc
import weakref

import dlbridge
import numpy as np
from round_trips import (
    COMMON,
    ROW_MAJOR,
    WIDE_UNSIGNED,
    RoundTrips,
    aligned,
    check_flat,
    numbers_at,
    row_major,
)
from support import framework, refused

onnxruntime = framework("onnxruntime")


class TestOnnxRuntime(RoundTrips):
    name, title = "onnxruntime", "ONNX Runtime"
    owner = "onnxruntime.capi.onnxruntime_inference_collection.OrtValue"
    dtypes = [*COMMON, *WIDE_UNSIGNED, "bfloat16"]
    types_in = [name for name in dtypes if name != "bool"]  # Truth values come as uint8.
    copied = ROW_MAJOR
    has_views = False

    def of(self, array):
        if array.dtype.name == "bfloat16":  # It makes none of them of arrays.
            return dlbridge.from_dlpack(array.copy()).to("onnxruntime")
        return onnxruntime.OrtValue.ortvalue_from_numpy(array.copy())

    def test_imported_tensor_after_source_is_dropped_keeps_memory(self):
        # Of one that it made itself; what it was given by NumPy, only the value itself keeps.
        x = onnxruntime.OrtValue.ortvalue_from_shape_and_type([4, 6], np.float32)
        x.update_inplace(aligned("float32"))
        ours = dlbridge.from_dlpack(x)
        del x
        again = [
            onnxruntime.OrtValue.ortvalue_from_shape_and_type([4, 6], np.float32) for _ in range(9)
        ]
        assert ours.tolist() == aligned("float32").tolist() and len(again) == 9

    def pointer(self, x):
        return x.data_ptr()

    def values(self, x):
        names = {"float": "float32", "double": "float64"}
        name = x.data_type().removeprefix("tensor(").removesuffix(")")
        return numbers_at(x.data_ptr(), x.shape(), row_major(x.shape()), names.get(name, name))


def test_bools_are_exported_as_bools():
    base = np.array([True, False, True])
    x = dlbridge.convert(base, "onnxruntime")
    assert (x.data_type(), x.data_ptr(), x.numpy().tolist()) == (
        "tensor(bool)",
        base.ctypes.data,
        [True, False, True],
    )
    # On the way out it calls them uint8.
    ours = dlbridge.from_dlpack(x)
    assert (ours.dtype, ours.tolist()) == ("uint8", [1, 0, 1])
    assert (ours.view("bool").tolist(), ours.data_ptr) == ([True, False, True], base.ctypes.data)
    assert dlbridge.zeros(3, "uint8").to("onnxruntime").data_type() == "tensor(uint8)"


def test_inner_value_shares_memory():
    x = onnxruntime.OrtValue.ortvalue_from_numpy(aligned("float32"))
    assert dlbridge.from_dlpack(x._ortvalue).data_ptr == x.data_ptr()


def test_read_only_tensor_is_copied_on_request():
    base = aligned("float32")
    base.flags.writeable = False
    with refused(
        BufferError,
        "the tensor is read-only, and ONNX Runtime writes to memory all the same; copy it first",
    ):
        dlbridge.convert(base, "onnxruntime", readonly="refuse")
    assert dlbridge.convert(base, "onnxruntime", copy=None).numpy().tolist() == base.tolist()


def test_unaligned_memory_is_shared():
    ours = dlbridge.from_dlpack(aligned("float32")).reshape(24)
    for first in range(1, 16):
        assert ours[first:].to("onnxruntime").data_ptr() == ours[first:].data_ptr


def test_conversion_in_a_loop_does_not_leak():
    check_flat(
        "onnxruntime",
        "import onnxruntime\nzeros = np.zeros(16, 'f4')\n"
        "make = lambda: onnxruntime.OrtValue.ortvalue_from_numpy(zeros)",
    )


def test_imported_tensor_keeps_its_value():
    # Its capsule doesn't keep it, and it alone keeps the array's memory.
    array = aligned("float32")
    is_there = weakref.ref(array)
    ours = dlbridge.from_dlpack(onnxruntime.OrtValue.ortvalue_from_numpy(array))
    expected = array.tolist()
    del array
    gc.collect()
    assert is_there() is not None and ours.tolist() == expected
    del ours
    gc.collect()
    assert is_there() is None
