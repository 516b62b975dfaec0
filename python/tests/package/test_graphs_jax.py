"""Ops as custom calls of XLA: eager, jitted, exported and sharded."""

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_jax import arguments, function_of, needs_extension, random, same, wide  # noqa: F401
from graph_samples import CALLS
from support import framework, in_new_process

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402
from jax import export  # noqa: E402


def test_each_op_has_a_sample():
    names = {name for name in dlbridge._core._op_names() if not name.startswith("testing.")}
    assert set(CALLS) == names


@pytest.mark.parametrize("name", sorted(CALLS))
def test_compiled_calls_equal_eager_ones(name):
    args, attributes = arguments(name)
    eager = function_of(name, attributes)(*arguments(name, np.asarray)[0])
    compiled = jax.jit(function_of(name, attributes))
    assert same(compiled(*args), eager)
    text = compiled.lower(*args).as_text()
    assert f"@dlbridge.{name}(" in text and "callback" not in text


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"axpy", "index_add"}))
def test_kernels_have_the_addresses_of_arguments_and_results(name):
    args, attributes = arguments(name)
    compiled = jax.jit(function_of(name, attributes))
    compiled(*args)
    with dlbridge.record() as calls:
        results = jax.block_until_ready(compiled(*args))
    (call,) = calls
    arrays = jax.tree.leaves((args, results))
    assert sorted(call.addresses) == sorted(array.unsafe_buffer_pointer() for array in arrays)


@needs_extension
def test_kernels_have_the_addresses_of_arrays():
    x = jnp.ones(5, "f4")
    found = jax.jit(ops.testing.addresses)(x)
    assert found.tolist() == [x.unsafe_buffer_pointer(), found.unsafe_buffer_pointer()]
    with dlbridge.record() as calls:
        jax.jit(lambda x: ops.add(x, x))(x).block_until_ready()
    assert [call.op for call in calls] == ["add"]


def test_written_inputs_are_results():
    x, y = jnp.arange(8.0), jnp.ones(8)
    function = jax.jit(lambda x, y: ops.axpy(2.0, x, y))
    assert same(function(x, y), x * 2 + 1) and (y == 1).all()
    assert same(jax.jit(lambda x: ops.axpy(2.0, x, x))(x), x * 3)
    in_place = jax.jit(lambda x, y: ops.axpy(2.0, x, y), donate_argnums=1)
    address = y.unsafe_buffer_pointer()
    z = in_place(x, y)
    assert z.unsafe_buffer_pointer() == address and y.is_deleted()


def test_exported_programs_call_ops():
    x = random(3, 4)
    function = jax.jit(lambda x: ops.mean(ops.softmax(x, axis=-1), axis=0))
    checks = [
        export.DisabledSafetyCheck.custom_call(f"dlbridge.{name}") for name in ("softmax", "mean")
    ]
    exported = export.export(function, disabled_checks=checks)(x)
    program = export.deserialize(exported.serialize())
    assert same(program.call(x), function(x))


def test_exported_programs_run_in_another_process(tmp_path):
    x = random(3, 4)
    function = jax.jit(lambda x: ops.sum(ops.softmax(ops.multiply(x, x), axis=0), axis=[1]))
    checks = [
        export.DisabledSafetyCheck.custom_call(f"dlbridge.{name}")
        for name in ("multiply", "softmax", "sum")
    ]
    exported = export.export(function, disabled_checks=checks)(x)
    (tmp_path / "program").write_bytes(exported.serialize())
    np.savez(tmp_path / "arrays.npz", x=x, expected=function(x))
    in_new_process(
        f"""
        import pathlib
        import dlbridge, jax, numpy as np
        from jax import export
        jax.config.update("jax_enable_x64", True)
        folder = pathlib.Path({str(tmp_path)!r})
        arrays = np.load(folder / "arrays.npz")
        program = export.deserialize((folder / "program").read_bytes())
        try:
            program.call(arrays["x"])
        except Exception as error:
            assert "dlbridge." in str(error), error
        else:
            raise AssertionError("not yet published")
        assert dlbridge.publish("jax") == {{}}
        found = np.asarray(program.call(arrays["x"]))
        assert found.tobytes() == arrays["expected"].tobytes()
        """,
        JAX_PLATFORMS="cpu",
    )


