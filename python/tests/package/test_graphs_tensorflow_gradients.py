"""Gradients of ops in TensorFlow."""

import numpy as np
import pytest
from dlbridge import ops
from graph_samples import GRADIENTS
from graph_tensorflow import doubles, needs_extension
from support import framework

tf = framework("tensorflow")


def gradients_of(function, *values):
    values = [tf.constant(value) for value in values]
    with tf.GradientTape() as tape:
        tape.watch(values)
        result = tf.reduce_sum(tf.abs(function(*values)))
    return tape.gradient(result, values)


@needs_extension
def test_gradients_of_complex_numbers_are_conjugates():
    a, b = np.array([1 + 2j, 1j], "c8"), np.array([3 - 1j, 2], "c8")
    for function in (ops.testing.product, tf.function(lambda a, b: ops.testing.product(a, b))):
        found, expected = gradients_of(function, a, b), gradients_of(tf.multiply, a, b)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_gradients_of_casts_to_complex_numbers_are_real():
    x, factor = np.array([1, 2], "f4"), np.array([1 + 2j, 3j], "c8")
    found = gradients_of(lambda x: tf.math.real(ops.cast(x, dtype="complex64") * factor), x)
    expected = gradients_of(lambda x: tf.math.real(tf.cast(x, tf.complex64) * factor), x)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_right(name):
    function, *shapes = GRADIENTS[name]
    inputs = [doubles(*shape) for shape in shapes]

    def loss(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = tf.reduce_sum(function(*inputs))
        return tape.gradient(result, inputs)

    # Eager tensors that no tape records are read-only.
    for call in (function, tf.function(function))[name == "axpy" :]:
        theory, numbers = tf.test.compute_gradient(call, inputs)
        for a, b in zip(theory, numbers):
            assert np.allclose(a, b, atol=1e-4)
    for a, b in zip(loss(*inputs), tf.function(loss)(*inputs)):
        assert np.array_equal(a, b)
    signature = [tf.TensorSpec([None] * len(shape), tf.float64) for shape in shapes]
    for a, b in zip(loss(*inputs), tf.function(loss, input_signature=signature)(*inputs)):
        assert np.array_equal(a, b)


def test_tapes_record_variables_and_second_gradients():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = ops.sum(ops.exp(ops.multiply(x, 2.0)))
        first = inner.gradient(y, x)
        total = ops.sum(first)
    assert np.allclose(first, 2 * np.exp([2, 4]))
    assert np.allclose(outer.gradient(total, x), 4 * np.exp([2, 4]))
    with tf.GradientTape() as tape:
        stopped = tape.stop_recording()
        with stopped:
            assert ops.exp(tf.zeros(1)).numpy() == 1


def test_derivatives_that_are_not_there_are_errors():
    x = tf.ones(3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = ops.relu(x)
    with pytest.raises(LookupError, match="Dlbridge>Relu"):
        tape.gradient(y, x)

    @tf.function
    def traced(x):
        return tf.gradients(ops.relu(x), x)

    with pytest.raises(Exception, match="No gradient defined for operation.*Dlbridge>Relu"):
        traced(x)


def test_training_equals_that_of_tensorflow():
    def steps(matmul, rms_norm, softmax, multiply, mean):
        w, g = tf.Variable(doubles(4, 3)), tf.Variable(tf.ones(4, tf.float64))

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                y = softmax(matmul(rms_norm(x, g), w))
                loss = mean(multiply(y, y))
            for variable, gradient in zip((w, g), tape.gradient(loss, (w, g))):
                variable.assign_sub(0.5 * gradient)
            return loss

        return [step(doubles(6, 4)).numpy() for _ in range(20)]

    def rms_norm(x, g):
        return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-6) * g

    ours = steps(ops.matmul, ops.rms_norm, ops.softmax, ops.multiply, ops.mean)
    theirs = steps(tf.matmul, rms_norm, tf.nn.softmax, tf.multiply, tf.reduce_mean)
    assert np.allclose(ours, theirs, rtol=1e-9)


def test_persistent_tapes_and_retracing():
    x, traced = tf.ones(3), []

    @tf.function
    def function(x, axis):
        traced.append(x.shape)
        return ops.sum(ops.multiply(x, x), axis=axis)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = ops.sum(ops.multiply(x, x))
        z = function(x, 0)
    for result in (y, z, y):
        assert tape.gradient(result, x).numpy().tolist() == [2, 2, 2]
    # Another value of an attribute is another graph; other numbers aren't.
    function(tf.zeros(3), 0)
    assert len(traced) == 1
    assert function(tf.ones((2, 3)), 1).numpy().tolist() == [3, 3]
    assert function(tf.ones((2, 3)), 0).numpy().tolist() == [2, 2, 2]
    assert len(traced) == 3
