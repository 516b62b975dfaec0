"""softmax, against NumPy in more precision."""

import modules
import numpy
import pytest
from arrays import TYPES, Array, i64, layout, run_unchanged_around, size, u32, u64
from on_cpu import Device

DEVICE = Device(modules.softmax())
PACKS = [(element, pack) for element in modules.FLOATS for pack in (1, modules.WIDEST[element])]
# How many packs a thread holds, of single elements and of others.
HELD = {"held_few": (2, 1), "held_several": (4, 2), "held_many": (8, 4)}
ROUNDING = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24, "f64": 2**-53}


def expected(x, element, axis):
    """The result, and by how much it may differ: a few roundings where it is calculated, of the
    exponential that many more as the exponent is large; one to the element, of which the smallest
    have fewer digits."""
    with numpy.errstate(all="ignore"):
        wide = x.astype(numpy.longdouble)
        exponents = wide - numpy.max(wide, axis=axis, keepdims=True)
        powers = numpy.exp(exponents)
        wanted = powers / numpy.sum(powers, axis=axis, keepdims=True)
        inner = (10 - 2 * numpy.maximum(exponents, -1e4)) * (2**-53 if element == "f64" else 2**-24)
        smallest = {"f16": 2.0**-25, "bf16": 2.0**-134, "f32": 2.0**-149, "f64": 2.0**-1074}[
            element
        ]
        return wanted, wanted * (ROUNDING[element] + inner) + smallest


def assert_near(found, wanted, limit):
    found = found.astype(numpy.longdouble)
    assert numpy.all(
        (numpy.isnan(wanted) & numpy.isnan(found)) | (numpy.abs(found - wanted) <= limit)
    )


def made(element, shape, kind="contiguous", seed=0):
    """Rows with small differences, and large ones between them."""
    generator = numpy.random.default_rng(seed)
    x = Array(DEVICE, element, shape, kind)
    values = generator.standard_normal(shape) * 3 + 20 * generator.standard_normal((*shape[:-1], 1))
    x.fill(values.astype(TYPES[element]))
    return x


def run(module, entry, x, out, axis=-1, block=(32, 2), blocks=2, order=0, pack=1):
    shape, axis = x.values.shape, axis % x.values.ndim
    kept_axes = [k for k in range(len(shape)) if k != axis]
    strides = [[array.strides[k] for k in kept_axes] for array in (out, x)]
    kept_shape = [shape[k] for k in kept_axes]
    kept, rows = layout(kept_shape, *strides), size(kept_shape)
    arguments = [
        x.pointer,
        out.pointer,
        kept,
        u32(rows),
        u64(shape[axis]),
        i64(x.strides[axis]),
        i64(out.strides[axis]),
    ]
    wanted = expected(x.values, x.element, axis)
    run_unchanged_around(
        out, DEVICE, f"{module}_{x.element}x{pack}_{entry}", blocks, block, *arguments, order=order
    )
    assert_near(out.values, *wanted)


def split(x, out, splits, block, pack=1, order=0):
    """The two kernels for few long rows."""
    shape, rows = x.values.shape, size(x.values.shape[:-1])
    kept = layout(shape[:-1], out.strides[:-1], x.strides[:-1])
    measures = DEVICE.memory(rows * splits * 2 * (8 if x.element == "f64" else 4))
    name = f"softmax_long_{x.element}x{pack}"
    wanted = expected(x.values, x.element, -1)
    row = [kept, u32(rows), u64(shape[-1]), i64(x.strides[-1])]
    DEVICE.launch(f"{name}_measured", 3, block, x.pointer, measures, *row, u32(splits), order=order)
    arguments = [x.pointer, out.pointer, measures, *row, i64(out.strides[-1]), u32(splits)]
    run_unchanged_around(out, DEVICE, f"{name}_scaled", 3, block, *arguments, order=order)
    assert_near(out.values, *wanted)


