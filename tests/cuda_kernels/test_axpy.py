"""axpy, against NumPy: the product and the sum are both rounded."""

import modules
import numpy
import pytest
from arrays import (
    TYPES,
    Array,
    assert_same,
    layout,
    run_unchanged_around,
    size,
    some_numbers,
    u32,
    u64,
)
from on_cpu import Device

DEVICE = Device(modules.axpy())
ENTRIES = ["flat", "rows", "strided", "strided_wide"]


def expected(alpha, x, y):
    is_narrow = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
    wide = numpy.float32 if is_narrow else x.dtype
    with numpy.errstate(all="ignore"):
        product = (alpha.astype(wide) * x.astype(wide)).astype(x.dtype)
        return (y.astype(wide) + product.astype(wide)).astype(x.dtype)


def run(element, entry, shape, layouts=("contiguous",) * 2, x_shape=None, blocks=2, order=0):
    generator = numpy.random.default_rng(len(shape))
    x, y = (
        Array(DEVICE, element, x_shape or shape, layouts[0]),
        Array(DEVICE, element, shape, layouts[1]),
    )
    x.fill(some_numbers(generator, element, x.values.shape))
    x.values = numpy.broadcast_to(x.values, shape)
    y.fill(some_numbers(generator, element, shape))
    alpha = some_numbers(generator, element, (3,))[1:2].reshape(())[()]
    arguments = [alpha, x.pointer, y.pointer]
    if entry == "flat":
        arguments += [u64(size(shape))]
    else:
        count = size(shape[:-1]) if entry == "rows" else size(shape)
        arguments += [
            layout(shape, y.strides, x.strides),
            (u64 if entry == "strided_wide" else u32)(count),
        ]
    wanted = expected(alpha, x.values, y.values)
    run_unchanged_around(
        y, DEVICE, f"axpy_{element}_{entry}", blocks, (256, 1), *arguments, order=order
    )
    assert_same(y.values, wanted)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("element", modules.NUMBERS)
def test_contiguous_arrays_equal_numpy(element, entry):
    for shape in [(0,), (1,), (5,), (1030,), (3, 32), (2, 3, 160)]:
        for blocks in [1, 2, 20]:
            run(element, entry, shape, blocks=blocks, order=blocks % 3)


@pytest.mark.parametrize("entry", ["strided", "strided_wide"])
@pytest.mark.parametrize("element", modules.NUMBERS)
def test_strided_layouts_equal_numpy(element, entry):
    kinds = ["contiguous", "off by one", "transposed", "backwards", "every second", "padded"]
    for shape in [(), (37,), (3, 5), (4, 3, 50)]:
        for number, kind in enumerate(kinds):
            run(element, entry, shape, (kind, kinds[number - 1]))


@pytest.mark.parametrize("element", modules.NUMBERS)
def test_rows_equal_numpy(element):
    for shape in [(5,), (7, 5), (3, 1, 37)]:
        run(element, "rows", shape, ("padded", "padded"))
    for x_shape in [(), (32,), (6, 1)]:
        run(element, "rows", (6, 32), x_shape=x_shape)
        run(element, "strided", (6, 32), x_shape=x_shape)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_product_is_rounded_before_the_sum(element):
    """The product is rounded before it is added, so that what remains is 0 and not the rounding."""
    alpha = TYPES[element].type(1) + numpy.finfo(TYPES[element]).eps
    x, y = (
        Array(DEVICE, element, (8,)).fill(alpha),
        Array(DEVICE, element, (8,)).fill(-(alpha * alpha)),
    )
    DEVICE.launch(f"axpy_{element}_flat", 1, (256, 1), alpha, x.pointer, y.pointer, u64(8))
    assert_same(y.values, numpy.zeros(8, TYPES[element]))


@pytest.mark.parametrize("count", [2**30 + 2**29, 2**31 - 1024, 2**31 - 2])
def test_index_beyond_32_bits_is_reached_once(count):
    """Each element is done once, where what a grid takes at once leads beyond what 32 bits count.

    All elements are the same one, to which 1 is added by one thread after another: once for each
    time that a thread goes on, as it reads what it takes before it writes.
    """
    x, y = (Array(DEVICE, "i32", (1,)).fill(value) for value in (1, 0))
    where = layout((count,), (0,), (0,))
    elements_of_block = 256 * 4
    last = -(-count // elements_of_block) - 1
    for blocks in [last + 1, 2 * last + 2]:
        for block in [0, last // 2, last]:
            y.fill(0)
            with DEVICE.only_block(block):
                arguments = [numpy.int32(1), x.pointer, y.pointer, where, u32(count)]
                DEVICE.launch("axpy_i32_strided", blocks, (256, 1), *arguments)
            assert y.values == min(256, count - block * elements_of_block)
    y.fill(0)
    with DEVICE.only_block(last + 1):  # It has nothing to do.
        DEVICE.launch("axpy_i32_strided", 2 * last + 2, (256, 1), *arguments)
    assert y.values == 0
