"""Ops of MXNet's arrays, of both classes. They have no `__dlpack__`, but methods that give
capsules.
"""

import sys

import pytest

if sys.version_info >= (3, 12):
    pytest.skip("MXNet is for Python before 3.12, and NumPy before 1.24", allow_module_level=True)
import numpy as np

if tuple(int(part) for part in np.__version__.split(".")[:2]) >= (1, 24):
    pytest.skip(
        f"MXNet is for NumPy before 1.24, and this is {np.__version__}", allow_module_level=True
    )
import dlbridge  # noqa: E402
from dlbridge import ops  # noqa: E402
from ops_calls import OpsCalls  # noqa: E402
from support import framework  # noqa: E402

mx = framework("mxnet")
mx.npx.set_np()  # Without it, there are no arrays of rank 0.


class TestMxnet(OpsCalls):
    kind = mx.np.ndarray
    dtypes = "float32 float64 float16 int8 int32 int64 uint8".split()

    def of(self, array):
        return mx.np.array(array, dtype=array.dtype)

    def values(self, x):
        return x.asnumpy().tolist()


def test_op_of_older_array_class_returns_that_class():
    x, out = mx.nd.array([1, 2, 3]), mx.nd.zeros(3)
    assert ops.add(x, x, out=out) is out and out.asnumpy().tolist() == [2, 4, 6]
    assert ops.add(x, 1).asnumpy().tolist() == [2, 3, 4]
    assert ops.add(x, 1, like=dlbridge.zeros(1)).tolist() == [2, 3, 4]


def test_pending_work_finishes_before_the_memory_is_read():
    x = mx.np.ones((300, 300))
    for _ in range(20):
        assert ops.sum(mx.np.dot(x, x)).asnumpy() == 300**3
