"""The package's tensors as arrays of NumPy and as buffers: the same memory, for as long as anyone
sees it.
"""

import ctypes
import gc
import random
import weakref

import dlbridge
import pytest
from arrays import some_array
from support import framework, refused

np = framework("numpy")
import ml_dtypes  # noqa: E402

# As the module `struct` writes them, and complex numbers as NumPy does.
FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "ql",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "QL",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex64": "Zf",
    "complex128": "Zd",
}
# NumPy has those of less than a byte padded alone, as they come from it.
BYTES = """bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
    float8_e5m2fnuz float8_e8m0fnu""".split()
PADDED = "int2 int4 uint2 uint4 float6_e2m3fn float6_e3m2fn float4_e2m1fn".split()


@pytest.mark.parametrize("name", FORMATS)
def test_buffer_format_matches_dtype(name):
    t = dlbridge.full((2, 3), 1, name)
    view = memoryview(t)
    x = t.to("numpy")
    assert view.format in FORMATS[name] or view.format == FORMATS[name]
    assert (view.itemsize, view.ndim, view.shape, view.strides) == (
        x.itemsize,
        2,
        x.shape,
        x.strides,
    )
    assert (view.nbytes, view.readonly, view.c_contiguous, view.suboffsets) == (
        x.nbytes,
        False,
        True,
        (),
    )
    assert view.obj is t and view.tobytes() == x.tobytes()
    for array in (np.asarray(t), np.asarray(view), np.asarray(t, copy=False), t.__array__()):
        assert array.dtype == name and array.ctypes.data == t.data_ptr and array.flags.writeable
        array[1, 2] = 0
        assert t[1, 2].item() == 0 and t[0, 0].item() == 1
        array[1, 2] = 1


@pytest.mark.parametrize("seed", range(20))
def test_buffer_of_every_layout_equals_numpy(seed):
    choose = random.Random(seed)
    for _ in range(20):
        x = some_array(choose)
        view = memoryview(dlbridge.from_dlpack(x))
        expected = memoryview(x)
        assert (
            view.shape == expected.shape
            and view.readonly == expected.readonly
            and view.nbytes == expected.nbytes
        )
        assert view.tolist() == expected.tolist() and view.tobytes() == expected.tobytes()
        assert (view.c_contiguous, view.f_contiguous) == (
            expected.c_contiguous,
            expected.f_contiguous,
        )
        if x.size:
            assert [s for s, n in zip(view.strides, x.shape) if n > 1] == [
                s for s, n in zip(x.strides, x.shape) if n > 1
            ]
            assert np.asarray(dlbridge.from_dlpack(x)).ctypes.data == x.ctypes.data
        np.testing.assert_array_equal(np.asarray(dlbridge.from_dlpack(x)), x)


def test_buffer_request_unfit_for_layout_is_refused():
    rows, columns = dlbridge.arange(6).reshape(2, 3), dlbridge.arange(6).reshape(3, 2).T
    gaps = dlbridge.arange(12).reshape(2, 6)[:, ::2]
    # PyBUF_STRIDES, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS and PyBUF_ANY_CONTIGUOUS
    for flags, fitting in [
        (0x18, [rows, columns, gaps]),
        (0x38, [rows]),
        (0x58, [columns]),
        (0x98, [rows, columns]),
    ]:
        for t in (rows, columns, gaps):
            if any(t is other for other in fitting):
                with lent(t, flags) as buffer:
                    assert buffer.buf == t.data_ptr and buffer.len == t.nbytes and not buffer.format
            else:
                with refused(BufferError, "copy it first"), lent(t, flags):
                    pass
    # A request without strides or without a shape expects contiguous elements.
    for flags in (0, 0x8):
        for t in (columns, gaps):
            with refused(BufferError, "copy it first"), lent(t, flags):
                pass
        with lent(rows, flags) as buffer:
            assert not buffer.strides and bool(buffer.shape) == bool(flags) and buffer.itemsize == 8
    with lent(rows, 0x4) as buffer:  # PyBUF_FORMAT
        assert buffer.format in (b"q", b"l")


