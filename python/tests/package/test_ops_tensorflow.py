"""Ops of TensorFlow's tensors, which are read-only."""

import numpy as np
from dlbridge import ops
from ops_calls import OpsCalls
from support import framework, refused

tf = framework("tensorflow")


class TestTensorflow(OpsCalls):
    kind = tf.Tensor
    writable = False

    def of(self, array):
        return tf.constant(array)

    def values(self, x):
        return x.numpy().tolist()


def test_dtypes_without_numpy_equivalent():
    x = tf.constant([1.5, 2.5], tf.bfloat16)
    assert ops.add(x, x).dtype == tf.bfloat16 and ops.add(x, x).numpy().tolist() == [3, 5]


def test_variables_are_read_by_tensorflow():
    variable = tf.Variable([1.0])
    if tuple(map(int, tf.__version__.split(".")[:2])) >= (2, 15):
        assert ops.add(variable, 1).numpy() == [2]
        with refused(TypeError, "add: a call of TensorFlow's op has no argument 'out'"):
            ops.add(variable, 1, out=np.zeros(1, np.float32))
    assert ops.add(variable.value(), 1).numpy() == [2]


def test_result_is_a_tensorflow_tensor():
    x = tf.ones((4, 4))
    assert tf.function(lambda y: y * 2)(ops.matmul(x, x)).numpy().tolist() == [[8] * 4] * 4
