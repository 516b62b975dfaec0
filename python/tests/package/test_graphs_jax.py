"""Ops as custom calls of XLA: eager, jitted, exported, sharded, differentiated and vectorised."""

import weakref

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import (
    BOUND,
    CALLS,
    NOT_TENSORS,
    NUMBER_NAMES,
    NUMBERS,
    OF_TYPES,
    calls_with,
    outcome,
)
from support import (
    IS_LONG,
    check_released,
    check_resident,
    extension,
    framework,
    in_new_process,
    in_threads,
    refused,
)

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402
from jax import export  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

if jax.__version_info__ < (0, 4, 38):
    pytest.skip("the functions are known from JAX 0.4.38 on", allow_module_level=True)
try:
    from jax import ffi
except ImportError:  # before 0.5
    from jax.extend import ffi
assert dlbridge.publish("jax") == {}
dlbridge_testing = extension()
if dlbridge_testing and not hasattr(ops, "testing"):
    dlbridge_testing.publish_ops()
needs_extension = pytest.mark.skipif(not dlbridge_testing, reason="there is no extension")
# Newer releases raise the second where a compiled function is called again.
XlaError = jax.errors.JaxRuntimeError, ValueError


@pytest.fixture(autouse=True)
def wide():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def arguments(name, array=jnp.asarray):
    """The arguments of a call."""
    args, attributes = CALLS[name]

    def of(value):
        if isinstance(value, list):
            return [of(item) for item in value]
        return array(value.copy()) if isinstance(value, np.ndarray) else value

    return [of(value) for value in args], attributes


def same(a, b):
    """Whether results are equal bit for bit, of JAX or NumPy."""
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    a, b = np.asarray(a), np.asarray(b)
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def function_of(name, attributes):
    function = getattr(ops, name)
    return lambda *args: function(*args, **attributes)


def random(*shape):
    return jnp.asarray(np.random.default_rng(len(shape)).random(shape) + 0.5)


def test_each_op_has_a_sample():
    names = {name for name in dlbridge._core._op_names() if not name.startswith("testing.")}
    assert set(CALLS) == names


@pytest.mark.parametrize("name", sorted(CALLS))
def test_compiled_calls_equal_eager_ones(name):
    args, attributes = arguments(name)
    eager = function_of(name, attributes)(*arguments(name, np.asarray)[0])
    compiled = jax.jit(function_of(name, attributes))
    assert same(compiled(*args), eager)
    text = compiled.lower(*args).as_text()
    assert f"@dlbridge.{name}(" in text and "callback" not in text


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


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"axpy", "index_add"}))
def test_kernels_have_the_addresses_of_arguments_and_results(name):
    args, attributes = arguments(name)
    compiled = jax.jit(function_of(name, attributes))
    compiled(*args)
    with dlbridge.record() as calls:
        results = jax.block_until_ready(compiled(*args))
    (call,) = calls
    arrays = jax.tree.leaves((args, results))
    assert sorted(call.addresses) == sorted(array.unsafe_buffer_pointer() for array in arrays)


@needs_extension
def test_kernels_have_the_addresses_of_arrays():
    x = jnp.ones(5, "f4")
    found = jax.jit(ops.testing.addresses)(x)
    assert found.tolist() == [x.unsafe_buffer_pointer(), found.unsafe_buffer_pointer()]
    with dlbridge.record() as calls:
        jax.jit(lambda x: ops.add(x, x))(x).block_until_ready()
    assert [call.op for call in calls] == ["add"]


def test_written_inputs_are_results():
    x, y = jnp.arange(8.0), jnp.ones(8)
    function = jax.jit(lambda x, y: ops.axpy(2.0, x, y))
    assert same(function(x, y), x * 2 + 1) and (y == 1).all()
    assert same(jax.jit(lambda x: ops.axpy(2.0, x, x))(x), x * 3)
    in_place = jax.jit(lambda x, y: ops.axpy(2.0, x, y), donate_argnums=1)
    address = y.unsafe_buffer_pointer()
    z = in_place(x, y)
    assert z.unsafe_buffer_pointer() == address and y.is_deleted()


