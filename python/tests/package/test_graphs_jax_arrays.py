"""Arrays of others and numbers in calls that JAX traces: which elements they have, and when."""

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_jax import same, wide  # noqa: F401
from support import framework, refused, in_new_process

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402


def arrangements():
    """Arrays of shape 3 x 4, of numbers that differ, arranged in memory in several ways."""
    base = np.arange(48.0).reshape(4, 12)
    found = {
        "columns": base[:3, :4],
        "steps": base[:3, ::3],
        "transposed": base.reshape(12, 4)[:4, :3].T,
        "negative": base[2::-1, 3::-1],
        "broadcast": np.broadcast_to(base[0, :4], (3, 4)),
    }
    return {
        **{f"numpy, {name}": array for name, array in found.items()},
        **{f"dlbridge, {name}": dlbridge.asarray(array) for name, array in found.items()},
    }


@pytest.mark.parametrize("name", arrangements())
def test_arrays_are_taken_however_they_lie(name):
    array = arrangements()[name]
    x, numbers = jnp.ones((3, 4)), np.asarray(array)
    assert same(jax.jit(lambda x: ops.add(x, array))(x), x + numbers)
    assert same(jax.vmap(lambda x: ops.add(x, array))(x[None])[0], x + numbers)
    assert same(jax.grad(lambda x: ops.sum(ops.multiply(x, array)))(x), jnp.asarray(numbers))


def test_elements_are_those_of_the_call():
    x = jnp.ones(4096)
    buffer = np.ones(4096)
    for array in (np.ones(4096), dlbridge.asarray(np.ones(4096)), memoryview(buffer)):
        _, backward = jax.vjp(lambda x, array=array: ops.multiply(x, array), x)
        np.asarray(array)[...] = 7
        assert same(backward(x)[0], x)


def test_numbers_that_jax_traces_have_the_dtype_of_others():
    halves, shorts = jnp.ones(3, "float16"), jnp.ones(3, "int16")
    assert same(jax.jit(ops.multiply)(halves, 2.0), halves * 2)
    assert same(jax.jit(ops.multiply)(3, halves), halves * 3)
    assert same(jax.lax.fori_loop(0, 3, lambda i, a: ops.add(a, i), shorts), shorts + 3)
    slope = jax.grad(lambda a: ops.sum(ops.multiply(halves, a)).astype("float32"))(2.0)
    assert slope == 3
    with refused(TypeError, "multiply: ", "float"):
        jax.jit(ops.multiply)(shorts, 2.5)
    with refused(TypeError, "multiply: ", "float"):
        jax.jit(lambda x: ops.multiply(halves, x))(jnp.float32(2))


def test_numbers_alone_are_not_narrowed():
    jax.config.update("jax_enable_x64", False)  # `wide` turns it back.
    which, x = jnp.array([True, False]), jnp.ones(4)
    for numbers in ((0.1, 1e300), (1, 2**40)):
        with refused(BufferError, "JAX would narrow ", "jax_enable_x64"):
            ops.where(which, *numbers)
        with refused(TypeError, "JAX would narrow ", "jax_enable_x64"):
            jax.jit(lambda which, of=numbers: ops.where(which, *of))(which)
    assert jax.jit(lambda x: ops.take(x, 2))(x) == 1
    with refused(TypeError, 'take: argument "indices" has elements of int64'):
        jax.jit(lambda x: ops.take(x, 2**40))(x)


def test_keys_are_no_numbers():
    with refused(TypeError, 'copy: argument "x": expected elements that are numbers, got key<'):
        jax.jit(ops.copy)(jax.random.key(0))


def test_handler_of_an_op_stays():
    op = ops.exp.__self__
    assert address(op._xla_target()[1]) == address(op._xla_target()[1])


def address(capsule):
    import ctypes

    of = ctypes.pythonapi.PyCapsule_GetPointer
    of.restype, of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return of(capsule, b"xla._CUSTOM_CALL_TARGET")


@pytest.mark.skipif(not hasattr(jax, "set_mesh"), reason="JAX has no explicit meshes before 0.7")
def test_calls_for_each_index_take_arrays_over_a_mesh():
    in_new_process(
        """
        import os

        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
        import jax
        import jax.numpy as jnp
        from dlbridge import ops
        from jax.sharding import AxisType, NamedSharding, PartitionSpec

        mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Explicit,))
        with jax.set_mesh(mesh):
            x = jax.device_put(jnp.ones((4, 3)), NamedSharding(mesh, PartitionSpec("i")))
            taken = jax.jit(jax.vmap(lambda row: ops.take(row, jnp.array([0]))))(x)
            assert taken.shape == (4, 1), taken.shape
            slopes = jax.vmap(jax.grad(lambda row: ops.sum(ops.multiply(row, row))))
            assert (jax.jit(slopes)(x) == 2).all()
        """
    )
