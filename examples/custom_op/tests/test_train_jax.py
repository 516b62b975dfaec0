"""The op `nn.swiglu` in JAX: compiled, differentiated, vectorised, and trained."""

import dlbridge
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if jax.__version_info__ < (0, 4, 38):
    pytest.skip("the functions are known from JAX 0.4.38 on", allow_module_level=True)
import jax.numpy as jnp  # noqa: E402
import train_jax  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

swiglu = dlbridge.ops.nn.swiglu


def composed(gate, up):
    """The same of JAX's ops."""
    return jax.nn.silu(gate) * up


def inputs(*shape, dtype="float32"):
    return tuple(
        jax.random.normal(key, shape, dtype) for key in jax.random.split(jax.random.key(0))
    )


def test_losses_equal_those_of_jax(printed, monkeypatch):
    losses = train_jax.train()
    assert len(losses) == 20 and all(np.diff(losses) < 0)
    assert np.allclose(losses, train_jax.train(composed), rtol=1e-5, atol=0)
    assert np.allclose(printed("train_jax.py"), losses, atol=1e-4)
    monkeypatch.setattr(jax, "jit", lambda step: step)
    assert np.allclose(losses, train_jax.train(), rtol=1e-5, atol=0)


@pytest.mark.parametrize("function", [swiglu, jax.jit(swiglu)])
def test_gradients_are_right(function):
    check_grads(function, inputs(3, 4), 1, modes=["rev"])
    jax.config.update("jax_enable_x64", True)
    try:
        check_grads(function, inputs(3, 4, dtype="float64"), 1, modes=["rev"])
    finally:
        jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_compiled_call_equals_eager_one(dtype):
    args = inputs(3, 4, dtype=dtype)
    found = jax.jit(swiglu)(*args)
    assert found.dtype == dtype and (found == swiglu(*args)).all()

    def gradients(function):
        return jax.grad(lambda *args: (function(*args) ** 2).sum(), (0, 1))

    rtol = 0.05 if dtype == "bfloat16" else 1e-5
    eager, traced = gradients(swiglu)(*args), jax.jit(gradients(swiglu))(*args)
    for a, b, c in zip(eager, traced, gradients(composed)(*args)):
        assert a.dtype == b.dtype == dtype
        assert jnp.allclose(a, b, rtol=rtol, atol=rtol) and jnp.allclose(a, c, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("axes", [(0, 0), (1, None)])
def test_vmap_is_one_call(axes):
    gate, up = inputs(3, 3)
    up = up[0] if None in axes else up
    with dlbridge.record() as calls:
        found = jax.jit(jax.vmap(swiglu, axes))(gate, up).block_until_ready()
    assert jnp.allclose(found, jax.vmap(composed, axes)(gate, up)) and len(calls) == 1


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="nn.swiglu: expected shape"):
        jax.jit(swiglu)(jnp.ones(3), jnp.ones(1))
