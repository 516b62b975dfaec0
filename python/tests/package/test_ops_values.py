"""Tests of the ops' values and memory, against NumPy for each layout, shape and element type."""

import enum
import itertools
import random

import dlbridge
import pytest
from arrays import layouts, numbers, some_array
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
ml_dtypes = framework("ml_dtypes")

DTYPES = ["f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
# At ranks 0 and 12, of one element, and of none.
SHAPES = [(), (1,), (5,), (0,), (3, 4), (3, 0), (2, 3, 4), (2, 1) * 6]
IN_PLACE = 'argument "out" is to be written, and shares memory with '


@pytest.mark.parametrize("dtype", DTYPES)
def test_add_and_axpy_of_every_dtype_and_layout_equal_numpy(dtype):
    for shape in SHAPES:
        x, y = numbers(shape, dtype), numbers(shape, dtype, 3)
        for a, b in itertools.product(layouts(x), layouts(y)):
            result = ops.add(a, b)
            assert result.dtype == dtype and np.array_equal(result, x + y)
            out = b.copy()
            assert ops.axpy(2, a, out) is out and np.array_equal(
                out, (x * x.dtype.type(2) + y).astype(dtype)
            )


@pytest.mark.parametrize("dtype", DTYPES)
def test_sum_along_every_axis_equals_numpy(dtype):
    for shape in SHAPES:
        x = numbers(shape, dtype)
        for axes in [None, (), *range(-x.ndim, x.ndim), tuple(range(0, x.ndim, 2))]:
            for keepdims in (False, True):
                expected = np.sum(x.astype("f8"), axis=axes, keepdims=keepdims).astype(dtype)
                for array in layouts(x):
                    result = ops.sum(array, axis=axes, keepdims=keepdims, dtype=x.dtype)
                    assert result.dtype == dtype and np.array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_equals_numpy(dtype):
    for m, k, n in [(2, 3, 4), (1, 1, 1), (5, 1, 5), (0, 3, 2), (2, 0, 3), (2, 3, 0), (7, 9, 8)]:
        x, y = numbers((m, k), dtype) % 4, numbers((k, n), dtype, 2) % 4
        expected = (x.astype("f8") @ y.astype("f8")).astype(dtype)
        for a, b in itertools.product(layouts(x), layouts(y)):
            assert np.array_equal(ops.matmul(a, b), expected)
            for out in layouts(np.ones((m, n), dtype)):
                assert ops.matmul(a, b, out=out) is out and np.array_equal(out, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_of_vectors_and_batches_equals_numpy(dtype):
    for left, right in [
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((0,), (0,)),
        ((0,), (0, 2)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 2)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
        ((1, 5, 2, 0), (6, 1, 0, 4)),
        ((0, 2, 3), (3, 4)),
    ]:
        x, y = numbers(left, dtype) % 4, numbers(right, dtype, 2) % 4
        expected = np.asarray(x.astype("f8") @ y.astype("f8")).astype(dtype)
        for a, b in itertools.product(layouts(x), layouts(y)):
            result = ops.matmul(a, b)
            assert result.shape == expected.shape and np.array_equal(result, expected)
            for out in layouts(np.ones(expected.shape, dtype)):
                assert ops.matmul(a, b, out=out) is out and np.array_equal(out, expected)


def test_matmul_of_large_matrices_equals_numpy():
    x, y = numbers((3, 200, 300), "f4") % 4, numbers((300, 250), "f4", 2) % 4
    for a, b in itertools.product(layouts(x), layouts(y)):
        assert np.array_equal(ops.matmul(a, b), x @ y)
        assert np.array_equal(ops.matmul(a[0, 0], b), x[0, 0] @ y)
        assert np.array_equal(ops.matmul(a, b[:, 0]), x @ y[:, 0])


def test_matmul_with_a_dtype_does_not_wrap_around():
    x, y = np.full((2, 300), -128, "i1"), np.full((300, 3), 127, "i1")
    exact = x.astype("i4") @ y.astype("i4")
    result = ops.matmul(x, y, dtype="int32")
    assert result.dtype == np.int32 and np.array_equal(result, exact)
    out = np.zeros((2, 3), "i4")
    assert ops.matmul(x, y, dtype=np.dtype("i4"), out=out) is out and np.array_equal(out, exact)
    assert np.array_equal(ops.matmul(x, y, dtype=None), exact.astype("i1"))
    assert np.array_equal(ops.matmul(x, y, dtype="int8"), exact.astype("i1"))
    bytes_ = np.full((2, 300), 255, "u1")
    assert (ops.matmul(bytes_, bytes_.T, dtype="int32") == 300 * 255 * 255).all()
    halves = np.full((1, 2), 200, "f2")
    assert ops.matmul(halves, halves.T).tolist() == [[np.inf]]
    assert ops.matmul(halves, halves.T, dtype="float32").tolist() == [[80000]]
    with refused(TypeError, 'matmul: argument "out" has elements of int32, and the result is int8'):
        ops.matmul(x, y, out=out)
    with refused(LookupError, "matmul: no kernel for"):
        ops.matmul(x, y, dtype="int16")


def test_integer_overflow_wraps_around():
    for dtype in "i1 i2 i4 i8 u1 u2 u4 u8".split():
        most = np.full(2, np.iinfo(dtype).max, dtype)
        assert np.array_equal(ops.add(most, 1), np.full(2, np.iinfo(dtype).min, dtype))
        assert np.array_equal(ops.sum(most, dtype=most.dtype), np.sum(most, dtype=dtype))
        assert np.array_equal(ops.axpy(3, most, most.copy()), most + most * np.array(3, dtype))


def test_sum_and_add_propagate_nan():
    x = np.array([np.nan, np.inf, -np.inf, -0.0], "f4")
    assert np.array_equal(ops.add(x, x), x + x, equal_nan=True)
    assert np.isnan(ops.sum(x)) and np.signbit(ops.add(x[3:], x[3:])).all()


def test_broadcasting_equals_numpy():
    choose = random.Random(8)
    refusals = 0
    for _ in range(1500):
        a, b = some_array(choose, 3), some_array(choose, 3)
        if choose.random() < 0.6:
            # Of the same sizes, but for some that are 1 or left out.
            sizes = [n if choose.random() < 0.6 else 1 for n in a.shape][
                choose.randint(0, a.ndim) :
            ]
            b = numbers(sizes, "i4", 1)
        try:
            expected = a + b
        except ValueError:
            refusals += 1
            with refused(ValueError, "add: argument", "can't be broadcast with"):
                ops.add(a, b)
            continue
        assert np.array_equal(ops.add(a, b), expected) and ops.add(a, b).shape == expected.shape
        out = np.full(expected.shape, -7, "i4")
        assert ops.add(a, b, out=out) is out and np.array_equal(out, expected)
    assert 100 < refusals < 1000


def test_out_may_be_an_input():
    x, y = numbers((3, 4), "f4"), numbers((3, 4), "f4", 9)
    for give in (
        lambda a, b: ops.add(a, b, out=a),
        lambda a, b: ops.add(b, a, out=a),
        lambda a, b: ops.add(a.T, b.T, out=a.T).T,
        lambda a, b: ops.add(a[::-1], b[::-1], out=a[::-1])[::-1],
        lambda a, b: ops.add(a[None], b, out=a[None])[0],
        lambda a, b: ops.add(dlbridge.from_dlpack(a), b, out=a),
    ):
        for a in layouts(x.copy()):
            assert np.array_equal(give(a, y), x + y) and np.array_equal(a, x + y)
    a = x.copy()
    assert ops.add(a, a, out=a) is a and np.array_equal(a, 2 * x)
    # A row is added to all, and to itself.
    a = x.copy()
    ops.add(a[1:], a[0], out=a[1:])
    assert np.array_equal(a[1:], x[1:] + x[0])


def test_overlapping_out_is_refused():
    x = numbers((4, 4), "f4")
    before = x.copy()
    for a, b, out, other in [
        (x, x.T, x, "b"),
        (x, x, x.T, "a"),
        (x[:3], x[:3], x[1:], "a"),
        (x[0], x[1], x[:, 0], "a"),
        (x, x[0], x, "b"),
        (x, x[:, :1], x, "b"),
        (x[::-1], x, x, "a"),
        (x.ravel()[:8], 1, x.ravel()[4:12], "a"),
        (x[0], dlbridge.from_dlpack(x)[0], x.ravel()[1:5], "a"),
    ]:
        with refused(ValueError, f'add: {IN_PLACE}"{other}"', "pass a copy"):
            ops.add(a, b, out=out)
    for a, b, out in [(x, before, x), (before, x, x), (x, before, x.T)]:
        with refused(ValueError, f"matmul: {IN_PLACE}", "; pass a copy"):
            ops.matmul(a, b, out=out)
    with refused(ValueError, f"sum: {IN_PLACE}"):
        ops.sum(x, axis=0, out=x[0])
    for xs, ys in [(x, x), (x[0], x[:, 0]), (x[:2], x[1:3])]:
        with refused(
            ValueError,
            'axpy: argument "y" is to be written, and shares memory with "x"; pass a copy',
        ):
            ops.axpy(1, xs, ys)
    with refused(ValueError, 'axpy: argument "y" is to be written, and shares memory with "alpha"'):
        ops.axpy(x[1, 1, ...], before, x)
    assert np.array_equal(x, before)
    # What lies between each other doesn't meet.
    ops.add(x[:, 0], x[:, 1], out=x[:, 2])
    ops.add(x[::2], x[::2], out=x[1::2])
    ops.sum(x[:, :0], axis=1, out=x[:, 0])
    assert x[:, 0].tolist() == [0] * 4


def test_overlap_check_agrees_with_brute_force():
    """Whether two views of 12 numbers meet is what counting their addresses says."""
    choose = random.Random(1)
    base = np.zeros(12, "f4")
    outcomes = {True: 0, False: 0}
    for _ in range(3000):
        size = choose.randint(1, 4)

        def view():
            step = choose.choice([-3, -2, -1, 1, 2, 3])
            reach = abs(step) * (size - 1)
            if reach > 11:
                return None
            first = choose.randint(0, 11 - reach) + (reach if step < 0 else 0)
            places = range(first, first + step * size, step)
            return places, np.lib.stride_tricks.as_strided(base[first:], (size,), (4 * step,))

        views = view(), view()
        if None in views:
            continue
        (read, x), (written, out) = views
        meets = bool(set(read) & set(written)) and list(read) != list(written)
        outcomes[meets] += 1
        base[...] = range(12)
        expected = x + 1
        if meets:
            with refused(
                ValueError, "it can be exactly that tensor, but not another part of its memory"
            ):
                ops.add(x, 1, out=out)
            assert base.tolist() == [*range(12)]
        else:
            assert ops.add(x, 1, out=out) is out and np.array_equal(out, expected)
    assert min(outcomes.values()) > 500


def test_numbers_of_an_enum_are_inputs():
    class Count(enum.IntEnum):
        TWO = 2

    x = np.ones(2, "float32")
    for found in (ops.add(x, Count.TWO), ops.add(Count.TWO, x)):
        assert (found.dtype, found.tolist()) == (np.float32, [3, 3])
    # A scalar of an array is a tensor, even if it is a float of Python's, too.
    assert ops.add(np.ones(2), np.float64(2)).tolist() == [3, 3]
