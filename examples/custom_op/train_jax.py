"""Trains a network with the op `nn.swiglu` in JAX: a step under jax.jit, with jax.grad."""

import custom_op  # noqa: F401, its ops are in dlbridge.ops
import jax
import jax.numpy as jnp
from dlbridge import ops


def train(swiglu=ops.nn.swiglu, steps=20):
    """Returns the loss before each step."""

    def loss_of(weights, x, y):
        gate, up, down = weights
        return jnp.mean((swiglu(x @ gate, x @ up) @ down - y) ** 2)

    @jax.jit
    def step(weights, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        return loss, jax.tree.map(lambda weight, by: weight - 0.1 * by, weights, gradients)

    keys = jax.random.split(jax.random.key(0), 4)
    shapes = (8, 32), (8, 32), (32, 1)
    weights = [0.3 * jax.random.normal(key, shape) for key, shape in zip(keys, shapes)]
    x = jax.random.normal(keys[3], (64, 8))
    y = jnp.mean(x**2, axis=1, keepdims=True)
    losses = []
    for _ in range(steps):
        loss, weights = step(weights, x, y)
        losses.append(float(loss))
    return losses


if __name__ == "__main__":
    print(*(f"{loss:.4f}" for loss in train()))
