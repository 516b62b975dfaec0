"""matmul, against NumPy that adds up in the same order: bit for bit."""

import itertools

import modules
import numpy
import pytest
from arrays import TYPES, Array, assert_same, i64, run_unchanged_around, some_numbers, u64
from on_cpu import Device

DEVICE = Device(modules.matmul())
SIDE, DEPTH = 64, 16


def wide(dtype):
    if dtype.kind in "iu":
        return dtype
    return numpy.dtype("f4" if dtype.itemsize == 2 else "f8")


def expected(a, b):
    a_wide, b_wide = a.astype(wide(a.dtype)), b.astype(wide(b.dtype))
    total = numpy.zeros((a.shape[0], b.shape[1]), a_wide.dtype)
    with numpy.errstate(all="ignore"):
        for k in range(a.shape[1]):
            total = total + a_wide[:, k, None] * b_wide[None, k, :]
        return total.astype(a.dtype)


def values_for(generator, element, shape):
    if TYPES[element].kind in "iu":
        return some_numbers(generator, element, shape)
    return generator.standard_normal(shape).astype(TYPES[element])


def run(element, sizes, layouts=("contiguous",) * 3, blocks=3, order=0, values=values_for):
    generator = numpy.random.default_rng(sum(sizes))
    rows, depth, columns = sizes
    a = Array(DEVICE, element, (rows, depth), layouts[0])
    b = Array(DEVICE, element, (depth, columns), layouts[1])
    out = Array(DEVICE, element, (rows, columns), layouts[2])
    a.fill(values(generator, element, a.values.shape))
    b.fill(values(generator, element, b.values.shape))
    arguments = [a.pointer, b.pointer, out.pointer, u64(rows), u64(columns), u64(depth)]
    arguments += [i64(stride) for array in (a, b, out) for stride in array.strides]
    run_unchanged_around(
        out, DEVICE, f"matmul_{element}_tiles", blocks, (256, 1), *arguments, order=order
    )
    assert_same(out.values, expected(a.values, b.values))


@pytest.mark.parametrize("element", modules.NUMBERS)
def test_every_size_equals_numpy(element):
    around = [
        (1, 1, 1),
        (3, 5, 2),
        (SIDE, DEPTH, SIDE),
        (SIDE + 1, DEPTH + 1, SIDE - 1),
        (130, 3, 70),
    ]
    for number, sizes in enumerate(around):
        run(element, sizes, blocks=1 + number, order=number % 3)


@pytest.mark.parametrize("element", ["f16", "f64", "i8"])
def test_empty_matrices_equal_numpy(element):
    run(element, (3, 0, 70))
    for sizes in [(0, 4, 5), (5, 4, 0)]:
        run(element, sizes)


KINDS = ["contiguous", "off by one", "transposed", "backwards", "every second", "padded"]


@pytest.mark.parametrize("element", ["i16", "u64", "bf16", "f32"])
def test_strided_layouts_equal_numpy(element):
    for number, kind in enumerate(KINDS):
        run(element, (67, 18, 33), (kind, KINDS[number - 1], KINDS[number - 2]), order=number % 3)
    for kinds in itertools.product(["contiguous", "transposed"], repeat=3):
        run(element, (20, 37, 66), kinds)


@pytest.mark.parametrize("element", modules.FLOATS)
def test_special_numbers_equal_numpy(element):
    def mostly_normal(generator, element, shape):
        special = some_numbers(generator, element, shape)
        return numpy.where(
            generator.integers(0, 40, shape) == 0, special, values_for(generator, element, shape)
        )

    run(element, (33, 40, 30), values=mostly_normal)
    run(element, (20, 3, 20), values=some_numbers)


def test_broadcast_row_equals_numpy():
    a, row = Array(DEVICE, "f32", (5, 3)), Array(DEVICE, "f32", (1, 70))
    out = Array(DEVICE, "f32", (5, 70))
    generator = numpy.random.default_rng(3)
    a.fill(generator.standard_normal((5, 3)))
    row.fill(generator.standard_normal((1, 70)))
    b = numpy.broadcast_to(row.values, (3, 70))
    strides = [i64(stride) for stride in (*a.strides, 0, 1, *out.strides)]
    call = [a.pointer, row.pointer, out.pointer, u64(5), u64(70), u64(3), *strides]
    run_unchanged_around(out, DEVICE, "matmul_f32_tiles", 1, (256, 1), *call)
    assert_same(out.values, expected(a.values, b))


@pytest.mark.parametrize(
    ("element", "a_values", "b_values", "wanted"),
    [
        # The second product is too large by itself, though the sum isn't.
        ("bf16", [-(2.0**127), 2.0**64], [1.0, 2.0**64], numpy.inf),
        # The second product is rounded to the first one's negative.
        ("f64", [1.0, 1 + 2**-52], [-((1 + 2**-52) * (1 + 2**-52)), 1 + 2**-52], 0.0),
    ],
)
def test_inexact_products_are_rounded(element, a_values, b_values, wanted):
    """What a fused operation would not see."""
    a = Array(DEVICE, element, (1, 2)).fill(numpy.array([a_values]).astype(TYPES[element]))
    b = Array(DEVICE, element, (2, 1)).fill(numpy.array([b_values]).T.astype(TYPES[element]))
    out = Array(DEVICE, element, (1, 1))
    strides = [i64(stride) for array in (a, b, out) for stride in array.strides]
    call = [a.pointer, b.pointer, out.pointer, u64(1), u64(1), u64(2), *strides]
    DEVICE.launch(f"matmul_{element}_tiles", 1, (256, 1), *call)
    assert_same(out.values, numpy.array([[wanted]]).astype(TYPES[element]))
