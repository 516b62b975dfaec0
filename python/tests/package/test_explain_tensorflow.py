"""Tests that `explain` agrees with `convert`: from and to TensorFlow."""

import dlbridge
import pytest
from support import framework
from verdicts import DTYPES, check, check_all

tf = framework("tensorflow")
np = framework("numpy")


@pytest.mark.parametrize("name", DTYPES)
def test_explain_of_every_layout_and_dtype_agrees_with_convert(name):
    verdicts = check_all(name, "tensorflow")
    assert set(verdicts) in ({"shared", "copied"}, {"refused"})
    assert "shared" in verdicts or not hasattr(np, name)


def test_explain_of_tensorflow_tensor_agrees_with_convert():
    for name in ("float32", "int8", "bool", "bfloat16", "complex64", "int64", "float8_e5m2"):
        x = tf.cast(tf.ones((4, 16)), name)
        for to, place in [("numpy", lambda y: y.ctypes.data), ("dlbridge", lambda y: y.data_ptr)]:
            assert check(x, to, place=place) == "shared"
        assert (
            dlbridge.zeros(2, x.dtype).dtype == dlbridge.zeros(2, tf.as_dtype(name)).dtype == name
        )


@pytest.mark.parametrize(
    "make", [lambda: tf.constant(["text"]), lambda: tf.ragged.constant([[1], [2, 3]])]
)
def test_explain_of_string_or_ragged_tensor_is_refused(make):
    x = make()
    explanation = dlbridge.explain(x, "numpy")
    assert explanation.outcome == "refused"
    for copy in (False, None):
        with pytest.raises((BufferError, TypeError, ValueError)) as error:
            dlbridge.convert(x, "numpy", copy=copy)
        assert explanation.reason in str(error.value)
