"""TensorFlow's tensors, as arguments and as results. They never change, and must be aligned to 64
bytes.
"""

import ctypes
import gc
import os
import sys

import dlbridge_testing as ext
import pytest
from support import framework, refused

if "paddle" in sys.modules:
    pytest.skip("TensorFlow and Paddle crash in one process; see run.py", allow_module_level=True)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = framework("tensorflow")
import numpy as np  # noqa: E402

# All but bfloat16 come through the buffer protocol; that one comes in a capsule.
NAMES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
    bfloat16""".split()
LOOKS = [ext.describe, ext.describe_owned]
ALL_LOOKS = [*LOOKS, ext.describe_out]
ALIGNMENT = 64


def tensor(dtype="float32", shape=(2, 3)):
    return tf.cast(tf.reshape(tf.range(int(np.prod(shape))), shape), dtype)


def address(x):
    """Where its own capsule says that a tensor is."""
    capsule = tf.experimental.dlpack.to_dlpack(x)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # The first member of a DLManagedTensor is where the data is.
    return ctypes.c_void_p.from_address(get(capsule, b"dltensor")).value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 8, (1, 2) * 6])
def test_import_keeps_dtype_and_values(name, shape):
    x = tensor(name, shape)
    for look in LOOKS:
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(shape), name, "cpu")
        assert 0 in shape or seen["ptr"] == address(x)
        assert (seen["readonly"], seen["padded"]) == (True, False)
        steps = np.zeros(shape, "u1").strides
        assert 0 in shape or [s for s, n in zip(seen["strides"], shape) if n > 1] == [
            s for s, n in zip(steps, shape) if n > 1
        ]


@pytest.mark.parametrize("name", NAMES)
def test_shared_with_our_objects(name):
    x = tensor(name)
    ours = ext.identity(x)
    assert (ours.data_ptr, ours.readonly) == (address(x), True)
    assert ctypes.string_at(ours.data_ptr, ours.nbytes) == x.numpy().tobytes()
    y = ext.to(ours, "numpy")
    assert y.ctypes.data == address(x) and not y.flags.writeable and (y == x.numpy()).all()


@pytest.mark.parametrize("name", NAMES)
def test_our_tensor_is_shared_with_the_framework(name):
    ours = ext.zeros([2, 3], name)
    x = ext.to(ours, "tensorflow")
    assert x.dtype.name == name and x.shape == (2, 3) and address(x) == ours.data_ptr
    # TensorFlow doesn't know that it may change; that it does shows that nothing was copied.
    ctypes.memset(ours.data_ptr, 1, ours.nbytes)
    assert x.numpy().tobytes() == b"\1" * ours.nbytes


def test_read_only_memory_is_shared_and_never_written():
    ours = ext.read_only(ext.zeros([64], "float32"))
    x = ext.to(ours, "tensorflow")
    assert np.from_dlpack(x).ctypes.data == ours.data_ptr
    # It isn't reused for a result, though it has no users.
    y = tf.add(ext.to(ours, "tensorflow"), 1.0)
    assert y.numpy().tolist() == [1] * 64 and ext.read_f32(ours) == [0] * 64
    x = tensor()
    there_and_back = ext.to(ext.identity(x), "tensorflow")
    assert np.from_dlpack(there_and_back).ctypes.data == np.from_dlpack(x).ctypes.data
    y = ext.to(ext.import_(x, copy=True), "tensorflow")
    assert y.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.from_dlpack(y).ctypes.data != np.from_dlpack(x).ctypes.data


@pytest.mark.parametrize("jit", [False, True])
def test_operations_never_write_shared_memory(jit):
    ours = ext.read_only(ext.ones([64], "float32"))

    @tf.function(jit_compile=jit)
    def function(x):
        for _ in range(3):
            x = tf.nn.relu(x * 2.0 + 1.0)
        return x

    y = function(ext.to(ours, "tensorflow"))
    assert y.numpy()[0] == 15 and ext.read_f32(ours) == [1] * 64


def test_writes_from_rust_are_visible_to_the_framework():
    ours = ext.zeros([1000], "float32")
    x = ext.to(ours, "tensorflow")
    ext.write_f32(ours, 7)
    assert x[0] == x[999] == 7 and tf.reduce_sum(x) == 7000
    assert ext.describe(x)["readonly"] and not ours.readonly


def test_operations_leave_shared_memory_unchanged():
    ours = ext.ones([1000], "float32")
    for operation in (tf.negative, tf.nn.relu, tf.sqrt, tf.function(lambda x: tf.nn.relu(x - 5))):
        # The only reference, so that TensorFlow could take the memory for the result.
        result = operation(ext.to(ours, "tensorflow"))
        assert address(result) != ours.data_ptr
    assert ext.sum_detached(ours) == 1000


@pytest.mark.parametrize("name", NAMES)
def test_immutable_tensor_refuses_to_be_written(name):
    for x in (tensor(name), tensor(name, ()), tensor(name, (0, 4)), tensor(name, (1000,))):
        with refused(BufferError, "read-only", "pass a copy"):
            ext.describe_out(x)


def test_typed_argument_of_immutable_tensor_refuses_to_be_written():
    for name, write in [
        ("float32", ext.write_f32),
        ("bfloat16", ext.write_bf16),
        ("bool", ext.write_bool),
    ]:
        x = tf.zeros(3, name)
        # Neither through what shares its memory.
        for y in (x, ext.identity(x), ext.to(x, "numpy")):
            with refused(BufferError, "read-only"):
                write(y, 1)
        assert not x.numpy().any()


def test_views_within_tensorflow_keep_their_address():
    x = tensor("float32", (4, 16))
    assert ext.describe(tf.reshape(x, [64]))["ptr"] == address(x)
    rows = x[1:3]  # 64 bytes into it, so that it needn't be copied.
    assert ext.describe(rows)["ptr"] == address(rows)
    for y in (rows, x[:, ::2], tf.transpose(x), x[::-1], tf.broadcast_to(x[0], (3, 16))):
        assert ext.read_f32(y) == y.numpy().ravel().tolist() == ext.own_f32(y)
    assert ext.read_f32(tf.Variable([1.0, 2.0]).value()) == [1, 2]


def test_zeros_like_returns_tensorflow_tensor():
    x = tensor()
    for dtype in ("float32", "float64", "int64", "bool", "bfloat16"):
        where, new = ext.zeros_like(x, [2, 5], dtype)
        assert type(new) is type(x) and new.dtype.name == dtype and new.shape == (2, 5)
        assert address(new) == where and not new.numpy().any()
    assert ext.zeros_like(x, [], "float32")[1].shape == ()
    assert ext.zeros_like(x, [0, 3], "float32")[1].shape == (0, 3)


def test_like_returns_tensorflow_tensor_of_our_memory():
    ours = ext.from_list([1, 2, 3], [3])
    for x in (tensor(), tensor("bfloat16"), tensor("float32", ())):
        y = ext.like(x, ours)
        assert (
            type(y) is type(x) and address(y) == ours.data_ptr and y.numpy().tolist() == [1, 2, 3]
        )
    assert ext.fresh_like(tensor(), tensor()).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_result_memory_is_shared_or_refused():
    # A vector is where the allocator had room: aligned by chance.
    for size in range(1, 200):
        try:
            where, y = ext.doubled(tf.ones(size))
        except Exception as error:
            assert type(error) is BufferError, f"{type(error)}: {error}"
            assert "aligned to 64 bytes" in str(error)
        else:
            # What is not aligned would abort the process here.
            assert where % ALIGNMENT == 0 and address(y) == where and (y + 1 == 3).numpy().all()


def test_export_of_unaligned_memory_is_refused():
    for skip in (1, 4, 16, 32, 48):
        ours = ext.from_bytes([0] * 16, [4], "float32", skip)
        assert ours.data_ptr % ALIGNMENT == skip
        with refused(BufferError, "aligned to 64 bytes", hex(ours.data_ptr), "copy it first"):
            ext.to(ours, "tensorflow")
    assert ext.to(ext.from_bytes([], [0, 4], "float32", 4), "tensorflow").shape == (0, 4)


def test_tensorflow_imports_our_capsules():
    ours = ext.from_list([1, 2, 3, 4], [2, 2])
    x = tf.experimental.dlpack.from_dlpack(ours.__dlpack__())
    assert address(x) == ours.data_ptr
    del ours
    gc.collect()
    assert x.numpy().tolist() == [[1, 2], [3, 4]]
    # It takes no objects, and of capsules only the older kind.
    ours = ext.from_list([1], [1])
    with pytest.raises(TypeError):
        tf.experimental.dlpack.from_dlpack(ours)
    with refused(tf.errors.InvalidArgumentError, "dltensor"):
        tf.experimental.dlpack.from_dlpack(ours.__dlpack__(max_version=(1, 0)))


def test_tensorflow_capsule_is_consumed_once():
    x = tensor()
    capsule = tf.experimental.dlpack.to_dlpack(x)
    assert ext.read_f32(capsule) == [0, 1, 2, 3, 4, 5]
    assert ext.identity(capsule).data_ptr == address(x)
    with pytest.raises(BufferError):
        ext.identity(capsule)  # It was taken.


def test_memory_is_released_with_the_last_tensor(counted):
    memory = ext.to(ext.counted_mut(1024), "numpy")
    first = -memory.ctypes.data % ALIGNMENT // 4
    x = ext.to(memory[first:], "tensorflow")
    assert address(x) == memory.ctypes.data + 4 * first
    del memory
    y = tf.reshape(x, [-1, 1])
    del x
    assert counted() == 1 and y.numpy()[-1] == 1023
    del y
    gc.collect()
    assert counted() == 0


def test_import_of_every_rank_and_of_no_elements():
    for shape in ([], [0, 4], [4, 0, 2], [1] * 8, [1] * 20):
        assert ext.to(ext.zeros(shape, "float32"), "tensorflow").shape == tuple(shape)


def test_export_of_unsupported_dtype_or_layout_is_refused(counted):
    names = ["complex32", "float6_e2m3fn", "float32x4"]
    if not ext.HAS_PACKAGE_FEATURES:  # one of which is TensorFlow's C library
        names += ["int4", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"]
    for name in names:
        with refused(BufferError, f"TensorFlow has no {name}"):
            ext.to(ext.zeros([64], name), "tensorflow")
    square = ext.zeros([16, 16], "float32")
    views = ext.to(square, "numpy")
    for x in (ext.transposed(square), views[:, :8], views[::2]):
        with refused(BufferError, "row-major without gaps", "copy it first"):
            ext.to(x, "tensorflow")
    with refused(BufferError):
        ext.to(views[::-1], "tensorflow")
    x = ext.to(ext.counted(64), "tensorflow")
    assert counted() == 1
    del x
    assert counted() == 0


def test_views_are_used_without_the_gil():
    x = tf.range(1000, dtype="float32")
    assert ext.sum_detached(x) == tf.reduce_sum(x)
    out = np.zeros(1000, "f4")
    ext.double_detached(x, out)
    assert (out == 2 * x.numpy()).all()
    with refused(BufferError, "read-only"):
        ext.double_detached(x, x)


def test_call_with_numpy_arguments_is_accepted():
    x, y, out = tf.range(3, dtype="float32"), np.arange(3, dtype="f4"), np.zeros(3, "f4")
    ext.add(x, y, out)
    assert out.tolist() == [0, 2, 4]
    with refused(BufferError, "read-only"):
        ext.add(y, y, x)


def test_written_argument_refuses_shared_memory():
    memory = ext.to(ext.zeros([1000], "float32"), "numpy")
    x = ext.to(memory, "tensorflow")
    assert address(x) == memory.ctypes.data
    for call in (ext.double_detached, lambda a, b: ext.add(a, np.ones(1000, "f4"), b)):
        with refused(ValueError, "in use by another argument"):
            call(x, memory)
    ext.double_detached(tf.ones(1000), memory)
    assert (x.numpy() == 2).all()
