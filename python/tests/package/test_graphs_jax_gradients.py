"""Gradients of ops, and their transforms, in JAX."""

import dlbridge
import graph_samples
import numpy as np
import pytest
from dlbridge import ops
from graph_jax import arguments, function_of, needs_extension, random, same, wide  # noqa: F401
from graph_samples import CALLS
from support import IS_LONG, framework

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402
from jax import export  # noqa: E402
from jax.test_util import check_grads  # noqa: E402


@pytest.mark.parametrize("name", sorted(CALLS))
def test_vmap_equals_calls_for_each_index(name):
    args, attributes = arguments(name)
    function = function_of(name, attributes)
    repeated = jax.tree.map(lambda x: jnp.stack([x, x[::-1] if x.ndim else x]), args)
    if name in ("take", "index_add"):
        repeated[1] = jnp.stack([args[1], args[1]])
    one = [jax.jit(function)(*jax.tree.map(lambda x, at=at: x[at], repeated)) for at in (0, 1)]
    expected = jax.tree.map(lambda *parts: jnp.stack(parts), *one)
    for vectorised in (jax.vmap(function), jax.jit(jax.vmap(function))):
        found = vectorised(*repeated)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("name", ["argmax", "exp", "sum"])
def test_vmap_of_no_indices_has_no_elements(name):
    function = getattr(ops, name)
    expected = jax.vmap(function)(jnp.ones((2, 3)))[:0]
    assert same(jax.vmap(function)(jnp.ones((0, 3))), expected)


def test_scan_equals_a_loop():
    x, ys = random(3), random(5, 3)

    def step(carry, y):
        carry = ops.add(ops.multiply(carry, y), 1.0)
        return carry, ops.softmax(carry)

    last, all_of = jax.lax.scan(step, x, ys)
    carry = x
    for at, y in enumerate(ys):
        carry, one = jax.jit(step)(carry, y)
        assert same(all_of[at], one)
    assert same(last, carry)
    check_grads(lambda x: jax.lax.scan(step, x, ys)[0], (x,), 1, modes=["rev"])


@needs_extension
def test_gradients_of_complex_numbers_and_of_casts_to_them():
    a, b = jnp.array([1 + 2j, 1j], "complex64"), jnp.array([3 - 1j, 2], "complex64")

    def gradients_of(function, *args):
        return jax.grad(lambda *args: jnp.abs(function(*args)).sum(), tuple(range(len(args))))(
            *args
        )

    found, expected = gradients_of(ops.testing.product, a, b), gradients_of(jnp.multiply, a, b)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    found = gradients_of(lambda x: (ops.cast(x, dtype="complex64") * a).real, b.real)
    expected = gradients_of(lambda x: (x.astype("complex64") * a).real, b.real)
    assert same(found, expected)


@needs_extension
def test_gradients_and_vmap_of_variadic_inputs():
    x = jnp.ones(3, "float32")

    def sum_of(x):
        return ops.testing.total(x, jnp.ones(3, "float32"), x).sum()

    assert jax.grad(sum_of)(x).tolist() == [2, 2, 2]
    assert jax.vmap(sum_of)(jnp.stack([x, x])).tolist() == [9, 9]


@needs_extension
def test_forward_mode_needs_gradients_of_the_ops_that_gradients_call():
    x = jnp.ones(3, "float32")
    assert jax.grad(lambda x: -ops.testing.guided(x).sum())(x).tolist() == [0] * 3
    with pytest.raises(RuntimeError, match="relu declares no gradient of 'x'"):
        jax.jvp(ops.testing.guided, (x,), (x,))


@needs_extension
def test_derivatives_of_one_of_several_results():
    x = jnp.ones(3, "float32")
    for at, sign in ((0, 1.0), (1, -1.0)):

        def one(b, at=at):
            return ops.testing.both(x, b)[at]

        assert jax.grad(lambda b, one=one: one(b).sum())(x).tolist() == [sign] * 3
        assert jax.jvp(one, (x,), (x,))[1].tolist() == [sign] * 3


