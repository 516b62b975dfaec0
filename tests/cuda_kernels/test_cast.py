"""cast, between all pairs of types, against exact arithmetic."""

from fractions import Fraction

import ml_dtypes
import modules
import numpy
import pytest
from arrays import TYPES, Array, assert_same, ends, layout, run_unchanged_around, size, u32, u64
from on_cpu import Device

# The kernels differ by the sizes of the elements; what is done with each is the same in all of
# them.
OF_SIZES = ["i8", "f16", "f32", "f64"]
PAIRS = [module.macros for module in modules.cast()]
PAIRS = [(source, result) for (_, source), (_, result) in PAIRS]
LAID_OUT = [pair for pair in PAIRS if set(pair) <= {*OF_SIZES}]
LAID_OUT += [("u8", "i8"), ("b8", "u8"), ("bf16", "f16"), ("i32", "f32"), ("f64", "i64")]
DEVICE = Device(
    modules.cast(),
    lambda module, entry: (
        entry == "flat" or any(module.name == f"cast_{one}_{other}" for one, other in LAID_OUT)
    ),
)


def exact(value, dtype):
    """A finite number as the nearest of a type of floats, or of two the even one."""
    info = ml_dtypes.finfo(dtype)
    magnitude = abs(value)
    # 2 to the exponent is the largest power of 2 that isn't above it; there are no powers below
    # that of `tiny`.
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, int(info.minexp)) - info.nmant)
    rounded = round(magnitude / step) * step
    if rounded > Fraction(float(info.max)):
        return numpy.inf if value > 0 else -numpy.inf
    return float(rounded) if value >= 0 else -float(rounded)


def converted(value, dtype):
    """One number, as the specification has it."""
    if dtype.kind == "b":
        return value != 0
    is_special = isinstance(value, float) and not numpy.isfinite(value)
    if dtype.kind in "iu":
        lowest, highest = map(int, ends(dtype))
        if isinstance(value, int):
            return (value - lowest) % (highest - lowest + 1) + lowest
        if value != value:
            return 0
        return (
            min(max(value, lowest), highest)
            if is_special
            else min(max(int(value), lowest), highest)
        )
    if is_special:
        return value
    return -0.0 if str(value) == "-0.0" else exact(Fraction(value), dtype)


def expected(values, dtype):
    numbers = [converted(value, dtype) for value in values.ravel().tolist()]
    numbers = [int(value) if dtype.kind in "iu" else value for value in numbers]
    # Each is one of the type, so that nothing is left to round.
    return (
        numpy.array(numbers, "f8" if dtype.kind not in "iub" else dtype)
        .astype(dtype)
        .reshape(values.shape)
    )


def interesting(source, result):
    """Numbers at which something happens: ends, zeros, infinities, ties and what is next to
    them.
    """
    source, result = TYPES[source], TYPES[result]
    generator = numpy.random.default_rng(1)
    if source.kind == "b":
        return numpy.array([False, True] * 20)
    numbers = [
        0,
        1,
        -1,
        2,
        127,
        128,
        129,
        255,
        256,
        -128,
        -129,
        32767,
        32768,
        65535,
        65536,
        65504,
        65519,
        65520,
    ]
    numbers += [2**k + d for k in (15, 16, 24, 31, 32, 53, 62, 63, 64) for d in (-1, 0, 1)]
    # Halfway between two of 8, 11 and 24 bits, and next to that.
    for bits in (8, 11, 24, 53):
        for odd in (1, 3):
            for shift in range(0, 64 - bits - 2, 5):
                numbers += [(((1 << bits) + odd) << shift) + d for d in (-1, 0, 1)]
    numbers += [-number for number in numbers]
    if source.kind in "iu":
        lowest, highest = map(int, ends(source))
        inside = [number for number in numbers if lowest <= number <= highest]
        random = generator.integers(lowest, highest, 100, source, endpoint=True)
        return numpy.concatenate([numpy.array([lowest, highest, *inside], source), random])
    with numpy.errstate(over="ignore"):
        whole = numpy.array(numbers, "f8").astype(source)
    info = ml_dtypes.finfo(source)
    values = [
        whole,
        *(generator.standard_normal(100) * scale for scale in (1, 100, 1e5, 1e-4, 1e-7, 1e-39)),
    ]
    values += [
        [
            numpy.inf,
            -numpy.inf,
            numpy.nan,
            -0.0,
            info.max,
            info.min,
            info.smallest_subnormal,
            info.tiny,
        ]
    ]
    values += [[0.5, -0.5, 0.999, -0.999, 1.5, -1.5, 127.5, -128.5, 255.5, -0.25]]
    if result.kind not in "iub" and result.itemsize < source.itemsize:
        # Between neighbours of the narrower type: in the middle, and a little to each side.
        narrow = (generator.standard_normal(100) * 10.0 ** generator.integers(-9, 5, 100)).astype(
            result
        )
        above = numpy.nextafter(narrow, result.type(numpy.inf)).astype("f8")
        middle = (narrow.astype("f8") + above) / 2
        values += [
            middle,
            *(
                numpy.nextafter(middle.astype(source), source.type(end))
                for end in (-numpy.inf, numpy.inf)
            ),
        ]
    with numpy.errstate(over="ignore"):
        return numpy.concatenate([numpy.asarray(part).astype(source) for part in values])


@pytest.mark.parametrize(("source", "result"), PAIRS)
def test_cast_of_every_pair_equals_exact_arithmetic(source, result):
    values = interesting(source, result)
    x = Array(DEVICE, source, values.shape).fill(values)
    out = Array(DEVICE, result, values.shape)
    arguments = [x.pointer, out.pointer, u64(len(values))]
    run_unchanged_around(out, DEVICE, f"cast_{source}_{result}_flat", 2, (256, 1), *arguments)
    assert_same(out.values, expected(x.values, TYPES[result]))


@pytest.mark.parametrize("result", modules.NUMBERS)
def test_cast_from_bool_treats_nonzero_bytes_as_true(result):
    bytes = DEVICE.memory(256)
    bytes[:] = numpy.arange(256)
    out = Array(DEVICE, result, (256,))
    DEVICE.launch(f"cast_b8_{result}_flat", 1, (256, 1), bytes, out.pointer, u64(256))
    assert_same(out.values, (bytes != 0).astype(TYPES[result]))


@pytest.mark.parametrize("entry", ["flat", "strided", "strided_wide"])
@pytest.mark.parametrize(("source", "result"), LAID_OUT)
def test_strided_layouts_equal_numpy(source, result, entry):
    kinds = ["contiguous"]
    if entry != "flat":
        kinds += ["off by one", "transposed", "backwards", "every second"]
    for shape in [(0,), (), (1,), (1037,), (3, 5), (4, 3, 50)]:
        for number, kind in enumerate(kinds):
            x = Array(DEVICE, source, shape, kind).fill(
                numpy.arange(size(shape)).reshape(shape) % 100
            )
            out = Array(DEVICE, result, shape, kinds[number - 2 if number > 1 else 0])
            if entry == "flat":
                arguments = [u64(size(shape))]
            else:
                count = (u64 if entry == "strided_wide" else u32)(size(shape))
                arguments = [layout(shape, out.strides, x.strides), count]
            call = [
                f"cast_{source}_{result}_{entry}",
                1 + number,
                (256, 1),
                x.pointer,
                out.pointer,
                *arguments,
            ]
            run_unchanged_around(out, DEVICE, *call, order=number % 3)
            assert_same(out.values, expected(x.values, TYPES[result]))
