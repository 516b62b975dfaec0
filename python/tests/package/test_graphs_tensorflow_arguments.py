"""Arguments of calls that TensorFlow traces or records: bound, read and refused as of eager
calls.
"""

import numpy as np
import pytest
from dlbridge import ops
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
from graph_tensorflow import TRACED, same
from support import framework, refused

tf = framework("tensorflow")


def test_attributes_keep_64_bits():
    x = np.ones(3)
    function = tf.function(lambda x: ops.rms_norm(x, eps=0.1))
    assert same(function(tf.constant(x)), (ops.rms_norm(x, eps=0.1),))


def test_numbers_and_other_arguments():
    x = tf.ones((2, 3))
    results = tf.function(
        lambda x: (
            ops.multiply(2, x),
            ops.concat(x, x, axis=1),
            ops.concat([x, x], axis=1),
            ops.rms_norm(x),
            ops.rms_norm(x, weight=tf.ones(3)),
            ops.sum(x),
            ops.sum(x, axis=0),
            ops.sum(x, axis=(), keepdims=True),
            ops.sum(tf.cast(x, tf.int8), dtype="int32"),
            ops.add(x, np.ones(3, np.float32)),
            ops.cast(x, dtype=tf.int64),
        )
    )(x)
    array = x.numpy()
    expected = (
        ops.multiply(2, array),
        ops.concat(array, array, axis=1),
        ops.concat([array, array], axis=1),
        ops.rms_norm(array),
        ops.rms_norm(array, weight=np.ones(3, np.float32)),
        ops.sum(array),
        ops.sum(array, axis=0),
        ops.sum(array, axis=(), keepdims=True),
        ops.sum(array.astype(np.int8), dtype="int32"),
        ops.add(array, np.ones(3, np.float32)),
        ops.cast(array, dtype="int64"),
    )
    assert same(results, expected)


@pytest.mark.parametrize(("dtype", "number"), NUMBERS, ids=NUMBER_NAMES)
def test_numbers_are_refused_as_of_eager_calls(dtype, number):
    x = tf.cast(tf.ones(3), dtype)
    condition = tf.ones(3, tf.bool)
    expected = outcome(lambda: ops.where(condition.numpy(), x.numpy(), number))
    found = outcome(lambda: TRACED["graph"](lambda x: ops.where(condition, x, number), x))
    # Graphs' errors are made anew by TensorFlow, without fields.
    assert found[:2] == expected[:2]


def test_numbers_alone_have_the_dtype_of_eager_calls():
    x = tf.ones(3, tf.bool)
    for a, b in ((1, 2), (1, 2.5), (True, False), (True, 2)):
        expected = ops.where(x.numpy(), a, b)
        assert same(TRACED["graph"](lambda x, a=a, b=b: ops.where(x, a, b), x), (expected,))


@pytest.mark.parametrize("given", NOT_TENSORS, ids=str)
@pytest.mark.parametrize("traced", TRACED)
def test_arguments_that_are_not_tensors_are_refused(traced, given):
    x = tf.ones(3)
    where = lambda x: ops.where(np.ones(3, bool), x, given)  # noqa: E731
    for call in [*calls_with(given), where]:
        found = outcome(lambda call=call: TRACED[traced](call, x))
        assert found[:2] == outcome(lambda call=call: call(x.numpy()))[:2]
        assert found[0] is TypeError


def test_arguments_are_bound_as_of_eager_calls():
    x = tf.ones(3)
    for call in BOUND:
        found = outcome(lambda call=call: TRACED["graph"](call, x))
        assert found[:2] == outcome(lambda call=call: call(x.numpy()))[:2]


def test_attributes_have_any_type_of_integers_and_dtypes():
    x = tf.reshape(tf.range(6.0), (2, 3))
    for call in OF_TYPES:
        expected = outcome(lambda call=call: call(np.asarray(x)))
        assert outcome(lambda call=call: TRACED["graph"](call, x)) == expected


def test_results_of_dtypes_that_kernels_can_not_make_are_errors_of_arguments():
    with refused(tf.errors.InvalidArgumentError, "TensorFlow has no dtype int4"):
        tf.function(lambda x: ops.cast(x, dtype="int4"))(tf.ones(2))


@pytest.mark.parametrize("name, keywords, error, kind", REFUSED_OF_ANY_SIZE)
def test_calls_that_are_wrong_for_any_size_are_refused_while_traced(name, keywords, error, kind):
    call = tf.autograph.experimental.do_not_convert(lambda x: getattr(ops, name)(x, **keywords))
    for size in (2, None):
        function = tf.function(call, input_signature=[tf.TensorSpec([size, 5])])
        with pytest.raises(error, match=f"^{name}: ") as raised:
            function.get_concrete_function()
        assert raised.value.kind == kind


LEAST = -(2**63)


REFUSED = [
    lambda x: ops.softmax(x, axis=1.0),
    lambda x: ops.softmax(x, axis="1"),
    lambda x: ops.softmax(x, axis=True),
    lambda x: ops.softmax(x, axis=4),
    lambda x: ops.rms_norm(x, eps="0.1"),
    lambda x: ops.cast(x, dtype="int3"),
    lambda x: ops.add(x, np.ones(3, "i4")),
    lambda x: ops.add(x, np.ones(4, "f4")),
    lambda x: ops.exp(ops.cast(x, dtype="complex64")),
    lambda x: ops.take(x, x),
    lambda x: ops.axpy(2.0, x, 1.0),
    lambda x: ops.gelu(x, approximate="none of these"),
    lambda x: ops.argmax(x, axis=LEAST),
    lambda x: ops.sum(x, axis=LEAST),
    lambda x: ops.sum(x, axis=[LEAST]),
    lambda x: ops.sum(x, axis=[0, LEAST]),
    lambda x: ops.softmax(x, axis=LEAST),
]


@pytest.mark.parametrize("at", range(len(REFUSED)))
@pytest.mark.parametrize("traced", TRACED)
def test_calls_are_refused_with_the_errors_of_eager_calls(traced, at):
    call, x = REFUSED[at], np.ones(3, np.float32)
    with pytest.raises((TypeError, ValueError, LookupError)) as expected:
        call(x)
    with pytest.raises(type(expected.value)) as found:
        TRACED[traced](call, tf.constant(x))
    assert type(found.value) is type(expected.value)
    # Those of a graph are made anew by TensorFlow, with lines before.
    assert str(found.value).rstrip().endswith(str(expected.value))
    if traced == "tape":
        assert found.value.kind == expected.value.kind


@pytest.mark.parametrize("axis", [LEAST, [LEAST]])
def test_smallest_axis_is_refused_where_the_rank_is_unknown(axis):
    function = tf.autograph.experimental.do_not_convert(lambda x: ops.sum(x, axis=axis))
    function = tf.function(function, input_signature=[tf.TensorSpec(None)])
    with refused(IndexError, 'sum: attribute "axis" is out of bounds: -9223372036854775808'):
        function(tf.ones(3))


@pytest.mark.parametrize("call", [REFUSED[6], REFUSED[8], REFUSED[9]])
def test_kernels_are_listed_where_the_rank_is_unknown(call):
    function = tf.autograph.experimental.do_not_convert(call)
    function = tf.function(function, input_signature=[tf.TensorSpec(None)])
    with pytest.raises((TypeError, LookupError)) as expected:
        call(np.ones(3, np.float32))
    with pytest.raises(type(expected.value)) as found:
        function(tf.ones(3))
    assert str(found.value) == str(expected.value)
