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
    run_unchanged_around(out, DEVICE, f"matmul_{element}_tiles", blocks, (256, 1), *arguments, order=order)
    assert_same(out.values, expected(a.values, b.values))


@pytest.mark.parametrize("element", modules.NUMBERS)
def test_sizes(element):
    around = [(1, 1, 1), (3, 5, 2), (SIDE, DEPTH, SIDE), (SIDE + 1, DEPTH + 1, SIDE - 1), (130, 3, 70)]
    for number, sizes in enumerate(around):
        run(element, sizes, blocks=1 + number, order=number % 3)


@pytest.mark.parametrize("element", ["f16", "f64", "i8"])
def test_without_elements(element):
    run(element, (3, 0, 70))
    for sizes in [(0, 4, 5), (5, 4, 0)]:
        run(element, sizes)


KINDS = ["contiguous", "off by one", "transposed", "backwards", "every second", "padded"]


@pytest.mark.parametrize("element", ["i16", "u64", "bf16", "f32"])
def test_layouts(element):
    for number, kind in enumerate(KINDS):
        run(element, (67, 18, 33), (kind, KINDS[number - 1], KINDS[number - 2]), order=number % 3)
    for kinds in itertools.product(["contiguous", "transposed"], repeat=3):
        run(element, (20, 37, 66), kinds)


@pytest.mark.parametrize("element", modules.FLOATS)
def test_special_numbers(element):
    def mostly_normal(generator, element, shape):
        special = some_numbers(generator, element, shape)
        return numpy.where(generator.integers(0, 40, shape) == 0, special, values_for(generator, element, shape))

    run(element, (33, 40, 30), values=mostly_normal)
    run(element, (20, 3, 20), values=some_numbers)


@pytest.mark.parametrize("element", ["bf16", "f64"])
def test_products_are_rounded_where_they_arent_exact(element):
    """A product that overflows by itself, or is rounded: what a fused operation would not see."""
    dtype = TYPES[element]
    info = numpy.finfo(wide(dtype))
    step = info.eps if element == "f64" else 0
    a, b = Array(DEVICE, element, (1, 2)), Array(DEVICE, element, (2, 1))
    if element == "f64":
        a.fill(numpy.array([[1, 1 + step]], dtype))
        b.fill(numpy.array([[-((1 + step) * (1 + step))], [1 + step]], dtype))
        wanted = 0.0
    else:
        large = numpy.array(2.0**64, dtype)
        a.fill(numpy.array([[-(2.0**127), large]], dtype))
        b.fill(numpy.array([[1], [large]], dtype))
        wanted = numpy.inf
    out = Array(DEVICE, element, (1, 1))
    sizes = [u64(1), u64(1), u64(2)]
    strides = [i64(stride) for array in (a, b, out) for stride in array.strides]
    call = [a.pointer, b.pointer, out.pointer, *sizes, *strides]
    DEVICE.launch(f"matmul_{element}_tiles", 1, (256, 1), *call)
    assert_same(out.values, numpy.array([[wanted]], dtype))
