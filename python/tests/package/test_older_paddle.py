"""Paddle before 3.3, which has no exchange table: the installed release without its own."""

import textwrap

import pytest
from older import REFUSED
from support import framework, in_fork

paddle = framework("paddle")
TABLES = ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__")
if not any(hasattr(paddle.Tensor, table) for table in TABLES):
    pytest.skip("this release has no exchange table to remove", allow_module_level=True)

WITHOUT_TABLE = (
    REFUSED
    + """
import paddle
for name in ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"):
    if hasattr(paddle.Tensor, name):
        setattr(paddle.Tensor, name, None)
import weakref
import dlbridge, numpy as np
from dlbridge import ops

def check_in():
    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    ours = dlbridge.from_dlpack(x)
    assert ours.data_ptr == x.data_ptr() and ours.tolist() == x.tolist()
    assert ops.add(x, 1, out=x) is x and x.tolist() == [[1, 2, 3], [4, 5, 6]]
    x.stop_gradient = False
    refused(lambda: dlbridge.from_dlpack(x), "stop_gradient")
    refused(lambda: ops.add(x, 1), "stop_gradient")

def check_both_ways():
    check_in()
    array = np.zeros(3, "f4")
    made, again = (dlbridge.convert(array, "paddle") for _ in range(2))
    assert made.data_ptr() == again.data_ptr() == array.ctypes.data
    made[1] = 5
    assert array.tolist() == again.tolist() == [0, 5, 0]
    alive = weakref.ref(array)
    del array, again
    assert alive() is not None and made.tolist() == [0, 5, 0]
    del made
    dlbridge.convert(dlbridge.zeros([1]), "paddle")  # Pending releases happen here.
    made = ops.add(paddle.ones([2, 2]), 1)
    assert isinstance(made, paddle.Tensor) and made.tolist() == [[2, 2], [2, 2]]
"""
)


def without_table(code):
    return in_fork("paddle", WITHOUT_TABLE + textwrap.dedent(code))


def test_tensors_without_table_are_shared_both_ways():
    without_table("check_both_ways()")


def test_tensors_without_methods_are_imported_by_capsules():
    without_table("""
        del paddle.Tensor.__dlpack__
        check_in()
        transposed = paddle.zeros([2, 3]).transpose([1, 0])
        assert not transposed.is_contiguous()
        refused(lambda: dlbridge.from_dlpack(transposed), "pass tensor.contiguous()")
        logical = paddle.ones([2], dtype="bool")
        refused(lambda: dlbridge.from_dlpack(logical), 'pass tensor.astype("uint8")')
        x = dlbridge.zeros([3])
        assert dlbridge.explain(x, "paddle").outcome == "refused"
        for copy in (False, None):
            refused(lambda: dlbridge.convert(x, "paddle", copy=copy), "install Paddle 3.0 or newer")
    """)


def test_unsupported_dtype_of_release_is_explained():
    without_table("""
        import paddle.utils.dlpack
        own = paddle.utils.dlpack.from_dlpack
        def from_dlpack(capsule):
            tensor = own(capsule)
            if tensor.dtype == paddle.float8_e5m2:
                raise NotImplementedError("DLDataType code <12> is illegal")
            return tensor
        paddle.utils.dlpack.from_dlpack = from_dlpack
        x = dlbridge.zeros([3], "float8_e5m2")
        reason = "the installed release of Paddle has no float8_e5m2 (DLDataType code <12> is illegal)"
        assert dlbridge.explain(x, "paddle").reason == reason
        for copy in (False, None):
            refused(lambda: dlbridge.convert(x, "paddle", copy=copy), reason)
    """)
