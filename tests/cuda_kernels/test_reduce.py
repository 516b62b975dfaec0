"""sum, mean, max, against NumPy in more precision."""

import math

import modules
import numpy
import pytest
from arrays import (
    TYPES,
    Array,
    assert_same,
    ends,
    layout,
    run_unchanged_around,
    size,
    some_numbers,
    u32,
    u64,
)
from on_cpu import Device

DEVICE = Device(modules.reduce())
OPERATIONS = [
    module.name.replace("_rows", "") for module in modules.reduce() if "_rows" in module.name
]
SOME = [
    "sum_f16",
    "mean_bf16",
    "sum_f32",
    "mean_f64",
    "max_f16",
    "max_f32",
    "sum_i8",
    "max_u8",
    "sum_i64",
    "sum_i8_i64",
    "sum_i64_u8",
    "sum_f16_f32",
    "max_i32",
]
BYTES_OF_PARTIAL = 8


def parts_of(name):
    """The operation, and the types of the elements and of the results."""
    operation, element, *result = name.split("_")
    return operation, element, *(result or [element])


def blocks_for(name, first, *others):
    """All sizes of blocks for some of the operations, and one for the rest, which have the same
    code.
    """
    return [first, *others] if name in SOME else [first]


def values_for(operation, element, shape, seed=0):
    generator = numpy.random.default_rng(seed)
    if TYPES[element].kind in "iu":
        return some_numbers(generator, element, shape)
    values = generator.standard_normal(shape).astype(TYPES[element])
    if operation == "max" and size(shape) > 3:
        special = some_numbers(generator, element, shape)
        values = numpy.where(generator.integers(0, 50, shape) == 0, special, values)
    return values


def expected(operation, values, axes, result):
    count = math.prod(values.shape[axis] for axis in axes)
    is_float = values.dtype.kind not in "iu"
    wide = values.astype(numpy.longdouble) if is_float else values
    if operation == "max":
        return numpy.max(values.astype("f8") if is_float else values, axis=axes).astype(
            values.dtype
        )
    with numpy.errstate(all="ignore"):
        total = numpy.sum(wide, axis=axes, dtype=wide.dtype if is_float else result)
        if operation == "mean":
            total = total / numpy.longdouble(count)
        return total


def assert_near(operation, found, values, axes):
    wanted = expected(operation, values, axes, found.dtype)
    if operation == "max" or values.dtype.kind in "iu":
        return assert_same(found, wanted)
    # One rounding at the end, and those of a sum in f32, or in f64, in any order.
    count = math.prod(values.shape[axis] for axis in axes)
    rounding = {"f2": 2**-11, "V2": 2**-8, "f4": 2**-24, "f8": 2**-53}[found.dtype.str[1:]]
    of_sum = 2**-24 if values.dtype.itemsize == 2 else 2**-53
    magnitude = numpy.sum(numpy.abs(values.astype("f8")), axis=axes)
    if operation == "mean" and count > 0:
        magnitude = magnitude / count
    limit = numpy.abs(wanted) * rounding * 1.01 + magnitude * of_sum * 30 + 1e-40
    difference = numpy.abs(found.astype(numpy.longdouble) - wanted)
    both_nan = numpy.isnan(wanted) & numpy.isnan(found.astype("f8"))
    assert numpy.all(both_nan | (difference <= limit)), (found, wanted)


class Reduction:
    """Some axes of an array, with everything that the kernels ask for worked out."""

    def __init__(self, name, shape, axes, kind="contiguous", out_kind="contiguous", seed=0):
        self.operation, element, result = parts_of(name)
        self.name, self.axes, self.splits = name, axes, 1
        self.kept_axes = [axis for axis in range(len(shape)) if axis not in axes]
        self.kept_shape = tuple(shape[axis] for axis in self.kept_axes)
        self.x = Array(DEVICE, element, shape, kind).fill(
            values_for(self.operation, element, shape, seed)
        )
        self.out = Array(DEVICE, result, self.kept_shape, out_kind)
        self.kept = layout(
            self.kept_shape, self.out.strides, [self.x.strides[axis] for axis in self.kept_axes]
        )
        self.merged = layout(
            [shape[axis] for axis in axes], [self.x.strides[axis] for axis in axes]
        )
        self.results, self.length = size(self.kept_shape), math.prod(shape[axis] for axis in axes)

    def run(self, entry, block, splits=1, blocks=3, order=0):
        kind = "columns" if entry.startswith("columns") else "rows"
        name = self.name.replace("_", f"_{kind}_", 1)
        partials = DEVICE.memory(self.results * splits * BYTES_OF_PARTIAL)
        arguments = [self.x.pointer, self.out.pointer, partials, self.kept, u32(self.results)]
        arguments += [] if entry == "rows" else [self.merged]
        arguments += [
            (u32 if kind == "columns" else u64)(self.length),
            u32(splits),
            u64(self.length),
        ]
        run_unchanged_around(
            self.out, DEVICE, f"{name}_{entry}", blocks, block, *arguments, order=order
        )
        if splits > 1:
            arguments = [
                partials,
                self.out.pointer,
                self.kept,
                u32(self.results),
                u32(splits),
                u64(self.length),
            ]
            run_unchanged_around(
                self.out, DEVICE, f"{name}_finish", 2, (32, 8), *arguments, order=order
            )
        assert_near(self.operation, self.out.values, self.x.values, tuple(self.axes))


def can_merge_nothing(name):
    return not name.startswith("max")


