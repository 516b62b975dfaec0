"""TVM's tensors, to and from the package."""

import dlbridge
import numpy as np
from round_trips import ALIGNED, ALL, ROW_MAJOR, RoundTrips, aligned, check_flat, numbers_at
from support import framework, refused

tvm = framework("tvm")


class TestTvm(RoundTrips):
    name, title, owner = "tvm", "TVM", "tvm.runtime._tensor.Tensor"
    dtypes = [name for name in ALL if "complex" not in name]
    copied = {**ROW_MAJOR, **ALIGNED}
    has_views = False

    def of(self, array):
        x = tvm.runtime.empty(array.shape, array.dtype.name)
        dlbridge.from_dlpack(x).to("numpy")[...] = array
        return x

    def pointer(self, x):
        return x.data_ptr()

    def values(self, x):
        return numbers_at(x.data_ptr(), x.shape, x.strides, str(x.dtype))


def test_tvm_tensor_shares_memory_both_ways():
    x = tvm.runtime.tensor(aligned("float32"))
    ours = dlbridge.from_dlpack(x)
    ours.to("numpy")[0, 0] = 9
    assert x.numpy()[0, 0] == 9
    again = ours.to("tvm")
    assert isinstance(again, tvm.runtime.Tensor) and again.data_ptr() == x.data_ptr()
    again.copyfrom(np.full((4, 6), 3, "float32"))
    assert ours.tolist() == [[3] * 6] * 4


def test_unaligned_memory_is_copied_or_refused():
    ours = dlbridge.from_dlpack(aligned("float32")).reshape(24)
    for first in range(1, 16):
        with refused(BufferError, "TVM needs memory that is aligned to 64 bytes"):
            ours[first:].to("tvm")
        assert ours[first:].to("tvm", copy=None).numpy().tolist() == ours[first:].tolist()
    assert ours[16:].to("tvm").data_ptr() == ours[16:].data_ptr


def test_read_only_tensor_is_copied_on_request():
    base = aligned("float32")
    base.flags.writeable = False
    with refused(
        BufferError, "the tensor is read-only, and TVM writes to memory all the same; copy it first"
    ):
        dlbridge.convert(base, "tvm", readonly="refuse")
    x = dlbridge.convert(base, "tvm", copy=None)
    x.copyfrom(np.zeros((4, 6), "float32"))
    assert base[0, 0] == 1


def test_conversion_in_a_loop_does_not_leak():
    check_flat(
        "tvm", "import tvm\nmake = lambda: tvm.runtime.empty((16,), 'float32')", lacking="complex64"
    )
