"""MLX's arrays, as arguments and as results. They are computed when they are looked at, and made by
copying.
"""

import dlbridge_testing as ext
import pytest
from support import framework, refused

mx = framework("mlx.core")
import numpy as np  # noqa: E402

# All but bfloat16 come through the buffer protocol; that one comes in a capsule.
NAMES = """bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 bfloat16""".split()
LOOKS = [ext.describe, ext.describe_out, ext.describe_owned]


@pytest.fixture(autouse=True, scope="module")
def on_the_cpu():
    mx.set_default_device(mx.cpu)  # The only one with float64, and the only one off a Mac.


def array(dtype="float32", shape=(2, 3)):
    x = mx.arange(int(np.prod(shape))).reshape(shape)
    return x.astype(mx.bool_ if dtype == "bool" else getattr(mx, dtype))


def address(x):
    """Where a view of NumPy's says that an array is."""
    whole = x if x.dtype != mx.bfloat16 else x.view(mx.uint16)
    return np.array(whole, copy=False).ctypes.data


def name_of(x):
    return str(x.dtype).removeprefix("mlx.core.")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 8, (1, 2) * 5])
def test_import_keeps_dtype_and_values(name, shape):
    x = array(name, shape)
    for look in LOOKS:
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(shape), name, "cpu")
        assert 0 in shape or seen["ptr"] == address(x)
        assert (seen["readonly"], seen["padded"]) == (False, False)


@pytest.mark.parametrize("name", NAMES)
def test_shared_with_our_objects(name):
    x = array(name)
    ours = ext.identity(x)
    assert (ours.data_ptr, ours.readonly) == (address(x), False)
    y = ext.to(ours, "numpy")
    assert y.ctypes.data == address(x) and y.tolist() == x.tolist()
    y[1, 2] = 0
    assert x[1, 2] == 0


@pytest.mark.parametrize("name", NAMES)
def test_export_copies(name):
    ours = ext.ones([2, 3], name)
    x = ext.to(ours, "mlx")
    assert type(x) is mx.array and name_of(x) == name and x.shape == (2, 3)
    assert address(x) != ours.data_ptr
    ext.to(ours, "numpy")[0, 0] = 0
    assert x.tolist() == [[1] * 3] * 2


def test_export_of_float64_keeps_precision():
    x = np.array([1 + 2.0**-40])
    assert np.array(ext.to(x, "mlx")).tolist() == x.tolist()


def test_round_trip_keeps_values():
    for name in NAMES:
        x = array(name)
        y = ext.to(ext.identity(x), "mlx")
        assert y.dtype == x.dtype and y.tolist() == x.tolist()


