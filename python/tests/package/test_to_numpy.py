"""NumPy's arrays, to and from the package."""

import dlbridge
import pytest
from round_trips import FLOAT8, OF_ARRAYS, RoundTrips, aligned, check_flat
from support import framework, refused

np = framework("numpy")
ml_dtypes = framework("ml_dtypes")

# They are of one byte each.
PADDED = "float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2".split()


class TestNumpy(RoundTrips):
    name, title, owner = "numpy", "NumPy", "numpy.ndarray"
    # Packed ones of less than a byte it has not.
    dtypes = [*OF_ARRAYS, "complex32"]

    def of(self, array):
        return array

    def pointer(self, x):
        return x.ctypes.data

    def values(self, x):
        return x.tolist()


def test_round_trip_keeps_strides_and_dtype():
    x = aligned("int16")[::-2, ::3].T
    y = dlbridge.from_dlpack(x).to("numpy")
    assert (y.strides, y.shape, y.dtype, type(y)) == (x.strides, x.shape, x.dtype, np.ndarray)


@pytest.mark.parametrize("name", PADDED)
def test_sub_byte_dtypes_are_padded(name):
    x = np.array([0, 1, 1, 0]).astype(getattr(ml_dtypes, name))
    ours = dlbridge.from_dlpack(x)
    assert (ours.dtype, ours.itemsize, ours.data_ptr) == (name, 1, x.ctypes.data)
    y = ours.to("numpy")
    assert y.dtype == x.dtype and y.ctypes.data == x.ctypes.data
    # NumPy itself would take no part in that.
    with refused(BufferError, "Unsupported dtype"):
        np.from_dlpack(ours)


@pytest.mark.parametrize("name", ["bfloat16", *FLOAT8])
def test_ml_dtypes_array_shares_memory(name):
    x = aligned(name)
    with pytest.raises(BufferError):
        x.__dlpack__()
    assert dlbridge.from_dlpack(x).data_ptr == x.ctypes.data


def test_read_only_array_stays_read_only():
    x = aligned("float32")
    x.flags.writeable = False
    ours = dlbridge.from_dlpack(x)
    assert (
        ours.readonly
        and not ours.to("numpy").flags.writeable
        and ours.to("numpy", copy=True).flags.writeable
    )
    assert dlbridge.from_dlpack(np.broadcast_to(np.float32(1), (2, 3))).readonly
    assert not np.from_dlpack(ours).flags.writeable


def test_numpy_protocols_share_memory():
    ours = dlbridge.from_dlpack(aligned("float64"))
    for ask in (np.from_dlpack, np.asarray, memoryview):
        assert np.asarray(ask(ours)).ctypes.data == ours.data_ptr
        assert np.asarray(ask(ours[::2].T)).tolist() == ours[::2].T.tolist()
    assert np.array(ours).ctypes.data != ours.data_ptr
    copied = np.from_dlpack(ours, copy=True)
    assert copied.ctypes.data != ours.data_ptr and copied.flags.writeable
    with pytest.raises(ValueError):
        np.asarray(ours, dtype="float32", copy=False)


def test_tensor_beyond_maximum_rank_is_refused():
    assert dlbridge.zeros((1,) * 64).to("numpy").ndim == 64
    for copy in (False, None):
        with refused(BufferError, "NumPy has at most 64 dimensions, and the tensor has 65"):
            dlbridge.zeros((1,) * 65).to("numpy", copy=copy)


def test_dtype_without_dlpack_equivalent_is_refused():
    for x in (np.array(["a"]), np.zeros(2, ">f4"), np.zeros(2, "M8[s]"), np.array([object()])):
        with refused(BufferError, "has no DLPack equivalent"):
            dlbridge.from_dlpack(x)


def test_conversion_in_a_loop_does_not_leak():
    check_flat("numpy", "make = lambda: np.zeros(16, 'f4')")
