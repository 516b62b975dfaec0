"""MXNet's arrays, to and from the package. They have no `__dlpack__`, but methods that give
capsules.
"""

import sys
import weakref

import pytest

if sys.version_info >= (3, 12):
    pytest.skip("MXNet is for Python before 3.12, and NumPy before 1.24", allow_module_level=True)
import dlbridge
import numpy as np

if tuple(int(part) for part in np.__version__.split(".")[:2]) >= (1, 24):
    pytest.skip(
        f"MXNet is for NumPy before 1.24, and this is {np.__version__}", allow_module_level=True
    )
from round_trips import ROW_MAJOR, RoundTrips, aligned, check_flat  # noqa: E402
from support import framework, in_new_process, refused  # noqa: E402

mx = framework("mxnet")
mx.npx.set_np()  # Without it, there are neither empty arrays nor any of rank 0.


class TestMxnet(RoundTrips):
    name, title, owner = "mxnet", "MXNet", "mxnet.numpy.ndarray"
    dtypes = "uint8 int8 int32 int64 float16 float32 float64".split()
    types_in = [*dtypes, "bool"]
    copied = ROW_MAJOR
    has_views = False  # It copies what NumPy would make a view of, but for rows.

    def of(self, array):
        return mx.np.array(array, dtype=array.dtype)

    def pointer(self, x):
        return _address(x)

    def values(self, x):
        return x.asnumpy().tolist()

    def test_producer_memory_after_consumer_is_dropped_is_released_once(self):
        """Not of a hand-made capsule, as for these ctypes is set up in another way than MXNet does
        it.
        """
        array, released = aligned("float32"), []
        weakref.finalize(array, released.append, 1)
        x = dlbridge.convert(array, "mxnet")
        del array
        assert not released and self.values(x) == aligned("float32").tolist()
        del x
        mx.nd.waitall()
        assert released == [1]


def _address(x):
    import ctypes

    from mxnet.base import _LIB, check_call

    address = ctypes.c_void_p()
    check_call(_LIB.MXNDArrayGetData(x.handle, ctypes.byref(address)))
    return address.value


@pytest.mark.parametrize("name", TestMxnet.types_in)
def test_older_array_class_shares_memory(name):
    x = mx.nd.array(aligned(name), dtype=name)
    ours = dlbridge.from_dlpack(x)
    assert (ours.dtype, ours.owner, ours.data_ptr) == (
        name,
        "mxnet.ndarray.ndarray.NDArray",
        _address(x),
    )
    assert ours.tolist() == aligned(name).tolist()
    assert dlbridge.from_dlpack(x[1:3]).data_ptr == _address(x) + 6 * np.dtype(name).itemsize


def test_bools_are_exported_as_bytes():
    # MXNet calls them unsigned integers of one bit.
    x = mx.np.array([True, False, True], dtype=bool)
    ours = dlbridge.from_dlpack(x)
    assert (ours.dtype, ours.nbytes, ours.tolist()) == ("bool", 3, [True, False, True])
    ours.to("numpy")[1] = True
    assert x.asnumpy().tolist() == [True] * 3


def test_pending_work_finishes_before_the_memory_is_read():
    x = mx.np.ones((300, 300))
    for _ in range(20):
        y = mx.np.dot(x, x)
        assert dlbridge.from_dlpack(y)[0, 0].item() == 300  # It may still have been at it.


def test_writes_are_visible_on_both_sides():
    base = aligned("float32")
    x = dlbridge.convert(base, "mxnet")
    x[0, 0] = 9
    mx.nd.waitall()
    assert base[0, 0] == 9
    y = mx.np.zeros(3)
    dlbridge.from_dlpack(y).to("numpy")[1] = 5
    assert y.asnumpy().tolist() == [0, 5, 0]


def test_read_only_tensor_is_copied_on_request():
    base = aligned("float32")
    base.flags.writeable = False
    with refused(
        BufferError,
        "the tensor is read-only, and MXNet writes to memory all the same; copy it first",
    ):
        dlbridge.convert(base, "mxnet", readonly="refuse")
    assert _address(dlbridge.convert(base, "mxnet", copy=None)) != base.ctypes.data


def test_read_only_memory_is_shared_with_warning():
    base = aligned("float32")
    base.flags.writeable = False
    with pytest.warns(dlbridge.ReadOnlyWarning, match="NumPy -> MXNet"):
        x = dlbridge.convert(base, "mxnet")
    assert _address(x) == base.ctypes.data and x.asnumpy().tolist() == base.tolist()


def test_irrelevant_strides_are_accepted():
    ours = dlbridge.from_dlpack(aligned("float32"))
    for view in (ours[::-1][:1], ours[:0], ours[:1].T, ours[::2][:1]):
        x = view.to("mxnet")
        assert x.shape == view.shape and x.asnumpy().tolist() == view.tolist()
    # It accepts no other empty ones: of (4, 0) it wants strides (0, 1).
    with refused(BufferError, "only support compact tensor"):
        ours[:, :0].to("mxnet")


def test_release_without_the_gil_succeeds():
    # MXNet releases without it, and NumPy of this age needs it for what it gave in a capsule.
    code = """
    import dlbridge, mxnet as mx, numpy as np
    class Array(np.ndarray): pass
    x = dlbridge.convert(np.zeros(16, "f4").view(Array), "mxnet")
    del x
    mx.nd.waitall()
    print("released")
    """
    assert "released" in in_new_process(code)


def test_sparse_arrays_are_refused():
    # MXNet gives the elements that are there as if they were all.
    for x in (mx.nd.sparse.zeros("csr", (3, 4)), mx.nd.sparse.zeros("row_sparse", (3, 4))):
        for take in (dlbridge.from_dlpack, lambda x: dlbridge.convert(x, "numpy", copy=True)):
            with refused(BufferError, "the array is sparse", 'array.tostype("default")'):
                take(x)
    assert dlbridge.from_dlpack(x.tostype("default")).tolist() == [[0] * 4] * 3


def test_non_array_object_is_refused():
    with refused(TypeError, "expected a tensor, got", "mxnet.context.Context"):
        dlbridge.from_dlpack(mx.cpu())


def test_extension_reads_and_writes_mxnet_arrays():
    import dlbridge_testing as ext

    x = mx.np.array([1, 2, 3], dtype="float32")
    assert ext.read_f32(x) == [1, 2, 3] == ext.own_f32(x)
    ext.write_f32(x, 7)
    assert x.asnumpy().tolist() == [7, 7, 7]
    flags = mx.np.array([True, False], dtype=bool)
    assert ext.read_bool(flags) == [True, False]
    with refused(BufferError, "sparse"):
        ext.describe(mx.nd.sparse.zeros("csr", (3, 4)))


def test_conversion_in_a_loop_does_not_leak():
    check_flat("mxnet", "import mxnet as mx\nmake = lambda: mx.nd.zeros(16)")
