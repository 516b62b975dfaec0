"""Ops of TensorFlow: in tf.function, SavedModels and tf.data, and eager."""

import os

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import CALLS
from graph_tensorflow import InvalidArgument, constants, eager, needs_extension, same
from support import framework, in_new_process

tf = framework("tensorflow")
from tensorflow.python.framework import dtypes  # noqa: E402


@pytest.mark.parametrize("name", sorted(CALLS))
def test_functions_equal_eager_calls(name):
    args, attributes = CALLS[name]
    function = tf.function(lambda *args: getattr(ops, name)(*args, **attributes))
    expected = eager(name)
    args = constants(args)
    assert same(function(*args), expected)
    # Sizes are known where those of the inputs are.
    results = function.get_concrete_function(*args).structured_outputs
    results = results if isinstance(results, list | tuple) else (results,)
    assert [result.shape.as_list() for result in results] == [list(x.shape) for x in expected]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_unknown_sizes(name):
    args, attributes = CALLS[name]
    for of in (lambda array: [None] * array.ndim, lambda array: None):

        def spec(value, of=of):
            if isinstance(value, list):
                return [spec(item) for item in value]
            return tf.TensorSpec(of(value), value.dtype)

        signature = [spec(value) for value in args]
        signature = signature[0] if isinstance(signature[0], list) else signature
        flat = args[0] if isinstance(args[0], list) else args
        function = tf.function(
            lambda *args: getattr(ops, name)(*args, **attributes), input_signature=signature
        )
        assert same(function(*constants(list(flat))), eager(name))


def test_kernels_run_in_the_graph():
    function = tf.function(lambda x: ops.exp(ops.add(x, 1.0)))
    function(tf.zeros(3))
    with dlbridge.record() as calls:
        assert np.allclose(function(tf.zeros(3)), np.e)
    assert [call.op for call in calls] == ["add", "exp"]
    names = {
        node.op for node in function.get_concrete_function(tf.zeros(3)).graph.as_graph_def().node
    }
    assert {"Dlbridge>Add", "Dlbridge>Exp"} <= names


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"axpy", "index_add"}))
def test_kernels_have_the_addresses_of_arguments_and_results(name):
    args, attributes = CALLS[name]
    args = constants(args)
    function = tf.function(lambda *args: getattr(ops, name)(*args, **attributes))
    function(*args)
    with dlbridge.record() as calls:
        results = function(*args)
    (call,) = calls
    tensors = tf.nest.flatten((args, results))
    assert sorted(call.addresses) == sorted(dlbridge.from_dlpack(x).data_ptr for x in tensors)


@needs_extension
def test_kernels_have_the_addresses_of_tensors():
    x = tf.constant(np.arange(64, dtype=np.float32))
    read, _ = tf.function(lambda x: ops.testing.addresses(x))(x)
    assert read == dlbridge.from_dlpack(x).data_ptr

    @tf.function
    def forwarded(x):
        y = tf.sin(x)
        before = ops.testing.addresses(y)
        with tf.control_dependencies([before]):
            new = ops.axpy(tf.constant(2.0), x, y)
        return before[0], ops.testing.addresses(new)[0], new

    before, after, new = forwarded(x)
    assert before == after and np.allclose(new, 2 * x + np.sin(x))


def runs(function, *args):
    """Many runs of a function: what it returns, and the addresses in its calls of ops.

    Each of TensorFlow's threads, as many as CPUs, replaces values once it has made such calls."""
    for _ in range(100 + 50 * os.cpu_count()):
        with dlbridge.record() as calls:
            results = function(*args)
        yield results, [list(call.addresses) for call in calls]


def test_results_replace_values_that_nothing_else_uses():
    x, y = tf.constant([[1.0, 4.0], [9.0, 16.0]]), tf.constant([2.0, 3.0])
    place = dlbridge.from_dlpack(x).data_ptr
    replaced = 0
    function = tf.function(lambda x, y: ops.subtract(y, ops.sqrt(ops.negative(ops.negative(x)))))
    for result, (negative, positive, root, difference) in runs(function, x, y):
        # The first reads an argument, which the caller has.
        assert negative[0] == place != negative[1]
        replaced += {*positive, *root, *difference[1:]} == {negative[1]} != {difference[0]}
        assert result.numpy().tolist() == [[1, 1], [-1, -1]]
        assert (x.numpy().tolist(), y.numpy().tolist()) == ([[1, 4], [9, 16]], [2, 3])
    assert replaced > 0


def test_results_replace_no_value_that_is_used_again():
    def twice(x):
        y = ops.negative(x)
        z = ops.negative(y)
        return y, z, ops.add(z, z)

    x = tf.constant([1.0, 2.0])
    for results, (first, second, third) in runs(tf.function(twice), x):
        assert [result.numpy().tolist() for result in results] == [[-1, -2], [1, 2], [2, 4]]
        assert len({*first, *second, *third}) == 4

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = ops.sum(ops.exp(ops.exp(x)), axis=(0,))
        return tape.gradient(loss, x)

    expected = np.exp(np.exp([1.0, 2.0])) * np.exp([1.0, 2.0])
    assert all(np.allclose(found, expected) for found, _ in runs(tf.function(gradient), x))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64"])
def test_results_of_many_elements_replace_values(dtype):
    x = tf.cast(tf.random.uniform([300, 101], -9, 9, seed=1), dtype)
    function = tf.function(lambda x: ops.add(ops.negative(x), ops.negative(ops.add(x, x))))
    replaced = set()
    for result, calls in runs(function, x):
        replaced.add(sum(call[-1] in call[:-1] for call in calls))
        assert same(result, (-x - (x + x),))
    # The second `negative` and the last `add`.
    assert max(replaced) == 2


