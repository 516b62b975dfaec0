"""Variables of TensorFlow and weights of Keras as arguments: in graphs, on tapes, and eagerly."""

import numpy as np
import pytest
from dlbridge import ops
from graph_tensorflow import same
from support import framework

tf = framework("tensorflow")

VALUES = np.array([1, 2, 3], np.float32)
CALLS = [
    lambda v, x: ops.multiply(v, x),
    lambda v, x: ops.multiply(x, v),
    lambda v, x: ops.multiply(v, v),
    lambda v, x: ops.multiply(v, 2.0),
    lambda v, x: ops.rms_norm(x, weight=v),
    lambda v, x: ops.concat([v, x]),
    lambda v, x: ops.axpy(2.0, x, v),
]


def variables():
    keras = pytest.importorskip("keras")
    of_keras = getattr(keras, "Variable", tf.Variable)  # Before Keras 3 there is none.
    return {"tensorflow": tf.Variable(VALUES), "keras": of_keras(VALUES)}


def stopped(call):
    with tf.GradientTape() as tape, tape.stop_recording():
        return call()


def run_eagerly(call):
    tf.config.run_functions_eagerly(True)
    try:
        return tf.function(call)()
    finally:
        tf.config.run_functions_eagerly(False)


def on_a_tape(call):
    with tf.GradientTape():
        return call()


WAYS = {
    "eager": lambda call: call(),
    "stopped": stopped,
    "run_eagerly": run_eagerly,
    "tape": on_a_tape,
    "graph": lambda call: tf.function(call, autograph=False)(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["tensorflow", "keras"])
def test_variables_are_arguments_everywhere(kind, way):
    variable, x = variables()[kind], np.array([4, 5, 6], np.float32)
    for call in CALLS:
        expected = call(VALUES.copy(), x)
        for other in (tf.constant(x), x, tf.Variable(x)):
            found = WAYS[way](lambda call=call, other=other: call(variable, other))
            assert tf.is_tensor(found) and same(found, (expected,))
    # An op that writes an input returns the new value, and leaves the variable as it is.
    assert np.asarray(variable).tolist() == VALUES.tolist()


def test_integers_are_variables_that_no_tape_watches():
    v = tf.Variable([1, 2])
    with tf.GradientTape():
        assert ops.add(v, v).numpy().tolist() == [2, 4]
    assert ops.add(v, 1).numpy().tolist() == [2, 3]


def test_errors_are_those_of_eager_calls():
    v = tf.Variable(VALUES)
    for call in (
        lambda v: ops.softmax(v, axis=7),
        lambda v: ops.softmax(v, axis=1.0),
        lambda v: ops.multiply(v, [1, 2, 3]),
        lambda v: ops.multiply(v, np.ones(3)),
        lambda v: ops.multiply(v, np.ones(4, np.float32)),
    ):
        with pytest.raises((TypeError, ValueError, IndexError)) as expected:
            call(VALUES)
        with pytest.raises(type(expected.value)) as found:
            call(v)
        assert type(found.value) is type(expected.value)
        assert (str(found.value), found.value.kind) == (str(expected.value), expected.value.kind)


def layer_class(keras):
    class Scaled(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(shape[-1],), initializer="ones")

        def call(self, x):
            return ops.multiply(x, self.w)

        def compute_output_shape(self, shape):
            return shape

    return Scaled


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_layers_of_keras_train_and_are_called_eagerly(run_eagerly):
    keras = pytest.importorskip("keras")
    layer = layer_class(keras)()
    model = keras.Sequential([keras.Input((3,)), layer])
    optimizer = keras.optimizers.SGD(0.1)
    model.compile(loss="mse", optimizer=optimizer, run_eagerly=run_eagerly, jit_compile=False)
    x, y = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.zeros((2, 3), np.float32)
    # The gradient of the mean of (x w)^2.
    expected = 1 - 0.1 * 2 / 6 * (x * x).sum(0)
    model.fit(x, y, batch_size=2, epochs=1, verbose=0)
    np.testing.assert_allclose(layer.w, expected, rtol=1e-5)
    for result in (layer(x), model(x), model.predict(x, verbose=0)):
        np.testing.assert_allclose(result, x * expected, rtol=1e-5)

    for step in (False, True):
        before = np.asarray(layer.w)

        def train(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(ops.multiply(layer(x), layer(x)))
            (gradient,) = tape.gradient(loss, layer.trainable_variables)
            optimizer.apply_gradients([(gradient, layer.w)])
            return gradient

        gradient = (tf.function(train) if step else train)(tf.constant(x))
        wanted = 2 / 6 * (x * x).sum(0) * before
        np.testing.assert_allclose(gradient, wanted, rtol=1e-5)
        np.testing.assert_allclose(layer.w, before - 0.1 * wanted, rtol=1e-5, atol=1e-6)


def test_gradients_are_those_of_tensorflow():
    v, x = tf.Variable(VALUES), tf.constant([4.0, 5.0, 6.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = ops.sum(ops.exp(ops.multiply(v, x)))
        gradient = tape.gradient(y, v)
    np.testing.assert_allclose(gradient, x * np.exp(v * x), rtol=1e-5)
    np.testing.assert_allclose(outer.gradient(gradient, v), x * x * np.exp(v * x), rtol=1e-5)
