"""What the tests of ops as custom calls of XLA share."""

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import CALLS
from support import extension, framework

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402

if jax.__version_info__ < (0, 4, 38):
    pytest.skip("the functions are known from JAX 0.4.38 on", allow_module_level=True)
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
