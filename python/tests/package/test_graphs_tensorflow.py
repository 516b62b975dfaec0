"""Ops of TensorFlow: in tf.function, SavedModels and tf.data, differentiated, and eager."""

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
    check_released,
    check_resident,
    extension,
    framework,
    in_new_process,
    in_threads,
    refused,
)

tf = framework("tensorflow")
if tuple(int(part) for part in tf.__version__.split(".")[:2]) < (2, 15):
    pytest.skip("ops are for TensorFlow 2.15 and newer", allow_module_level=True)
# Other files of this process may have published ops for tests.
assert set(dlbridge.publish("tensorflow")) <= {"testing.kinds"}
dlbridge_testing = extension()
if dlbridge_testing and not hasattr(ops, "testing"):
    dlbridge_testing.publish_ops()
needs_extension = pytest.mark.skipif(not dlbridge_testing, reason="there is no extension")
InvalidArgument = tf.errors.InvalidArgumentError


def constants(values):
    if isinstance(values, list | tuple):
        return [constants(value) for value in values]
    return tf.constant(values)


def eager(name):
    """The results of a call with NumPy's arrays."""
    args, attributes = CALLS[name]
    args = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    result = getattr(ops, name)(*args, **attributes)
    return result if isinstance(result, tuple) else (result,)


def same(found, expected):
    found = found if isinstance(found, list | tuple) else (found,)
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(found, expected, strict=True)]
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in pairs) and all(
        a.shape == b.shape for a, b in pairs
    )


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


def test_attributes_keep_64_bits():
    x = np.ones(3)
    function = tf.function(lambda x: ops.rms_norm(x, eps=0.1))
    assert same(function(tf.constant(x)), (ops.rms_norm(x, eps=0.1),))


def test_what_others_hold_is_not_written():
    x, y = tf.ones(1000), tf.ones(1000)
    axpy = tf.function(lambda x, y: ops.axpy(tf.constant(2.0), x, y))
    assert axpy(x, y).numpy().tolist() == [3] * 1000 and y.numpy().tolist() == [1] * 1000
    twice = tf.function(lambda x, y: ops.axpy(tf.constant(2.0), x, tf.sin(y)))
    assert np.allclose(twice(x, y), 2 + np.sin(1))
    own = tf.function(lambda x: ops.axpy(tf.constant(2.0), tf.sin(x), tf.sin(x)))
    assert np.allclose(own(x), 3 * np.sin(1))


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


