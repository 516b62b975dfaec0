"""Tests of the op, against PyTorch's function or its formula in float64."""

import cookbook  # noqa: F401 (its op is in dlbridge.ops)
import ml_dtypes
import numpy as np

import dlbridge

X = np.float32([-90, -20, -3, -0.5, 0, 0.5, 3, 20, 90])


def mish(x):
    x = x.astype("float64")
    return x * np.tanh(np.logaddexp(0, x))


def test_mish_has_the_values_of_its_formula(framework):
    y = dlbridge.ops.cookbook.mish(framework.make(X))
    np.testing.assert_allclose(framework.array(y), mish(X), rtol=1e-5, atol=1e-7)


def test_mish_in_place_and_of_strides():
    x = np.stack([X, X], axis=1)[:, 0]
    assert dlbridge.ops.cookbook.mish(x, out=x) is x
    np.testing.assert_allclose(x, mish(X), rtol=1e-5, atol=1e-7)


def test_mish_of_bfloat16_is_rounded_once(framework):
    x = X.astype(ml_dtypes.bfloat16)
    y = framework.array(dlbridge.ops.cookbook.mish(framework.make(x)))
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(y.astype("float64"), mish(x), rtol=2**-8, atol=1e-7)


def test_gradient_is_that_of_the_framework(framework):
    f = dlbridge.ops.cookbook.mish
    if framework.name == "torch":
        torch = framework.module
        x, y = (torch.tensor(X, requires_grad=True) for _ in range(2))
        f(x).sum().backward()
        torch.nn.functional.mish(y).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
    elif framework.name == "jax":
        jax = framework.module
        found = jax.grad(lambda x: f(x).sum())(framework.make(X))
        own = jax.grad(lambda x: (x * jax.numpy.tanh(jax.nn.softplus(x))).sum())(X)
        np.testing.assert_allclose(found, own, rtol=1e-5, atol=1e-7)
    else:
        h = 1e-3
        numeric = (mish(X.astype("float64") + h) - mish(X.astype("float64") - h)) / (2 * h)
        found = dlbridge.ops.cookbook.mish_slope(X)
        np.testing.assert_allclose(found, numeric, rtol=1e-4, atol=1e-6)
