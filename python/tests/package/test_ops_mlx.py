"""Ops of MLX's arrays."""

from dlbridge import ops
from ops_calls import OpsCalls
from support import framework

mx = framework("mlx.core")


class TestMlx(OpsCalls):
    kind = mx.array
    dtypes = "float32 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()

    def of(self, array):
        return mx.array(array)


def test_pending_work_finishes_before_the_memory_is_read():
    x = mx.ones((200, 200))
    for _ in range(10):
        assert ops.sum(x @ x).item() == 200**3


def test_dtypes_without_numpy_equivalent():
    x = mx.array([1.5, 2.5], mx.bfloat16)
    assert ops.add(x, x).dtype == mx.bfloat16 and ops.add(x, x).tolist() == [3, 5]
