"""Ops of JAX's arrays, which are read-only."""

import dlbridge
from dlbridge import ops
from ops_calls import OpsCalls
from support import framework

jax = framework("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy


class TestJax(OpsCalls):
    kind = jax.Array
    dtypes = [*OpsCalls.dtypes, "uint16", "uint32", "uint64"]
    writable = False

    def of(self, array):
        return jnp.array(array)


def test_dtypes_without_numpy_equivalent():
    x = jnp.array([1.5, 2.5], "bfloat16")
    assert ops.add(x, x).dtype == "bfloat16" and ops.add(x, x).tolist() == [3, 5]


def test_result_is_a_jax_array():
    x = jnp.ones((4, 4))
    assert jax.jit(lambda y: y * 2)(ops.matmul(x, x)).tolist() == [[8] * 4] * 4
    assert jax.grad(lambda y: (y * ops.add(x, x)).sum())(x).tolist() == [[2] * 4] * 4


def test_traced_array_is_an_argument_of_jax_s_own_call():
    assert jax.jit(lambda x: ops.add(x, x))(jnp.ones(3)).tolist() == [2] * 3


def test_output_of_ours_is_written():
    ours = dlbridge.ones(3, "float64")
    assert ops.add(jnp.ones(3), 1, out=ours) is ours and ours.tolist() == [2] * 3