@pytest.mark.parametrize("entry", HELD)
@pytest.mark.parametrize(("element", "pack"), PACKS)
def test_held_rows_equal_numpy(element, pack, entry):
    packs = HELD[entry][pack > 1]
    for order, block in enumerate([(1, 32), (4, 16), (32, 2), (64, 1)]):
        most = block[0] * packs * pack
        for length in {pack, most, most - pack, most // 2 // pack * pack} - {0}:
            for kind in ["contiguous", "padded"]:
                x = made(element, (5, length), kind, seed=length)
                run(
                    "softmax",
                    entry,
                    x,
                    Array(DEVICE, element, (5, length), kind),
                    -1,
                    block,
                    2,
                    order,
                    pack,
                )


@pytest.mark.parametrize("element", modules.FLOATS)
def test_held_rows_in_large_blocks_equal_numpy(element):
    pack = modules.WIDEST[element]
    length = 1024 * 4 * pack - pack
    x = made(element, (2, length))
    run("softmax", "held_many", x, x, -1, (1024, 1), 1, 2, pack)


@pytest.mark.parametrize(("element", "pack"), PACKS)
def test_long_rows_equal_numpy(element, pack):
    for length in {pack, 32 * pack, 1000 // pack * pack, 3000 // pack * pack}:
        for order, block in enumerate([(32, 1), (128, 1)]):
            x, out = made(element, (3, length), seed=length), Array(DEVICE, element, (3, length))
            run("softmax_long", "online", x, out, -1, block, 2, order, pack)
            for splits in [1, 9]:
                split(x, Array(DEVICE, element, (3, length)), splits, block, pack, order)


@pytest.mark.parametrize("element", modules.FLOATS)
def test_every_axis_and_layout_equals_numpy(element):
    """With single elements, by each of the kernels."""
    for shape in [(7,), (6, 40), (3, 4, 9), (2, 3, 1, 2, 5)]:
        for kind in ["contiguous", "off by one", "transposed", "backwards", "every second"]:
            for axis in range(len(shape)):
                x = made(element, shape, kind)
                run(
                    "softmax",
                    "held_several",
                    x,
                    Array(DEVICE, element, shape, "every second"),
                    axis,
                    (16, 4),
                )
                run("softmax_long", "online", x, Array(DEVICE, element, shape), axis, (32, 1), 1, 1)
                out = Array(DEVICE, element, shape, "transposed")
                run("softmax_columns", "columns", x, out, axis, (8, 8), 2, 2)


@pytest.mark.parametrize(("element", "pack"), PACKS)
def test_columns_equal_numpy(element, pack):
    for shape, axis in [
        ((9, 8 * pack), 0),
        ((3, 100, 2 * pack), 1),
        ((2, 5, 3, 4 * pack), 1),
        ((1, pack), 0),
    ]:
        for order, block in enumerate([(32, 1), (4, 8), (1, 32), (32, 8)]):
            x, out = made(element, shape, seed=order), Array(DEVICE, element, shape)
            run("softmax_columns", "columns", x, out, axis, block, 2, order, pack)


@pytest.mark.parametrize(("element", "pack"), PACKS)
def test_in_place_result_equals_numpy(element, pack):
    for length in [8 * pack, 64 * pack]:
        for call in [
            lambda x: run("softmax", "held_several", x, x, -1, (32, 2), 2, 1, pack),
            lambda x: run("softmax_long", "online", x, x, -1, (64, 1), 2, 1, pack),
            lambda x: split(x, x, 3, (32, 1), pack, 1),
            lambda x: run("softmax_columns", "columns", x, x, 0, (8, 8), 2, 1, pack),
        ]:
            call(made(element, (6, length)))


@pytest.mark.parametrize("element", modules.FLOATS)
def test_special_numbers_equal_the_formula(element):
    """Rows of infinities and NaN are what the formula makes of them; large numbers don't
    overflow.
    """
    largest = float(
        numpy.finfo(numpy.float32).max if element == "bf16" else numpy.finfo(TYPES[element]).max
    )
    if element == "bf16":
        largest = 3.3e38
    rows = [
        [-numpy.inf] * 8,
        [-numpy.inf] * 7 + [0.0],
        [0.0] * 7 + [numpy.inf],
        [numpy.nan] + [0.0] * 7,
        [0.0] * 7 + [numpy.nan],
        [largest] * 8,
        [-largest] * 8,
        [largest] + [-largest] * 7,
        [-numpy.inf, numpy.inf] * 4,
        [1000.0, 999.0] * 4,
    ]
    for axis in [0, 1]:
        for entry, module, block in [
            ("held_few", "softmax", (32, 1)),
            ("online", "softmax_long", (32, 1)),
            ("columns", "softmax_columns", (8, 4)),
        ]:
            values = numpy.array(rows) if axis == 1 else numpy.array(rows).T
            x = Array(DEVICE, element, values.shape).fill(values)
            run(module, entry, x, Array(DEVICE, element, values.shape), axis, block)
        if axis == 1:
            split(x, Array(DEVICE, element, values.shape), 3, (32, 1))


@pytest.mark.parametrize("element", modules.FLOATS)
def test_empty_arrays_are_not_written(element):
    for shape in [(0, 5), (3, 0)]:
        for entry, module, block in [
            ("held_few", "softmax", (32, 1)),
            ("online", "softmax_long", (32, 1)),
            ("columns", "softmax_columns", (8, 4)),
        ]:
            x = Array(DEVICE, element, shape)
            out = Array(DEVICE, element, shape)
            kept = layout(shape[:1], (shape[1],), (shape[1],))
            arguments = [x.pointer, out.pointer, kept, u32(shape[0]), u64(shape[1]), i64(1), i64(1)]
            run_unchanged_around(out, DEVICE, f"{module}_{element}x1_{entry}", 1, block, *arguments)
