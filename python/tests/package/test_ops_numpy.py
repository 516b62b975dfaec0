"""Arithmetic, means, largest elements, copies and casts: compared with NumPy for each layout, shape and
element type.
"""

import itertools
import operator
import warnings

import dlbridge
import pytest
from arrays import layouts, numbers
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
ml_dtypes = framework("ml_dtypes")

FLOATS = ["f4", "f8", "f2", ml_dtypes.bfloat16]
DTYPES = [*FLOATS, "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS_OF_8_BITS = [
    getattr(ml_dtypes, name) for name in dir(ml_dtypes) if name.startswith("float8")
]
SHAPES = [(), (1,), (5,), (0,), (3, 4), (3, 0), (2, 3, 4), (2, 1) * 6]
ARITHMETIC = {ops.sub: operator.sub, ops.mul: operator.mul, ops.div: operator.truediv}


@pytest.fixture(autouse=True)
def silent():
    """NumPy says nothing of numbers that are too large, or none."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def same(x, y):
    return x.dtype == y.dtype and np.array_equal(x, y, equal_nan=y.dtype.kind not in "iub")


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_equals_numpy(dtype):
    for op, function in ARITHMETIC.items():
        if op is ops.div and dtype not in FLOATS:
            with refused(LookupError, "no kernel for (a: ", "there are:", "(cpu, T=float64)"):
                op(numbers((3,), dtype), numbers((3,), dtype))
            continue
        for shape in SHAPES:
            x, y = numbers(shape, dtype), numbers(shape, dtype, 3)
            for a, b in itertools.product(layouts(x), layouts(y)):
                assert same(op(a, b), function(x, y))
                out = b.copy()
                assert op(a, out, out=out) is out and same(out, function(x, y))
            if x.ndim > 1:
                assert same(op(x[:1], y), function(x[:1], y)) and same(
                    op(x, y[..., :1]), function(x, y[..., :1])
                )
        assert same(op(numbers((3,), dtype), 2), function(numbers((3,), dtype), np.array(2, dtype)))


def test_arithmetic_at_dtype_limits_equals_numpy():
    for dtype in "i1 i2 i4 i8 u1 u2 u4 u8".split():
        least, most = (np.array([end], dtype) for end in (np.iinfo(dtype).min, np.iinfo(dtype).max))
        for op in (ops.sub, ops.mul):
            for a, b in itertools.product([least, most], repeat=2):
                assert same(op(a, b), ARITHMETIC[op](a, b))
        assert ops.max(np.concatenate([least, most])) == most and ops.max(least) == least
    for dtype in FLOATS:
        x = np.array([0, -0.0, 1, -3, np.inf, -np.inf, np.nan], dtype)
        for op, function in ARITHMETIC.items():
            assert same(op(x[:, None], x), function(x[:, None], x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_mean_and_max_equal_numpy(dtype):
    for shape in SHAPES:
        x = numbers(shape, dtype)
        for axes in [None, *range(-x.ndim, x.ndim), tuple(range(0, x.ndim, 2)) or None]:
            for array, keepdims in itertools.product(layouts(x), (False, True)):
                how = {"axis": axes, "keepdims": keepdims}
                if dtype in FLOATS:
                    mean = np.mean(x.astype("f8"), **how)
                    assert same(ops.mean(array, **how), np.asarray(mean).astype(dtype))
                left = np.sum(x.astype("f8"), **how)
                if x.size == 0 and left.size > 0:
                    with refused(
                        ValueError, f"max: x, of shape {[*shape]}, has no largest element"
                    ):
                        ops.max(array, **how)
                else:
                    assert same(
                        ops.max(array, **how),
                        np.max(x, **how, initial=None) if x.size else left.astype(dtype),
                    )


def test_max_propagates_nan():
    for dtype in FLOATS:
        x = np.array([[1, np.nan, np.inf], [-np.inf, 2, 3]], dtype)
        assert same(ops.max(x, axis=0), np.array([1, np.nan, np.inf], dtype))
        assert np.isnan(ops.max(x)) and np.isnan(ops.mean(x, axis=1)).tolist() == [True, False]


def test_mean_accumulates_in_wider_type():
    x = np.random.default_rng(0).random(1 << 16)
    for dtype, close in [("f4", 1e-7), ("f2", 1e-3), (ml_dtypes.bfloat16, 1e-2)]:
        assert abs(float(ops.mean(x.astype(dtype))) - x.astype(dtype).astype("f8").mean()) < close


@pytest.mark.parametrize("dtype", [*DTYPES, "?", "c8", "c16", *FLOATS_OF_8_BITS])
def test_copy_equals_numpy(dtype):
    for shape in SHAPES:
        x = np.asarray(numbers(shape, "i4") % 2).astype(dtype)
        for array in layouts(x):
            copy = ops.copy(array)
            assert copy.dtype == x.dtype and copy.shape == x.shape and copy.flags.c_contiguous
            assert copy.tobytes() == x.tobytes()  # Some types have no 0.
            assert not np.shares_memory(copy, array)
            for out in layouts(np.zeros(shape, dtype)):
                assert ops.copy(array, out=out) is out and out.tobytes() == x.tobytes()


def test_invalid_copy_is_refused():
    x = np.arange(6, dtype="f4")
    with refused(
        ValueError, 'copy: argument "out" is to be written, and shares memory with "x"; pass a copy'
    ):
        ops.copy(x[1:], out=x[:-1])
    with refused(
        TypeError, 'copy: argument "out" has elements of float64, and the result is float32'
    ):
        ops.copy(x, out=np.zeros(6))
    with refused(TypeError, "copy: elements of int4 aren't whole bytes"):
        ops.copy(dlbridge.zeros(3, "int4"))


CAST = [*DTYPES, "?"]


@pytest.mark.parametrize("source", CAST)
def test_cast_equals_numpy(source):
    source = np.dtype(source)
    if source.kind in "iu":
        ends = np.iinfo(source)
        x = np.array([ends.min, ends.min + 1, 0, 1, 2, 100, ends.max - 1, ends.max], source)
    elif source.kind == "b":
        x = np.array([False, True])
    else:
        x = np.array([0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -100.7, 3.14159, 1e-3, 240], source)
    for target in map(np.dtype, CAST):
        expected = x.astype(target)
        # What is beyond an integer's ends, or isn't a number, NumPy converts to anything.
        defined = np.full(x.shape, True)
        if target.kind in "iu" and source.kind not in "iub":
            ends, whole = np.iinfo(target), np.trunc(x.astype("f8"))
            defined = (ends.min <= whole) & (whole <= ends.max)
        elif target == ml_dtypes.bfloat16 and source.kind in "iu":
            expected = x.astype("f4").astype(target)
        for array in layouts(x):
            result = ops.cast(array, dtype=target)
            assert result.dtype == target and np.array_equal(result[defined], expected[defined])
            out = np.zeros(x.shape, target)
            assert (
                ops.cast(array, dtype=target, out=out[::-1])[::-1].tobytes()
                == result[::-1].tobytes()
            )


def test_cast_of_floats_beyond_integers_saturates():
    x = [np.nan, np.inf, -np.inf, 1e30, -1e30, 300.9, -300.9]
    for dtype, target in itertools.product(
        FLOATS, map(np.dtype, "i1 i2 i4 i8 u1 u2 u4 u8".split())
    ):
        least, most = int(np.iinfo(target).min), int(np.iinfo(target).max)

        def clipped(number):
            return 0 if np.isnan(number) else int(min(max(number, least), most))

        floats = np.array(x, dtype)
        assert ops.cast(floats, dtype=target).tolist() == [
            *map(clipped, floats.astype("f8").tolist())
        ]
    assert (
        ops.cast(np.array(x), dtype="bool").all()
        and not ops.cast(np.array([0, -0.0]), dtype=bool).any()
    )


def test_cast_to_invalid_dtype_is_refused():
    x = np.array([1.5, 2])
    for dtype in ("float16", np.float16, np.dtype("f2"), dlbridge.zeros(1, "float16").dtype):
        assert ops.cast(x, dtype=dtype).dtype == "f2"
    with refused(TypeError, 'cast: argument "dtype" is missing'):
        ops.cast(x)
    with refused(TypeError, 'cast: attribute "dtype" is of kind dtype, not 3'):
        ops.cast(x, dtype=3)
    wanted = "cast: no kernel for (x: float64 of rank 1 on cpu; out: handle of rank 1 on cpu)"
    with refused(LookupError, wanted, '"dtype" is "handle"'):
        ops.cast(x, dtype="handle")
    wanted = "cast: can't cast complex64 to float64, as the imaginary part would be lost; cast the real part"
    with refused(TypeError, wanted):
        ops.cast(x.astype("c8"), dtype="float64")
    with refused(
        TypeError, 'cast: argument "out" has elements of float64, and the result is float32'
    ):
        ops.cast(x, dtype="float32", out=x.copy())
    assert ops.cast(2.75, dtype="int8").item() == 2 and isinstance(
        ops.cast(True, dtype="int8"), dlbridge.Tensor
    )


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u8", ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    "shape", [(), (0,), (6,), (3, 0, 2), (255,), (40, 40), (2, 1) * 6, (1,) * 64]
)
def test_result_is_aligned_writable_array_that_keeps_its_memory(shape, dtype):
    x = numbers(shape, dtype)
    results = [ops.add(x, x, memory=memory) for memory in ("own", "caller") for _ in range(9)]
    addresses = {result.ctypes.data for result in results}
    assert len(addresses) == len(results) or x.size == 0
    for result in results:
        assert type(result) is np.ndarray and same(result, x + x)
        flags = result.flags
        assert flags.c_contiguous and flags.writeable and flags.aligned and not flags.owndata
        assert result.ctypes.data % (256 if result.nbytes >= 4096 else 64) == 0
    part = results[0].reshape(-1)[1:]
    del result, results
    for _ in range(9):
        ops.add(x, x)[...] = 1  # Takes memory that was released.
    assert same(part, (x + x).reshape(-1)[1:])


def test_result_too_large_for_memory_is_refused():
    x = np.broadcast_to(np.ones(1, "f8"), (1 << 40, 1 << 10))
    with refused(MemoryError, "can't allocate 9007199254740992 bytes of memory"):
        ops.add(x, x)


def test_bytes_of_bool_outputs_are_made_valid_once_the_call_is_right():
    x = np.arange(3.0)
    for step in (1, 1, 2):
        out = np.full(6, 7, "u1").view(bool)[::step][:3]
        assert ops.equal(x, x, out=out) is out
        assert out.view("u1").tolist() == [1, 1, 1]
    out = np.full(4, 7, "u1").view(bool)
    with pytest.raises(ValueError, match="shape"):
        ops.equal(x, x, out=out)
    assert out.view("u1").tolist() == [7] * 4
    condition = np.full(3, 7, "u1").view(bool)
    with pytest.raises(ValueError, match="0x07"):
        ops.where(condition, x, x)