def test_writes_are_visible_to_the_framework():
    x = mx.zeros((3, 4))
    ext.write_f32(x, 7)
    assert x.tolist() == [[7] * 4] * 3
    ext.write_f32(x[1:, ::2], 5)
    assert x.tolist() == [[7] * 4, [5, 7, 5, 7], [5, 7, 5, 7]]
    ext.write_f32(x.T, 0)
    assert not x.any()
    for name, write in [
        ("bfloat16", ext.write_bf16),
        ("float16", ext.write_f16),
        ("int64", ext.write_i64),
    ]:
        x = array(name)
        write(x, 1)
        assert x.tolist() == [[1] * 3] * 2
    x = array("bool")
    ext.write_bool(x, True)
    assert x.all()
    x = array("complex64")
    ext.write_c64(x, 1 + 2j)
    assert x.tolist() == [[1 + 2j] * 3] * 2


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[1:, 1:],
        lambda x: x[:, ::2],
        lambda x: x[::-1],
        lambda x: x[:, ::-2],
        lambda x: x[:, :0],
        lambda x: x[:, 1],
        lambda x: x.reshape(-1),
        lambda x: mx.broadcast_to(x, (2, 3, 4)),
        lambda x: mx.as_strided(x, (2, 2), (1, 1), 3),
    ],
)
def test_views_are_imported_without_copy(view):
    x = view(mx.arange(12, dtype=mx.float32).reshape(3, 4))
    for look in (ext.describe, ext.describe_owned):
        seen = look(x)
        assert seen["shape"] == list(x.shape)
        assert not x.size or seen["ptr"] == address(x)
        steps = [step // 4 for step in np.array(x, copy=False).strides]
        assert not x.size or [s for s, n in zip(seen["strides"], x.shape) if n > 1] == [
            s for s, n in zip(steps, x.shape) if n > 1
        ]
    assert ext.read_f32(x) == x.flatten().tolist() == ext.own_f32(x)


def test_written_argument_refuses_overlapping_elements():
    x = mx.arange(12, dtype=mx.float32).reshape(3, 4)
    for y in (mx.broadcast_to(x, (2, 3, 4)), mx.as_strided(x, (2, 2), (1, 1), 3)):
        with refused(BufferError, "at one place", "pass a copy"):
            ext.write_f32(y, 1)


def test_lazy_array_is_evaluated_on_import():
    x = mx.ones(3)
    for _ in range(100):
        x = x + 1
    assert ext.read_f32(x * 2) == [202] * 3
    assert ext.own_f32(x * 3) == [303] * 3
    later = x + 1
    ext.write_f32(later, 5)
    assert later.tolist() == [5] * 3 and x.tolist() == [101] * 3
    kept = ext.keep(x * 4)
    del x
    assert ext.read_f32(ext.take_out(kept)) == [404] * 3


def test_array_in_transformation_is_refused():
    x = mx.ones((2, 3))
    for transform in (mx.compile, mx.vmap):
        for look in LOOKS:
            with refused(BufferError, "during function transformations"):
                transform(lambda a: (look(a), a)[1])(x)
    # Differentiating computes what it meets.
    seen = []
    gradient = mx.grad(lambda a: (seen.append(ext.read_f32(a)), (a * a).sum())[1])(x)
    assert seen == [[1] * 6] and gradient.tolist() == [[2] * 3] * 2
    assert ext.read_f32(x) == [1] * 6


def test_like_and_zeros_like():
    x = array()
    _, y = ext.doubled(x)
    assert type(y) is mx.array and y.tolist() == [[0, 2, 4], [6, 8, 10]]
    for dtype in ("float32", "float64", "int64", "bool", "bfloat16"):
        _, new = ext.zeros_like(x, [2, 5], dtype)
        assert type(new) is mx.array and name_of(new) == dtype and new.shape == (2, 5)
        assert not new.any()
    for other in (array("bfloat16"), mx.array(1.0), mx.zeros((0, 4))):
        y = ext.like(other, ext.from_list([1, 2], [2]))
        assert type(y) is mx.array and y.tolist() == [1, 2]


def test_mlx_imports_our_objects(counted):
    ours = ext.from_list([1, 2, 3, 4], [2, 2])
    for make in (mx.array, mx.from_dlpack):
        x = make(ours)
        assert x.tolist() == [[1, 2], [3, 4]] and address(x) != ours.data_ptr
        assert make(ext.transposed(ours)).tolist() == [[1, 3], [2, 4]]
    with refused(ValueError, "without a copy"):
        mx.from_dlpack(ours, copy=False)
    x = ext.to(ext.counted(3), "mlx")
    # It is copied at once, so that nothing of ours is kept, and what is read-only may go in.
    assert counted() == 0 and x.tolist() == [0, 1, 2]
    ext.write_f32(x, 1)


def test_import_of_every_rank_and_of_no_elements():
    for shape in ([], [0, 4], [4, 0, 2], [1] * 8, [1] * 12):
        assert ext.to(ext.zeros(shape, "float32"), "mlx").shape == tuple(shape)
    ours = ext.from_bytes([0] * 16, [4], "float32", 4)  # Alignment doesn't matter to a copy.
    assert ext.to(ours, "mlx").tolist() == [0] * 4


def test_export_of_unsupported_dtype_is_refused(counted):
    for name in ("int4", "float32x4", "float8_e4m3fn", "complex128", "complex32"):
        with refused(BufferError, f"MLX has no {name}"):
            ext.to(ext.zeros([4], name), "mlx")
    with refused(BufferError, "negative strides"):
        ext.to(ext.to(ext.counted(3), "numpy")[::-1], "mlx")
    assert counted() == 0


def test_views_are_used_without_the_gil():
    x = mx.arange(1000, dtype=mx.float32)
    assert ext.sum_detached(x) == x.sum().item()
    out = mx.zeros(1000)
    ext.double_detached(x, out)
    assert mx.array_equal(out, 2 * x)
    ext.double_detached(x + 1, out)
    assert mx.array_equal(out, 2 * x + 2)


def test_call_with_numpy_arguments_is_accepted():
    x, y, out = mx.arange(3, dtype=mx.float32), np.arange(3, dtype="f4"), np.zeros(3, "f4")
    ext.add(x, y, out)
    assert out.tolist() == [0, 2, 4]
    result = mx.zeros(3)
    ext.add(out, y, result)
    assert result.tolist() == [0, 3, 6]


def test_written_argument_refuses_shared_memory():
    x = mx.arange(1000, dtype=mx.float32)
    view = np.array(x, copy=False)
    assert view.ctypes.data == address(x)
    for a, b in ((x, view), (view, x), (x, x), (x[1:], view[:-1])):
        for call in (ext.double_detached, lambda a, b: ext.add(a, np.ones(len(b), "f4"), b)):
            with refused(ValueError, "in use by another argument"):
                call(a, b)
    ext.double_detached(x[:500], view[500:])
    assert x[500:].tolist() == (2 * x[:500]).tolist()
