"""Paddle's tensors, as arguments and as results."""

import gc
import sys

import dlbridge_testing as ext
import pytest
from support import framework, refused

if "tensorflow" in sys.modules:
    pytest.skip("Paddle and TensorFlow crash in one process; see run.py", allow_module_level=True)
paddle = framework("paddle")
import numpy as np  # noqa: E402

NAMES = """bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn
    float8_e5m2""".split()
LOOKS = [ext.describe, ext.describe_out, ext.describe_owned]


def zeros(dtype="float32", shape=(2, 3)):
    return paddle.zeros(shape, dtype=dtype)


def numbers(*shape):
    return paddle.arange(int(np.prod(shape)), dtype="float32").reshape(shape)


def name_of(x):
    return x.dtype.name.lower()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 8, (1,) * 9])
def test_import_keeps_dtype_and_values(name, shape):
    x = zeros(name, shape)
    for look in LOOKS:
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(shape), name, "cpu")
        assert 0 in shape or seen["ptr"] == x.data_ptr()
        assert (seen["readonly"], seen["padded"]) == (False, False)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_shares_memory(name):
    x = zeros(name)
    ours = ext.identity(x)
    y = ext.to(ours, "paddle")
    assert type(y) is paddle.Tensor and y.dtype == x.dtype and y.shape == x.shape
    assert y.data_ptr() == ours.data_ptr == x.data_ptr()
    ext.to(ours, "numpy").view("u1")[0, 0] = 1
    assert ext.to(y, "numpy").view("u1")[0, 0] == ext.to(x, "numpy").view("u1")[0, 0] == 1


def test_round_trip_keeps_values():
    assert ext.describe(zeros("uint16"))["dtype"] == "bfloat16"  # An old name for it.
    reads = {
        "float32": ext.read_f32,
        "bfloat16": ext.read_bf16,
        "int64": ext.read_i64,
        "bool": ext.read_bool,
    }
    for name, read in reads.items():
        x = paddle.to_tensor([1, 0, 1]).astype(name)
        assert read(x) == [1, 0, 1]
    x = ext.to(ext.from_list([1, 2, 3], [3]), "paddle")
    assert x.tolist() == [1, 2, 3] and (x + 1).tolist() == [2, 3, 4]


def test_writes_are_visible_to_the_framework():
    x = paddle.zeros([3, 4])
    ext.write_f32(x, 7)
    assert (x == 7).all()
    ext.write_f32(x[1:, ::2], 5)
    assert x.tolist() == [[7] * 4, [5, 7, 5, 7], [5, 7, 5, 7]]
    ext.write_f32(x.T, 0)
    assert not x.any()
    x = paddle.zeros([2], dtype="bfloat16")
    ext.write_bf16(x, 1.5)
    assert x.astype("float32").tolist() == [1.5, 1.5]
    x = paddle.zeros([2], dtype="complex64")
    ext.write_c64(x, 1 + 2j)
    assert x.tolist() == [1 + 2j] * 2


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
        lambda x: x.expand([2, 3, 4]),
        lambda x: x.reshape([-1]),
        lambda x: x.view([2, 6]),
        lambda x: x.diagonal(),
        lambda x: x.unbind()[1],
        lambda x: x.detach(),
        lambda x: paddle.as_strided(x, [2, 2], [1, 1], 12),
        lambda x: paddle.as_strided(x, [2, 2], [-1, 1], 12),
    ],
)
def test_views_are_imported_without_copy(view):
    x = view(numbers(3, 4))
    for look in (ext.describe, ext.describe_owned):
        seen = look(x)
        assert seen["shape"] == list(x.shape)
        assert 0 in x.shape or seen["ptr"] == x.data_ptr()
        assert 0 in x.shape or [s for s, n in zip(seen["strides"], x.shape) if n > 1] == [
            s for s, n in zip(x.strides, x.shape) if n > 1
        ]
    assert ext.read_f32(x) == ext.own_f32(x) == ext.to(x, "numpy").ravel().tolist()
    if all(stride >= 0 for stride in x.strides):
        assert ext.read_f32(x) == x.flatten().tolist()
        y = ext.to(ext.identity(x), "paddle")
        assert 0 in x.shape or (y.data_ptr() == x.data_ptr() and y.tolist() == x.tolist())


