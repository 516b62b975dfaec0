"""Pickling and copying the package's tensors: within the stream and beside it, and across
processes.
"""

import copy
import gc
import io
import multiprocessing
import operator
import pickle
import weakref

import dlbridge
import pytest
from support import framework, in_new_process, refused

np = framework("numpy")
import ml_dtypes  # noqa: E402

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
NAMES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 complex32
    bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
    float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int1 int2 int4 uint1 uint2 uint4 handle handle16
    float32x2 uint8x3 int4x2""".split()
LAYOUTS = {
    "rows": lambda t: t,
    "columns": lambda t: t.T,
    "backwards": lambda t: t[::-1, ::-1],
    "gaps": lambda t: t[:, ::2],
    "offset": lambda t: t[1:, 1:],
    "repeated": lambda t: t[0].broadcast_to(3, 4),
    "rank 0": lambda t: t[1, 2],
    "empty": lambda t: t[:0],
    "none wide": lambda t: t[:, :0],
    "deep": lambda t: t.reshape(1, 1, 3, 1, 4, 1, 1),
}


def assert_equal(found, t):
    assert type(found) is dlbridge.Tensor and found.is_contiguous
    assert (found.shape, found.dtype, found.device) == (t.shape, t.dtype, t.device)
    assert found.equals(t)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_pickle_of_every_layout_round_trips(layout, protocol):
    t = LAYOUTS[layout](dlbridge.arange(12).reshape(3, 4))
    found = pickle.loads(pickle.dumps(t, protocol))
    assert_equal(found, t)
    assert not found.readonly and (found.data_ptr != t.data_ptr or t.size == 0)
    # The fallback in Python goes other ways through the same object.
    stream = io.BytesIO()
    pickle._Pickler(stream, protocol).dump(t)
    assert_equal(pickle._loads(stream.getvalue()), t)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
def test_pickle_of_every_dtype_round_trips(name, protocol):
    random = dlbridge.asarray(np.random.default_rng(0).integers(0, 256, 24 * 16).astype("u1"))
    whole = dlbridge.empty(24, name).nbytes
    t = random[:whole].view(name)
    # Of packed elements, also those that end inside a byte.
    for part in (
        t,
        t[:5],
        t.reshape(4, 6)[0],
        dlbridge.empty((), name),
        dlbridge.zeros((2, 0), name),
    ):
        found = pickle.loads(pickle.dumps(part, protocol))
        assert (found.shape, found.dtype, str(found)) == (part.shape, name, str(part))
        # By bits, as of NaN no two are equal.
        assert bits(found) == bits(part)


def bits(t):
    """The elements' bytes, of which the last may be there in part."""
    return pickle.loads(pickle.dumps(t, 2)).__reduce_ex__(2)[1][0]


def beside(t):
    """A pickle's stream, and what is beside it."""
    buffers = []
    return pickle.dumps(t, 5, buffer_callback=buffers.append), buffers


@pytest.mark.parametrize("name", NAMES)
def test_out_of_band_pickle_shares_memory(name):
    t = dlbridge.empty((30, 40), name)
    stream, [buffer] = beside(t)
    assert len(stream) < 200 and buffer.raw().nbytes == t.nbytes and not buffer.raw().readonly
    assert np.frombuffer(buffer.raw(), "u1").ctypes.data == t.data_ptr
    found = pickle.loads(stream, buffers=[buffer])
    assert_equal(found, t)
    assert found.data_ptr == t.data_ptr and not found.readonly


@pytest.mark.parametrize("layout", LAYOUTS)
def test_out_of_band_pickle_of_every_layout_round_trips(layout):
    t = LAYOUTS[layout](dlbridge.arange(12).reshape(3, 4))
    stream, [buffer] = beside(t)
    found = pickle.loads(stream, buffers=[buffer])
    assert_equal(found, t)
    # Only what lies one after another needs no copy.
    assert t.size == 0 or (found.data_ptr == t.data_ptr) == t.is_contiguous


def test_out_of_band_pickle_keeps_read_only():
    t = dlbridge.from_dlpack(b"abcd")
    for protocol in PROTOCOLS:
        found = pickle.loads(pickle.dumps(t, protocol))
        assert_equal(found, t)
        assert not found.readonly
    stream, [buffer] = beside(t)
    assert buffer.raw().readonly
    found = pickle.loads(stream, buffers=[buffer])
    assert found.readonly and found.data_ptr == t.data_ptr


def test_out_of_band_pickle_loads_received_bytes():
    stream, _ = beside(dlbridge.asarray([1, 2, 3, 4], "uint8"))
    received = bytearray(b"wxyz")
    found = pickle.loads(stream, buffers=[received])
    received[0] = 0
    assert not found.readonly and found.tolist() == [0, *b"xyz"]
    found = pickle.loads(stream, buffers=[memoryview(b"wxyz")])
    assert found.readonly and found.tolist() == list(b"wxyz")
    # Memory that we alone own is writable.
    received = b"wxyz"
    found = pickle.loads(stream, buffers=[received])
    np.asarray(found)[0] = 0
    assert found.tolist() == [0, *b"xyz"] and received == b"wxyz"


