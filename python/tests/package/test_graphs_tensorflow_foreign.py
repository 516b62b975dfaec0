"""Tensors and arrays of others as arguments of calls that TensorFlow traces or records."""

from importlib.util import find_spec
from pathlib import Path

import dlbridge
import numpy as np
import pytest
from dlbridge import _hosts, ops
from graph_samples import outcome
from graph_tensorflow import TRACED, same
from support import framework, in_fork

tf = framework("tensorflow")

with_torch = pytest.mark.skipif(not find_spec("torch"), reason="PyTorch isn't installed")


# Code that imports what a test of several frameworks needs.
IMPORTS = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import numpy as np, pytest, tensorflow as tf, torch
        from dlbridge import ops
        from graph_tensorflow import TRACED
"""


def foreign():
    """Arrays that eager calls read, or refuse, and their names."""
    ones = np.ones(3, np.float32)
    return {
        "other byte order": np.ones(3, ">f4"),
        "masked": np.ma.array(ones, mask=[1, 0, 0]),
        "structured": np.zeros(3, [("a", "f4")]),
        "date": np.zeros(3, "M8[s]"),
        "longdouble": np.ones(3, np.longdouble),
        "objects": np.array([None] * 3),
        "texts": np.array(["a"] * 3),
        "matrix": np.matrix(ones),
        "strided": np.arange(6, dtype=np.float32)[::-2],
        "read-only": np.broadcast_to(np.float32(2), 3),
        "another dtype": np.ones(3),
        "scalar": np.float32(2),
        "bytes": b"abc",
        "buffer": memoryview(ones * 3),
        "ours": dlbridge.from_dlpack(ones * 4),
        "texts of TensorFlow": tf.constant(["a"]),
        "ragged": tf.ragged.constant([[1.0]]),
        "sparse": tf.sparse.from_dense([1.0]),
    }


@pytest.mark.parametrize("traced", TRACED)
@pytest.mark.parametrize("name", foreign())
def test_arrays_of_others_are_read_and_refused_as_of_eager_calls(name, traced):
    value, x = foreign()[name], np.array([1, 2, 3], np.float32)
    call = lambda x: ops.multiply(x, value)  # noqa: E731
    found = outcome_or_error(lambda: TRACED[traced](call, tf.constant(x)))
    assert found == outcome_or_error(lambda: call(x))


def outcome_or_error(call):
    """As `outcome`, for exceptions of all classes."""
    try:
        return outcome(call)
    except (BufferError, LookupError) as error:
        fields = (getattr(error, name) for name in ("kind", "found", "wanted", "remedy"))
        return type(error), str(error), *fields


@with_torch
def test_tensors_of_pytorch_are_read_and_refused_as_of_eager_calls():
    in_fork(
        "tensorflow,torch",
        f"""{IMPORTS}
        pair = torch.tensor([1 + 2j] * 3).conj()
        for value in (pair, pair.imag, torch.ones(3, device="meta")):
            call = lambda x: ops.multiply(x, value)
            with pytest.raises(BufferError) as expected:
                call(np.ones(3, "f4"))
            for traced in TRACED.values():
                with pytest.raises(BufferError) as found:
                    traced(call, tf.ones(3))
                assert str(found.value) == str(expected.value)
                assert found.value.kind == expected.value.kind
        half = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T
        x = tf.ones((3, 2), tf.bfloat16)
        for traced in TRACED.values():
            found = traced(lambda x: ops.multiply(x, half), x)
            assert found.dtype == tf.bfloat16 and found.numpy().tolist() == half.tolist()
    """,
    )


@pytest.mark.parametrize("traced", TRACED)
@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "int4"])
def test_arrays_with_dtypes_of_ml_dtypes_are_read(name, traced):
    array = np.array([1, 0, 1]).astype(getattr(pytest.importorskip("ml_dtypes"), name))
    # The op of TensorFlow itself, as no other argument is traced.
    function = _hosts.tensorflow._ops["cast"]
    found = TRACED[traced](lambda x: x * function(array, dtype="float32"), tf.ones(3))
    assert same(found, (np.array([1, 0, 1], np.float32),))


def test_arrays_may_change_after_a_call():
    x, array = tf.Variable([1.0, 2.0]), np.array([3, 4], np.float32)
    function = tf.function(lambda: ops.multiply(x, array))
    with tf.GradientTape() as tape:
        y = ops.multiply(x, array)
    assert function().numpy().tolist() == [3, 8]
    array[:] = 0
    assert tape.gradient(y, x).numpy().tolist() == [3, 4]
    assert function().numpy().tolist() == [3, 8]


@with_torch
def test_tensors_that_two_frameworks_follow_are_refused():
    in_fork(
        "tensorflow,torch",
        f"""{IMPORTS}
        weight = torch.ones(3, requires_grad=True)
        for args in ((weight, tf.Variable([1.0])), (tf.Variable([1.0]), weight)):
            with pytest.raises(TypeError, match="got those of tensorflow and torch; detach") as e:
                ops.multiply(*args)
            assert (e.value.kind, e.value.found) == ("argument", "tensorflow and torch")
        for traced in TRACED.values():
            with pytest.raises(TypeError, match="multiply: expected tensors that one framework"):
                traced(lambda x: ops.multiply(x, weight), tf.ones(3))
            found = traced(lambda x: ops.multiply(x, weight.detach()), tf.ones(3))
            assert found.numpy().tolist() == [1, 1, 1]
    """,
    )
