"""Casts: all patterns of up to 16 bits, and of larger types those at which roundings differ, compared bit for
bit with NumPy, ml_dtypes and PyTorch for each pair that they have.
"""

import warnings

import dlbridge
import pytest
from dlbridge import ops
from support import framework, in_new_process

np = framework("numpy")
ml_dtypes = framework("ml_dtypes")
torch = framework("torch")

SMALL = """float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn""".split()
PACKED = "int1 int2 int4 uint1 uint2 uint4".split()
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = "float16 bfloat16 float32 float64".split()
NAMES = ["bool", *INTEGERS, *PACKED, *FLOATS, *SMALL]
OF_TORCH = [
    *["bool", *INTEGERS, *FLOATS],
    *(name for name in SMALL if hasattr(torch, name) and name != "float8_e8m0fnu"),
]


@pytest.fixture(autouse=True)
def silent():
    """NumPy says nothing of numbers that are too large, or none."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def bits_of(array):
    return array.view(f"u{array.dtype.itemsize}")


def is_integer(name):
    return "int" in name


def edges():
    """Numbers beside which roundings differ: those of small types, and the middles between two."""
    values = [0, 0.5, 1.5, 2.5, 3e38, 1e300, np.inf, np.nan, 1e-40, 1e-310]
    for name in ["float16", "bfloat16", *SMALL]:
        dtype = dtype_of(name)
        patterns = np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}")
        numbers = np.unique(patterns.view(dtype).astype("f8"))
        numbers = numbers[np.isfinite(numbers)][:: 97 if dtype.itemsize > 1 else 1]
        values += [*numbers, *(numbers[1:] + numbers[:-1]) / 2]
        values += [
            numbers.max() * more for more in (1.001, 1.01, 1.03, 1.1, 1.2, 1.25, 1.3, 1.5, 2)
        ]
    for power in range(65):
        values += [2.0**power + more for more in (-1, -0.5, 0, 0.5, 1)]
    return np.array([*values, *np.negative(values)])


def samples(name):
    """All values of a type of up to 16 bits, or some."""
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([False, True])
    if name in PACKED or name in SMALL[-3:]:
        bits = (ml_dtypes.iinfo if name in PACKED else ml_dtypes.finfo)(dtype).bits
        return np.arange(2**bits, dtype="u1").view(dtype)
    if dtype.itemsize < 3:
        return np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    random = np.random.default_rng(0).integers(0, 256, 1 << 16, dtype="u1").view(dtype)
    if is_integer(name):
        ends = np.iinfo(dtype)
        near = [float(ends.min), *edges()]
        near = [int(x) for x in near if np.isfinite(x) and ends.min < x < ends.max]
        return np.concatenate([random, np.array([ends.min, *near, ends.max], dtype)])
    near = edges().astype(dtype)
    near = np.concatenate(
        [near, np.nextafter(near, dtype.type(9e9)), np.nextafter(near, dtype.type(0))]
    )
    return np.concatenate([random, near])


def is_defined(x, source, target, rounds_once=("float64", "float16")):
    """Where other libraries define the result, and round no more than once."""
    everywhere = np.full(x.shape, True)
    if is_integer(target) and not is_integer(source) and source != "bool":
        ends = (ml_dtypes.iinfo if target in PACKED else np.iinfo)(dtype_of(target))
        whole = np.trunc(x.astype("f8"))
        return (float(ends.min) <= whole) & (whole < float(ends.max) + 1)
    if target in [*SMALL, "bfloat16", "float16"] and x.dtype.itemsize > 2:
        # They round to float32 first, but NumPy from float64 to float16.
        if is_integer(source):
            return x.astype("f4").astype("f8").astype("O") == x.astype("O")
        if (source, target) != rounds_once:
            return (x.astype("f4") == x) | np.isnan(x.astype("f8"))
    return everywhere


def differences(found, expected, name):
    """Where patterns differ, but for the payloads of NaNs in types that have many."""
    differ = bits_of(found) != bits_of(expected)
    if name in FLOATS:
        differ &= ~(np.isnan(found.astype("f8")) & np.isnan(expected.astype("f8")))
    return differ


def cast(x, target, **options):
    """As an array with one byte or more for each element."""
    return ops.cast(x, dtype=target, out=np.zeros(x.shape, dtype_of(target)), **options)


@pytest.mark.parametrize("source", NAMES)
def test_cast_equals_numpy_and_ml_dtypes(source):
    x = samples(source)
    compared = 0
    for target in NAMES:
        found = cast(x, target)
        try:
            expected = x.astype(dtype_of(target))
        except TypeError:
            continue  # ml_dtypes has no casts between some of its types.
        differ = differences(found, expected, target) & is_defined(x, source, target)
        compared += 1
        assert not differ.any(), (target, x[differ], found[differ], expected[differ])
    assert compared > 13


@pytest.mark.parametrize("source", OF_TORCH)
def test_cast_equals_torch(source):
    x = samples(source)
    tensor = ops.copy(x, like=torch.zeros(1))
    assert isinstance(tensor, torch.Tensor) and str(tensor.dtype) == f"torch.{source}"
    for target in OF_TORCH:
        expected = tensor.to(getattr(torch, target))
        results = [ops.cast(tensor, dtype=target, saturate=saturate) for saturate in (False, True)]
        defined = torch.from_numpy(is_defined(x, source, target, None))
        assert [result.dtype for result in results] == [expected.dtype] * 2
        if not (is_integer(target) or target == "bool"):
            nan = expected.to(torch.float64).isnan()
            # PyTorch's NaNs have other bits.
            results = [result.to(torch.float64) for result in results]
            expected = expected.to(torch.float64)
            same = [
                (result == expected) & (result.signbit() == expected.signbit())
                | result.isnan() & nan
                for result in results
            ]
        else:
            same = [result == expected for result in results]
        # Releases of PyTorch differ in what is too large for float8_e4m3fn.
        assert any((~defined | one).all() for one in same), target
        if target != "float8_e4m3fn":
            assert (~defined | same[0]).all(), target


def test_cast_of_scales_equals_torch():
    """PyTorch reads no sign, and makes the least scale of 0."""
    x = np.abs(edges()[: len(edges()) // 2].astype("f4"))
    for values in (x, np.nextafter(x, np.float32(9e9)), np.nextafter(x, np.float32(0))):
        found = cast(values, "float8_e8m0fnu").view("u1")
        expected = torch.from_numpy(values).to(torch.float8_e8m0fnu).view(torch.uint8).numpy()
        assert (found == expected)[values != 0].all()
        assert (found[values == 0] == 255).all() and (expected[values == 0] == 0).all()
        saturated = cast(values, "float8_e8m0fnu", saturate=True).view("u1")
        assert (saturated[values == 0] == 0).all()


def test_cast_from_float64_rounds_once():
    """Just above the middle between 1 and the next number: as a float32 it is the middle."""
    for name, digits in [
        ("bfloat16", 7),
        ("float16", 10),
        ("float8_e4m3fn", 3),
        ("float8_e5m2", 2),
    ]:
        middle = 1 + 2.0 ** -(digits + 1)
        x = np.array([middle, np.nextafter(middle, 2), np.nextafter(middle, 1)])
        assert cast(x, name).astype("f8").tolist() == [1, 1 + 2.0**-digits, 1]
        big = 2**62
        x = np.array([int(big * middle), int(big * middle) + 1, int(big * middle) - 1])
        found = cast(x, name).astype("f8")
        if name == "bfloat16":
            assert found.tolist() == [big, big * (1 + 2.0**-digits), big]


def test_cast_of_complex_equals_numpy_and_torch():
    parts = samples("float32")[: 1 << 14]
    x = parts.view("c8")
    for target in ("c8", "c16", "?"):
        found, expected = ops.cast(x, dtype=np.dtype(target)), x.astype(target)
        assert np.array_equal(found, expected, equal_nan=target != "?")
    for source in ("bool", "int8", "uint64", "float16", "float64", "bfloat16"):
        real = samples(source)
        found, expected = ops.cast(real, dtype="complex64"), real.astype("c8")
        assert np.array_equal(found, expected, equal_nan=True)
    half = ops.cast(torch.from_numpy(x), dtype="complex32")
    assert half.dtype == torch.complex32
    expected = torch.view_as_real(torch.from_numpy(x)).to(torch.float16)
    assert torch.view_as_real(half).equal(expected) or torch.allclose(
        torch.view_as_real(half), expected, rtol=0, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("name", [*PACKED, "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
def test_cast_packs_and_unpacks(name):
    """A `Tensor` of the package holds packed elements, NumPy's arrays one in a byte."""
    for count in (0, 1, 3, 8, 13, 1001):
        x = np.resize(samples(name), count)
        floats = cast(x, "float32")
        packed = ops.cast(dlbridge.from_dlpack(floats), dtype=name)
        bits = (ml_dtypes.iinfo if name in PACKED else ml_dtypes.finfo)(x.dtype).bits
        assert packed.nbytes == -(-count * bits // 8) and packed.dtype == name
        assert np.array_equal(ops.cast(packed, dtype="float32", out=np.zeros(count, "f4")), floats)
        again = ops.cast(packed, dtype=name, out=np.zeros(count, dtype_of(name)))
        assert np.array_equal(cast(again, "float32"), floats)


SCRIPT = """
import hashlib
import ml_dtypes
import numpy as np
from dlbridge import ops
x = np.random.default_rng(0).integers(0, 256, 1 << 16, dtype="u1")
digest = hashlib.sha256()
for source in "u1 i2 i4 i8 u8 f2 f4 f8 bfloat16 float8_e4m3fn".split():
    for target in "uint8 int32 int64 float16 float32 float64 bfloat16 float8_e5m2 float8_e8m0fnu".split():
        array = x.view(getattr(ml_dtypes, source, source))
        digest.update(ops.cast(array, dtype=target).tobytes())
print(digest.hexdigest())
"""


def test_every_simd_level_gives_the_same_bits():
    levels = ("baseline", "avx2", "avx512", "")
    digests = {in_new_process(SCRIPT, DLBRIDGE_SIMD=level) for level in levels}
    assert len(digests) == 1 and len(digests.pop().strip()) == 64
