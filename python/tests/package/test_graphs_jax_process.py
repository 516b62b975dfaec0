"""Ops as custom calls of XLA in a process: their errors, memory and threads, and
when they are published.
"""

import weakref

import numpy as np
import pytest
from dlbridge import ops
from graph_jax import XlaError, arguments, function_of, needs_extension, random, same, wide  # noqa: F401
from graph_samples import CALLS
from support import check_released, check_resident, framework, in_new_process, in_threads, refused

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402

try:
    from jax import ffi
except ImportError:  # before 0.5
    from jax.extend import ffi


def test_errors_have_the_text_of_the_op():
    x = jnp.ones(3)
    with refused(ValueError, 'add: argument "b" has shape [4]; it can\'t be broadcast'):
        jax.jit(ops.add)(x, jnp.ones(4))
    with pytest.raises(IndexError, match="axis 3 is out of bounds for a tensor of rank 1"):
        jax.jit(lambda x: ops.softmax(x, axis=3))(x)
    with pytest.raises(XlaError, match="take: .* is out of bounds for axis 0 with size 3"):
        jax.jit(ops.take)(x, jnp.array([7])).block_until_ready()
    with refused(TypeError, "copy: expected elements of whole bytes, got int4", "astype('int8')"):
        jax.jit(ops.copy)(jnp.ones(4, "int4"))
    jax.config.update("jax_enable_x64", False)
    with refused(TypeError, "argmax: a result is int64, which JAX would narrow", "jax_enable_x64"):
        jax.jit(ops.argmax)(jnp.ones(3))


@needs_extension
def test_failures_and_panics_of_kernels_are_errors():
    x = jnp.ones(3, "f4")
    with pytest.raises(XlaError, match="testing.fails: .*3 are too many"):
        jax.jit(ops.testing.fails)(x).block_until_ready()
    panics = jax.jit(ops.testing.panics)
    for _ in range(2):
        with pytest.raises(XlaError, match="testing.panics: -1 is negative"):
            panics(-x).block_until_ready()
    assert same(panics(x), x)


def test_targets_check_what_they_are_called_with():
    x = jnp.ones(3, "f4")

    def run(name, results, *args, **attributes):
        structs = [jax.ShapeDtypeStruct(shape, "f4") for shape in results]
        return ffi.ffi_call(f"dlbridge.{name}", structs)(*args, **attributes)[0]

    assert same(run("exp", [(3,)], x), ops.exp(x))
    assert same(run("sum", [()], x, axis="None"), ops.sum(x))
    assert same(run("axpy", [(3,)], jnp.float32(2), x, x), 3 * x) and (x == 1).all()
    for problem, call in {
        "exp: expected 1 tensors, got 2": lambda: run("exp", [(3,)], x, x),
        "exp: expected 1 results, got 2": lambda: run("exp", [(3,), (3,)], x),
        "exp: .*XLA's result is float32 .4.": lambda: run("exp", [(4,)], x),
        "no attribute .*axes": lambda: run("sum", [()], x, axes=np.int64(0)),
        "expected an attribute .*k": lambda: run("topk", [(3,), (3,)], x),
        "for attribute .*axis.*, got": lambda: run("softmax", [(3,)], x, axis="x"),
        "the result of .*y.* isn't of its": lambda: run("axpy", [(4,)], jnp.float32(2), x, x),
    }.items():
        with pytest.raises(XlaError, match=problem):
            call().block_until_ready()


def test_arguments_are_released():
    add, fails = jax.jit(ops.add), jax.jit(ops.take)

    def use(is_failing):
        x = jnp.arange(3.0) + 0
        try:
            add(x, x).block_until_ready()
            fails(x, jnp.array([7 if is_failing else 1])).block_until_ready()
        except XlaError:
            assert is_failing
        return weakref.ref(x)

    check_released(use)


def test_memory_stays_flat():
    x, bad = jnp.ones(1000), jnp.array([-7000])
    add, total, take = jax.jit(ops.add), jax.jit(lambda x: ops.sum(x, axis=0)), jax.jit(ops.take)
    softmax = jax.jit(ops.softmax)
    compiled = []
    for name in CALLS:
        args, attributes = arguments(name)
        compiled.append((jax.jit(function_of(name, attributes)), args))

    def calls(count):
        for _ in range(count):
            add(x, x)
            total(x)
            softmax(x).block_until_ready()

    def others(count):
        for function, args in compiled:
            for _ in range(count):
                result = function(*args)
            jax.block_until_ready(result)

    def failures(count):
        for _ in range(count):
            with pytest.raises(XlaError):
                take(x, bad).block_until_ready()

    for repeat, count in ((calls, 100_000), (others, 2000), (failures, 2000)):
        check_resident(repeat, count)


def test_threads_run_at_once():
    x, failures = random(64, 64), []
    matmul, take = jax.jit(ops.matmul), jax.jit(ops.take)
    expected = matmul(x, x)

    def run():
        for _ in range(100):
            if not same(matmul(x, x), expected):
                failures.append("another result")
            try:
                take(x, jnp.array([99])).block_until_ready()
                failures.append("no error")
            except XlaError:
                pass

    in_threads(run)
    assert failures == []


@needs_extension
def test_ops_are_published_without_being_asked_for():
    in_new_process(
        """
        import sys
        import dlbridge
        assert "jax" not in sys.modules
        import jax, jax.numpy as jnp
        assert "dlbridge._hosts.jax" not in sys.modules
        from dlbridge import ops
        # Eager calls are dlbridge's own.
        assert ops.exp(jnp.zeros(2)).tolist() == [1, 1]
        assert "dlbridge._hosts.jax" not in sys.modules
        assert jax.jit(lambda x: ops.exp(x) * 2)(jnp.zeros(2)).tolist() == [2, 2]
        assert "dlbridge._hosts.jax" in sys.modules
        """,
        JAX_PLATFORMS="cpu",
    )