@pytest.mark.parametrize("name", OPERATIONS)
def test_rows_of_every_length_equal_numpy(name):
    """Of all lengths, and with that of all alignments; in groups of all sizes."""
    for rows, length in [(1, 1), (5, 3), (33, 17), (4, 100), (3, 1027), (70, 64)]:
        for block in blocks_for(name, (32, 2), (1, 32), (4, 16), (32, 1), (64, 1), (256, 1)):
            for order in range(3) if block == (64, 1) else [block[1] % 3]:
                Reduction(name, (rows, length), [1]).run("rows", block, order=order)
    if can_merge_nothing(name):
        Reduction(name, (3, 0), [1]).run("rows", (32, 2))
    Reduction(name, (0, 5), [1]).run("rows", (32, 2))
    Reduction(name, (3, 5), []).run("rows", (32, 2))


@pytest.mark.parametrize("name", SOME)
def test_unaligned_and_padded_rows_equal_numpy(name):
    for kind in ["off by one", "padded"]:
        for shape, axes in [((37,), [0]), ((6, 50), [1]), ((2, 3, 41), [2])]:
            reduction = Reduction(name, shape, axes, kind, "every second")
            reduction.run("rows", (32, 4), order=1)
            reduction.run("strided", (32, 4))


@pytest.mark.parametrize("name", OPERATIONS)
def test_long_rows_split_over_blocks_equal_numpy(name):
    for rows, length in [(1, 30_000), (2, 5_003), (3, 40)]:
        for splits in [2, 17]:
            reduction = Reduction(name, (rows, length), [1])
            reduction.run("rows", (64, 1), splits, blocks=rows * splits, order=splits % 3)
            reduction.run("strided", (32, 2), splits)


@pytest.mark.parametrize("name", OPERATIONS)
def test_strided_layouts_equal_numpy(name):
    for shape, axes in [
        ((5, 4, 3), [1]),
        ((5, 4, 3), [0, 2]),
        ((2, 3, 4, 5, 2), [1, 3]),
        ((7, 9), [0, 1]),
        ((), []),
    ]:
        for kind in ["contiguous", "transposed", "backwards", "every second"]:
            for block in blocks_for(name, (32, 2), (2, 16), (128, 1)):
                Reduction(name, shape, axes, kind).run("strided", block, order=block[1] % 3)


@pytest.mark.parametrize("name", OPERATIONS)
def test_columns_equal_numpy(name):
    for shape, axes in [
        ((9, 1), [0]),
        ((1, 70), [0]),
        ((100, 33), [0]),
        ((3, 40, 5), [1]),
        ((4, 3, 5, 6), [0, 2]),
    ]:
        for block in blocks_for(name, (16, 4), (32, 1), (32, 8), (4, 32), (256, 1)):
            for splits in [1, 3]:
                Reduction(name, shape, axes).run("columns", block, splits, order=splits % 3)
        for kind in ["transposed", "backwards", "every second"]:
            Reduction(name, shape, axes, kind, "transposed").run("columns", (16, 4), order=1)
    if can_merge_nothing(name):
        Reduction(name, (0, 5), [0]).run("columns", (32, 8))


@pytest.mark.parametrize("name", OPERATIONS)
def test_packed_columns_equal_numpy(name):
    for shape, axes in [
        ((9, 16), [0]),
        ((1, 80), [0]),
        ((100, 32), [0]),
        ((3, 40, 16), [1]),
        ((4, 3, 5, 32), [0, 2]),
    ]:
        for block in blocks_for(name, (8, 4), (32, 1), (8, 16), (1, 128)):
            for splits in [1, 3]:
                Reduction(name, shape, axes).run("columns_packed", block, splits, order=splits % 3)


@pytest.mark.parametrize("name", ["max_f16", "max_bf16", "max_f32", "max_f64"])
@pytest.mark.parametrize("entry", ["rows", "strided", "columns"])
def test_max_propagates_nan(name, entry):
    for place in range(0, 40, 3):
        for other in [1.0, numpy.inf]:
            reduction = Reduction(
                name, (40, 1) if entry == "columns" else (1, 40), [0 if entry == "columns" else 1]
            )
            values = numpy.full(40, other)
            values[place] = numpy.nan
            reduction.x.fill(values.reshape(reduction.x.values.shape))
            reduction.run(entry, (8, 4) if entry == "rows" else (32, 1))
            assert numpy.isnan(reduction.out.values.astype("f4")).all()


@pytest.mark.parametrize("element", modules.NUMBERS)
def test_max_of_lowest_values_equals_numpy(element):
    """Where all are the smallest number there is, that is the result."""
    for entry, axis in [("rows", 1), ("strided", 1), ("columns", 0)]:
        reduction = Reduction(f"max_{element}", (6, 6), [axis])
        is_float = TYPES[element].kind not in "iu"
        reduction.x.fill(-numpy.inf if is_float else ends(TYPES[element])[0])
        reduction.run(entry, (32, 1))


def test_sum_accumulates_in_wider_type():
    """What would be lost in sums of the type itself: small after large, and what overflows on the
    way.
    """
    for name, values, total in [
        ("sum_f16", [2048.0] + [1.0] * 1000, 3048.0),
        ("sum_bf16", [256.0] + [1.0] * 128, 384.0),
        ("sum_f32", [1e8] + [1.0] * 1000, 100001000.0),
        ("sum_f16", [60000.0, 60000.0, -60000.0], 60000.0),
        ("mean_f16", [60000.0, 60000.0], 60000.0),
    ]:
        for entry, shape in [("rows", (1, -1)), ("strided", (1, -1)), ("columns", (-1, 1))]:
            values = numpy.array(values)
            reduction = Reduction(name, values.reshape(shape).shape, [1 - shape.index(1)])
            reduction.x.fill(values.reshape(shape))
            reduction.run(entry, (32, 1))
            assert float(reduction.out.values.ravel()[0]) == float(
                numpy.array(total, TYPES[name.split("_")[1]])
            )
