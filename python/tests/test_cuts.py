"""Arguments whose views are cut: rows, parts and chunks of frameworks' tensors."""

import dlbridge_testing as ext
import pytest
from support import framework, refused

np = framework("numpy")
torch = framework("torch")

VALUES = np.arange(24, dtype="f4").reshape(4, 6)
#: The same elements, or some of them, in other places.
LAYOUTS = {
    "row-major": lambda x: x,
    "transposed": lambda x: x.T,
    "every second": lambda x: x[::2, ::3],
    "backwards": lambda x: x[::-1, ::-1],
    "one row": lambda x: x[1:2],
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
    "broadcast": lambda x: np.broadcast_to(x[0], (3, 6)),
}


@pytest.fixture(params=LAYOUTS)
def x(request):
    return LAYOUTS[request.param](VALUES.copy())


def test_rows_are_those_of_any_strides(x):
    assert ext.row_sums(x) == x.sum(1).tolist()


def test_rows_of_any_rank_are_along_the_last_axis():
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    assert ext.row_sums(x.transpose(1, 2, 0)) == x.transpose(1, 2, 0).sum(-1).ravel().tolist()
    assert ext.row_sums(x[0, 0]) == [6.0]
    assert ext.row_sums(torch.from_numpy(x).mT) == torch.from_numpy(x).mT.sum(-1).ravel().tolist()


def test_contiguous_rows_are_slices_with_anything_between_them():
    x = np.arange(24).reshape(4, 6)
    assert ext.largest_of_rows(x) == [5, 11, 17, 23]
    assert ext.largest_of_rows(x[::-2, 1:3]) == [20, 8]
    assert ext.largest_of_rows(torch.from_numpy(x)[::2, 2:]) == [5, 17]
    assert ext.largest_of_rows(x[:, :0]) == [None] * 4
    assert ext.largest_of_rows(x[:, 3:4]) == [3, 9, 15, 21]
    for other in (x[:, ::2], x.T, x[:, ::-1]):
        with refused(ValueError, "with contiguous rows") as error:
            ext.largest_of_rows(other)
        assert error.value.kind == "layout"


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name != "broadcast"])
def test_rows_are_written_where_they_are(name):
    values = VALUES.copy()
    x = LAYOUTS[name](values)
    factors = np.arange(1, len(x) + 1, dtype="f4")
    expected = values.copy()
    LAYOUTS[name](expected)[:] *= factors[:, None]
    ext.scale_rows(x, factors)
    assert np.array_equal(values, expected)


def test_halves_of_one_tensor_are_written_at_once():
    x = torch.arange(24.0).reshape(2, 3, 4)
    expected = x.roll(2, -1)
    ext.swap_halves(x)
    assert x.equal(expected)
    # Of an odd size, the last element stays; with strides, what lies between stays, too.
    x = np.arange(30, dtype="f4").reshape(2, 3, 5)
    part, rest = x[:, ::2], x[:, 1::2].copy()
    expected = part[..., [2, 3, 0, 1, 4]]
    ext.swap_halves(part)
    assert np.array_equal(x[:, ::2], expected) and np.array_equal(x[:, 1::2], rest)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 4, 3), (0, 3, 3), (3, 0, 2)])
def test_selected_parts_are_indexed(shape):
    x = np.random.default_rng(1).random(shape, "f4")
    expected = np.diagonal(x, axis1=1, axis2=2)
    assert np.array_equal(ext.diagonal_of_blocks(x), expected)
    found = ext.diagonal_of_blocks(torch.from_numpy(x))
    assert isinstance(found, torch.Tensor) and np.array_equal(found, expected)
    assert np.array_equal(ext.diagonal_of_blocks(x.transpose(0, 2, 1)), expected)


def test_columns_of_column_major_elements_are_slices():
    x = np.arange(12, dtype="f4").reshape(3, 4)
    assert ext.sums_of_columns(np.asfortranarray(x)) == x.sum(0).tolist()
    assert ext.sums_of_columns(torch.from_numpy(x).T) == x.sum(1).tolist()
    with refused(ValueError, "column-major without gaps"):
        ext.sums_of_columns(x)


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_share_the_callers_memory(x, axis):
    address, elements = ext.middle(x, axis)
    part = x[1:-1] if axis == 0 else x[:, 1:-1]
    assert elements == part.ravel().tolist()
    if elements:
        assert address == part.__array_interface__["data"][0]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_chunks_are_rows_together(x, size):
    expected = [float(x[at : at + size].sum()) for at in range(0, len(x), size)]
    assert ext.chunk_sums(x, size) == expected


def test_mistakes_in_cuts_are_exceptions():
    x = np.ones((2, 3), "f4")
    for call, text in [
        (
            lambda: ext.row_sums(x[0, :1].reshape(())),
            "axis 0 is out of bounds for a tensor of rank 0",
        ),
        (lambda: ext.chunk_sums(x, 0), "size"),
    ]:
        with pytest.raises(BaseException, match=text) as error:
            call()
        assert error.type.__name__ == "PanicException"
    ext.scale_rows(x, np.ones(2, "f4"))  # Nothing is left borrowed.
