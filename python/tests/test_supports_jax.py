"""Dtypes of JAX, which has wide ones only where they are enabled."""

import dlbridge_testing as ext
from support import framework, refused

jax = framework("jax")
np = framework("numpy")


def test_jax_has_wide_dtypes_only_where_they_are_enabled():
    x = jax.numpy.zeros(2)
    before = jax.config.jax_enable_x64
    try:
        jax.config.update("jax_enable_x64", False)
        assert not ext.supports(x, "int64")
        assert ext.supports(x, "float32") and ext.supports(x, "bfloat16")
        jax.config.update("jax_enable_x64", True)
        assert ext.supports(x, "int64")
    finally:
        jax.config.update("jax_enable_x64", before)


def test_filled_results_are_arrays_of_jax():
    x = jax.numpy.asarray([1.0, -2.0], dtype="bfloat16")
    y = ext.relu_either(x)
    assert isinstance(y, jax.Array) and y.dtype == x.dtype and y.tolist() == [1, 0]
    product = ext.outer(jax.numpy.ones(2, "float32"), jax.numpy.ones(3, "float32"))
    assert isinstance(product, jax.Array) and product.tolist() == [[1] * 3] * 2
    with refused(TypeError, "expected a tensor of float32 or bfloat16") as error:
        ext.relu_either(jax.numpy.zeros(2, "int32"))
    assert error.value.remedy == 'cast it with x.astype("float32")'