def test_calls_take_what_others_do():
    x = jnp.arange(4.0)
    assert same(jax.jit(lambda x: ops.add(2, x))(x), x + 2)
    assert same(jax.jit(lambda x: ops.add(x, b=np.ones(4)))(x), x + 1)
    assert same(jax.jit(lambda x: ops.concat(x, x, axis=0))(x), jnp.concatenate([x, x]))
    assert same(jax.jit(lambda x: ops.cast(x, dtype=jnp.float16))(x), x.astype("f2"))
    assert same(jax.jit(lambda x: ops.sum(x, axis=0))(x), x.sum())
    assert same(jax.jit(lambda x: ops.sum(x, axis=()))(x), x)
    assert same(jax.jit(lambda x: ops.sum(x.astype("i4"), axis=None))(x), jnp.asarray(6))
    found = jax.jit(lambda x: ops.layer_norm(x, bias=jnp.ones(4)))(x)
    assert same(found, ops.layer_norm(np.asarray(x), bias=np.ones(4)))
    others = {"out": np.ones(4), "like": np.ones(4), "label": "x", "threads": 2}
    for keyword, value in others.items():
        with refused(TypeError, f"add: a traced call has no argument {keyword!r}"):
            jax.jit(lambda x, given={keyword: value}: ops.add(x, x, **given))(x)
    with refused(TypeError, "add: takes 2 tensors but 3 were given"):
        jax.jit(lambda x: ops.add(x, x, x))(x)


def selected(x, number):
    """A call of an op that has kernels for all dtypes."""
    return ops.where(np.ones(3, bool), x, number)


@pytest.mark.parametrize(("dtype", "number"), NUMBERS, ids=NUMBER_NAMES)
def test_numbers_are_refused_as_of_eager_calls(dtype, number):
    x = jnp.ones(3, dtype)
    expected = outcome(lambda: selected(np.asarray(x), number))
    assert outcome(lambda: jax.jit(lambda x: selected(x, number))(x)) == expected


def test_numbers_alone_have_the_dtype_of_eager_calls():
    x = jnp.ones(3, bool)
    for a, b in ((1, 2), (1, 2.5), (True, False), (True, 2)):
        expected = ops.where(np.ones(3, bool), a, b)
        assert same(jax.jit(lambda x, a=a, b=b: ops.where(x, a, b))(x), expected)


@pytest.mark.parametrize("given", NOT_TENSORS, ids=str)
def test_arguments_that_are_not_tensors_are_refused(given):
    x, array = jnp.ones(3, "f4"), np.ones(3, "f4")
    for call in calls_with(given):
        expected = outcome(lambda call=call: call(array))
        assert expected[0] is TypeError
        for transformed, one in (
            (jax.jit(call), x),
            (jax.vmap(call), jnp.ones((2, 3), "f4")),
            (jax.grad(lambda x, call=call: call(x).sum()), x),
        ):
            assert outcome(lambda call=transformed, x=one: call(x)) == expected


def test_arguments_are_bound_as_of_eager_calls():
    x, array = jnp.ones(3, "f4"), np.ones(3, "f4")
    for call in [*BOUND, lambda x: ops.add(x, bytes(12))]:
        assert outcome(lambda call=call: jax.jit(call)(x)) == outcome(lambda call=call: call(array))


def test_attributes_have_any_type_of_integers_and_dtypes():
    x = jnp.arange(6.0, dtype="f4").reshape(2, 3)
    for call in OF_TYPES:
        expected = outcome(lambda call=call: call(np.asarray(x)))
        assert outcome(lambda call=call: jax.jit(call)(x)) == expected


@pytest.mark.parametrize("name", ["argmax", "exp", "sum"])
def test_vmap_of_no_indices_has_no_elements(name):
    function = getattr(ops, name)
    expected = jax.vmap(function)(jnp.ones((2, 3)))[:0]
    assert same(jax.vmap(function)(jnp.ones((0, 3))), expected)


@needs_extension
def test_attributes_of_each_kind_arrive():
    x = jnp.ones(3)

    def numbers(**attributes):
        return jax.jit(lambda x: ops.testing.kinds(x, **attributes)[0])(x).tolist()

    assert numbers(flag=True) == [1, -3, np.inf, 7]
    assert numbers(flag=False, count=7, factor=0.1, text="") == [0, 7, 0.1, 0]
    assert np.isnan(numbers(flag=True, factor=float("nan"))[2])
    assert str(numbers(flag=True, factor=-0.0)[2]) == "-0.0"
    typed = jax.jit(lambda x: ops.testing.kinds(x, flag=True, dtype="int16")[1])(x)
    assert typed.dtype == "int16"
    with refused(TypeError, "testing.kinds: attribute \"count\" is of kind int, not 'x'"):
        numbers(flag=True, count="x")


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


