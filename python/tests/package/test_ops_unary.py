"""Tests of the elementwise ops of one tensor, against NumPy and PyTorch."""

import math

import dlbridge
import pytest
from arrays import layouts
from dlbridge import ops
from support import framework, refused

np = framework("numpy")

FUNCTIONS = {
    "negative": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.where(x < 0, 0, x),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": np.vectorize(lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_functions_of_floats_equal_numpy_of_every_layout(name, dtype):
    x = np.linspace(-9, 11, 60).astype(dtype).reshape(3, 4, 5)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](x.astype("f8"))
    for array in layouts(x):
        result = getattr(ops, name)(array)
        assert result.dtype == dtype and result.shape == x.shape
        # erfc of a rounded argument is wrong by that many units far below 0.
        units = 100 if name == "gelu" else 8
        np.testing.assert_allclose(result, expected.astype(dtype), rtol=units * np.finfo(dtype).eps)
        assert getattr(ops, name)(array, out=array) is array
        np.testing.assert_array_equal(array, result)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_functions_of_integers_equal_numpy(dtype):
    ends = np.iinfo(dtype)
    x = np.array([ends.min, 0, 1, 7, ends.max - 1, ends.max], dtype)
    assert np.array_equal(ops.negative(x), np.negative(x))
    assert np.array_equal(ops.abs(x), np.abs(x))
    assert np.array_equal(ops.relu(x), np.maximum(x, x.dtype.type(0)))
    with refused(LookupError, "exp"):
        ops.exp(x)


def test_functions_equal_torch():
    torch = framework("torch")
    F = torch.nn.functional
    x = torch.linspace(-5, 9, 999)
    for function, expected in [
        (ops.gelu, F.gelu),
        (ops.silu, F.silu),
        (ops.relu, F.relu),
        (ops.sigmoid, torch.sigmoid),
        (ops.tanh, torch.tanh),
        (ops.rsqrt, torch.rsqrt),
        (ops.log, torch.log),
        (lambda x: ops.gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
    ]:
        for y in (x, x.double(), x.bfloat16(), x[::2], x.expand(2, -1).T):
            tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 1e-2}[y.dtype]
            torch.testing.assert_close(
                function(y), expected(y), rtol=tolerance, atol=tolerance / 10, equal_nan=True
            )
    with refused(LookupError, "approximate"):
        ops.gelu(x, approximate="erf")


def test_gelu_and_silu_of_minus_infinity_are_their_limit():
    x = dlbridge.full(1, -math.inf, dtype="float32")
    for result in (ops.gelu(x), ops.gelu(x, approximate="tanh"), ops.silu(x)):
        assert math.copysign(1, result.tolist()[0]) == -1 and result.tolist() == [0]
