"""JAX's arrays, as arguments and as results. They never change, and lie where XLA finds them
aligned.
"""

import ctypes
import gc

import dlbridge_testing as ext
import pytest
from support import framework, refused

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)

# Those of the first line come through the buffer protocol, the others in capsules.
BUFFERS = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64
    complex128""".split()
CAPSULES = """bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
    float8_e5m2fnuz float8_e8m0fnu""".split()
NAMES = BUFFERS + CAPSULES
LOOKS = [ext.describe, ext.describe_owned]
ALL_LOOKS = [*LOOKS, ext.describe_out]
ALIGNMENT = 64


def array(dtype="float32", shape=(2, 3)):
    return jnp.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def address(x):
    return x.unsafe_buffer_pointer()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 8, (1, 2) * 6])
def test_import_keeps_dtype_and_values(name, shape):
    x = array(name, shape)
    for look in LOOKS:
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(shape), name, "cpu")
        assert seen["ptr"] == address(x) or x.size == 0
        assert (seen["readonly"], seen["padded"]) == (True, False)
        steps = np.zeros(shape, "u1").strides
        assert [s for s, n in zip(seen["strides"], shape) if n > 1 and x.size] == [
            s for s, n in zip(steps, shape) if n > 1 and x.size
        ]


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_shares_memory(name):
    x = array(name)
    ours = ext.identity(x)
    y = ext.to(ours, "jax")
    assert type(y) is type(x) and y.dtype == x.dtype and y.shape == x.shape
    assert ours.data_ptr == address(x) == address(y)
    assert ours.readonly
    assert np.asarray(y).tobytes() == np.asarray(x).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_our_tensor_is_shared_with_the_framework(name):
    ours = ext.zeros([2, 3], name)
    x = ext.to(ours, "jax")
    assert x.dtype == jnp.dtype(name) and address(x) == ours.data_ptr
    # JAX doesn't know that it may change; that it does shows that nothing was copied.
    ctypes.memset(ours.data_ptr, 1, ours.nbytes)
    assert np.asarray(x).tobytes() == b"\1" * ours.nbytes


def test_writes_from_rust_are_visible_to_the_framework():
    ours = ext.zeros([1000], "float32")
    x = ext.to(ours, "jax")
    ext.write_f32(ours, 7)
    assert x[0] == x[999] == 7
    # It is JAX's now, too, and from its side it stays read-only.
    assert ext.describe(x)["readonly"] and not ours.readonly


@pytest.mark.parametrize("name", NAMES)
def test_immutable_tensor_refuses_to_be_written(name):
    for x in (array(name), array(name, ()), array(name, (0, 4)), array(name, (1000,))):
        with refused(BufferError, "read-only", "pass a copy"):
            ext.describe_out(x)


def test_typed_argument_of_immutable_tensor_refuses_to_be_written():
    for name, write in [
        ("float32", ext.write_f32),
        ("bfloat16", ext.write_bf16),
        ("bool", ext.write_bool),
    ]:
        x = jnp.zeros(3, name)
        with refused(BufferError, "read-only"):
            write(x, 1)
        # Neither through what shares its memory.
        for y in (ext.identity(x), ext.to(x, "numpy"), np.asarray(x)):
            with refused(BufferError, "read-only"):
                write(y, 1)
        assert not x.any()


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[1:, 1:],
        lambda x: x[::-1],
        lambda x: x[:, 1],
        lambda x: jnp.broadcast_to(x, (2, 3, 4)),
    ],
)
def test_view_expressions_are_imported_as_arrays(view):
    x = view(jnp.arange(12, dtype="float32").reshape(3, 4))
    assert ext.describe(x)["ptr"] == address(x)
    assert ext.read_f32(x) == x.ravel().tolist() == ext.own_f32(x)


def test_sub_byte_elements_are_packed():
    x = jnp.array([1, 2, 3, 4, -1, 0.5]).astype("float4_e2m1fn")
    for look in LOOKS:
        seen = look(x)
        assert (seen["dtype"], seen["padded"], seen["ptr"]) == ("float4_e2m1fn", False, address(x))
    assert ctypes.string_at(address(x), 3) == b"\x42\x65\x1a"
    with refused(BufferError, "read-only"):
        ext.describe_out(x)
    # It knows more than its own DLPack does.
    for name in ("int2", "uint2", "int4", "uint4"):
        for look in ALL_LOOKS:
            with refused(BufferError, "no DLPack equivalent"):
                look(jnp.zeros(4, name))


def test_zeros_like_returns_jax_array():
    x = array()
    for dtype in ("float32", "float64", "int64", "bool", "bfloat16"):
        where, new = ext.zeros_like(x, [2, 5], dtype)
        assert type(new) is type(x) and new.dtype == jnp.dtype(dtype) and new.shape == (2, 5)
        assert address(new) == where and not new.any()
    assert ext.zeros_like(x, [], "float32")[1].shape == ()
    assert ext.zeros_like(x, [0, 3], "float32")[1].shape == (0, 3)


def test_like_returns_jax_array_of_our_memory():
    ours = ext.from_list([1, 2, 3], [3])
    for x in (array(), array("bfloat16"), jnp.zeros(())):
        y = ext.like(x, ours)
        assert type(y) is type(x) and address(y) == ours.data_ptr and y.tolist() == [1, 2, 3]
    fresh = ext.fresh_like(array(), np.arange(3, dtype="f4"))
    assert fresh.tolist() == [0, 1, 2]


def test_result_memory_is_shared_or_refused():
    # A vector is where the allocator had room: aligned by chance.
    for size in range(1, 200):
        x = jax.device_put(np.ones(size, "f4"))  # Without a function to compile for each size.
        try:
            where, y = ext.doubled(x)
        except Exception as error:
            assert type(error) is BufferError, f"{type(error)}: {error}"
            assert "aligned to 64 bytes" in str(error)
        else:
            assert where % ALIGNMENT == 0 and address(y) == where and (np.asarray(y) == 2).all()


def test_export_of_unaligned_memory_is_refused():
    ours = ext.from_bytes([0] * 16, [4], "float32", 4)
    assert ours.data_ptr % ALIGNMENT == 4
    with refused(BufferError, "aligned to 64 bytes", "copy"):
        ext.to(ours, "jax")
    # JAX itself copies then, and doesn't say so.
    assert address(jax.dlpack.from_dlpack(ours)) != ours.data_ptr


def test_jax_imports_our_objects():
    ours = ext.from_list([1, 2, 3, 4], [2, 2])
    x = jax.dlpack.from_dlpack(ours)
    assert address(x) == ours.data_ptr and x.tolist() == [[1, 2], [3, 4]]
    assert address(jnp.from_dlpack(ours)) == ours.data_ptr
    assert address(jax.dlpack.from_dlpack(ours, copy=False)) == ours.data_ptr
    # Asked to copy, JAX shares all the same, as it does with NumPy's arrays.
    assert address(jax.dlpack.from_dlpack(ours, copy=True)) == ours.data_ptr
    of_numpy = ext.to(ext.zeros([64], "float32"), "numpy")
    assert address(jax.dlpack.from_dlpack(of_numpy, copy=True)) == of_numpy.ctypes.data
    del ours
    assert x.tolist() == [[1, 2], [3, 4]]


def test_column_major_is_shared():
    ours = ext.transposed(ext.from_list([1, 2, 3, 4, 5, 6], [2, 3]))
    x = ext.to(ours, "jax")
    assert x.tolist() == [[1, 4], [2, 5], [3, 6]] and address(x) == ours.data_ptr
    for look in LOOKS:
        assert (look(x)["strides"], look(x)["ptr"]) == ([1, 3], ours.data_ptr)


def test_import_of_every_rank_and_of_no_elements():
    for shape in ([], [0, 4], [4, 0, 2], [1] * 8, [1] * 20):
        assert ext.to(ext.zeros(shape, "float32"), "jax").shape == tuple(shape)


def test_memory_is_released_with_the_last_array(counted):
    memory = ext.to(ext.counted_mut(1024), "numpy")
    first = -memory.ctypes.data % ALIGNMENT // 4
    x = ext.to(memory[first:], "jax")
    assert address(x) == memory.ctypes.data + 4 * first
    del memory
    assert counted() == 1 and x[0] == first
    y = jax.device_put(x)  # It may be the same memory.
    del x
    assert y[-1] == 1023
    del y
    gc.collect()
    assert counted() == 0


def test_export_of_unsupported_dtype_is_refused():
    with refused(BufferError, "int4"):
        ext.to(ext.zeros([4], "int4"), "jax")
    with refused(BufferError, "float32x4"):
        ext.to(ext.zeros([4], "float32x4"), "jax")
    with refused(BufferError, "complex32"):
        ext.to(ext.zeros([4], "complex32"), "jax")
    with refused(BufferError, "float4_e2m1fn"):
        ext.to(ext.zeros([4], "float4_e2m1fn"), "jax")
    for x in (
        np.arange(64.0)[::-1],
        np.broadcast_to(np.float32(1), (2, 2)),
        np.zeros((4, 4))[:, ::2],
    ):
        with refused(BufferError, "strides"):
            ext.to(x, "jax")


def test_read_only_memory_is_shared():
    ours = ext.read_only(ext.from_list([1, 2], [2]))
    x = ext.to(ours, "jax")
    assert address(x) == ours.data_ptr and x.tolist() == [1, 2]


def test_wide_dtype_without_x64_is_refused():
    jax.config.update("jax_enable_x64", False)
    try:
        for name in ("float64", "int64", "uint64", "complex128"):
            with refused(BufferError, f"JAX would narrow {name}", "jax_enable_x64"):
                ext.to(ext.zeros([4], name), "jax")
        # JAX itself says nothing.
        assert jax.dlpack.from_dlpack(ext.zeros([4], "float64")).dtype == jnp.float32
        for name in ("float32", "int32", "bfloat16", "complex64"):
            ours = ext.zeros([4], name)
            x = ext.to(ours, "jax")
            assert x.dtype == jnp.dtype(name) and address(x) == ours.data_ptr
    finally:
        jax.config.update("jax_enable_x64", True)


def test_views_are_used_without_the_gil():
    x = jnp.arange(1000, dtype="float32")
    assert ext.sum_detached(x) == x.sum()
    out = np.zeros(1000, "f4")
    ext.double_detached(x, out)
    assert (out == 2 * np.asarray(x)).all()
    with refused(BufferError, "read-only"):
        ext.double_detached(x, x)


def test_call_with_numpy_arguments_is_accepted():
    x, y, out = jnp.arange(3, dtype="float32"), np.arange(3, dtype="f4"), np.zeros(3, "f4")
    ext.add(x, y, out)
    assert out.tolist() == [0, 2, 4]
    ext.add(x, x, out)
    assert out.tolist() == [0, 2, 4]
    with refused(BufferError, "read-only"):
        ext.add(y, y, x)


def test_written_argument_refuses_shared_memory():
    memory = ext.to(ext.zeros([1000], "float32"), "numpy")
    x = ext.to(memory, "jax")
    assert address(x) == memory.ctypes.data
    for read, written in [(x, memory), (x[:0], memory[:0]), (memory, memory)]:
        if not len(read):
            ext.double_detached(read, written)  # No bytes, so none in common.
            continue
        for call in (ext.double_detached, lambda a, b: ext.add(a, np.ones(1000, "f4"), b)):
            with refused(ValueError, "in use by another argument"):
                call(read, written)
    ext.double_detached(memory[:500], memory[500:])
