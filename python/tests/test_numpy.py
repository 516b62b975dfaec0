"""NumPy's arrays, as arguments and as results."""

import dlbridge_testing as ext
import pytest
from support import framework, refused

np = framework("numpy")
import ml_dtypes  # noqa: E402

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
# Each is of whole bytes; those below 8 bits are padded.
EXTENSIONS = """bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
    float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2""".split()


def array(shape=(2, 3), dtype="float32"):
    count = int(np.prod(shape))
    return np.arange(count).reshape(shape).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 8, (1,) * 9, (2,) + (1,) * 63])
def test_import_keeps_dtype_and_values(name, shape):
    x = array(shape, name)
    for look in (ext.describe, ext.describe_out, ext.describe_owned):
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(shape), name, "cpu")
        assert seen["ptr"] == x.ctypes.data or x.size == 0
        assert (seen["readonly"], seen["padded"]) == (False, False)
        steps = [stride // x.itemsize for stride in x.strides]
        assert x.size == 0 or [s for s, n in zip(seen["strides"], shape) if n > 1] == [
            s for s, n in zip(steps, shape) if n > 1
        ]


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_shares_memory(name):
    x = array((2, 3), name)
    y = ext.to(ext.identity(x), "numpy")
    assert type(y) is np.ndarray and y.dtype == x.dtype and y.shape == x.shape
    assert y.ctypes.data == x.ctypes.data and y.flags.writeable
    np.testing.assert_array_equal(x, y)
    y[1, 2] = 0
    assert x[1, 2] == 0


@pytest.mark.parametrize("name", EXTENSIONS)
def test_ml_dtypes_array_is_imported(name):
    x = np.array([0, 1, 1, 0]).astype(getattr(ml_dtypes, name))
    seen = ext.describe(x)
    assert (seen["dtype"], seen["ptr"], seen["strides"]) == (name, x.ctypes.data, [1])
    assert seen["padded"] == (
        ml_dtypes.finfo(name).bits < 8 if name.startswith(("b", "f")) else True
    )
    y = ext.to(x, "numpy")
    assert y.dtype == x.dtype and y.ctypes.data == x.ctypes.data
    assert y.tobytes() == x.tobytes()
    assert ext.describe(x[::2])["strides"] == [2]


def test_dtypes_without_dlpack_equivalent_are_refused():
    for x in [
        np.array(["a"]),
        np.array([b"a"]),
        np.array([object()]),
        np.array([0], dtype="M8[s]"),
        np.array([0], dtype="m8[s]"),
        np.zeros(1, dtype=[("a", "f4")]),
        np.zeros(1, dtype=np.longdouble),
        np.zeros(1, dtype=np.clongdouble),
        np.array(["a"], dtype=np.dtypes.StringDType()),
    ]:
        for look in (ext.describe, ext.describe_out, ext.describe_owned):
            with refused(BufferError, "NumPy", "has no DLPack equivalent"):
                look(x)


def test_swapped_byte_order_is_refused():
    for name in (">f4", ">i8", ">c16", ">u2"):
        for look in (ext.describe, ext.describe_owned):
            with refused(BufferError, "has no DLPack equivalent", name):
                look(np.zeros(3, dtype=name))
    assert ext.describe(np.zeros(3, dtype=">u1"))["dtype"] == "uint8"


def test_type_codes_of_equal_width_have_one_dtype():
    # "l" and "q" are both of 64 bits on most machines.
    for code in "bBhHiIlLqQ":
        x = np.zeros(2, dtype=code)
        assert ext.describe(x)["dtype"] == x.dtype.name


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1],
        lambda x: x[:, ::-2],
        lambda x: x[1:, 1:],
        lambda x: x[:, 1],
        lambda x: x[None, :, None],
        lambda x: np.asfortranarray(x),
        lambda x: np.broadcast_to(x[0], (5, 4)),
        lambda x: x[:, :0],
        lambda x: x[3:],
        lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 2),
    ],
)
def test_views_round_trip_without_copy(view):
    x = view(array((3, 4)))
    for look in (ext.describe, ext.describe_owned):
        seen = look(x)
        assert seen["shape"] == list(x.shape)
        if x.size:
            assert seen["ptr"] == x.ctypes.data
    assert ext.read_f32(x) == x.ravel().tolist() == ext.own_f32(x)
    y = ext.to(x, "numpy")
    np.testing.assert_array_equal(x, y)
    assert not x.size or y.__array_interface__["data"] == x.__array_interface__["data"]
    assert [s for s, n in zip(y.strides, y.shape) if n > 1] == [
        s for s, n in zip(x.strides, x.shape) if n > 1
    ] or not x.size


def test_stride_unaligned_to_itemsize_is_refused():
    x = np.zeros(3, dtype=[("a", "u1"), ("b", "<f4")])["b"]  # 5 bytes apart
    for look in (ext.describe, ext.describe_out, ext.describe_owned):
        with refused(BufferError, "aren't multiples", "4 bytes"):
            look(x)
    # Of a single element, the stride says nothing.
    assert ext.read_f32(np.zeros(1, dtype=[("a", "u1"), ("b", "<f4")])["b"][:1].astype("f4")) == [0]
    assert ext.describe(x[:1])["shape"] == [1]
    pairs = np.zeros(3, dtype=[("a", "<f4"), ("b", "<f4")])["b"]
    assert ext.describe(pairs)["strides"] == [2]


