"""Tests of `take`, `index_add` and `topk`, against PyTorch and NumPy."""

import pytest
from arrays import layouts, numbers
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
torch = framework("torch")

DTYPES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


@pytest.mark.parametrize("dtype", [*DTYPES, "?", "c8", "c16"])
def test_take_along_every_axis_equals_numpy(dtype):
    x = numbers((3, 4, 5), dtype)
    for axis in range(-3, 3):
        size = x.shape[axis]
        for shape in [(), (0,), (7,), (2, 3)]:
            count = int(np.prod(shape, dtype=int))
            indices = (np.arange(count) * 3 % (2 * size) - size).reshape(shape)
            expected = np.take(x, indices, axis)
            for array in layouts(x):
                result = ops.take(array, indices, axis=axis)
                assert result.dtype == x.dtype and np.array_equal(result, expected)
            assert np.array_equal(ops.take(x, indices.astype("i4"), axis=axis), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_index_add_along_every_axis_equals_numpy(dtype):
    x = numbers((3, 4, 5), dtype)
    for axis in range(3):
        indices = np.array([1, 0, -1, 1, 2, 1])
        shape = [*x.shape]
        shape[axis] = len(indices)
        source = numbers(tuple(shape), dtype, 3)
        expected = x.copy()
        np.add.at(np.moveaxis(expected, axis, 0), indices, np.moveaxis(source, axis, 0))
        for out, rows in zip(layouts(x.copy()), layouts(source)):
            assert ops.index_add(out, indices, rows, axis=axis) is out
            assert np.array_equal(out, expected)


def test_take_equals_an_embedding_of_torch():
    table = torch.randn(1000, 64)
    indices = torch.randint(0, 1000, (30, 70))
    rows = ops.take(table, indices)
    assert isinstance(rows, torch.Tensor)
    assert torch.equal(rows, torch.nn.functional.embedding(indices, table))
    sums = torch.zeros(1000, 64)
    ops.index_add(sums, indices.flatten(), rows.reshape(-1, 64))
    expected = torch.zeros(1000, 64).index_add_(0, indices.flatten(), rows.reshape(-1, 64))
    assert torch.equal(sums, expected)


def test_indices_out_of_bounds_are_refused_before_anything_is_written():
    x, out = torch.ones(3, 2), torch.zeros(2, 2)
    message = "index -4, which is indices[1], is out of bounds for axis 0 with size 3"
    for call in (
        lambda: ops.take(x, torch.tensor([0, -4]), out=out),
        lambda: ops.index_add(x, torch.tensor([0, -4]), torch.ones(2, 2)),
    ):
        with refused(IndexError, message) as caught:
            call()
        error = caught.value
        assert (error.kind, error.found, error.wanted, error.remedy) == (
            "index",
            "-4",
            "-3 to 2",
            None,
        )
    assert out.sum() == 0 and x.sum() == 6


@pytest.mark.parametrize("largest", [True, False])
def test_topk_equals_torch(largest):
    for shape, axis, k in [((50, 70), -1, 9), ((50, 70), 0, 50), ((3, 4, 5), 1, 2), ((4, 3), 1, 0)]:
        for dtype in (torch.float32, torch.float64, torch.int64, torch.float16, torch.bfloat16):
            count = torch.Size(shape).numel()
            x = (torch.randperm(count) - count // 2).reshape(shape).to(dtype)
            expected = torch.topk(x, k, axis, largest)
            values, indices = ops.topk(x, k=k, axis=axis, largest=largest)
            assert torch.equal(values, expected.values)
            assert torch.equal(torch.gather(x, axis, indices), values)
    x = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
    values, indices = ops.topk(x, k=4, largest=largest)
    assert indices.tolist() == torch.topk(x, 4, largest=largest).indices.tolist()
    with refused(ValueError, "topk: k is 5, and axis 0 has size 4"):
        ops.topk(x, k=5)
    with pytest.raises(ValueError) as caught:
        ops.topk(x, k=5)
    assert (caught.value.kind, caught.value.found, caught.value.wanted) == ("value", "5", "0 to 4")
