"""The package's tensors as Python's numbers and lists, and their comparison, with NumPy as the
judge.
"""

import math
import operator
import struct

import dlbridge
import pytest
from support import framework, refused

np = framework("numpy")
import ml_dtypes  # noqa: E402

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
SMALL = """bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
    float8_e5m2fnuz float8_e8m0fnu""".split()
SUB_BYTE = "int1 int2 int4 uint1 uint2 uint4 float6_e2m3fn float6_e3m2fn float4_e2m1fn".split()


def extremes(name):
    """The least and the largest number of a type, and some in between."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return [True, False]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [info.min, info.max, 0, 1]
    info = np.finfo(dtype)
    reals = [
        float(info.min),
        float(info.max),
        float(info.tiny),
        float(info.eps),
        0.0,
        -0.0,
        math.inf,
        -math.inf,
    ]
    return reals if dtype.kind == "f" else [complex(a, b) for a, b in zip(reals, reversed(reals))]


def bits(number):
    """What tells numbers apart, also 0.0 and -0.0, 1 and True."""
    if isinstance(number, complex):
        return ("complex", bits(number.real), bits(number.imag))
    return (type(number), struct.pack("d", number) if isinstance(number, float) else number)


@pytest.mark.parametrize("name", NAMES)
def test_tolist_of_every_dtype_equals_numpy(name):
    x = np.array(extremes(name), name)
    t = dlbridge.from_dlpack(x)
    assert [bits(n) for n in t.tolist()] == [bits(n) for n in x.tolist()]
    for i in range(len(x)):
        assert bits(t[i].item()) == bits(x[i].item())
        assert bits(t[i : i + 1].unsqueeze(0).item()) == bits(x[i].item())
        assert bool(t[i]) is bool(x[i])


@pytest.mark.parametrize("name", SMALL)
def test_every_bit_pattern_of_small_floats_equals_ml_dtypes(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    patterns = np.arange(256**dtype.itemsize).astype(f"u{dtype.itemsize}")
    t = dlbridge.from_dlpack(patterns).view(name)
    with np.errstate(invalid="ignore"):
        expected = patterns.view(dtype).astype("f8").tolist()
    found = t.tolist()
    assert all(type(n) is float for n in found)
    assert [bits(a) for a in found if a == a] == [bits(b) for b in expected if b == b]
    assert [a != a for a in found] == [b != b for b in expected]


@pytest.mark.parametrize("name", [name for name in SUB_BYTE if name not in ("int1", "uint1")])
def test_every_bit_pattern_below_one_byte_equals_ml_dtypes(name):
    dtype = dlbridge.empty(1, name).dtype
    x = np.arange(2**dtype.bits).astype("u1").view(getattr(ml_dtypes, name))
    expected = x.astype("f8").tolist()
    packed = dlbridge.asarray(expected, name)
    assert packed.tolist() == expected == dlbridge.from_dlpack(x).tolist()
    assert packed.nbytes == len(expected) * dtype.bits // 8
    assert {type(n) for n in packed.tolist()} == {int if "int" in name else float}


def test_tolist_follows_the_shape():
    x = np.arange(24).reshape(2, 3, 4)
    t = dlbridge.from_dlpack(x)
    for view in (
        lambda x: x,
        lambda x: x.T,
        lambda x: x[:, ::-2],
        lambda x: x[:0],
        lambda x: x[:, :0],
        lambda x: x[0, 0, 0:1],
    ):
        assert view(t).tolist() == view(x).tolist()
    assert t[1, 2, 3].tolist() == 23
    assert dlbridge.zeros((2, 2), "uint8x2").tolist() == [[[0, 0], [0, 0]]] * 2
    assert dlbridge.asarray([1, -2, 3, 4], "int16").view("int16x2").tolist() == [[1, -2], [3, 4]]


def test_item_of_several_elements_is_refused():
    for t in (
        dlbridge.zeros(2),
        dlbridge.zeros(0),
        dlbridge.zeros((1, 0)),
        dlbridge.zeros((), "float32x2"),
    ):
        for act in (dlbridge.Tensor.item, bool, int, float, complex):
            with refused(ValueError, "only a tensor of one number"):
                act(t)
    # Only integer dtypes are indices, whatever their values.
    with refused(TypeError):
        operator.index(dlbridge.zeros(2, "int32"))


def test_conversion_of_one_element_equals_python():
    for name, value in [
        ("int8", -3),
        ("uint64", 2**64 - 1),
        ("float32", 2.75),
        ("float64", -1e300),
        ("bool", True),
        ("bfloat16", 3.5),
    ]:
        t = dlbridge.asarray(value, name)
        assert bits(int(t)) == bits(int(value)) and bits(float(t)) == bits(float(value))
        assert bits(complex(t)) == bits(complex(value)) and bool(t) is True
    assert complex(dlbridge.asarray(1 - 2j)) == 1 - 2j
    assert not dlbridge.asarray(0.0) and not dlbridge.asarray(-0.0) and not dlbridge.asarray(0j)
    assert dlbridge.asarray(math.nan) and dlbridge.asarray(1j)
    for act in (int, float):
        with refused(TypeError):
            act(dlbridge.asarray(1j))
    with refused(OverflowError):
        int(dlbridge.asarray(math.inf))
    with refused(ValueError):
        int(dlbridge.asarray(math.nan))


def test_index_protocol_accepts_integers_only():
    for name in ("int8", "uint64", "int4"):
        assert operator.index(dlbridge.asarray(5, name)) == 5
        assert "abcdef"[dlbridge.asarray(5, name)] == "f"
    for value in (True, 2.0, 1j):
        with refused(TypeError, "as an index, got"):
            operator.index(dlbridge.asarray(value))


def test_len_and_iteration_equal_numpy():
    x = np.arange(6).reshape(3, 2)
    t = dlbridge.from_dlpack(x)
    assert len(t) == 3 and [row.tolist() for row in t] == x.tolist()
    assert [row.data_ptr for row in t] == [row.ctypes.data for row in x]
    assert len(t[:0]) == 0 and list(t[:0]) == [] and [len(row) for row in t[:, :0]] == [0, 0, 0]
    first, *rest = t[:, 0]
    assert first.item() == 0 and [n.item() for n in rest] == [2, 4]
    rows = iter(t)
    del t, x
    assert [sum(row.tolist()) for row in rows] == [1, 5, 9]
    for act in (len, iter, list):
        with refused(TypeError, "rank 0"):
            act(dlbridge.asarray(1))


def test_contains_equals_python():
    t = dlbridge.asarray([1.0, 2.5, math.nan])
    assert 1 in t and 2.5 in t and dlbridge.asarray(2.5, "float32") in t and np.float64(1) in t
    assert 3 not in t and math.nan not in t and "1" not in t and None not in t


PAIRS = [
    ([1, 2, 3], [1, 5, 3]),
    ([[1], [2]], [1, 2, 3]),
    ([1.0, math.nan, math.inf, 0.0], [1.0, math.nan, math.inf, -0.0]),
    ([True, False], [1, 1]),
    ([1 + 1j, 2 + 0j], [1, 2.0]),
    ([2**63, 1], [-1, 1]),
    ([], []),
    ([[]], [1]),
    (5, [4, 5]),
]


@pytest.mark.parametrize("left, right", PAIRS)
def test_comparison_is_element_wise(left, right):
    x, y = np.asarray(left), np.asarray(right)
    t, u = dlbridge.asarray(left), dlbridge.asarray(right)
    for other in (u, y):
        equal, unequal = t == other, t != other
        assert isinstance(equal, dlbridge.Tensor) and equal.dtype == unequal.dtype == "bool"
        assert equal.tolist() == (x == y).tolist() and unequal.tolist() == (x != y).tolist()
        assert equal.shape == unequal.shape == np.broadcast_shapes(x.shape, y.shape)


@pytest.mark.parametrize("name", NAMES + SMALL + SUB_BYTE)
def test_comparison_of_every_dtype_equals_numpy(name):
    numbers = (
        [-1, 0, -1] if name == "int1" else [1, 1, 1] if name == "float8_e8m0fnu" else [1, 0, 1]
    )
    t = dlbridge.asarray(numbers, name)
    assert (t == numbers[0]).tolist() == [n == numbers[0] for n in numbers] and (
        t == t
    ).tolist() == [True] * 3
    assert (t == dlbridge.asarray(numbers, "float64")).tolist() == [True] * 3
    assert t.equals(t.copy()) and t.allclose(t.copy()) and not t.equals(t[:0])


@pytest.mark.parametrize(
    "number",
    [1, 2.5, True, 1 + 0j, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 2**200, math.inf],
)
def test_comparison_with_every_number_equals_numpy(number):
    for name in ("uint64", "int64", "float64", "uint8", "complex128"):
        t = dlbridge.asarray([1, 0, 7], name)
        assert (t == number).tolist() == [1 == number, 0 == number, 7 == number]
        assert (t != number).tolist() == [1 != number, 0 != number, 7 != number]
    t = dlbridge.asarray([2**64 - 1, 2**63], "uint64")
    assert (t == number).tolist() == [number == 2**64 - 1, number == 2**63]


def test_comparison_with_integers_of_any_size_is_exact():
    numbers = [2.0**127, 2.0**200, -(2.0**127), -(2.0**500), math.inf, math.nan]
    t = dlbridge.asarray(numbers)
    for number in (2**127, 2**200, -(2**127), -(2**500)):
        assert (t == number).tolist() == [x == number for x in numbers]
        for other in (number + 1, number - 1, number**9, 10**5000):
            assert not any((t == other).tolist()) and all((t != other).tolist())


def test_comparison_with_non_numbers_is_false_or_refused():
    t = dlbridge.asarray([1, 2])
    for other in ("x", np.str_("x"), None, [1, 2], object(), {}):
        assert (t == other) is False and (t != other) is True

    class Faulty:
        def __dlpack__(self, **options):
            return len(5)

        def __dlpack_device__(self):
            return 1, 0

        def __array__(self, dtype=None, copy=None):
            return np.zeros(2)

    # An error of the producer's own says nothing of what it is.
    def check(faulty, text):
        for call in (lambda: t == faulty, lambda: t != faulty, lambda: dlbridge.asarray(faulty)):
            with pytest.raises(TypeError, match=text):
                call()

    check(Faulty(), r"has no len\(\)")
    Faulty.__dlpack__ = lambda self, **options: None
    check(Faulty(), "expected a capsule of a DLPack tensor, got NoneType")
    Faulty.__dlpack__ = operator.itemgetter  # In C.
    check(Faulty(), "itemgetter expected 1 argument, got 0")
    for shape in ((3,), (2, 3)):
        with refused(ValueError, "broadcast"):
            t == dlbridge.zeros(shape)
    for act in (operator.lt, operator.le, operator.gt, operator.ge):
        with refused(TypeError, "not supported"):
            act(t, t)
    assert (dlbridge.zeros(2, "float32x2") == dlbridge.zeros(2)).tolist() == [False, False]


def test_equals_compares_shape_dtype_and_elements():
    t = dlbridge.asarray([[1.0, 2.0]])
    assert t.equals(t) and t.equals(np.array([[1.0, 2.0]])) and t.equals(t.T.copy().T)
    assert (
        not t.equals(t[0])
        and not t.equals(dlbridge.asarray([[1.0, 2.0]], "float32"))
        and not t.equals(t.T)
    )
    assert not dlbridge.asarray(math.nan).equals(dlbridge.asarray(math.nan))
    assert dlbridge.zeros((0, 3)).equals(dlbridge.ones((0, 3))) and not dlbridge.zeros(
        (0, 3)
    ).equals(dlbridge.zeros(0))
    for other in ([1.0], 1.0, None):
        with refused(TypeError, "expected a tensor, got"):
            t.equals(other)


def test_allclose_equals_numpy():
    x = np.array([1.0, -2e5, 1e-9, math.inf])
    t = dlbridge.from_dlpack(x)
    for y in (
        x,
        x * (1 + 1e-6),
        x * (1 + 1e-4),
        x + 1e-9,
        -x,
        x.astype("f4"),
        np.full(4, math.nan),
    ):
        for keywords in (
            {},
            {"rtol": 1e-3},
            {"atol": 1.0},
            {"rtol": 0.0, "atol": 0.0},
            {"rtol": 0, "atol": 1e-8},
        ):
            assert t.allclose(y, **keywords) is np.allclose(x, y, **keywords)
    assert dlbridge.asarray([1 + 1j]).allclose(dlbridge.asarray([1 + 1.000001j]))
    with refused(ValueError, "[4]", "[3]"):
        t.allclose(t[:3])
    with refused(TypeError, "positional"):
        t.allclose(t, 0)
    with refused(TypeError):
        t.allclose([1.0] * 4)


def test_tensors_hash_by_identity():
    t = dlbridge.zeros(3)
    same = dlbridge.from_dlpack(t)
    assert hash(t) == hash(t) and {t: 1}[t] == 1 and len({t, same}) == 2


def test_copy_is_row_major_and_writable():
    x = np.arange(6.0).reshape(2, 3)[:, ::-1]
    x.flags.writeable = False
    t = dlbridge.from_dlpack(x)
    copy = t.copy()
    assert copy.equals(t) and copy.data_ptr != t.data_ptr and copy.data_ptr % 64 == 0
    assert copy.is_contiguous and not copy.readonly and copy.strides == (3, 1)