GRADIENTS = {
    "add": (lambda a, b: ops.add(a, b), (3, 4), (4,)),
    "subtract": (lambda a, b: ops.subtract(a, b), (3, 1), (2, 1, 4)),
    "multiply": (lambda a, b: ops.multiply(a, b), (3, 4), ()),
    "divide": (lambda a, b: ops.divide(a, b), (3, 4), (3, 1)),
    "axpy": (jax.jit(lambda alpha, x, y: ops.axpy(alpha, x, y)), (), (3,), (3,)),
    "matmul": (lambda a, b: ops.matmul(a, b), (2, 3, 4), (4, 5)),
    "matmul of vectors": (lambda a, b: ops.matmul(a, b), (4,), (4,)),
    "matmul of a row": (lambda a, b: ops.matmul(a, b), (4,), (2, 4, 3)),
    "matmul of a column": (lambda a, b: ops.matmul(a, b), (2, 3, 4), (4,)),
    "softmax": (lambda x: ops.softmax(x, axis=0), (3, 4)),
    "log_softmax": (lambda x: ops.log_softmax(x), (3, 4)),
    "sum": (lambda x: ops.sum(x, axis=(0, 2)), (2, 3, 4)),
    "sum of all": (lambda x: ops.sum(x), (2, 3)),
    "mean": (lambda x: ops.mean(x, axis=1, keepdims=True), (2, 3, 4)),
    "cast": (lambda x: ops.multiply(ops.cast(x, dtype="float64"), 2.0), (3,)),
    "exp": (lambda x: ops.log(ops.sqrt(ops.exp(ops.negative(x)))), (3,)),
    "sigmoid": (lambda x: ops.tanh(ops.sigmoid(x)), (3,)),
    "copy": (lambda x: ops.matrix_transpose(ops.copy(x)), (3, 4)),
}
FIRST = {
    "rms_norm": (lambda x, weight: ops.rms_norm(x, weight), (2, 3, 4), (4,)),
    "rms_norm without weight": (lambda x: ops.rms_norm(x, eps=0.1), (3, 4)),
}


@pytest.mark.parametrize("name", [*GRADIENTS, *FIRST])
def test_gradients_are_right(name):
    function, *shapes = {**GRADIENTS, **FIRST}[name]
    inputs = tuple(random(*shape) for shape in shapes)
    order, modes = (2, ["fwd", "rev"]) if name in GRADIENTS else (1, ["rev"])
    check_grads(function, inputs, order, modes=modes)
    check_grads(jax.jit(function), inputs, order, modes=modes)
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
    # Forward mode transposes gradients, so it takes those of the ops that they call.
    with pytest.raises(RuntimeError, match="rms_norm_backward declares no gradient of 'grad'"):
        jax.jvp(ops.rms_norm, (x,), (x,))
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
    "add": (lambda a, b: ops.add(a, b), (0, None), (3, 4), (4,), 1),
    "add of ranks": (lambda a, b: ops.add(a, b), (0, 0), (3, 4), (3, 2, 4), 1),
    "add of another axis": (lambda a, b: ops.add(a, b), (1, None), (4, 3), (4,), 1),
    "exp": (lambda a: ops.exp(a), (0,), (3, 4), 1),
    "axpy": (lambda x, y: ops.axpy(2.0, x, y), (0, None), (3, 4), (4,), 1),
    "sum": (lambda a: ops.sum(a), (0,), (3, 4, 5), 1),
    "mean": (lambda a: ops.mean(a, axis=0, keepdims=True), (0,), (3, 4, 5), 1),
    "softmax": (lambda a: ops.softmax(a, axis=0), (0,), (3, 4, 5), 1),
    "matmul": (lambda a, b: ops.matmul(a, b), (0, None), (3, 4, 5), (5, 2), 1),
    "matmul of batches": (lambda a, b: ops.matmul(a, b), (0, 0), (3, 7, 4, 5), (3, 5, 2), 1),
    "rms_norm": (lambda a, w: ops.rms_norm(a, w), (0, None), (3, 4, 5), (5,), 1),
    "topk": (lambda a: ops.topk(a, k=2)[0], (0,), (3, 4, 5), 1),
    "concat": (lambda a, b: ops.concat(a, b, axis=0), (0, None), (3, 4, 5), (2, 5), 1),
    "argmax": (lambda a: ops.argmax(a), (0,), (3, 4, 5), 3),
    "matmul of rows": (lambda a, b: ops.matmul(a, b), (0, 0), (3, 5), (3, 5, 2), 3),
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


def test_exported_programs_call_ops():
    x = random(3, 4)
    function = jax.jit(lambda x: ops.mean(ops.softmax(x, axis=-1), axis=0))
    checks = [
        export.DisabledSafetyCheck.custom_call(f"dlbridge.{name}") for name in ("softmax", "mean")
    ]
    exported = export.export(function, disabled_checks=checks)(x)
    program = export.deserialize(exported.serialize())
    assert same(program.call(x), function(x))


