"""What the tests of ops of TensorFlow share."""

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import CALLS, REFUSED
from support import extension, framework

tf = framework("tensorflow")
if tuple(int(part) for part in tf.__version__.split(".")[:2]) < (2, 15):
    pytest.skip("ops are for TensorFlow 2.15 and newer", allow_module_level=True)
# Other files of this process may have published ops for tests.
assert set(dlbridge.publish("tensorflow")) <= REFUSED
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


def recorded(call, x):
    """A call that a tape records."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        return call(x)


TRACED = {"graph": lambda call, x: tf.function(call, autograph=False)(x), "tape": recorded}


def doubles(*shape):
    count = int(np.prod(shape))
    return tf.constant((np.arange(count) * 37 % 23 / 8 + 0.5).reshape(shape))
