"""Trains a network with the op `nn.swiglu` in Keras, on TensorFlow: a layer of a model."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import custom_op  # noqa: F401, its ops are in dlbridge.ops
import keras
import numpy as np
from dlbridge import ops


class GatedDense(keras.layers.Layer):
    def __init__(self, units, swiglu):
        super().__init__()
        self.gate, self.up = keras.layers.Dense(units), keras.layers.Dense(units)
        self.swiglu = swiglu
        self.supports_jit = False  # XLA has no ops of TensorFlow's extensions.

    def build(self, shape):
        self.gate.build(shape)
        self.up.build(shape)

    def call(self, x):
        return self.swiglu(self.gate(x), self.up(x))


def train(swiglu=ops.nn.swiglu, steps=20):
    """Returns the loss before each step."""
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).standard_normal((64, 8), "float32")
    y = np.mean(x**2, axis=1, keepdims=True)
    model = keras.Sequential([keras.Input((8,)), GatedDense(32, swiglu), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    return model.fit(x, y, batch_size=64, epochs=steps, verbose=0).history["loss"]


if __name__ == "__main__":
    print(*(f"{loss:.4f}" for loss in train()))
