"""Tests of `argmax`, `argmin`, `var`, `std`, `log_softmax` and the dtypes of `sum`, against NumPy
and PyTorch.
"""

import itertools

import pytest
from arrays import layouts, numbers
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
torch = framework("torch")

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 40), (70, 33)]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_argmax_and_argmin_along_every_axis_equal_numpy(dtype):
    for shape in SHAPES:
        # In no order, with ties.
        x = (numbers(shape, "i8") * 37 % 23).astype(dtype)
        for axis, keepdims in itertools.product([None, *range(-x.ndim, x.ndim)], (False, True)):
            for array in layouts(x):
                for ours, theirs in [(ops.argmax, np.argmax), (ops.argmin, np.argmin)]:
                    result = ours(array, axis=axis, keepdims=keepdims)
                    assert result.dtype == np.int64
                    assert np.array_equal(result, theirs(x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_argmax_of_special_values_equals_torch(dtype):
    nan, inf = float("nan"), float("inf")
    for values in [
        [1.0, nan, inf, nan],
        [-inf, -inf],
        [-inf, inf, inf],
        [0.0, -0.0, 0.0],
        [-0.0, 0.0],
        [5.0] * 300,
    ]:
        x = torch.tensor(values, dtype=getattr(torch, dtype))
        for ours, theirs in [(ops.argmax, torch.argmax), (ops.argmin, torch.argmin)]:
            result = ours(x)
            assert isinstance(result, torch.Tensor) and torch.equal(result, theirs(x))
    out = torch.empty(2, dtype=torch.int64)
    x = torch.tensor([[1.0, 3.0], [4.0, 2.0]])
    assert ops.argmax(x, axis=0, out=out) is out and out.tolist() == [1, 0]


def test_argmax_refuses_what_has_no_elements_or_several_axes():
    x = np.zeros((3, 0), "f4")
    for axis in (None, 1):
        with refused(ValueError, "argmax: x, of shape [3, 0], has no largest element"):
            ops.argmax(x, axis=axis)
    assert ops.argmax(x, axis=0).shape == (0,)
    with refused(TypeError, "is of kind int | None, not"):
        ops.argmin(x, axis=(0, 1))
    with refused(IndexError, "argmin: axis 2 is out of bounds for a tensor of rank 2"):
        ops.argmin(np.ones((2, 2), "f4"), axis=2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_var_and_std_along_every_axis_are_near_numpy(dtype):
    close = {"f2": 2e-3, "f4": 2e-6, "f8": 1e-13}[dtype]
    for shape in SHAPES:
        x = (numbers(shape, "i8") * 37 % 23 / 7).astype(dtype)
        wide = x.astype("f8")
        every = [None, (), *range(-x.ndim, x.ndim), tuple(range(0, x.ndim, 2))]
        for axis, correction in itertools.product(every, (0, 0.5)):
            for array in layouts(x):
                for ours, theirs in [(ops.var, np.var), (ops.std, np.std)]:
                    found = ours(array, axis=axis, correction=correction, keepdims=True)
                    expected = theirs(wide, axis=axis, ddof=correction, keepdims=True)
                    assert found.dtype == x.dtype and found.shape == expected.shape
                    np.testing.assert_allclose(found, expected, rtol=close, atol=close)


def test_var_of_special_values_equals_torch():
    nan, inf = float("nan"), float("inf")
    for values, correction in [
        ([1.0, nan, 2.0], 0),
        ([inf, 1.0], 0),
        ([], 0),
        ([3.0], 1),
        ([3.0], 0),
        ([1.0, 3.0], 2),
    ]:
        x = torch.tensor(values)
        expected = torch.var(x, correction=correction)
        found = ops.var(x, correction=correction)
        assert torch.equal(found, expected) or (found.isnan() and expected.isnan())
    far = (1e5 + torch.arange(100_000) % 7).float()
    expected = far.double().var(correction=0).item()
    assert ops.var(far).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_log_softmax_is_near_torch(dtype):
    close = {"float32": 3e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    for shape in [(), (5,), (3, 70), (4, 5, 6), (0, 3)]:
        x = (torch.randn(shape) * 10).to(getattr(torch, dtype))
        for axis in range(-x.dim(), x.dim()):
            expected = torch.log_softmax(x.double(), axis)
            found = ops.log_softmax(x, axis=axis)
            assert found.dtype == x.dtype
            torch.testing.assert_close(found.double(), expected, rtol=close, atol=close)
    x = torch.tensor([0.0, 1000.0], dtype=getattr(torch, dtype))
    assert ops.log_softmax(x).tolist() == [-1000.0, 0.0]
    assert ops.log_softmax(x, out=x) is x and x.tolist() == [-1000.0, 0.0]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sum_of_integers_has_the_dtype_of_numpy(dtype):
    info = np.iinfo(dtype)
    x = np.full((3, 100), info.max, dtype)
    x[1] = info.min
    for axis in (None, 0, 1):
        found, expected = ops.sum(x, axis=axis), np.sum(x, axis=axis)
        assert found.dtype == expected.dtype and np.array_equal(found, expected)
        for result in INTEGERS:
            found = ops.sum(x, axis=axis, dtype=np.dtype(result))
            expected = np.sum(x, axis=axis, dtype=result)
            assert found.dtype == expected.dtype and np.array_equal(found, expected)
    assert ops.sum(np.zeros((0,), dtype)).dtype == np.sum(np.zeros((0,), dtype)).dtype


def test_sum_of_floats_to_a_dtype():
    x = np.full(2, 60000, "f2")
    assert ops.sum(x).dtype == np.float16 and np.isinf(ops.sum(x))
    for dtype in ("float32", "float64"):
        found = ops.sum(x, dtype=dtype)
        assert found.dtype == dtype and found == 120000
    out = np.zeros((), "f8")
    assert ops.sum(x, dtype="float64", out=out) is out and out == 120000
    with refused(LookupError, "sum: no kernel for"):
        ops.sum(x, dtype="int32")
    with refused(TypeError, 'sum: argument "out" has elements of int32, and the result is int64'):
        ops.sum(np.ones(3, "i4"), out=np.zeros((), "i4"))
