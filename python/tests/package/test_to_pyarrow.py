"""PyArrow's arrays and tensors, to and from the package: one dimension becomes an array, others a
tensor.
"""

import dlbridge
import numpy as np
import pytest
from round_trips import (
    COMMON,
    LAYOUTS,
    NO_NEGATIVE_STRIDES,
    WIDE_UNSIGNED,
    RoundTrips,
    aligned,
    check_flat,
)
from support import framework, refused

pa = framework("pyarrow")


class TestPyArrow(RoundTrips):
    name, title, owner = "pyarrow", "PyArrow", "pyarrow.lib.Tensor"
    dtypes = [name for name in [*COMMON, *WIDE_UNSIGNED] if name != "bool"]
    copied = NO_NEGATIVE_STRIDES
    layouts_in = [layout for layout in LAYOUTS if layout != "negative"]
    has_views = False

    def of(self, array):
        return pa.Tensor.from_numpy(np.asarray(array))

    def pointer(self, x):
        return x.buffers()[1].address if isinstance(x, pa.Array) else x.to_numpy().ctypes.data

    def values(self, x):
        return x.to_pylist() if isinstance(x, pa.Array) else x.to_numpy().tolist()


@pytest.mark.parametrize("name", TestPyArrow.dtypes)
def test_arrays_and_slices_share_memory(name):
    expected = aligned(name).reshape(24)
    x = pa.array(expected)
    for array, numbers in ((x, expected), (x[3:9], expected[3:9])):
        ours = dlbridge.from_dlpack(array)
        assert (ours.dtype, ours.shape, ours.strides) == (name, numbers.shape, (1,))
        assert (ours.readonly, ours.owner) == (True, f"pyarrow.lib.{type(x).__name__}")
        assert ours.data_ptr == x.buffers()[1].address + array.offset * expected.itemsize
        assert ours.tolist() == numbers.tolist()
        again = ours.to("pyarrow")
        assert again.equals(array) and again.type == x.type
        assert again.buffers()[1].address == ours.data_ptr
    copy = dlbridge.from_dlpack(x, copy=True)
    assert copy.data_ptr != x.buffers()[1].address and not copy.readonly


def test_conversion_makes_array_or_tensor_by_layout():
    numbers = dlbridge.arange(6)
    assert isinstance(numbers.to("pyarrow"), pa.Int64Array)
    assert isinstance(numbers[::2].to("pyarrow"), pa.Tensor)  # An array has no gaps.
    assert isinstance(numbers[:0].to("pyarrow"), pa.Int64Array)
    assert isinstance(numbers[3].to("pyarrow"), pa.Tensor)
    assert isinstance(numbers.reshape(2, 3).to("pyarrow"), pa.Tensor)


def test_array_keeps_memory_of_dropped_tensor():
    numbers = dlbridge.arange(6)
    array = numbers[2:].to("pyarrow")
    del numbers
    assert [dlbridge.zeros(6, "int64") for _ in range(9)] and array.to_pylist() == [2, 3, 4, 5]


@pytest.mark.parametrize(
    "numbers, why",
    [
        ([1, None, 3], "Can only use DLPack on arrays with no nulls"),
        ([True, False], "Bit-packed boolean data type not supported by DLPack"),
        (["a"], "DataType is not compatible with DLPack spec: string"),
        ([[1], [2]], "DataType is not compatible with DLPack spec: list"),
    ],
)
def test_array_with_nulls_or_bits_is_refused(numbers, why):
    # PyArrow's own words.
    x = pa.array(numbers)
    for copy in (None, False, True):
        with refused(BufferError, why):
            dlbridge.from_dlpack(x, copy=copy)
    explained = dlbridge.explain(x, "numpy")
    assert explained.outcome == "refused" and why in explained.reason


def test_bools_are_refused_for_arrays():
    with refused(BufferError, "PyArrow has no bool"):
        dlbridge.zeros(3, "bool").to("pyarrow")


def test_slice_without_nulls_is_accepted():
    assert dlbridge.from_dlpack(pa.array([1, None, 3])[2:]).tolist() == [3]


def test_tensor_mutability_is_kept():
    base = aligned("float32")
    base.flags.writeable = False
    x = dlbridge.convert(base, "pyarrow")
    assert not x.is_mutable and dlbridge.from_dlpack(x).readonly
    x = pa.Tensor.from_numpy(aligned("float32"))
    dlbridge.from_dlpack(x).to("numpy")[0, 0] = 9
    assert x.to_numpy()[0, 0] == 9


def test_tensor_beyond_maximum_rank_is_refused():
    assert dlbridge.zeros((1,) * 64).to("pyarrow").ndim == 64
    with refused(BufferError, "PyArrow has at most 64 dimensions, and the tensor has 65"):
        dlbridge.zeros((1,) * 65).to("pyarrow")


def test_conversion_in_a_loop_does_not_leak():
    check_flat(
        "pyarrow", "import pyarrow as pa\nmake = lambda: pa.Tensor.from_numpy(np.zeros(16, 'f4'))"
    )


def test_array_import_in_a_loop_does_not_leak():
    check_flat(
        "pyarrow", "import pyarrow as pa\nones = pa.array(range(16))\nmake = lambda: ones[1:]"
    )