def test_exported_programs_run_in_another_process(tmp_path):
    x = random(3, 4)
    function = jax.jit(lambda x: ops.sum(ops.softmax(ops.multiply(x, x), axis=0), axis=[1]))
    checks = [
        export.DisabledSafetyCheck.custom_call(f"dlbridge.{name}")
        for name in ("multiply", "softmax", "sum")
    ]
    exported = export.export(function, disabled_checks=checks)(x)
    (tmp_path / "program").write_bytes(exported.serialize())
    np.savez(tmp_path / "arrays.npz", x=x, expected=function(x))
    in_new_process(
        f"""
        import pathlib
        import dlbridge, jax, numpy as np
        from jax import export
        jax.config.update("jax_enable_x64", True)
        folder = pathlib.Path({str(tmp_path)!r})
        arrays = np.load(folder / "arrays.npz")
        program = export.deserialize((folder / "program").read_bytes())
        try:
            program.call(arrays["x"])
        except Exception as error:
            assert "dlbridge." in str(error), error
        else:
            raise AssertionError("not yet published")
        assert dlbridge.publish("jax") == {{}}
        found = np.asarray(program.call(arrays["x"]))
        assert found.tobytes() == arrays["expected"].tobytes()
        """,
        JAX_PLATFORMS="cpu",
    )


def test_exported_programs_have_symbols_as_sizes():
    def function(x, y):
        x = ops.softmax(ops.matmul(x, y))
        return ops.sum(ops.rms_norm(ops.add(x, ops.exp(x))), axis=1), ops.argmax(x, axis=0)

    names = "softmax", "matmul", "sum", "rms_norm", "add", "exp", "argmax"
    n, m = export.symbolic_shape("n, m")
    shapes = (n, 3), (3, m)
    exported = export.export(
        jax.jit(function),
        disabled_checks=[
            export.DisabledSafetyCheck.custom_call(f"dlbridge.{name}") for name in names
        ],
    )(*(jax.ShapeDtypeStruct(shape, "f8") for shape in shapes))
    for rows, columns in ((5, 4), (6, 7)):
        x, y = random(rows, 3), random(3, columns)
        assert same(exported.call(x, y), jax.jit(function)(x, y))


@needs_extension
def test_shards_are_calls_of_their_own():
    in_new_process(
        """
        import dlbridge, jax, jax.numpy as jnp, numpy as np
        from dlbridge import ops
        from jax.sharding import PartitionSpec as P
        assert jax.device_count() == 2
        mesh = jax.sharding.Mesh(jax.devices(), ("i",))
        function = lambda x, w: ops.softmax(ops.matmul(ops.rms_norm(x), w))
        try:
            from jax import shard_map
            more = {}
        except ImportError:  # before 0.6
            from jax.experimental.shard_map import shard_map
            more = {"check_rep": False}
        sharded = jax.jit(shard_map(
            function, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"), **more
        ))
        x, w = jnp.arange(24.0).reshape(6, 4) + 1, jnp.ones((4, 2)) / 3
        with dlbridge.record() as calls:
            found = sharded(x, w).block_until_ready()
        assert sorted(c.shapes[0] for c in calls if c.op == "matmul") == [[3, 4]] * 2
        assert np.allclose(found, jax.jit(function)(x, w))
        loss = lambda f: lambda w: (f(x, w) ** 2).sum()
        assert np.allclose(jax.grad(loss(sharded))(w), jax.grad(loss(function))(w), atol=1e-6)
        function = lambda x, w: ops.softmax(ops.matmul(x, w))
        sharded = shard_map(
            function, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"), **more
        )
        for of in (sharded, jax.jit(sharded)):
            found = jax.jvp(lambda w: of(x, w), (w,), (w,))[1]
            expected = jax.jvp(lambda w: function(x, w), (w,), (w,))[1]
            assert np.allclose(found, expected, atol=1e-6)
        """,
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
        JAX_PLATFORMS="cpu",
    )


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


def test_errors_have_the_text_of_the_op():
    x = jnp.ones(3)
    with refused(ValueError, 'add: argument "b" has shape [4]; it can\'t be broadcast'):
        jax.jit(ops.add)(x, jnp.ones(4))
    with pytest.raises(IndexError, match="axis 3 is out of bounds for a tensor of rank 1"):
        jax.jit(lambda x: ops.softmax(x, axis=3))(x)
    with pytest.raises(XlaError, match="take: .* is out of bounds for axis 0 with size 3"):
        jax.jit(ops.take)(x, jnp.array([7])).block_until_ready()
    with refused(TypeError, "copy: expected elements of whole bytes, got int4", "astype('int8')"):
        jax.jit(ops.copy)(jnp.ones(4, "int4"))
    jax.config.update("jax_enable_x64", False)
    with refused(TypeError, "argmax: a result is int64, which JAX would narrow", "jax_enable_x64"):
        jax.jit(ops.argmax)(jnp.ones(3))


