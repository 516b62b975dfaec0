"""Paddle's tensors, to and from the package."""

import sys

import dlbridge
import pytest
from round_trips import (
    COMMON,
    COMPLEX,
    LAYOUTS,
    NO_NEGATIVE_STRIDES,
    RoundTrips,
    aligned,
    broadcast,
    check_flat,
)
from support import framework, refused

if "tensorflow" in sys.modules:
    pytest.skip("Paddle and TensorFlow crash in one process; see run.py", allow_module_level=True)
paddle = framework("paddle")


class TestPaddle(RoundTrips):
    name, title, owner = "paddle", "Paddle", "paddle.Tensor"
    dtypes = [*COMMON, *COMPLEX, "uint32", "uint64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
    types_in = [
        name for name in dtypes if name not in ("uint32", "uint64")
    ]  # It makes none of them of arrays.
    copied = NO_NEGATIVE_STRIDES

    def of(self, array):
        name = array.dtype.name
        if name == "bfloat16":
            return paddle.to_tensor(array.view("u2"))
        return (
            paddle.to_tensor(array.view("u1")).view(name)
            if "float8" in name
            else paddle.to_tensor(array)
        )

    def tensor(self, array, layout):
        if layout == "broadcast" and "float8" not in array.dtype.name:
            return self.of(array)[:1].expand([5, 6])
        if "float8" in array.dtype.name:  # It indexes and arranges none of them.
            return self.of(LAYOUTS[layout](array).copy())
        return super().tensor(array, layout)

    def pointer(self, x):
        return x.data_ptr()

    def values(self, x):
        name = x.dtype.name.lower()
        return (x.astype("float32") if name == "bfloat16" or "float8" in name else x).tolist()


def test_framework_writes_are_visible_in_our_tensor():
    base = aligned("float32")
    dlbridge.from_dlpack(base).T.to("paddle")[1] = 7
    assert base[:, 1].tolist() == [7] * 4
    x = paddle.zeros([3])
    dlbridge.from_dlpack(x).to("numpy")[1] = 5
    assert x.tolist() == [0, 5, 0]


def test_read_only_tensor_is_copied_on_request():
    base = aligned("float32")
    base.flags.writeable = False
    with refused(
        BufferError,
        "the tensor is read-only, and Paddle writes to memory all the same; copy it first",
    ):
        dlbridge.convert(base, "paddle", readonly="refuse")
    copy = dlbridge.convert(base, "paddle", copy=None)
    copy[0, 0] = 9
    assert base[0, 0] == 1


def test_uint16_is_refused():
    # It takes one for the other.
    with refused(BufferError, "Paddle has no uint16"):
        dlbridge.zeros(3, "uint16").to("paddle")
    assert dlbridge.from_dlpack(paddle.to_tensor(aligned("uint16"))).dtype == "bfloat16"


def test_tensor_beyond_maximum_rank_is_refused():
    assert dlbridge.zeros((1,) * 9).to("paddle").ndim == 9
    for copy in (False, None, True):
        with refused(BufferError, "Paddle has at most 9 dimensions, and the tensor has 10"):
            dlbridge.zeros((1,) * 10).to("paddle", copy=copy)
    assert dlbridge.explain(dlbridge.zeros((1,) * 10), "paddle").outcome == "refused"


def test_tensor_that_requires_grad_is_refused():
    x = paddle.ones([3])
    x.stop_gradient = False
    with refused(BufferError, "stop_gradient=False", "detach()"):
        dlbridge.from_dlpack(x)
    assert dlbridge.from_dlpack(x.detach()).data_ptr == x.data_ptr()


def test_sparse_tensor_is_refused():
    x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    with refused(BufferError, "sparse", "to_dense()"):
        dlbridge.from_dlpack(x)
    assert dlbridge.from_dlpack(x.to_dense()).tolist() == [[0, 1], [2, 0]]


def test_broadcast_tensor_shares_memory():
    row = dlbridge.from_dlpack(aligned("float32"))[:1]
    x = broadcast(row).to("paddle")
    assert x.data_ptr() == row.data_ptr and x.tolist() == [row[0].tolist()] * 5


def test_conversion_in_a_loop_does_not_leak():
    check_flat("paddle", "import paddle\nmake = lambda: paddle.zeros([16])")
