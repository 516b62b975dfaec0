"""add, sub, mul, div, against NumPy."""

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

DEVICE = Device(modules.elementwise())
NAMES = [module.name for module in modules.elementwise()]
FUNCTIONS = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "div": numpy.divide}
SHAPES = [(1,), (3,), (16,), (1031,), (7, 5), (3, 4, 32), (2, 3, 1, 5, 2, 2, 1, 3), ()]
SOME = ["add_f16", "mul_bf16", "sub_f32", "div_f64", "add_i8", "mul_i16", "sub_u32", "mul_i64"]


def expected(name, a, b):
    """In f32 for floats of 16 bits, rounded once."""
    is_narrow = TYPES["f32"].itemsize > a.dtype.itemsize and a.dtype.kind not in "iu"
    wide = [x.astype(numpy.float32) if is_narrow else x for x in (a, b)]
    with numpy.errstate(all="ignore"):
        return FUNCTIONS[name.split("_")[0]](*wide).astype(a.dtype)


def run(name, entry, a, b, out, blocks=2, order=0):
    """Calls an entry, and compares the result."""
    shape = out.values.shape
    arguments = [a.pointer, b.pointer, out.pointer]
    if entry.startswith("flat"):
        arguments += [u64(size(shape))]
    else:
        strides = layout(shape, out.strides, a.strides, b.strides)
        count = size(shape[:-1]) if entry == "rows" else size(shape)
        arguments += [strides, (u64 if entry == "strided_wide" else u32)(count)]
    wanted = expected(name, a.values, b.values)
    run_unchanged_around(out, DEVICE, f"{name}_{entry}", blocks, (256, 1), *arguments, order=order)
    assert_same(out.values, wanted)


def operands(name, shape, layouts=("contiguous",) * 3, shapes=None):
    generator = numpy.random.default_rng(len(shape))
    element = name.split("_")[1]
    shapes = shapes or (shape,) * 3
    a, b, out = (Array(DEVICE, element, *which) for which in zip(shapes, layouts))
    for array in (a, b):
        array.fill(some_numbers(generator, element, array.values.shape))
        array.values = numpy.broadcast_to(array.values, shape)
    return a, b, out


@pytest.mark.parametrize("entry", ["flat", "strided", "strided_wide"])
@pytest.mark.parametrize("name", NAMES)
def test_contiguous_arrays_equal_numpy(name, entry):
    for shape in SHAPES:
        run(name, entry, *operands(name, shape))


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_any_length_equal_numpy(name):
    for shape in [(1,), (5,), (16,), (1031,), (7, 5), (3, 1, 37), (2, 3, 4, 33), (0, 4), (3, 0)]:
        a, b, out = operands(name, shape, ("padded",) * 3)
        run(name, "rows", a, b, out)
        if len(shape) == 1:
            run(name, "rows", *operands(name, shape))


@pytest.mark.parametrize("name", NAMES)
def test_broadcast_equals_numpy(name):
    """Of the whole, of rows, of columns; both at once."""
    for shape in [(6, 32), (2, 3, 64), (4, 16)]:
        for shapes in [
            (shape, ()),
            ((), shape),
            (shape, shape[-1:]),
            (shape, (*shape[:-1], 1)),
            ((*shape[:-1], 1), shape[-1:]),
        ]:
            for entry in ["rows", "strided", "strided_wide"]:
                run(name, entry, *operands(name, shape, shapes=(*shapes, shape)))


@pytest.mark.parametrize("entry", ["strided", "strided_wide"])
@pytest.mark.parametrize("name", SOME)
def test_strided_layouts_equal_numpy(name, entry):
    kinds = ["contiguous", "off by one", "transposed", "backwards", "every second", "padded"]
    for shape in [(1,), (37,), (3, 5), (4, 3, 50), (2, 1, 3, 2, 2, 3, 1, 2)]:
        for number, kind in enumerate(kinds):
            others = [kinds[(number + step) % len(kinds)] for step in (1, 3)]
            run(name, entry, *operands(name, shape, (kind, *others)))


@pytest.mark.parametrize("name", SOME)
def test_misaligned_arrays_equal_numpy(name):
    for count in [0, 1, 15, 1000]:
        run(name, "strided", *operands(name, (count,), ("off by one",) * 3))


@pytest.mark.parametrize("entry", ["flat", "rows", "strided", "strided_wide"])
@pytest.mark.parametrize("name", SOME)
def test_in_place_result_equals_numpy(name, entry):
    for shape in [(1000,), (3, 64)]:
        a, b, _ = operands(name, shape)
        a.values = a.look(a.bytes.view(a.values.dtype))  # To be written.
        run(name, entry, a, b, a, order=1)
        a, b, _ = operands(name, shape)
        b.values = b.look(b.bytes.view(b.values.dtype))
        run(name, entry, a, b, b, order=2)
        run(name, entry, b, b, b)


@pytest.mark.parametrize("entry", ["flat", "rows", "strided", "strided_wide"])
@pytest.mark.parametrize("name", SOME)
def test_every_grid_size_equals_numpy(name, entry):
    """A grid that goes over the elements several times, one that is just enough, one with blocks to
    spare.
    """
    for blocks in [1, 3, 7, 50]:
        run(name, entry, *operands(name, (19, 224)), blocks=blocks, order=blocks % 3)


@pytest.mark.parametrize("name", SOME)
def test_empty_arrays_are_not_written(name):
    for entry in ["flat", "strided", "strided_wide"]:
        run(name, entry, *operands(name, (0,)))
        run(name, entry, *operands(name, (2, 0, 3)))