def test_out_of_band_memory_lives_as_long_as_its_tensor():
    class Owner(bytearray):
        pass

    owner = Owner(b"abcd")
    gone = weakref.ref(owner)
    stream, buffers = beside(dlbridge.from_dlpack(owner))
    del owner
    found = pickle.loads(stream, buffers=buffers)
    del buffers
    gc.collect()
    assert gone() is not None and found.tolist() == list(b"abcd")
    del found
    gc.collect()
    assert gone() is None


def test_out_of_band_pickle_with_wrong_bytes_is_refused():
    stream, [buffer] = beside(dlbridge.zeros(3, "int32"))
    for wrong in (b"", bytes(11), bytes(13), bytearray(24), np.zeros(3, "f4")[:2]):
        with pytest.raises((BufferError, ValueError), match="bytes"):
            pickle.loads(stream, buffers=[wrong])
    for arguments in [
        (bytes(4), (1,), "int33"),
        (bytes(4), (-1,), "int32"),
        ([1], (1,), "int32"),
        (bytes(4), None, "int32"),
    ]:
        with pytest.raises((LookupError, ValueError, TypeError, OverflowError)):
            dlbridge._core._restore(*arguments)


def test_pickle_of_several_tensors_keeps_identity():
    t = dlbridge.arange(1000)
    pair = pickle.loads(pickle.dumps({"first": t, "again": t, "part": t[:3]}))
    assert pair["first"] is pair["again"] and pair["part"].equals(t[:3])


def test_pickle_of_padded_is_refused():
    x = np.zeros(3, ml_dtypes.int4)
    for protocol in PROTOCOLS:
        with refused(BufferError, "padded int4", "can't be pickled"):
            pickle.dumps(dlbridge.from_dlpack(x), protocol)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copy_shares_and_deepcopy_copies(layout):
    t = LAYOUTS[layout](dlbridge.arange(12).reshape(3, 4))
    same = copy.copy(t)
    assert (same.data_ptr, same.shape, same.strides, same.owner) == (
        t.data_ptr,
        t.shape,
        t.strides,
        t.owner,
    )
    deep = copy.deepcopy(t)
    assert_equal(deep, t)
    assert deep.data_ptr != t.data_ptr or t.size == 0
    first, second = copy.deepcopy([t, t])
    assert first is second


def test_deepcopy_of_read_only_memory_is_writable():
    t = dlbridge.from_dlpack(b"abcd")
    assert copy.copy(t).readonly and copy.copy(t).owner == "bytes"
    assert not copy.deepcopy(t).readonly and copy.deepcopy(t).tolist() == list(b"abcd")


def test_pickle_across_processes_round_trips():
    t = dlbridge.arange(12, dtype="bfloat16").reshape(3, 4)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for view in (t, t.T, t[::-1], t[0, 1], t[:0]):
            # There and back, with what happens there in between.
            there = pool.apply(operator.methodcaller("transpose"), (view,))
            assert_equal(there, view.T)
        with refused(BufferError, "padded"):
            pool.apply(
                operator.methodcaller("tolist"),
                (dlbridge.from_dlpack(np.zeros(2, ml_dtypes.int4)),),
            )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickle_loads_in_process_without_import(protocol, tmp_path):
    (tmp_path / "tensor").write_bytes(pickle.dumps(dlbridge.arange(6).reshape(2, 3).T, protocol))
    code = f"""
        import pickle, sys
        t = pickle.load(open({str(tmp_path / "tensor")!r}, "rb"))
        print(t.tolist(), "numpy" in sys.modules)
    """
    assert in_new_process(code).strip() == "[[0, 3], [1, 4], [2, 5]] False"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_dtypes_and_devices_are_copied_and_pickled(protocol):
    for value in (dlbridge.zeros(1, "bfloat16").dtype, dlbridge.zeros(1).device):
        found = pickle.loads(pickle.dumps(value, protocol))
        assert type(found) is type(value) and found == value and hash(found) == hash(value)
        assert copy.copy(value) is copy.deepcopy([value])[0] is value
        assert eval(repr(value), vars(dlbridge)) == value
    assert dlbridge.DType(np.float16) == dlbridge.DType("float16") == "float16"
    assert dlbridge.Device((2, 1)) == dlbridge.Device("cuda:1") == "cuda:1"
    with refused(LookupError, "float33"):
        dlbridge.DType("float33")


def test_ops_are_pickled_by_name():
    for protocol in PROTOCOLS:
        add = pickle.loads(pickle.dumps(dlbridge.ops.add, protocol))
        assert add.__name__ == "add" and add(np.ones(2), np.ones(2)).tolist() == [2, 2]
        op = pickle.loads(pickle.dumps(dlbridge.ops.add.__self__, protocol))
        assert op.signature == dlbridge.ops.add.__self__.signature
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (found,) = pool.map(dlbridge.ops.relu, [np.array([-1.0, 2.0])])
    assert found.tolist() == [0, 2]
    with pytest.raises(AttributeError, match="no attribute 'sub'"):
        dlbridge.ops.add.__self__.sub
