"""Tensors of TVM FFI, to and from the package."""

import dlbridge
import numpy as np
import pytest
from round_trips import ALL, LAYOUTS, RoundTrips, aligned, check_flat, numbers_at
from support import framework, refused

tvm_ffi = framework("tvm_ffi")
from made import BOOL, INT64, Made, Producer  # noqa: E402


class TestTvmFfi(RoundTrips):
    name, title, owner = "tvm_ffi", "TVM FFI", "tvm_ffi.core.Tensor"
    dtypes = [name for name in ALL if "complex" not in name]
    has_views = False

    def of(self, array):
        # Of what gives no capsule, NumPy's arrays of foreign types among them, it takes none.
        return tvm_ffi.from_dlpack(dlbridge.from_dlpack(array))

    def pointer(self, x):
        return x.data_ptr()

    def values(self, x):
        return numbers_at(x.data_ptr(), x.shape, x.strides, str(x.dtype))


@pytest.mark.parametrize(
    "name",
    ["int4", "uint4", "int2", "float4_e2m1fn", "float4_e2m1fnx2", "float32x4", "float6_e2m3fn"],
)
def test_dtypes_without_numpy_equivalent(name):
    ours = dlbridge.zeros((4, 8), name)
    x = ours.to("tvm_ffi")
    assert (x.shape, x.data_ptr()) == ((4, 8), ours.data_ptr)
    again = dlbridge.from_dlpack(x)
    assert (again.dtype, again.nbytes, again.data_ptr) == (name, ours.nbytes, ours.data_ptr)


def test_tensor_of_numpy_memory_is_shared():
    base = aligned("float32")
    x = tvm_ffi.from_dlpack(base)
    ours = dlbridge.from_dlpack(x)
    assert ours.data_ptr == base.ctypes.data == ours.to("tvm_ffi").data_ptr()
    ours.to("numpy")[0, 0] = 9
    assert base[0, 0] == 9


def test_read_only_tensor_is_copied_on_request():
    base = aligned("float32")
    base.flags.writeable = False
    with refused(
        BufferError,
        "the tensor is read-only, and TVM FFI writes to memory all the same; copy it first",
    ):
        dlbridge.convert(base, "tvm_ffi", readonly="refuse")
    assert dlbridge.convert(base, "tvm_ffi", copy=None).data_ptr() != base.ctypes.data


def test_function_accepts_dlbridge_tensors():
    echo = tvm_ffi.get_global_func("testing.echo")
    for layout in LAYOUTS.values():
        ours = layout(dlbridge.from_dlpack(aligned("float32")))
        x = echo(ours)
        assert tuple(x.shape) == ours.shape and dlbridge.from_dlpack(x).tolist() == ours.tolist()
        assert not ours.size or dlbridge.from_dlpack(x).data_ptr == ours.data_ptr


@pytest.mark.parametrize("dtype", [BOOL, INT64])
def test_producer_memory_through_tvm_ffi_is_released_once(dtype):
    made = Made((2, 3), dtype=dtype)
    x = tvm_ffi.from_dlpack(dlbridge.from_dlpack(Producer(lambda **keywords: made.capsule())))
    assert np.prod(x.shape) == 6 and made.deleted == 0
    del x
    assert made.deleted == 1


def test_conversion_in_a_loop_does_not_leak():
    check_flat(
        "tvm_ffi",
        "import tvm_ffi\nmake = lambda: tvm_ffi.from_dlpack(np.zeros(16, 'f4'))",
        lacking="complex64",
    )