def test_unaligned_array_is_refused_for_typed_access():
    x = np.zeros(9, dtype="u1")[1:].view("<f4")
    assert ext.describe(x)["ptr"] == x.ctypes.data
    with refused(BufferError, "not aligned to 4 bytes", "pass a copy"):
        ext.read_f32(x)
    with refused(BufferError, "not aligned to 4 bytes"):
        ext.write_f32(x, 1)
    assert ext.read_f32(x[:0]) == []


def test_writes_are_visible_to_the_framework():
    x = array((3, 4))
    ext.write_f32(x, 7)
    assert (x == 7).all()
    ext.write_f32(x[1:, ::2], 5)
    assert x.tolist() == [[7] * 4, [5, 7, 5, 7], [5, 7, 5, 7]]
    ext.write_f32(x.T[::-1], 0)
    assert not x.any()
    for name, write in [
        ("f8", ext.write_f64),
        ("i4", ext.write_i32),
        ("i8", ext.write_i64),
        ("u1", ext.write_u8),
        ("f2", ext.write_f16),
    ]:
        x = np.zeros(3, dtype=name)
        write(x, 2)
        assert x.tolist() == [2, 2, 2]
    x = np.zeros(2, dtype=bool)
    ext.write_bool(x, True)
    assert x.all()
    x = np.zeros(2, dtype=ml_dtypes.bfloat16)
    ext.write_bf16(x, 1.5)
    assert x.tolist() == [1.5, 1.5]
    x = np.zeros(2, dtype="c8")
    ext.write_c64(x, 1 + 2j)
    assert x.tolist() == [1 + 2j] * 2


def test_read_only_array_refuses_writes():
    x = array()
    x.flags.writeable = False
    assert ext.describe(x)["readonly"] and ext.describe_owned(x)["readonly"]
    assert ext.describe(np.broadcast_to(np.float32(1), (2, 2)))["readonly"]
    with refused(BufferError, "read-only", "pass a copy"):
        ext.write_f32(x, 1)
    y = ext.to(x, "numpy")
    assert not y.flags.writeable
    with pytest.raises(ValueError):
        y.flags.writeable = True
    # Through our own object, by the protocol.
    ours = ext.identity(x)
    assert ours.readonly and not np.from_dlpack(ours).flags.writeable
    x.flags.writeable = True
    assert not ext.describe(x)["readonly"]


def test_invalid_bools_are_refused():
    x = np.array([0, 1, 2], dtype="u1").view(bool)
    with refused(ValueError, "0x02 is not a valid bool"):
        ext.read_bool(x)
    with refused(ValueError, "0x02 is not a valid bool"):
        ext.write_bool(x, True)
    assert ext.read_bool(x[:2]) == [False, True]


def test_subclasses_and_scalars_are_accepted():
    class Sub(np.ndarray):
        pass

    x = array().view(Sub)
    assert ext.describe(x)["ptr"] == x.ctypes.data
    assert ext.describe(np.ma.masked_array([1, 2], [True, False]).filled(0))["shape"] == [2]
    scalar = np.float32(3)
    assert ext.describe(scalar)["shape"] == []
    assert ext.read_f32(scalar) == [3]
    with pytest.raises((BufferError, TypeError)):
        ext.write_f32(scalar, 1)


def test_memmap_is_read_and_written_in_place(tmp_path):
    x = np.memmap(tmp_path / "numbers", dtype="f4", mode="w+", shape=(2, 2))
    ext.write_f32(x, 3)
    assert (x == 3).all() and ext.describe(x)["ptr"] == x.ctypes.data
    x.flush()
    x = np.memmap(tmp_path / "numbers", dtype="f4", mode="r")
    assert ext.read_f32(x) == [3] * 4 == ext.own_f32(x)
    with refused(BufferError, "read-only"):
        ext.write_f32(x, 1)


def test_like_and_zeros_like():
    x = array((2, 3))
    where, y = ext.doubled(x)
    assert type(y) is np.ndarray and y.ctypes.data == where and y.flags.writeable
    np.testing.assert_array_equal(y, 2 * x)
    where, zeros = ext.zeros_like(x, [2, 5], "bfloat16")
    assert zeros.ctypes.data == where and zeros.dtype == ml_dtypes.bfloat16 and not zeros.any()
    assert where % 64 == 0
    assert type(ext.like(x, ext.from_list([1, 2], [2]))) is np.ndarray


def test_numpy_imports_our_objects():
    ours = ext.from_list([1, 2, 3, 4], [2, 2])
    x = np.from_dlpack(ours)
    assert x.ctypes.data == ours.data_ptr and x.flags.writeable
    x[0, 0] = 9
    assert ext.read_f32(ours)[0] == 9
    copy = np.from_dlpack(ours, copy=True)
    assert copy.ctypes.data != ours.data_ptr and copy.tolist() == x.tolist()
    shared = np.from_dlpack(ours, copy=False, device="cpu")
    assert shared.ctypes.data == ours.data_ptr
    turned = np.from_dlpack(ext.transposed(ours))
    assert turned.tolist() == x.T.tolist() and turned.ctypes.data == ours.data_ptr


def test_export_of_unsupported_dtype_or_rank_is_refused():
    with refused(BufferError, "NumPy has no int4"):
        ext.to(ext.zeros([4], "int4"), "numpy")  # packed
    with refused(BufferError, "NumPy has no float32x4"):
        ext.to(ext.zeros([4], "float32x4"), "numpy")
    with refused(BufferError, "64 dimensions"):
        ext.to(ext.zeros([1] * 65, "float32"), "numpy")