class Buffer(ctypes.Structure):
    """Python's `Py_buffer`."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


class lent:
    """A buffer, by C's own function, so that every request can be made."""

    def __init__(self, t, flags):
        self.t, self.flags, self.buffer = t, flags, Buffer()

    def __enter__(self):
        function = ctypes.pythonapi.PyObject_GetBuffer
        function.argtypes = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int]
        function(self.t, self.buffer, self.flags)
        return self.buffer

    def __exit__(self, *error):
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(self.buffer))


def test_writable_buffer_of_read_only_tensor_is_refused():
    read_only = dlbridge.from_dlpack(b"abcd")
    assert memoryview(read_only).readonly and not np.asarray(read_only).flags.writeable
    with refused(TypeError):
        memoryview(read_only)[0] = 0
    with pytest.raises(ValueError):
        np.asarray(read_only)[0] = 0
    with pytest.raises(ValueError):
        np.asarray(read_only).flags.writeable = True
    for flags in (0x1, 0x1 | 0x118):  # PyBUF_WRITABLE, PyBUF_FULL
        with refused(BufferError, "read-only"), lent(read_only, flags):
            pass
    with pytest.raises((TypeError, BufferError), match="read-only|not writable"):
        ctypes.c_char.from_buffer(read_only)
    t = dlbridge.zeros(8, "uint8")
    with open(__file__, "rb", buffering=0) as file:
        assert file.readinto(t) == 8
        with pytest.raises((TypeError, BufferError), match="read-only|read-write"):
            file.readinto(read_only)
    assert bytes(t.tolist()) == b'"""The p'
    ctypes.c_char.from_buffer(t).value = b"!"
    assert t[0].item() == ord("!")
    memoryview(t)[1:3] = b"??"
    assert t[:3].tolist() == list(b"!??")


def test_bytes_of_every_view_are_in_c_order():
    x = np.arange(6, dtype="i2").reshape(2, 3)
    for view in (x, x.T, x[:, ::-2], x[:1, :1]):
        t = dlbridge.from_dlpack(view)
        assert bytes(t) == bytearray(t) == view.tobytes()
    assert b"".join([dlbridge.from_dlpack(x)]) == x.tobytes()
    assert np.frombuffer(dlbridge.from_dlpack(x), "i2").tolist() == x.ravel().tolist()


def test_buffer_of_as_many_dimensions_as_python_has_is_imported_with_its_strides():
    row = np.arange(6.0).reshape((1,) * 62 + (2, 3))
    for array in (row, row.swapaxes(-1, -2), row[..., ::-1]):
        tensor = dlbridge.from_dlpack(memoryview(array))
        assert tensor.data_ptr == array.ctypes.data and tensor.shape == array.shape
        assert [stride * 8 for stride in tensor.strides[-2:]] == list(array.strides[-2:])
        # Borrowed for a call.
        assert dlbridge.ops.sum(memoryview(array)).tolist() == 15.0


def test_small_buffers_equal_numpy():
    view = memoryview(dlbridge.asarray(5))
    assert (view.ndim, view.shape, view.tolist(), view.nbytes) == (0, (), 5, 8)
    for shape in (0, (0, 3), (3, 0)):
        t = dlbridge.zeros(shape)
        assert memoryview(t).shape == t.shape == np.asarray(t).shape and memoryview(t).nbytes == 0
    deep = dlbridge.zeros((1,) * 64)
    assert memoryview(deep).ndim == np.asarray(deep).ndim == 64
    for act in (memoryview, np.asarray):
        with refused(BufferError, "64 dimensions"):
            act(dlbridge.zeros((1,) * 65))


@pytest.mark.parametrize("name", [*BYTES, *PADDED, "complex32", "handle", "int1", "float32x2"])
def test_dtype_without_buffer_format_is_refused(name):
    with refused(BufferError, f"buffers have no elements of {name}"):
        memoryview(dlbridge.empty(2, name))


