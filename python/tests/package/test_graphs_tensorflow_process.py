"""Ops of TensorFlow in a process: their errors, memory and threads."""

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import CALLS, RARE
from graph_tensorflow import InvalidArgument, constants, needs_extension, same
from support import check_released, check_resident, framework, in_threads, refused

tf = framework("tensorflow")


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
        with refused(ValueError, 'add: argument "b" has shape [4]; it can\'t be broadcast'):
            ops.add(x, tf.ones(4))
        with pytest.raises(tf.errors.OutOfRangeError, match="take: .* is out of bounds for axis 0"):
            ops.take(x, tf.constant([7]))


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


@needs_extension
def test_ops_of_dtypes_that_tensorflow_lacks_are_refused_alone():
    reasons = dlbridge.publish("tensorflow")
    for name in RARE:
        assert reasons[name].startswith(f"{name}: ") and "float8_e3m4" in reasons[name]
    assert tf.function(ops.exp)(tf.zeros(1)).numpy() == 1


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
