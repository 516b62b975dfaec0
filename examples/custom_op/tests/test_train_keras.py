"""The op `nn.swiglu` in TensorFlow and Keras: in functions, differentiated, and trained."""

import dlbridge
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
pytest.importorskip("keras", minversion="3.0")
if tuple(int(part) for part in tf.__version__.split(".")[:2]) < (2, 15):
    pytest.skip("ops are for TensorFlow 2.15 and newer", allow_module_level=True)
import train_keras  # noqa: E402

swiglu = dlbridge.ops.nn.swiglu


def composed(gate, up):
    """The same of TensorFlow's ops."""
    return tf.nn.silu(gate) * up


def inputs(*shape, dtype="float64"):
    numbers = np.random.default_rng(0).standard_normal((2, *shape))
    return [tf.constant(number, dtype) for number in numbers]


def gradients(function, args):
    with tf.GradientTape() as tape:
        tape.watch(args)
        y = function(*args)
        loss = tf.reduce_sum(y * y)
    return tape.gradient(loss, args)


def test_losses_equal_those_of_tensorflow(printed):
    losses = train_keras.train()
    assert len(losses) == 20 and all(np.diff(losses) < 0)
    assert np.allclose(losses, train_keras.train(composed), rtol=1e-5, atol=0)
    assert np.allclose(printed("train_keras.py"), losses, atol=1e-4)
    tf.config.run_functions_eagerly(True)
    try:
        assert np.allclose(losses, train_keras.train(), rtol=1e-5, atol=0)
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize("function", [swiglu, tf.function(swiglu)])
def test_gradients_are_right(function):
    theoretical, numerical = tf.test.compute_gradient(function, inputs(3, 4), 1e-5)
    for a, b in zip(theoretical, numerical):
        assert np.allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_function_equals_eager_call(dtype):
    args = inputs(3, 4, dtype=dtype)
    function = tf.function(swiglu)
    assert function(*args).dtype == dtype
    assert (function(*args).numpy() == swiglu(*args).numpy()).all()
    assert "Dlbridge>" in str(function.get_concrete_function(*args).graph.as_graph_def())
    eager = gradients(swiglu, args)
    traced = tf.function(lambda *args: gradients(swiglu, args))(*args)
    rtol = 0.05 if dtype == "bfloat16" else 1e-5
    for a, b, c in zip(eager, traced, gradients(composed, args)):
        a, b, c = (np.asarray(x, "float64") for x in (a, b, c))
        assert (a == b).all() and np.allclose(a, c, rtol=rtol, atol=rtol)


def test_unknown_sizes_stay_unknown():
    unknown = tf.TensorSpec([None, 3], "float64")
    function = tf.function(swiglu).get_concrete_function(unknown, unknown)
    assert function.output_shapes.as_list() == [None, 3]
    args = inputs(9, 3)
    assert (function(*args).numpy() == swiglu(*args).numpy()).all()


def test_other_shapes_are_refused():
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="expected shape"):
        tf.function(swiglu)(tf.ones(3), tf.ones(1))
