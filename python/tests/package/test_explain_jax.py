"""Tests that `explain` agrees with `convert`: from and to JAX."""

import dlbridge
import pytest
from support import framework, refused
from verdicts import DTYPES, check, check_all

jax = framework("jax")
np = framework("numpy")
import jax.numpy as jnp  # noqa: E402

WIDE = ["int64", "uint64", "float64", "complex128"]


def here(y):
    return y.unsafe_buffer_pointer()


@pytest.fixture(params=[False, True], ids=["narrow", "wide"])
def is_wide(request):
    before = jax.config.jax_enable_x64  # Other files of this process have set it.
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", DTYPES)
def test_explain_of_every_layout_and_dtype_agrees_with_convert(name, is_wide):
    verdicts = check_all(name, "jax", place=here)
    if name in WIDE and not is_wide:
        assert set(verdicts) == {"refused"}
        x = np.ones(3, name)
        assert dlbridge.explain(x, "jax").remedy == "set jax_enable_x64"
    else:
        assert set(verdicts) in ({"shared", "copied"}, {"refused"})
        # What NumPy has itself, JAX has too.
        assert "shared" in verdicts or not hasattr(np, name)


@pytest.mark.parametrize(
    "name", ["float32", "int8", "bool", "bfloat16", "complex64", "float8_e4m3fn", "uint16"]
)
def test_explain_of_jax_array_agrees_with_convert(name):
    x = jnp.ones((8, 16), name)
    for to, place in [
        ("jax", here),
        ("dlbridge", lambda y: y.data_ptr),
        ("numpy", lambda y: y.ctypes.data),
    ]:
        assert check(x, to, place=place) == "shared"
    # JAX's arrays never change, and PyTorch's do.
    explanation = dlbridge.explain(x, "torch")
    assert (
        explanation.shares
        and "read-only" in explanation.remark
        and explanation.remark in str(explanation)
    )
    explanation = dlbridge.explain(x, "torch", readonly="refuse")
    assert explanation.outcome == "copied" and "read-only" in explanation.reason
    assert "copy=None" in explanation.remedy and 'readonly="share"' in explanation.remedy


def test_explain_of_deleted_array_is_refused():
    x = jnp.ones(3)
    x.delete()
    explanation = dlbridge.explain(x, "numpy")
    assert explanation.outcome == "refused" and explanation.reason
    with pytest.raises((BufferError, ValueError, RuntimeError)):
        dlbridge.convert(x, "numpy", copy=None)


def test_explain_of_traced_array_is_refused():
    def traced(x):
        explanation = dlbridge.explain(x, "numpy")
        assert explanation.outcome == "refused"
        with pytest.raises((BufferError, TypeError, ValueError)) as error:
            dlbridge.convert(x, "numpy")
        assert explanation.reason in str(error.value)
        return x

    jax.jit(traced)(jnp.ones(3))


def test_jax_dtypes_are_accepted_as_dtypes(is_wide):
    for name in "bool int8 int16 int64 uint8 float16 float32 float64 bfloat16 complex64 float8_e4m3fn int4".split():
        for given in (getattr(jnp, "bool_" if name == "bool" else name), jnp.dtype(name)):
            assert dlbridge.full(2, 1, given).dtype == name
    assert dlbridge.zeros(2, jnp.ones(1, "bfloat16").dtype).dtype == "bfloat16"
    with refused(LookupError, "no device is called"):
        dlbridge.zeros(2, device=object())


def test_comparison_with_jax_arrays_equals_numpy():
    t = dlbridge.asarray([1, 2, 3], "int32")
    x = jnp.asarray([1, 5, 3], "int32")
    assert (
        (t == x).tolist() == [True, False, True]
        and t.equals(jnp.asarray([1, 2, 3], "int32"))
        and not t.equals(x)
    )
    assert t[jnp.asarray(2)].item() == 3
    for key in (jnp.asarray([2]), jnp.asarray(True), jnp.asarray([True] * 3)):
        with refused(TypeError, "indexed by integers"):
            t[key]
