"""TensorFlow's objects without elements in memory: each is refused, and none ends
the process.
"""

import os
import sys

import dlbridge_testing as ext
import pytest
from support import framework, in_new_process, refused

if "paddle" in sys.modules:
    pytest.skip("TensorFlow and Paddle crash in one process; see run.py", allow_module_level=True)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = framework("tensorflow")

LOOKS = [ext.describe, ext.describe_out, ext.describe_owned]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.Variable([1.0]),
        lambda: tf.ragged.constant([[1.0], [2.0, 3.0]]),
        lambda: tf.sparse.eye(3),
        lambda: tf.IndexedSlices(tf.zeros((2, 2)), tf.constant([0, 1])),
        lambda: tf.TensorArray(tf.float32, 2),
        lambda: tf.TensorShape([1]),
        lambda: tf.TensorSpec([1]),
        lambda: tf.data.Dataset.range(3),
        lambda: tf.float32,
    ],
)
def test_objects_without_dlpack_are_refused(make):
    x = make()
    for look in LOOKS:
        with refused(TypeError, "expected a tensor, got"):
            look(x)


def test_components_of_composite_tensors_are_accepted():
    assert ext.read_f32(tf.Variable([1.0, 2.0]).value()) == [1, 2]
    assert ext.read_f32(tf.ragged.constant([[1.0], [2.0, 3.0]]).flat_values) == [1, 2, 3]
    assert ext.read_f32(tf.sparse.eye(2).values) == [1, 1]


def test_assigned_variable_leaves_its_imported_value_unchanged():
    variable = tf.Variable([1.0] * 100)
    kept = ext.identity(variable.value())
    variable.assign([2.0] * 100)
    assert ext.read_f32(kept) == [1] * 100
    assert ext.read_f32(variable.value()) == [2] * 100


def test_tensor_of_non_numbers_is_refused():
    # In a process of its own, since TensorFlow's to_dlpack aborts the process that it is called in.
    in_new_process(
        """
        import dlbridge_testing as ext
        import tensorflow as tf
        from support import refused

        for x in (
            tf.constant([], tf.string),
            tf.constant("a"),
            tf.constant(["a", "b"]),
            tf.Variable([1.0]).handle,
            tf.raw_ops.TensorListReserve(element_shape=[1], num_elements=1, element_dtype=tf.float32),
        ):
            print(x.dtype, x.shape, flush=True)
            for look in (ext.describe, ext.describe_out, ext.describe_owned):
                with refused(BufferError, "TensorFlow"):
                    look(x)
            with refused(BufferError, "TensorFlow"):
                ext.import_(x, copy=True)
        assert ext.read_f32(tf.ones(2)) == [1, 1]
        """
    )


@pytest.mark.skipif(ext.HAS_PACKAGE_FEATURES, reason="TensorFlow's C library shares them")
def test_dtype_without_dlpack_equivalent_is_refused():
    names = "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e4m3b11fnuz int4 uint4".split()
    made = 0
    for name in names:
        try:
            x = tf.cast(tf.constant([1.0, 2.0]), getattr(tf.dtypes.experimental, name))
        except (AttributeError, tf.errors.OpError):
            continue  # This version can't make them.
        made += 1
        for look in LOOKS:
            with refused(BufferError, "is not supported by dlpack"):
                look(x)
    assert made >= 2


def test_quantized_tensor_is_imported_as_integers():
    x = tf.quantization.quantize([0.0, 1.0], 0, 1, tf.quint8).output
    assert ext.describe(x)["dtype"] == "uint8"
    assert ext.read_u8(x) == [0, 255]


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_symbolic_tensors_are_refused(name):
    for look in LOOKS:
        with refused(TypeError, "expected a tensor, got", "SymbolicTensor"):
            tf.function(lambda x: (look(x), x)[1], autograph=False)(tf.ones(2, name))
    with tf.Graph().as_default():
        x = tf.ones(2, name)
        for look in LOOKS:
            with refused(TypeError, "expected a tensor, got"):
                look(x)


def test_tensor_in_py_function_is_accepted():
    def read(x):
        return sum(ext.read_f32(x))

    assert tf.function(lambda x: tf.py_function(read, [x], tf.float32))(tf.ones(3)) == 3


def test_tensor_under_gradient_tape_is_accepted():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        assert ext.read_f32(x) == [1, 2]
        y = x * x
        assert ext.read_f32(y) == [1, 4]
    assert ext.read_f32(tape.gradient(y, x)) == [2, 4]