def test_negative_strides_are_imported_and_export_refused():
    x = numbers(3, 4)[::-1]
    assert x.strides == [-4, 1]
    assert ext.read_f32(x) == [8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]
    ext.write_f32(x[:1], 5)
    assert ext.read_f32(x)[:5] == [5, 5, 5, 5, 4]
    with refused(BufferError, "negative strides", "copy it first"):
        ext.to(x, "paddle")
    assert ext.read_f32(ext.to(ext.import_(x, copy=True), "paddle")) == ext.read_f32(x)


def test_written_argument_refuses_overlapping_elements():
    x = paddle.as_strided(numbers(3, 4), [2, 2], [1, 1], 12)
    with refused(BufferError, "at one place", "pass a copy"):
        ext.write_f32(x, 1)
    assert ext.read_f32(x) == [3, 4, 4, 5]


def test_like_and_zeros_like():
    x = numbers(2, 3)
    where, y = ext.doubled(x)
    assert type(y) is paddle.Tensor and y.data_ptr() == where and (y == 2 * x).all()
    for dtype in ("float32", "float64", "int64", "bool", "bfloat16"):
        where, new = ext.zeros_like(x, [2, 5], dtype)
        assert new.data_ptr() == where and name_of(new) == dtype and new.shape == [2, 5]
        assert not ext.to(new, "numpy").any()
    assert ext.zeros_like(x, [], "float32")[1].shape == []
    assert ext.zeros_like(x, [0, 3], "float32")[1].shape == [0, 3]
    ours = ext.from_list([1, 2], [2])
    assert ext.like(zeros("bfloat16"), ours).data_ptr() == ours.data_ptr
    assert type(ext.like(paddle.nn.Linear(2, 2).weight.detach(), ours)) is paddle.Tensor


def test_paddle_imports_our_objects():
    ours = ext.from_list([1, 2, 3, 4], [2, 2])
    for take in (paddle.from_dlpack, paddle.utils.dlpack.from_dlpack):
        x = take(ours)
        assert x.data_ptr() == ours.data_ptr and x.tolist() == [[1, 2], [3, 4]]
        turned = take(ext.transposed(ours))
        assert turned.data_ptr() == ours.data_ptr and turned.tolist() == [[1, 3], [2, 4]]
    x[0, 0] = 9
    assert ext.read_f32(ours)[0] == 9
    del ours
    gc.collect()
    assert x.tolist() == [[9, 2], [3, 4]]
    capsule = paddle.utils.dlpack.to_dlpack(x)
    assert ext.identity(capsule).data_ptr == x.data_ptr()


def test_memory_is_released_with_the_last_tensor(counted):
    x = ext.to(ext.counted_mut(1024), "paddle")
    y = x[1000:]
    del x
    gc.collect()
    assert counted() == 1 and y[0] == 1000
    del y
    gc.collect()
    assert counted() == 0


def test_unaligned_memory_is_shared():
    ours = ext.from_bytes([0] * 16, [4], "float32", 4)
    x = ext.to(ours, "paddle")
    assert x.data_ptr() == ours.data_ptr and (x + 1).tolist() == [1] * 4


def test_export_of_unsupported_dtype_is_refused(counted):
    for name in ("int4", "float32x4", "uint16", "complex32", "float8_e4m3"):
        with refused(BufferError, f"Paddle has no {name}"):
            ext.to(ext.zeros([4], name), "paddle")
        with refused(BufferError, f"Paddle has no {name}"):
            ext.like(zeros(), ext.zeros([4], name))
    with refused(BufferError, "Paddle has no padded"):
        import ml_dtypes

        ext.to(np.zeros(4, ml_dtypes.int4), "paddle")
    with refused(BufferError, "negative strides"):
        ext.to(np.arange(3)[::-1], "paddle")
    with refused(BufferError, "read-only, and Paddle writes", "copy it first"):
        ext.to(ext.counted(3), "paddle", readonly="refuse")
    assert counted() == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2]),
        lambda: paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], [2, 2]),
    ],
)
def test_sparse_tensor_is_refused(make):
    x = make()
    for look in LOOKS:
        with refused(BufferError, "sparse"):
            look(x)
    assert ext.read_f32(x.values()) == [1, 2]
    assert ext.read_f32(x.to_dense()) == [0, 1, 2, 0]


def test_uninitialized_tensor_is_empty():
    for look in LOOKS:
        assert look(paddle.Tensor())["shape"] == [0]


