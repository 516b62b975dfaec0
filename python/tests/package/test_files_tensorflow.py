"""TensorFlow's messages, and files loaded into it."""

import dlbridge
import numpy as np
import pytest
from files_cases import EXTENSIONS, NATIVE, SHAPES, array, dtype_of
from support import framework, refused

tf = framework("tensorflow")
from tensorflow.core.framework import tensor_pb2, types_pb2  # noqa: E402

FORMAT = "tf_proto"


@pytest.mark.parametrize("name", NATIVE + EXTENSIONS)
def test_messages_equal_tensorflow_when_read_and_written(name):
    for shape in SHAPES:
        x = array(name, shape)
        message = tf.make_tensor_proto(x).SerializeToString()
        assert dlbridge.dumps(x, FORMAT) == message, shape
        back = dlbridge.loads(message, format=FORMAT).only
        assert (back.dtype, back.shape) == (name, shape)
        assert dlbridge.dumps(back, FORMAT) == message
        if dtype_of(name).type in vars(np).values():
            assert np.array_equal(np.asarray(back), x)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_tensors_of_tensorflow_are_written(dtype):
    x = tf.constant([1.5, -2.0], dtype)
    for format in ("safetensors", FORMAT):
        back = dlbridge.loads(dlbridge.dumps(x, format), format=format).only
        assert (back.dtype, back.tolist()) == (dtype, [1.5, -2.0])
    assert dlbridge.from_dlpack(x, device="cpu").tolist() == [1.5, -2.0]


def test_lists_of_values_are_read():
    for field, dtype, values, expected in [
        ("float_val", "FLOAT", [1.5, -2.0], [1.5, -2.0, -2.0, -2.0]),
        ("double_val", "DOUBLE", [0.1], [0.1] * 4),
        ("int_val", "INT8", [-1, 2, 3, -128], [-1, 2, 3, -128]),
        ("int_val", "UINT16", [65535, 0], [65535, 0, 0, 0]),
        ("int64_val", "INT64", [], [0] * 4),
        ("uint64_val", "UINT64", [2**64 - 1], [2**64 - 1] * 4),
        ("bool_val", "BOOL", [True, False], [True, False, False, False]),
        ("half_val", "HALF", [0x3C00, 0xBC00], [1, -1, -1, -1]),
        ("scomplex_val", "COMPLEX64", [1, 2], [1 + 2j] * 4),
    ]:
        shape = tf.TensorShape([2, 2]).as_proto()
        message = tensor_pb2.TensorProto(
            dtype=types_pb2.DataType.Value(f"DT_{dtype}"), tensor_shape=shape, **{field: values}
        )
        loaded = dlbridge.loads(message.SerializeToString(), "numpy", format=FORMAT)
        assert loaded.only.reshape(-1).tolist() == expected
        assert np.array_equal(loaded.only, tf.make_ndarray(message))
        assert loaded.copied == {"tensor": "a list of values in the message"}


def test_loads_of_strings_is_refused():
    message = tf.make_tensor_proto(["a", "b"]).SerializeToString()
    with refused(TypeError, "elements of type DT_STRING of tf_proto have no DLPack equivalent"):
        dlbridge.loads(message, format=FORMAT)


def test_aligned_files_are_shared_and_unaligned_copied(tmp_path):
    path = tmp_path / "x.safetensors"
    named = {"a": np.arange(32, dtype="f4"), "b": np.arange(64, dtype="i8").reshape(8, 8)}
    dlbridge.save(path, named, align=64)
    file = dlbridge.open_file(path)
    ours, (loaded, copied) = file.load()[0], file.load(None, "tensorflow")
    assert copied == {}
    for key, x in named.items():
        assert np.array_equal(loaded[key].numpy(), x)
        assert dlbridge.from_dlpack(loaded[key]).data_ptr == ours[key].data_ptr
    named = {"a": np.arange(3, dtype="f4"), "b": np.arange(5, dtype="f4")}
    dlbridge.save(path, named)
    loaded = dlbridge.load(path, "tensorflow")
    assert loaded.copied and all(np.array_equal(loaded[key].numpy(), x) for key, x in named.items())
    total = loaded["a"][:2] + loaded["b"][:2]  # Off its alignment, this would abort the process.
    assert total.numpy().tolist() == [0, 2]


def test_tensorflow_tensors_are_saved():
    x = tf.reshape(tf.range(6.0), (2, 3))
    assert dlbridge.dumps(x, FORMAT) == tf.make_tensor_proto(x).SerializeToString()
