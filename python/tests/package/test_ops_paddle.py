"""Ops of Paddle's tensors."""

from dlbridge import ops
from ops_calls import OpsCalls
from support import framework, refused

paddle = framework("paddle")


class TestPaddle(OpsCalls):
    kind = paddle.Tensor

    def of(self, array):
        return paddle.to_tensor(array)


def test_dtypes_without_numpy_equivalent():
    x = paddle.to_tensor([1.5, 2.5], dtype="bfloat16")
    y = ops.add(x, x)
    assert y.dtype == paddle.bfloat16 and y.astype("float32").tolist() == [3, 5]


def test_tensor_that_requires_grad_is_refused():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with refused(BufferError, 'add: argument "a":', "detach()"):
        ops.add(x, x)
    assert ops.add(x.detach(), 1).tolist() == [2, 3]