def test_tensor_that_requires_grad_is_refused():
    leaf = paddle.ones([2])
    leaf.stop_gradient = False
    for x in (leaf, leaf * 3, paddle.nn.Linear(2, 2).weight):
        assert not x.stop_gradient
        for look in LOOKS:
            with refused(BufferError, "stop_gradient=False", "tensor.detach()"):
                look(x)
            assert look(x.detach())["ptr"] == x.data_ptr()
    result = leaf * 3
    assert ext.read_f32(result.detach()) == [3, 3]
    result.sum().backward()
    assert ext.read_f32(leaf.grad.detach()) == [3, 3]
    leaf.stop_gradient = True
    assert ext.read_f32(leaf) == [1, 1]


def test_views_are_used_without_the_gil():
    x = numbers(1000)
    assert ext.sum_detached(x) == 499500
    out = paddle.zeros([1000])
    ext.double_detached(x, out)
    assert (out == 2 * x).all()


def test_tensor_changed_during_the_call_is_refused():
    x = paddle.ones([2])

    class Changing:
        def __dlpack__(self, **keywords):
            paddle.assign(paddle.ones([1000]), x)
            return np.ones(2, "f4").__dlpack__(**keywords)

    with refused(BufferError, "resized or re-pointed a"):
        # Between the look at the tensor and its use without the GIL, the callback of another
        # argument runs.
        ext.copy_pairs_detached(x, Changing(), paddle.zeros([2]), paddle.zeros([2]))


def test_call_with_numpy_arguments_is_accepted():
    x, y, out = paddle.arange(3, dtype="float32"), np.arange(3, dtype="f4"), np.zeros(3, "f4")
    ext.add(x, y, out)
    assert out.tolist() == [0, 2, 4]
    result = paddle.zeros([3])
    ext.add(out, y, result)
    assert result.tolist() == [0, 3, 6]


def test_written_argument_refuses_shared_memory():
    x = numbers(1000)
    view = np.from_dlpack(x)
    assert view.ctypes.data == x.data_ptr()
    for a, b in ((x, view), (view, x), (x, x), (x[1:], view[:-1])):
        for call in (ext.double_detached, lambda a, b: ext.add(a, np.ones(len(b), "f4"), b)):
            with refused(ValueError, "in use by another argument"):
                call(a, b)
    ext.double_detached(x[:500], view[500:])
    assert (x[500:] == 2 * x[:500]).all()


KEEP = {
    "Tensor": ext.identity,
    "numpy": lambda x: ext.to(x, "numpy"),
    "paddle": lambda x: ext.to(x, "paddle"),
}
# What puts other memory into a tensor, or takes its own away.
REPLACE = {
    "_clear": lambda x: x._clear(),
    "_clear_data": lambda x: x._clear_data(),
    "resize_": lambda x: x.resize_([1 << 20], fill_zero=True),
    "set_": lambda x: x.set_(paddle.zeros([3])),
    "data": lambda x: setattr(x, "data", paddle.zeros([3])),
    "_share_buffer_to": lambda x: paddle.zeros([3])._share_buffer_to(x),
    "cast_": lambda x: x.cast_("float64"),
}


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("replace", REPLACE)
def test_kept_memory_survives_replaced_storage(replace, keep):
    x = paddle.arange(1 << 18, dtype="float32")
    where, kept = x.data_ptr(), KEEP[keep](x)
    REPLACE[replace](x)
    others = [paddle.full([1 << 18], 7.0) for _ in range(8)]
    array = np.asarray(ext.to(kept, "numpy"))
    assert array.ctypes.data == where and (array == np.arange(1 << 18)).all() and len(others) == 8


def test_write_increments_version_once():
    x = paddle.ones([3])
    for count in range(1, 4):
        ext.write_f32(x, 2)
        ext.read_f32(x)
        assert x.inplace_version == count


def test_backward_after_a_write_raises():
    w, x = paddle.ones([3]), paddle.ones([3])
    w.stop_gradient = False
    loss = (w * x).sum()
    ext.write_f32(x, 2)
    with pytest.raises(RuntimeError, match="inplace"):
        loss.backward()


def test_subclass_with_raising_dlpack_is_refused():
    class Refusing(paddle.Tensor):
        def __dlpack__(self, **keywords):
            raise BufferError("refused by its class")

    x = Refusing(paddle.ones([3]))
    for look in (ext.describe, ext.describe_owned):
        with pytest.raises(BufferError, match="refused by its class"):
            look(x)