@pytest.mark.parametrize("name", BYTES)
def test_array_of_ml_dtype_shares_memory(name):
    t = dlbridge.ones((3, 4), name)[:, ::2]
    for x in (np.asarray(t), np.asarray(t, copy=False), t.__array__(), t.to("numpy")):
        assert (
            x.dtype == getattr(ml_dtypes, name)
            and x.ctypes.data == t.data_ptr
            and x.shape == (3, 2)
        )
        assert x.strides == (4 * x.itemsize, 2 * x.itemsize) and x.flags.writeable
        assert x.astype("f4").tolist() == [[1, 1]] * 3
    x[0, 1] = 2
    assert t[0, 1].item() == 2


@pytest.mark.parametrize("name", PADDED)
def test_padded_array_of_ml_dtype_shares_memory(name):
    x = np.array([[0, 1], [1, 0]]).astype(getattr(ml_dtypes, name))
    t = dlbridge.from_dlpack(x)
    y = np.asarray(t.T)
    assert y.dtype == x.dtype and y.ctypes.data == x.ctypes.data and y.tolist() == x.T.tolist()
    for act in (np.asarray, np.array):
        with refused(BufferError, f"NumPy has no {name}"):
            act(dlbridge.empty(4, name))


def test_array_protocol_copies_only_on_request():
    t = dlbridge.arange(4)
    for x in (
        np.array(t),
        np.array(t, copy=True),
        t.__array__(copy=True),
        np.asarray(t, "float32"),
        np.asarray(t, copy=True),
    ):
        assert x.ctypes.data != t.data_ptr and x.tolist() == [0, 1, 2, 3] and x.flags.writeable
    for x in (
        np.array(t, copy=None),
        np.asarray(t, "int64"),
        t.__array__("int64"),
        t.__array__(np.int64, copy=False),
    ):
        assert x.ctypes.data == t.data_ptr and x.dtype == "int64"
    for dtype in ("float32", np.int32, np.dtype("c16")):
        assert t.__array__(dtype).dtype == t.__array__(dtype, copy=True).dtype == dtype
        for act in (
            lambda dtype: t.__array__(dtype, copy=False),
            lambda dtype: np.asarray(t, dtype, copy=False),
        ):
            with refused(ValueError, "copy"):
                act(dtype)
    bf16 = dlbridge.asarray([1.5], "bfloat16")
    assert np.asarray(bf16, "f4").tolist() == np.array(bf16, "f4", copy=True).tolist() == [1.5]
    with refused(ValueError, "copy"):
        np.asarray(bf16, "f4", copy=False)
    with refused(TypeError):
        t.__array__("no type")


class Owner(bytearray):
    """Memory that can be watched."""


@pytest.mark.parametrize(
    "look",
    [
        memoryview,
        np.asarray,
        lambda t: t.to("numpy"),
        lambda t: memoryview(t[::-1]),
        lambda t: t.T[:3],
    ],
)
def test_exported_buffer_keeps_memory_until_dropped(look):
    owner = Owner(b"abcd")
    gone = weakref.ref(owner)
    seen = look(dlbridge.from_dlpack(owner))
    del owner
    gc.collect()
    assert gone() is not None and sorted(seen.tolist())[0] == ord("a")
    # An exporter of a buffer can't release its memory.
    with refused(BufferError):
        gone().append(1)
    del seen
    gc.collect()
    assert gone() is None


def test_released_buffer_unlocks_its_exporter():
    owner = Owner(b"abcd")
    view = memoryview(dlbridge.from_dlpack(owner))
    inner = view[1:]
    view.release()
    assert inner.tobytes() == b"bcd"
    inner.release()
    owner.append(1)
    with memoryview(dlbridge.from_dlpack(owner)) as view:
        assert view[4] == 1
    owner.append(2)