def test_exported_programs_have_symbols_as_sizes():
    def function(x, y):
        x = ops.softmax(ops.matmul(x, y))
        return ops.sum(ops.rms_norm(ops.add(x, ops.exp(x))), axis=1), ops.argmax(x, axis=0)

    names = "softmax", "matmul", "sum", "rms_norm", "add", "exp", "argmax"
    n, m = export.symbolic_shape("n, m")
    shapes = (n, 3), (3, m)
    exported = export.export(
        jax.jit(function),
        disabled_checks=[
            export.DisabledSafetyCheck.custom_call(f"dlbridge.{name}") for name in names
        ],
    )(*(jax.ShapeDtypeStruct(shape, "f8") for shape in shapes))
    for rows, columns in ((5, 4), (6, 7)):
        x, y = random(rows, 3), random(3, columns)
        assert same(exported.call(x, y), jax.jit(function)(x, y))


def test_errors_of_symbols_as_sizes_name_the_op():
    n, m = export.symbolic_shape("n, m")
    x, y = (jax.ShapeDtypeStruct((size, 3), "float32") for size in (n, m))
    with pytest.raises(ValueError) as caught:
        export.export(jax.jit(ops.add))(x, y)
    assert str(caught.value) == "add: expected shapes that broadcast, got [(n, 3), (m, 3)]"
    assert caught.value.kind == "shape"
    with pytest.raises(ValueError) as caught:
        export.export(jax.jit(lambda x: ops.expand_dims(x, axis=1)))(x)
    assert str(caught.value) == (
        "expand_dims: it has no rule of sizes, and some are symbols: [[(n, 3)]]; "
        "pass arrays whose sizes are numbers"
    )
    assert caught.value.kind == "shape" and caught.value.wanted == "numbers"


@needs_extension
def test_shards_are_calls_of_their_own():
    in_new_process(
        """
        import dlbridge, jax, jax.numpy as jnp, numpy as np
        from dlbridge import ops
        from jax.sharding import PartitionSpec as P
        assert jax.device_count() == 2
        mesh = jax.sharding.Mesh(jax.devices(), ("i",))
        function = lambda x, w: ops.softmax(ops.matmul(ops.rms_norm(x), w))
        try:
            from jax import shard_map
            more = {}
        except ImportError:  # before 0.6
            from jax.experimental.shard_map import shard_map
            more = {"check_rep": False}
        sharded = jax.jit(shard_map(
            function, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"), **more
        ))
        x, w = jnp.arange(24.0).reshape(6, 4) + 1, jnp.ones((4, 2)) / 3
        with dlbridge.record() as calls:
            found = sharded(x, w).block_until_ready()
        assert sorted(c.shapes[0] for c in calls if c.op == "matmul") == [[3, 4]] * 2
        assert np.allclose(found, jax.jit(function)(x, w))
        loss = lambda f: lambda w: (f(x, w) ** 2).sum()
        assert np.allclose(jax.grad(loss(sharded))(w), jax.grad(loss(function))(w), atol=1e-6)
        function = lambda x, w: ops.softmax(ops.matmul(x, w))
        sharded = shard_map(
            function, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"), **more
        )
        for of in (sharded, jax.jit(sharded)):
            found = jax.jvp(lambda w: of(x, w), (w,), (w,))[1]
            expected = jax.jvp(lambda w: function(x, w), (w,), (w,))[1]
            assert np.allclose(found, expected, atol=1e-6)
        """,
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
        JAX_PLATFORMS="cpu",
    )
