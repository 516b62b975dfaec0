"""Python numbers in a tensor's place."""

import enum
import math

import dlbridge_testing as ext
import pytest
from support import framework, refused

INTEGERS = {"i8": (-(2**7), 2**7 - 1), "i32": (-(2**31), 2**31 - 1), "i64": (-(2**63), 2**63 - 1)}
INTEGERS |= {"u8": (0, 2**8 - 1), "u64": (0, 2**64 - 1)}
# The largest finite number, and the first that is rounded to infinity.
FLOATS = {
    "f16": (65504.0, 65520.0),
    "bf16": (float.fromhex("0x1.fep127"), float.fromhex("0x1.ffp127")),
    "f32": (float.fromhex("0x1.fffffep127"), float.fromhex("0x1.ffffffp127")),
}
NAMES = {
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u64": "uint64",
    "bool": "bool",
    "c64": "complex64",
}
NAMES |= {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


def number(kind, value):
    return getattr(ext, f"number_{kind}")(value)


def no_number(kind, *values):
    for value in values:
        with refused(ValueError) as error:
            number(kind, value)
        assert str(error.value) == f"{value!r} can't be stored as {NAMES[kind]}"


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_in_range_is_accepted_and_others_refused(kind):
    lowest, highest = INTEGERS[kind]
    for value in (lowest, highest, 0, 1, 7, True, False):
        assert number(kind, value) == ([], [int(value)])
    no_number(kind, lowest - 1, highest + 1, 2**200, -(2**200), 1.0, 0.5, math.nan, 1 + 0j)


def test_bool_is_accepted_and_numbers_refused():
    assert ext.number_bool(True) == ([], [True]) and ext.number_bool(False) == ([], [False])
    no_number("bool", 0, 1, 1.0, 1j)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_float_accepts_real_numbers(kind):
    for value in (0.0, 1, -3, 0.5, True, 2.0**-14):
        assert number(kind, value) == ([], [value])
    for value in (math.inf, -math.inf):
        assert number(kind, value) == ([], [value])
    assert math.isnan(number(kind, math.nan)[1][0])
    assert math.copysign(1, number(kind, -0.0)[1][0]) == -1
    no_number(kind, 1j, 1 + 0j)


def test_float_rounds_to_nearest():
    assert ext.number_f32(0.1) == ([], [float.fromhex("0x1.99999ap-4")])
    assert ext.number_f64(0.1) == ([], [0.1])
    assert ext.number_f16(1 / 3) == ([], [0.333251953125])
    assert ext.number_bf16(1 / 3) == ([], [0.333984375])
    assert ext.number_f32(2**24 + 1) == ([], [2**24])
    assert ext.number_f32(1e-300) == ([], [0])


@pytest.mark.parametrize("kind", FLOATS)
def test_float_beyond_range_is_refused(kind):
    largest, too_large = FLOATS[kind]
    for value in (largest, -largest, int(largest)):
        assert number(kind, value) == ([], [value])
    no_number(kind, too_large, -too_large, int(too_large), 1e300)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64", "c64"])
def test_float_refuses_integers_beyond_range(kind):
    no_number(kind, 10**400, -(10**400))


def test_complex_accepts_every_number():
    assert ext.number_c64(1 + 2j) == ([], [(1, 2)])
    assert ext.number_c64(1) == ([], [(1, 0)]) and ext.number_c64(0.5) == ([], [(0.5, 0)])
    assert ext.number_c64(True) == ([], [(1, 0)])


def test_number_of_derived_class_is_accepted():
    class Color(enum.IntEnum):
        RED = 3

    class Real(float):
        pass

    assert ext.number_i8(Color.RED) == ([], [3]) and ext.number_f32(Real(1.5)) == ([], [1.5])


@pytest.mark.parametrize("wrong", [None, "1", [1], (1,), object(), {}], ids=repr)
def test_object_that_is_not_a_number_is_refused(wrong):
    with refused(TypeError, f"expected a tensor, got {type(wrong).__name__}"):
        ext.number_f32(wrong)


def test_tensor_of_rank_0_is_accepted_as_number():
    np = framework("numpy")
    assert ext.number_f32(np.zeros((2, 2), "f4")) == ([2, 2], [0] * 4)
    assert ext.number_i64(np.int64(3)) == ([], [3]) and ext.number_f32(np.float32(0.5)) == (
        [],
        [0.5],
    )
    # NumPy's double is also a Python float.
    assert ext.number_f32(np.float64(0.5)) == ([], [0.5])
    for wrong, number_ in [
        (np.zeros(2), ext.number_f32),
        (np.int32(3), ext.number_i64),
        (np.float32(1), ext.number_f64),
    ]:
        with refused(TypeError, "expected a tensor of"):
            number_(wrong)


def test_result_like_a_number_is_our_tensor():
    tensor = ext.from_list([1, 2], [2])
    assert type(ext.like_number(3, tensor)) is ext.Tensor
    np = framework("numpy")
    assert type(ext.like_number(np.zeros(1, "f4"), tensor)) is np.ndarray