def test_results_replace_no_value_of_another_shape():
    x, y = tf.constant([[1.0, 4.0], [9.0, 16.0]]), tf.constant([2.0, 3.0])
    replaced = 0
    function = tf.function(lambda x, y: ops.subtract(ops.negative(y), ops.negative(x)))
    for result, (*_, (small, large, difference)) in runs(function, x, y):
        assert small != difference
        replaced += large == difference
        assert result.numpy().tolist() == [[-1, 1], [7, 13]]
    assert replaced > 0


SMALL = "int4 uint4 int2 uint2 float4_e2m1fn".split()


@pytest.mark.parametrize("name", [name for name in SMALL if hasattr(dtypes, name)])
def test_elements_of_less_than_a_byte_have_a_byte_each(name):
    array = np.array([1, 0, 1, 1, 0, -1 if name[0] in "if" else 1])
    array = array.astype(getattr(pytest.importorskip("ml_dtypes"), name)).reshape(3, 2)
    x, expected = tf.constant(array), ops.cast(array, dtype="float32")
    cast = lambda x: ops.cast(x, dtype="float32")  # noqa: E731
    assert expected.tolist() == array.astype("f4").tolist()
    for call in (
        tf.function(cast),
        tf.function(cast, input_signature=[tf.TensorSpec(None, x.dtype)]),
    ):
        for _ in range(3):
            assert same(call(x), (expected,))
    if name == "int4":
        scale = np.float32(0.5)
        found = tf.function(lambda x: ops.dequantize(x, tf.constant(scale)))(x)
        assert same(found, (ops.dequantize(array, scale),))


@pytest.mark.parametrize("count", [2, 40])
def test_imported_nodes_with_several_tensors_for_an_input_of_one_are_errors(count):
    function = tf.function(lambda x: ops.rms_norm(x, tf.ones(3)))
    definition = function.get_concrete_function(tf.TensorSpec([2, 3])).graph.as_graph_def()
    (node,) = (node for node in definition.node if node.op == "Dlbridge>RmsNorm")
    node.attr["N_weight"].i = count
    for _ in range(count - 1):
        node.input.insert(1, node.input[1])
    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.Session() as session:
        (result,) = tf.import_graph_def(definition, return_elements=["Identity:0"])
        (x,) = (node.outputs[0] for node in graph.get_operations() if node.type == "Placeholder")
        text = f'rms_norm: argument "weight" takes 1 tensor but {count} were given'
        with pytest.raises(InvalidArgument, match=text):
            session.run(result, {x: np.ones((2, 3), np.float32)})


def test_what_others_hold_is_not_written():
    x, y = tf.ones(1000), tf.ones(1000)
    axpy = tf.function(lambda x, y: ops.axpy(tf.constant(2.0), x, y))
    assert axpy(x, y).numpy().tolist() == [3] * 1000 and y.numpy().tolist() == [1] * 1000
    twice = tf.function(lambda x, y: ops.axpy(tf.constant(2.0), x, tf.sin(y)))
    assert np.allclose(twice(x, y), 2 + np.sin(1))
    own = tf.function(lambda x: ops.axpy(tf.constant(2.0), tf.sin(x), tf.sin(x)))
    assert np.allclose(own(x), 3 * np.sin(1))


def test_eager_tensors_keep_the_quick_call():
    x = tf.ones(3)
    with tf.GradientTape() as tape:
        tape.watch(tf.ones(2))
        ops.add(x, x)


@needs_extension
def test_saved_models_run_in_another_process(tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        def __call__(self, x):
            x = ops.rms_norm(x, tf.constant([1.0, 2.0, 3.0]), eps=0.1)
            return ops.sum(ops.softmax(x), axis=0), ops.topk(ops.concat(x, x, axis=1), k=2)[0]

    model, x = Model(), tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
    options = tf.saved_model.SaveOptions(namespace_whitelist=["Dlbridge"])
    tf.saved_model.save(model, str(tmp_path / "model"), options=options)
    np.savez(tmp_path / "expected.npz", *model(x))
    in_new_process(f"""
        import dlbridge, numpy as np, tensorflow as tf
        dlbridge.publish("tensorflow")
        model = tf.saved_model.load({str(tmp_path / "model")!r})
        x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
        expected = np.load({str(tmp_path / "expected.npz")!r})
        for a, b in zip(model(x), expected.values()):
            assert a.numpy().tobytes() == b.tobytes()
    """)


@needs_extension
def test_ops_are_published_when_they_are_met():
    in_new_process("""
        import sys
        import dlbridge
        from dlbridge import ops
        assert "tensorflow" not in sys.modules
        import tensorflow as tf
        assert "dlbridge._hosts.tensorflow" not in sys.modules
        assert tf.function(lambda x: ops.exp(x) * 2)(tf.zeros(2)).numpy().tolist() == [2, 2]
        with tf.GradientTape() as tape:
            x = tf.Variable(1.0)
            y = ops.multiply(x, x)
        assert tape.gradient(y, x).numpy() == 2
    """)


def test_data_pipelines_call_ops_on_their_threads():
    data = tf.data.Dataset.range(100).map(
        lambda x: ops.multiply(tf.cast(x, tf.float32), 2.0), num_parallel_calls=4
    )
    assert [int(x) for x in data.batch(50).unbatch()] == list(range(0, 200, 2))