@needs_extension
def test_failures_and_panics_of_kernels_are_errors():
    x = jnp.ones(3, "f4")
    with pytest.raises(XlaError, match="testing.fails: .*3 are too many"):
        jax.jit(ops.testing.fails)(x).block_until_ready()
    panics = jax.jit(ops.testing.panics)
    for _ in range(2):
        with pytest.raises(XlaError, match="testing.panics: -1 is negative"):
            panics(-x).block_until_ready()
    assert same(panics(x), x)


def test_targets_check_what_they_are_called_with():
    x = jnp.ones(3, "f4")

    def run(name, results, *args, **attributes):
        structs = [jax.ShapeDtypeStruct(shape, "f4") for shape in results]
        return ffi.ffi_call(f"dlbridge.{name}", structs)(*args, **attributes)[0]

    assert same(run("exp", [(3,)], x), ops.exp(x))
    assert same(run("sum", [()], x, axis="None"), ops.sum(x))
    assert same(run("axpy", [(3,)], jnp.float32(2), x, x), 3 * x) and (x == 1).all()
    for problem, call in {
        "exp: expected 1 tensors, got 2": lambda: run("exp", [(3,)], x, x),
        "exp: expected 1 results, got 2": lambda: run("exp", [(3,), (3,)], x),
        "exp: .*XLA's result is float32 .4.": lambda: run("exp", [(4,)], x),
        "no attribute .*axes": lambda: run("sum", [()], x, axes=np.int64(0)),
        "expected an attribute .*k": lambda: run("topk", [(3,), (3,)], x),
        "for attribute .*axis.*, got": lambda: run("softmax", [(3,)], x, axis="x"),
        "the result of .*y.* isn't of its": lambda: run("axpy", [(4,)], jnp.float32(2), x, x),
    }.items():
        with pytest.raises(XlaError, match=problem):
            call().block_until_ready()


def test_arguments_are_released():
    add, fails = jax.jit(ops.add), jax.jit(ops.take)

    def use(is_failing):
        x = jnp.arange(3.0) + 0
        try:
            add(x, x).block_until_ready()
            fails(x, jnp.array([7 if is_failing else 1])).block_until_ready()
        except XlaError:
            assert is_failing
        return weakref.ref(x)

    check_released(use)


def test_memory_stays_flat():
    x, bad = jnp.ones(1000), jnp.array([-7000])
    add, total, take = jax.jit(ops.add), jax.jit(lambda x: ops.sum(x, axis=0)), jax.jit(ops.take)
    softmax = jax.jit(ops.softmax)
    compiled = []
    for name in CALLS:
        args, attributes = arguments(name)
        compiled.append((jax.jit(function_of(name, attributes)), args))

    def calls(count):
        for _ in range(count):
            add(x, x)
            total(x)
            softmax(x).block_until_ready()

    def others(count):
        for function, args in compiled:
            for _ in range(count):
                result = function(*args)
            jax.block_until_ready(result)

    def failures(count):
        for _ in range(count):
            with pytest.raises(XlaError):
                take(x, bad).block_until_ready()

    for repeat, count in ((calls, 100_000), (others, 2000), (failures, 2000)):
        check_resident(repeat, count)


def test_threads_run_at_once():
    x, failures = random(64, 64), []
    matmul, take = jax.jit(ops.matmul), jax.jit(ops.take)
    expected = matmul(x, x)

    def run():
        for _ in range(100):
            if not same(matmul(x, x), expected):
                failures.append("another result")
            try:
                take(x, jnp.array([99])).block_until_ready()
                failures.append("no error")
            except XlaError:
                pass

    in_threads(run)
    assert failures == []


@needs_extension
def test_ops_are_published_without_being_asked_for():
    in_new_process(
        """
        import sys
        import dlbridge
        assert "jax" not in sys.modules
        import jax, jax.numpy as jnp
        assert "dlbridge._hosts.jax" not in sys.modules
        from dlbridge import ops
        # Eager calls are dlbridge's own.
        assert ops.exp(jnp.zeros(2)).tolist() == [1, 1]
        assert "dlbridge._hosts.jax" not in sys.modules
        assert jax.jit(lambda x: ops.exp(x) * 2)(jnp.zeros(2)).tolist() == [2, 2]
        assert "dlbridge._hosts.jax" in sys.modules
        """,
        JAX_PLATFORMS="cpu",
    )