def test_gradients_are_exported_with_symbols():
    names = ("multiply", "mean", "mean_backward", "sum_to_like")
    checks = [export.DisabledSafetyCheck.custom_call(f"dlbridge.{name}") for name in names]
    rows = export.symbolic_shape("rows,")[0]
    gradient = jax.jit(jax.grad(lambda x: ops.mean(ops.multiply(x, x))))
    of = jax.ShapeDtypeStruct((rows, 2), jnp.float32)
    exported = export.export(gradient, disabled_checks=checks)(of)
    x = jnp.arange(8, dtype="float32").reshape(4, 2)
    assert same(exported.call(x), gradient(x))


def test_gradients_leak_no_tracers():
    def loss(x, w):
        return ops.sum(ops.softmax(ops.rms_norm(x, w)))

    with jax.checking_leaks():
        jax.jit(jax.grad(loss))(random(2, 3), random(3))
        jax.jit(jax.vmap(jax.grad(loss), (0, None)))(random(2, 3), random(3))
        jax.hessian(lambda x: ops.sum(ops.multiply(x, x)))(random(3))


# Eager arrays of JAX aren't written.
GRADIENTS = {
    **graph_samples.GRADIENTS,
    "axpy": (jax.jit(lambda alpha, x, y: ops.axpy(alpha, x, y)), (), (3,), (3,)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_right(name):
    function, *shapes = GRADIENTS[name]
    inputs = tuple(random(*shape) for shape in shapes)
    check_grads(function, inputs, 2)
    check_grads(jax.jit(function), inputs, 2)
    places = tuple(range(len(inputs)))
    gradient = jax.grad(lambda *inputs: function(*inputs).sum(), places)
    assert same(gradient(*inputs), jax.jit(gradient)(*inputs))


def test_forward_mode_has_the_derivatives_of_reverse_mode():
    x, y = random(3, 4), random(4, 2)

    def function(x, y):
        return ops.softmax(ops.matmul(ops.exp(x), ops.divide(y, 2.0)), axis=0)

    def loss(x):
        return ops.sum(ops.multiply(function(x, y), function(x, y)))

    for of in (function, jax.jit(function)):
        for number in (0, 1):
            forward, reverse = jax.jacfwd(of, number)(x, y), jax.jacrev(of, number)(x, y)
            np.testing.assert_allclose(forward, reverse, rtol=1e-10, atol=1e-12)
    # Over each other, in each order.
    theirs = jax.hessian(lambda x: (jax.nn.softmax(jnp.exp(x) @ (y / 2), axis=0) ** 2).sum())(x)
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            hessians = [jax.jit(outer(inner(loss)))]
            if IS_LONG:  # They aren't compiled as a whole, and take seconds each.
                hessians.append(outer(inner(loss)))
            for of in hessians:
                np.testing.assert_allclose(of(x), theirs, rtol=1e-8, atol=1e-12)
    # Of calls for each index, before and after.
    tangents = random(5, 3, 4)
    each = jax.vmap(lambda t: jax.jvp(loss, (x,), (t,))[1])(tangents)
    expected = [(jax.grad(loss)(x) * tangent).sum() for tangent in tangents]
    np.testing.assert_allclose(each, expected, rtol=1e-10)
    rows = jax.vmap(lambda row: ops.softmax(ops.multiply(row, row)))
    assert jnp.allclose(jax.jacfwd(rows)(x), jax.jacrev(rows)(x), rtol=1e-12)
    # Where only some inputs move, or none does.
    moved = jax.jvp(lambda y: function(x, y), (y,), (y,))[1]
    assert jnp.allclose(moved, jnp.tensordot(jax.jacrev(function, 1)(x, y), y, 2))
    assert jax.jvp(lambda z: z * ops.sum(x), (2.0,), (1.0,))[1] == x.sum()
    kept, linear = jax.linearize(loss, x)
    assert jnp.allclose(linear(x), (jax.grad(loss)(x) * x).sum()) and kept == loss(x)
    step = jax.lax.scan(lambda c, z: (ops.multiply(c, z), c), x[0], x)[0]
    scanned = jax.jacfwd(lambda x: jax.lax.scan(lambda c, z: (ops.multiply(c, z), c), x[0], x)[0])
    assert step.shape == (4,) and jnp.allclose(
        scanned(x), jax.jacrev(lambda x: x[0] * jnp.prod(x, 0))(x), rtol=1e-10
    )


def test_gradients_of_a_cast_have_the_dtype_of_the_input():
    gradient = jax.grad(lambda x: ops.cast(x, dtype="float32").sum())
    assert gradient(jnp.ones(3, "float16")).dtype == "float16"


def test_transforms_are_composed():
    x = random(2, 3)
    square = jax.grad(lambda x: ops.sum(ops.multiply(x, x)))
    assert same(jax.vmap(square)(x), 2 * x) and same(jax.jit(jax.vmap(square))(x), 2 * x)

    def of_the_rest(y):
        return ops.sum(jax.vmap(ops.multiply, (0, None))(x, y))

    assert np.allclose(jax.grad(of_the_rest)(x[0]), x.sum(0))
    remembered = jax.checkpoint(lambda x: ops.softmax(ops.multiply(x, x)))
    check_grads(remembered, (x,), 1, modes=["rev"])
    nested = jax.vmap(jax.vmap(ops.add, (None, 0)), (0, None))
    assert same(nested(x, x), x[:, None] + x[None])


def test_ops_without_gradient_say_so():
    x = random(3)
    problem = r"dlbridge\.relu declares no gradient of 'x'"
    for gradient in (
        jax.grad(lambda x: ops.sum(ops.relu(x))),
        lambda x: jax.vjp(ops.relu, x)[1](x),
    ):
        for one in (gradient, jax.jit(gradient)):
            with pytest.raises(RuntimeError, match=problem):
                one(x)
    with pytest.raises(RuntimeError, match=problem):
        jax.jit(jax.vmap(jax.grad(lambda x: ops.relu(x))))(x)
    for one in (ops.relu, jax.jit(ops.relu)):
        with pytest.raises(RuntimeError, match=problem):
            jax.jvp(one, (x,), (x,))
    # Where the result doesn't depend on it, there is nothing to declare.
    stop = jax.lax.stop_gradient
    for function in (
        lambda x: ops.sum(x) + ops.sum(ops.relu(stop(x))),
        lambda x: ops.sum(x) + stop(ops.sum(ops.relu(x))),
        lambda x: ops.sum(ops.add(x, ops.cast(ops.greater(x, 1.0), dtype="float64"))),
    ):
        assert same(jax.grad(function)(x), jnp.ones(3))
    # Of several inputs, one may have a gradient.
    quantized = jnp.ones(3, "i1")
    with pytest.raises(RuntimeError, match="declares no gradient of 'scale'"):
        jax.grad(lambda scale: ops.sum(ops.dequantize(quantized, scale)))(jnp.float32(2))
    assert jax.grad(lambda x: x[ops.argmax(x)])(x).sum() == 1


VECTORISED = {
    **graph_samples.VECTORISED,
    "axpy": (lambda x, y: ops.axpy(2.0, x, y), (0, None), (3, 4), (4,), 1),
}


@pytest.mark.parametrize("name", VECTORISED)
def test_vmap_is_one_call_where_it_can_be(name):
    function, dims, *shapes, count = VECTORISED[name]
    inputs = [random(*shape) for shape in shapes]
    selected = [
        [x if dim is None else jnp.take(x, at, dim) for x, dim in zip(inputs, dims)]
        for at in range(3)
    ]
    expected = jnp.stack([jax.jit(function)(*one) for one in selected])
    with dlbridge.record() as calls:
        found = jax.jit(jax.vmap(function, in_axes=dims))(*inputs).block_until_ready()
    assert np.allclose(found, expected, rtol=1e-12) and len(calls) == count


def test_training_steps_equal_those_of_jax():
    def losses(matmul, rms_norm, softmax, multiply, mean, compile):
        def loss(w, g, x):
            y = softmax(matmul(rms_norm(x, g), w))
            return mean(multiply(y, y))

        step = compile(jax.value_and_grad(loss, (0, 1)))
        x, w, g, found = random(6, 4), random(4, 5), jnp.ones(4), []
        for _ in range(20):
            now, gradients = step(w, g, x)
            w, g = w - 0.5 * gradients[0], g - 0.5 * gradients[1]
            found.append(float(now))
        return found

    def rms_norm(x, g):
        return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g

    ours = ops.matmul, ops.rms_norm, ops.softmax, ops.multiply, ops.mean
    theirs = jnp.matmul, rms_norm, jax.nn.softmax, jnp.multiply, jnp.mean
    assert losses(*ours, jax.jit) == losses(*ours, lambda function: function)
    assert np.allclose(losses(*theirs, jax.jit), losses(*ours, jax.jit), rtol=1e-10)
