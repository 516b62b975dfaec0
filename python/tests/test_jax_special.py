"""JAX arrays that are traced, deleted, or on several devices."""

import dlbridge_testing as ext
import pytest
from support import framework, in_new_process, refused

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402

LOOKS = [ext.describe, ext.describe_out, ext.describe_owned]


def address(x):
    return x.unsafe_buffer_pointer()


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
def test_traced_array_is_refused(transform):
    x = jnp.ones((2, 3), "float32")
    for look in LOOKS:
        with refused(BufferError, "traced array"):
            transform(lambda a: (look(a), a)[1])(x)
    assert ext.read_f32(x) == [1] * 6


def test_object_without_memory_is_refused():
    for x in (jax.random.key(0), jax.ShapeDtypeStruct((2,), "float32"), jnp.float32):
        for look in LOOKS:
            with refused(TypeError, "expected a tensor, got"):
                look(x)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_deleted_or_donated_array_is_refused(name):
    deleted = jnp.ones(4, name) + 1
    deleted.delete()
    donated = jnp.ones(4, name) + 1
    jax.jit(lambda a: a + 1, donate_argnums=0)(donated)
    assert donated.is_deleted()
    for x in (deleted, donated):
        for look in LOOKS:
            with refused(BufferError, "has been deleted"):
                look(x)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_array_deleted_or_donated_while_kept_stays_readable(name):
    for end in (lambda x: x.delete(), jax.jit(lambda x: x * 5, donate_argnums=0)):
        x = jnp.ones(1024, name) + 1
        key = ext.keep(x)
        new = end(x)
        others = [jnp.zeros(1024, name) + i for i in range(20)]  # They would get what was freed.
        kept = ext.take_out(key)
        assert ext.to(kept, "numpy").tolist() == [2] * 1024
        assert all(address(other) != kept.data_ptr for other in others)
        assert new is None or address(new) != kept.data_ptr and (new == 10).all()


def test_array_deleted_during_the_call_stays_readable():
    x = jnp.ones(1024, "float32") + 1
    assert ext.call_while_detached(x, x.delete) == 2048
    assert x.is_deleted()
    y = jnp.ones(1024, "float32") + 1
    ext.reading(y, y.delete)
    assert y.is_deleted()


def test_array_on_several_devices_is_refused():
    in_new_process(
        """
        import dlbridge_testing as ext, jax, jax.numpy as jnp, numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
        from support import refused

        assert len(jax.devices()) == 2
        second = jax.device_put(jnp.arange(4, dtype="float32"), jax.devices()[1])
        assert ext.read_f32(second) == [0, 1, 2, 3]
        assert ext.describe(second)["ptr"] == second.unsafe_buffer_pointer()
        second = second.astype("bfloat16")
        assert ext.describe(second)["device"] == "cpu:1"
        assert ext.read_bf16(second) == [0, 1, 2, 3]
        mesh = Mesh(np.array(jax.devices()), ("a",))
        for parts in (PartitionSpec("a"), PartitionSpec()):
            for name in ("float32", "bfloat16"):
                x = jax.device_put(jnp.arange(4, dtype=name), NamedSharding(mesh, parts))
                for look in (ext.describe, ext.describe_out, ext.describe_owned):
                    with refused(BufferError, "Sharding over 2 devices"):
                        look(x)
        """,
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )
