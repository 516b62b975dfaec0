"""Shapes that are expected, results that functions fill, and tensors that are lent and go on."""

import dlbridge_testing as ext
import pytest
from support import framework, refused

np = framework("numpy")
torch = framework("torch")


def f32(*shape):
    return np.zeros(shape, "f4")


def test_sizes_are_an_array_where_the_rank_is_in_the_type():
    assert ext.image_sizes(np.zeros((2, 3, 4), "u1")) == [2, 3, 4]
    assert ext.image_sizes(np.zeros((2, 0, 4), "u1")[::2]) == [1, 0, 4]


def test_pattern_mismatch_names_dimension_and_sizes():
    assert ext.square(f32(3, 3)) == 3
    with refused(ValueError) as error:
        ext.square(f32(3, 4))
    assert str(error.value) == (
        'expected a tensor of shape [n, n], got [3, 4]: dimension 1 is 4, and "n" is 3 in a tensor'
    )
    assert ext.linear(f32(5, 2), f32(2, 3), f32(3, 1)) == [5, 3]
    with refused(ValueError) as error:
        ext.linear(f32(5, 2), f32(4, 3), f32(3, 1))
    assert str(error.value) == (
        "expected a tensor of shape [2, *], got [4, 3]: dimension 0 is 4, not 2"
    )
    assert (error.value.kind, error.value.found, error.value.wanted) == (
        "shape",
        "[4, 3]",
        "[2, *]",
    )
    with refused(ValueError, "expected a tensor of shape [*, *], got [2]") as error:
        ext.linear(f32(2), f32(2, 3), f32(3, 1))
    assert error.value.kind == "rank"


def test_names_have_one_size_in_all_arguments():
    x = torch.zeros(2, 5, 4, 8)
    assert ext.rotary_shapes(x, torch.zeros(5, 8), torch.zeros(5, 8)) == [2, 5, 4, 8]
    for cos, sin, reason in [
        ((6, 8), (5, 8), '"cos" of shape [t, d], got [6, 8]: dimension 0 is 6, and "t" is 5 in "x"'),
        ((5, 8), (5, 4), '"sin" of shape [t, d], got [5, 4]: dimension 1 is 4, and "d" is 8 in "x"'),
        ((5, 8), (8,), '"sin" of shape [t, d], got [8]'),
    ]:  # fmt: skip
        with refused(ValueError) as error:
            ext.rotary_shapes(x, torch.zeros(cos), torch.zeros(sin))
        assert str(error.value) == f"expected {reason}"


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_results_are_filled_by_functions(name):
    make = {"numpy": np.float32, "torch": torch.tensor}[name]
    x, y = make([1.0, 2.0]), make([3.0, 4.0, 5.0])
    kind = type(x)
    product = ext.outer(x, y)
    assert type(product) is kind and product.tolist() == [[3, 4, 5], [6, 8, 10]]
    assert ext.outer(x[:0], y).shape == (0, 3)
    assert ext.count_like(x, [2, 3], 6).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ext.count_like(x, [], 1).tolist() == 0 and ext.count_like(x, [0, 2], 0).shape == (0, 2)
    large = ext.is_large(y.reshape(3, 1).T, 3.5)
    assert large.tolist() == [[False, True, True]] and "bool" in str(large.dtype)
    assert ext.fresh_from_out(x).tolist() == [-1, -2] and x.tolist() == [1, 2]


@pytest.mark.parametrize("count", [0, 5, 7, 2**40])
def test_result_that_is_not_filled_exactly_is_refused(count):
    with refused(ValueError, "shape [2, 3] has 6 elements, and there are ") as error:
        ext.count_like(torch.zeros(1), [2, 3], count)
    assert str(error.value).endswith(str(min(count, 7)))


def test_frameworks_say_which_dtypes_they_have():
    x, y = np.zeros(1), torch.zeros(1)
    for dtype in ("int64", "float32", "uint16"):
        assert ext.supports(x, dtype) and ext.supports(y, dtype)
    assert ext.supports(y, "bfloat16") and ext.supports(y, "float8_e4m3fn")
    assert ext.supports(ext.identity(x), "float8_e4m3fn")


@pytest.mark.parametrize("make", [np.ones, torch.ones], ids=["numpy", "torch"])
def test_lent_tensor_stays_as_it_was_while_its_class_goes_on(make):
    x = np.ones(3, "f4") if make is np.ones else torch.ones(3)
    totals = ext.Totals(3)
    address = totals.address()
    totals.add(x)
    assert totals.address() == address  # in place
    lent = totals.lend(x)
    totals.add(x)
    totals.add(x)
    assert totals.address() != address
    assert lent.tolist() == [1] * 3 and totals.lend(x).tolist() == [3] * 3
    del lent
    again = totals.address()
    totals.add(x)
    assert totals.tensor().tolist() == [4] * 3
    # A handle of our class counts as well, and one that is gone doesn't.
    assert totals.address() == again
    handle = totals.tensor()
    with refused(BufferError, "the tensor's memory is shared with other handles"):
        totals.add_in_place(1)
    totals.add(x)
    assert handle.tolist() == [4] * 3 and totals.tensor().tolist() == [5] * 3
    del handle
    totals.add_in_place(1)
    assert totals.tensor().tolist() == [6] * 3
