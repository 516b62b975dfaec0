"""Calls that are linear in an array of JAX without a value: of tangents, which JAX transposes."""

import numpy as np
import pytest
from dlbridge import ops
from dlbridge._hosts import gradients
from graph_jax import needs_extension, random, same, wide  # noqa: F401
from support import framework

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402

LINEAR = {
    "add": (lambda x: ops.add(x, x), (3,)),
    "axpy": (lambda x: ops.axpy(2.0, x, jnp.zeros(3)), (3,)),
    "broadcast": (lambda x: ops.multiply(x, jnp.arange(6.0).reshape(2, 3)), (3,)),
    "cast": (lambda x: ops.cast(x, dtype="float32"), (3,)),
    "copy": (ops.copy, (2, 3)),
    "divide": (lambda x: ops.divide(x, jnp.arange(1.0, 4.0)), (3,)),
    "expand_dims": (lambda x: ops.expand_dims(x, axis=1), (3, 2)),
    "matmul": (lambda x: ops.matmul(x, jnp.arange(6.0).reshape(3, 2)), (4, 3)),
    "matmul from the left": (lambda x: ops.matmul(jnp.arange(6.0).reshape(2, 3), x), (3, 4)),
    "matrix_transpose": (ops.matrix_transpose, (2, 3)),
    "mean": (lambda x: ops.mean(x, axis=1), (2, 3)),
    "negative": (lambda x: ops.subtract(0.0, x), (3,)),
    "sum": (lambda x: ops.sum(x, axis=0, keepdims=True), (2, 3)),
    "two": (lambda x: ops.sum(ops.multiply(ops.copy(x), 3.0)), (2, 3)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_transpose_of_a_linear_call_is_its_gradient(name):
    function, shape = LINEAR[name]
    x = random(*shape)
    y, gradient = jax.vjp(jax.jit(function), x)
    grad = random(*y.shape).astype(y.dtype)
    expected = gradient(grad)[0]
    for of in (function, jax.jit(function)):
        (found,) = jax.linear_transpose(of, x)(grad)
        assert same(found, expected)
        (found,) = jax.jit(jax.linear_transpose(of, x))(grad)
        assert same(found, expected)
    grads = jnp.stack([grad, 2 * grad])
    (each,) = jax.vmap(jax.linear_transpose(function, x))(grads)
    np.testing.assert_allclose(each, jnp.stack([expected, 2 * expected]), rtol=1e-6)


def test_reverse_mode_transposes_ops_of_a_rule_of_derivatives():
    @jax.custom_jvp
    def power(x, w):
        return jnp.exp(x) @ w

    @power.defjvp
    def derivative(primals, tangents):
        (x, w), (dx, dw) = primals, tangents
        of_x = ops.matmul(ops.multiply(ops.exp(x), dx), w)
        return power(x, w), ops.add(of_x, ops.matmul(ops.exp(x), dw))

    def plain(x, w):
        return jnp.exp(x) @ w

    x, w = random(3, 4), random(4, 2)
    for of in (lambda f: f, jax.jit):

        def loss(function, of=of):
            return of(jax.grad(lambda x, w: (function(x, w) ** 2).sum(), (0, 1)))

        for found, expected in zip(loss(power)(x, w), loss(plain)(x, w), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        xs = jnp.stack([x, 2 * x, -x])
        found, expected = (jax.vmap(loss(f), (0, None))(xs, w) for f in (power, plain))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    forward = jax.jacfwd(power)(x, w)
    np.testing.assert_allclose(forward, jax.jacrev(power)(x, w), rtol=1e-12)
    hessian = jax.hessian(lambda x: power(x, w).sum())(x)
    np.testing.assert_allclose(hessian, jax.hessian(lambda x: plain(x, w).sum())(x), atol=1e-12)


@needs_extension
def test_transpose_of_variadic_inputs():
    x = jnp.ones(3, "float32")
    (found,) = jax.linear_transpose(lambda x: ops.testing.total(x, x, x), x)(x)
    assert found.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (ops.exp, "dlbridge.exp isn't linear in 'x'"),
        (ops.softmax, "dlbridge.softmax isn't linear in 'x'"),
        (lambda x: ops.multiply(x, x), "dlbridge.multiply isn't linear in 'a'"),
        (lambda x: ops.divide(1.0, x), "dlbridge.divide isn't linear in 'b'"),
    ],
    ids=["exp", "softmax", "square", "inverse"],
)
def test_transpose_of_another_call_is_refused(function, problem):
    x = random(3)
    with pytest.raises(RuntimeError) as caught:
        jax.linear_transpose(function, x)(x)
    assert str(caught.value) == f"{problem}; differentiate it where the array has a value"
    assert caught.value.kind == "kernel" and caught.value.wanted in ("x", "a", "b")


def derivative(function):
    """Returns the derivative of a function of two arrays by the second one, as one of the first."""
    y, tangent = random(3), jnp.arange(3.0)
    return lambda x: jax.jvp(lambda y: function(x, y), (y,), (tangent,))[1]


def test_transpose_of_what_a_derivative_is_made_of():
    x = random(3)
    found = jax.linear_transpose(derivative(ops.multiply), x)(x)
    assert same(found, jax.linear_transpose(derivative(jnp.multiply), x)(x))
    rows = jax.linear_transpose(jax.vmap(derivative(ops.multiply)), jnp.stack([x, x]))
    assert rows(jnp.stack([x, x]))[0].tolist() == [found[0].tolist()] * 2
    with pytest.raises(RuntimeError, match=r"dlbridge\.divide isn't linear in 'b'") as caught:
        jax.linear_transpose(derivative(lambda x, y: ops.divide(y, x)), x)(x)
    assert caught.value.kind == "kernel"


def test_gradient_depends_on_what_ops_take_but_for_its_shape():
    rows = {name: getattr(ops, name).__self__._describe() for name in ("concat", "sum_backward")}
    elements = ("call", "concat", [("gradient", 0), ("input", 1), ("output", 0)], [])
    shape = ("call", "sum_backward", [("gradient", 0), ("input", 0)], [])
    nested = ("call", "concat", [shape, ("input", 2)], [("dtype", ("dtype", ("input", 3)))])
    assert gradients.used(elements, rows.__getitem__) == {("input", 1), ("output", 0)}
    assert gradients.used(shape, rows.__getitem__) == set()
    assert gradients.used(nested, rows.__getitem__) == {("input", 2)}


def test_transpose_of_an_op_without_gradient_names_it():
    x = random(3)
    with pytest.raises(RuntimeError, match=r"dlbridge\.relu declares no gradient of 'x'"):
        jax.linear_transpose(ops.relu, x)(x)


def test_transforms_need_no_jit():
    x, w = random(3, 4), random(4)

    def loss(x):
        return ops.sum(ops.multiply(ops.softmax(x), w))

    functions = {
        "grad": jax.grad(loss),
        "jvp": lambda x: jax.jvp(loss, (x,), (x,))[1],
        "vmap": jax.vmap(loss),
        "vmap of grad": jax.vmap(jax.grad(loss)),
        "transpose": lambda x: jax.linear_transpose(ops.copy, x)(x)[0],
    }
    for function in functions.values():
        expected = function(x)
        with jax.disable_jit():
            np.testing.assert_allclose(function(x), expected, rtol=1e-12)


def test_nans_are_found_in_transforms():
    x = jnp.array([-1.0, 1.0])
    functions = {
        "grad": jax.grad(lambda x: ops.sum(ops.log(x))),
        "vmap": jax.vmap(ops.log),
        "hessian": jax.hessian(lambda x: ops.sum(ops.log(x))),
        "gradient alone": jax.grad(lambda x: ops.sum(ops.multiply(ops.sqrt(x + 1), 0.0))),
    }
    jax.config.update("jax_debug_nans", True)
    try:
        for function in functions.values():
            with pytest.raises(FloatingPointError):
                function(x)
            assert np.isfinite(function(x * x)).all()
    finally:
        jax.config.update("jax_debug_nans", False)


def test_jaxpr_shows_the_op():
    text = str(jax.make_jaxpr(lambda x: ops.softmax(x, axis=0))(random(2)))
    assert "dlbridge_call[" in text and "op=dlbridge.softmax" in text