def recorded(call, x):
    """A call that a tape records."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        return call(x)


TRACED = {"graph": lambda call, x: tf.function(call, autograph=False)(x), "tape": recorded}


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


def doubles(*shape):
    count = int(np.prod(shape))
    return tf.constant((np.arange(count) * 37 % 23 / 8 + 0.5).reshape(shape))


GRADIENTS = {
    "add": (lambda a, b: ops.add(a, b), (3, 4), (4,)),
    "subtract": (lambda a, b: ops.subtract(a, b), (3, 1), (2, 1, 4)),
    "multiply": (lambda a, b: ops.multiply(a, b), (3, 4), ()),
    "divide": (lambda a, b: ops.divide(a, b), (3, 4), (3, 1)),
    "axpy": (lambda alpha, x, y: ops.axpy(alpha, x, y), (), (3,), (3,)),
    "matmul": (lambda a, b: ops.matmul(a, b), (2, 3, 4), (4, 5)),
    "matmul of vectors": (lambda a, b: ops.matmul(a, b), (4,), (4,)),
    "softmax": (lambda x: ops.softmax(x, axis=0), (3, 4)),
    "rms_norm": (lambda x, weight: ops.rms_norm(x, weight), (2, 3, 4), (4,)),
    "rms_norm without weight": (lambda x: ops.rms_norm(x, eps=0.1), (3, 4)),
    "sum": (lambda x: ops.sum(x, axis=(0, 2)), (2, 3, 4)),
    "mean": (lambda x: ops.mean(x, axis=1, keepdims=True), (2, 3, 4)),
    "cast": (lambda x: ops.multiply(ops.cast(x, dtype="float64"), 2.0), (3,)),
    "exp": (lambda x: ops.log(ops.sqrt(ops.exp(ops.negative(x)))), (3,)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_right(name):
    function, *shapes = GRADIENTS[name]
    inputs = [doubles(*shape) for shape in shapes]

    def loss(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = tf.reduce_sum(function(*inputs))
        return tape.gradient(result, inputs)

    # Eager tensors that no tape records are read-only.
    for call in (function, tf.function(function))[name == "axpy" :]:
        theory, numbers = tf.test.compute_gradient(call, inputs)
        for a, b in zip(theory, numbers):
            assert np.allclose(a, b, atol=1e-4)
    for a, b in zip(loss(*inputs), tf.function(loss)(*inputs)):
        assert np.array_equal(a, b)
    signature = [tf.TensorSpec([None] * len(shape), tf.float64) for shape in shapes]
    for a, b in zip(loss(*inputs), tf.function(loss, input_signature=signature)(*inputs)):
        assert np.array_equal(a, b)


def test_tapes_record_variables_and_second_gradients():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = ops.sum(ops.exp(ops.multiply(x, 2.0)))
        first = inner.gradient(y, x)
        total = ops.sum(first)
    assert np.allclose(first, 2 * np.exp([2, 4]))
    assert np.allclose(outer.gradient(total, x), 4 * np.exp([2, 4]))
    with tf.GradientTape() as tape:
        stopped = tape.stop_recording()
        with stopped:
            assert ops.exp(tf.zeros(1)).numpy() == 1


def test_eager_tensors_keep_the_quick_call():
    x = tf.ones(3)
    with tf.GradientTape() as tape:
        tape.watch(tf.ones(2))
        ops.add(x, x)
    with refused(TypeError, "ResourceVariable, which has neither"):
        ops.add(tf.Variable([1.0]), 1)


def test_derivatives_that_are_not_there_are_errors():
    x = tf.ones(3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = ops.relu(x)
    with pytest.raises(LookupError, match="Dlbridge>Relu"):
        tape.gradient(y, x)

    @tf.function
    def traced(x):
        return tf.gradients(ops.relu(x), x)

    with pytest.raises(Exception, match="No gradient defined for operation.*Dlbridge>Relu"):
        traced(x)


def test_training_equals_that_of_tensorflow():
    def steps(matmul, rms_norm, softmax, multiply, mean):
        w, g = tf.Variable(doubles(4, 3)), tf.Variable(tf.ones(4, tf.float64))

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                y = softmax(matmul(rms_norm(x, g), w))
                loss = mean(multiply(y, y))
            for variable, gradient in zip((w, g), tape.gradient(loss, (w, g))):
                variable.assign_sub(0.5 * gradient)
            return loss

        return [step(doubles(6, 4)).numpy() for _ in range(20)]

    def rms_norm(x, g):
        return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-6) * g

    ours = steps(ops.matmul, ops.rms_norm, ops.softmax, ops.multiply, ops.mean)
    theirs = steps(tf.matmul, rms_norm, tf.nn.softmax, tf.multiply, tf.reduce_mean)
    assert np.allclose(ours, theirs, rtol=1e-9)


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


def test_errors_have_the_text_of_the_op():
    x = tf.ones(3)
    unknown = tf.TensorSpec(None)

    def call(function, *args):
        return tf.function(function, input_signature=[unknown] * len(args))(*args)

    with pytest.raises(InvalidArgument, match='add: argument "b" has shape \\[4\\]; it can\'t be'):
        call(lambda a, b: ops.add(a, b), x, tf.ones(4))
    with pytest.raises(ValueError, match="add: "):
        tf.function(lambda a: ops.add(a, tf.ones(4)))(x)
    with pytest.raises(tf.errors.OutOfRangeError, match="axis 3 is out of bounds for a tensor"):
        call(lambda a: ops.sum(a, axis=3), x)
    with pytest.raises(tf.errors.OutOfRangeError, match="take: .* is out of bounds for axis 0"):
        call(lambda a: ops.take(a, tf.constant([7])), x)
    with pytest.raises(TypeError, match="int32"):
        tf.function(lambda a: ops.add(a, tf.ones(3, tf.int32)))(x)
    with refused(TypeError, 'add: there is no argument "c"'):
        tf.function(lambda a: ops.add(a, a, c=1))(x)
    with refused(TypeError, 'add: argument "b" is missing'):
        tf.function(lambda a: ops.add(a))(x)
    with refused(TypeError, "add: a call of TensorFlow's op has no argument 'out'"):
        tf.function(lambda a: ops.add(a, a, out=a))(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(InvalidArgument, match='add: argument "b" has shape'):
            ops.add(x, tf.ones(4))


@needs_extension
def test_failures_and_panics_of_kernels_are_errors():
    x = tf.ones(3)
    with pytest.raises(tf.errors.InternalError, match="testing.fails: .*3 are too many"):
        tf.function(lambda x: ops.testing.fails(x))(x)
    with pytest.raises(tf.errors.InternalError, match="testing.panics: -1 is negative"):
        tf.function(lambda x: ops.testing.panics(x))(-x)


def test_threads_run_at_once():
    x = tf.constant(np.random.rand(64, 64).astype("f4"))
    expected, failures = ops.matmul(x, x), []
    matmul = tf.function(lambda a, b: ops.matmul(a, b), input_signature=[tf.TensorSpec(None)] * 2)

    def run():
        for _ in range(50):
            if not same(matmul(x, x), (expected,)):
                failures.append("another result")
            try:
                matmul(x, x[:3])
                failures.append("no error")
            except InvalidArgument:
                pass

    in_threads(run)
    assert failures == []


def test_memory_stays_flat():
    x = tf.ones(1000)
    unknown = [tf.TensorSpec(None)]

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([1000])])
    def graph(count, x):
        for _ in tf.range(count):
            x = ops.axpy(tf.constant(0.5), ops.exp(ops.add(x, -10.0)), x)
        return x

    def repeated(name):
        args, attributes = CALLS[name]

        @tf.function
        def loop(count, *args):
            result = getattr(ops, name)(*args, **attributes)
            for _ in tf.range(1, count):
                result = getattr(ops, name)(*args, **attributes)
            return result

        args = constants(args)
        return lambda count: loop(tf.constant(count), *args)

    each = [repeated(name) for name in sorted(CALLS)]
    softmax = tf.function(lambda x: ops.softmax(x, axis=5), input_signature=unknown)

    def three(count):
        graph(tf.constant(count), x)

    def others(count):
        for loop in each:
            loop(count)

    def failures(count):
        for _ in range(count):
            with pytest.raises(tf.errors.OpError):
                softmax(x)

    def taped(count):
        for _ in range(count):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = ops.sum(ops.exp(x), axis=0)
            tape.gradient(y, x)

    for repeat, count in ((three, 100_000), (others, 2000), (failures, 2000), (taped, 2000)):
        check_resident(repeat, count)


def test_arguments_are_released():
    import weakref

    unknown = tf.TensorSpec(None)
    add = tf.function(lambda x: ops.add(x, x), input_signature=[unknown])
    softmax = tf.function(lambda x: ops.softmax(x, axis=5), input_signature=[unknown])

    class Owner(np.ndarray):
        pass

    def use(fails):
        # The memory of an aligned array is TensorFlow's, too, until its tensor goes.
        array = np.zeros(64 * 64, np.uint8)
        start = -array.__array_interface__["data"][0] % 64
        owner = array[start:][:4096].view(np.float32).view(Owner)
        x = tf.experimental.dlpack.from_dlpack(dlbridge.from_dlpack(owner).__dlpack__())
        try:
            (softmax if fails else add)(x)
        except tf.errors.OpError:
            assert fails
        return weakref.ref(owner)

    check_released(use)


def test_persistent_tapes_and_retracing():
    x, traced = tf.ones(3), []

    @tf.function
    def function(x, axis):
        traced.append(x.shape)
        return ops.sum(ops.multiply(x, x), axis=axis)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = ops.sum(ops.multiply(x, x))
        z = function(x, 0)
    for result in (y, z, y):
        assert tape.gradient(result, x).numpy().tolist() == [2, 2, 2]
    # Another value of an attribute is another graph; other numbers aren't.
    function(tf.zeros(3), 0)
    assert len(traced) == 1
    assert function(tf.ones((2, 3)), 1).numpy().tolist() == [3, 3]
    assert function(tf.ones((2, 3)), 0).numpy().tolist() == [2, 2, 2]
    assert len(traced) == 3
