"""Arguments of calls that JAX traces: bound, read and refused as of eager calls."""

import numpy as np
import pytest
from dlbridge import ops
from graph_jax import needs_extension, same, wide  # noqa: F401
from graph_samples import (
    BOUND,
    NOT_TENSORS,
    NUMBERS,
    NUMBER_NAMES,
    OF_TYPES,
    REFUSED_OF_ANY_SIZE,
    calls_with,
    outcome,
)
from support import framework, refused

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402


@pytest.fixture
def narrow():
    jax.config.update("jax_enable_x64", False)  # `wide` turns it back.


@pytest.mark.parametrize("array", [np.asarray, memoryview], ids=["numpy", "buffer"])
def test_elements_that_jax_would_narrow_are_refused(narrow, array):
    x, i = jnp.ones(2), jnp.ones(2, "int32")
    for of, given in ((x, np.full(2, 1e-9)), (i, np.full(2, 2**40 + 5)), (i, np.ones(2, "i8"))):
        with refused(TypeError, "add: ", f"{given.dtype}"):
            ops.add(of, array(given))
        text = f'add: argument "b" has elements of {given.dtype}, which JAX would narrow to '
        with refused(TypeError, text):
            jax.jit(lambda of: ops.add(of, array(given)))(of)
    assert same(jax.jit(lambda x: ops.take(x, array(np.array([1, 0]))))(x), x[::-1])
    assert same(jax.jit(lambda x: ops.index_add(x, array(np.array([1])), x[:1]))(x), x.at[1].add(1))
    with refused(TypeError, 'take: argument "indices" has elements of int64'):
        jax.jit(lambda x: ops.take(x, array(np.array([2**40]))))(x)


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


REFUSED = [
    ("add", lambda x: (x, jnp.ones(x.shape, "int32")), {}, TypeError, "dtype"),
    ("add", lambda x: (x, jnp.ones((1, 4), "float32")), {}, ValueError, "shape"),
    ("where", lambda x: (x, x, x), {}, TypeError, "dtype"),
    ("exp", lambda x: (x.astype("int32"),), {}, LookupError, "kernel"),
    *((name, lambda x: (x,), *others) for name, *others in REFUSED_OF_ANY_SIZE),
]


@pytest.mark.parametrize("name, args, keywords, error, kind", REFUSED)
def test_calls_that_can_not_be_made_are_refused_while_jax_traces(name, args, keywords, error, kind):
    def call(x):
        return getattr(ops, name)(*args(x), **keywords)

    # With and without elements, for which XLA would call nothing; and with a symbol as a size.
    symbol = jax.ShapeDtypeStruct((*jax.export.symbolic_shape("n"), 5), "float32")
    for of in (jnp.ones((2, 5), "float32"), jnp.ones((0, 5), "float32"), symbol):
        with pytest.raises(error) as raised:
            jax.eval_shape(call, of)
        assert (str(raised.value).startswith(f"{name}: "), raised.value.kind) == (True, kind)
    with pytest.raises(error):
        call(np.ones((2, 5), "f4"))


@pytest.mark.parametrize(
    "value",
    [
        np.ones(4, ">f4"),
        np.ma.array(np.ones(4, "f4"), mask=[1, 0, 0, 0]),
        np.zeros(4, "M8[s]"),
        np.array([None] * 4),
    ],
    ids=["byte order", "mask", "date", "objects"],
)
def test_arrays_are_refused_as_of_eager_calls(value):
    x = np.ones(4, "f4")
    with pytest.raises(BufferError, match='^add: argument "b": ') as expected:
        ops.add(x, value)
    with refused(BufferError, str(expected.value)) as found:
        jax.jit(lambda x: ops.add(x, value))(x)
    assert (found.value.kind, found.value.found) == (expected.value.kind, expected.value.found)
    with refused(TypeError, 'axpy: argument "y": expected a tensor, got float'):
        jax.jit(lambda x: ops.axpy(2.0, x, 1.0))(x)
