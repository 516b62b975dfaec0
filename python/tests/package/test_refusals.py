"""Tests of refusals: any exception of a framework during an exchange becomes a `BufferError`, and
no other does.
"""

import dlbridge
import pytest
from support import framework, refused

np = framework("numpy")


def asks(x):
    """Every way in."""
    return [
        lambda: dlbridge.from_dlpack(x),
        lambda: dlbridge.from_dlpack(x, copy=True),
        lambda: dlbridge.convert(x, "numpy"),
        lambda: dlbridge.ops.sum(x),
    ]


def causes(error):
    """What an error came of. An op's names the argument, and came of one that doesn't."""
    seen = [error]
    while error.__cause__ is not None:
        error = error.__cause__
        assert error not in seen, "an error is its own cause"
        seen.append(error)
        yield error


def refuses(x, cause, text, has_ops=True):
    for ask in asks(x) if has_ops else asks(x)[:-1]:
        with refused(BufferError, text) as caught:
            ask()
        assert any(isinstance(found, cause) for found in causes(caught.value)), list(
            causes(caught.value)
        )
    explanation = dlbridge.explain(x, "numpy")
    assert explanation.outcome == "refused" and text in explanation.reason


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_deleted_jax_array_is_refused(name):
    jax = framework("jax")
    x = jax.numpy.ones(3, name)
    x.delete()
    refuses(x, RuntimeError, "Array has been deleted")


def test_jax_array_without_dlpack_equivalent_is_refused():
    jax = framework("jax")
    refuses(jax.numpy.ones(4, "int4"), jax.errors.JaxRuntimeError, "no DLPack equivalent")


def test_traced_jax_array_is_refused():
    jax = framework("jax")
    refused_too = []

    def body(x):
        refuses(x, jax.errors.ConcretizationTypeError, "traced array", has_ops=False)
        refused_too.append(x)
        return x

    jax.jit(body)(jax.numpy.ones(3))
    assert refused_too


def test_pyarrow_array_with_nulls_is_refused():
    pa = framework("pyarrow")
    refuses(pa.array([1.0, None]), pa.ArrowTypeError, "no nulls")
    refuses(pa.array([True]), pa.ArrowTypeError, "Bit-packed")


def test_mlx_array_in_transformation_is_refused():
    mx = framework("mlx.core")
    refused_too = []

    def body(x):
        for ask in asks(x)[:1]:
            with refused(BufferError, "during function transformations"):
                ask()
        refused_too.append(x)
        return x.sum()

    mx.compile(body)(mx.ones(3))
    assert refused_too


class Raising:
    def __init__(self, error):
        self.error = error

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        raise self.error


class MyError(Exception): ...


ERRORS = [
    RecursionError("deep"),
    MemoryError("none"),
    KeyboardInterrupt(),
    SystemExit(3),
    MyError("mine"),
    ValueError("mine"),
    KeyError("mine"),
    RuntimeError("mine"),
    TypeError("mine"),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_exception_of_a_user_class_is_passed_on(error):
    for ask in [*asks(Raising(error)), lambda: dlbridge.explain(Raising(error), "numpy")]:
        with pytest.raises(type(error)) as caught:
            ask()
        assert error in (caught.value, *causes(caught.value))


def test_explain_passes_on_recursion_error():
    class Endless:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            return self.__dlpack__(**keywords)

    with pytest.raises(RecursionError):
        dlbridge.explain(Endless(), "numpy")


def writable_copies():
    """Whatever is read-only, of each framework."""
    frozen = np.zeros(3, "float32")
    frozen.flags.writeable = False
    yield "numpy", frozen
    yield "bytes", b"\0" * 3
    for name, make in {
        "jax": lambda module: module.numpy.zeros(3),
        "pyarrow": lambda module: module.array([0.0] * 3, module.float32()),
    }.items():
        yield name, make(framework(name))


def test_remedy_for_read_only_memory_works():
    for name, x in writable_copies():
        summand = np.ones(3, "uint8" if name == "bytes" else "float32")
        with refused(BufferError, "read-only", "dlbridge.from_dlpack(x, copy=True)"):
            dlbridge.ops.add(summand, summand, out=x)
        out = dlbridge.from_dlpack(x, copy=True)
        assert dlbridge.ops.add(summand, summand, out=out) is out
        assert np.asarray(out).tolist() == [2] * 3, name


def test_remedy_for_tensorflow_works():
    tf = framework("tensorflow")
    ones = np.ones(3, "float32")
    with refused(BufferError, "read-only", "dlbridge.from_dlpack(x, copy=True)"):
        dlbridge.ops.add(ones, ones, out=tf.zeros(3))
    out = dlbridge.from_dlpack(tf.zeros(3), copy=True)
    assert dlbridge.ops.add(ones, ones, out=out) is out and np.asarray(out).tolist() == [2] * 3
