"""rms_norm, against NumPy in more precision."""

import modules
import numpy
import pytest
from arrays import Array, f64, i64, layout, run_unchanged_around, size, u32, u64
from on_cpu import Device

DEVICE = Device(modules.rms_norm())
PACKS = [(element, pack) for element in modules.FLOATS for pack in (1, modules.WIDEST[element])]
# How many packs a thread holds, of single elements and of others.
HELD = {"held_few": (2, 1), "held_several": (4, 2), "held_many": (8, 4), "looped": (50, 20)}
ROUNDING = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24, "f64": 2**-53}
EPS = 1e-3


def run(
    entry,
    element,
    shape,
    kinds=("contiguous",) * 3,
    block=(32, 2),
    pack=1,
    order=0,
    in_place=False,
    scale=1,
):
    generator = numpy.random.default_rng(shape[-1])
    x, weight, out = (
        Array(DEVICE, element, *which) for which in zip((shape, shape[-1:], shape), kinds)
    )
    x.fill(generator.standard_normal(shape) * scale)
    weight.fill(generator.standard_normal(shape[-1]) + 1)
    out = x if in_place else out
    wide, weights = x.values.astype(numpy.longdouble), weight.values.astype(numpy.longdouble)
    with numpy.errstate(all="ignore"):
        wanted = (
            wide
            / numpy.sqrt(numpy.mean(wide * wide, axis=-1, keepdims=True) + numpy.longdouble(EPS))
            * weights
        )
    strides = [array.strides for array in (out, x, weight)]
    kept = layout(shape[:-1], strides[0][:-1], strides[1][:-1])
    arguments = [
        x.pointer,
        weight.pointer,
        out.pointer,
        kept,
        u32(size(shape[:-1])),
        u64(shape[-1]),
    ]
    arguments += [i64(strides[1][-1]), i64(strides[2][-1]), i64(strides[0][-1]), f64(EPS)]
    call = [f"rms_norm_{element}x{pack}_{entry}", 2, block, *arguments]
    run_unchanged_around(out, DEVICE, *call, order=order)
    inner = 2**-53 if element == "f64" else 2**-24
    smallest = 2.0**-25 if element == "f16" else 2.0**-133
    limit = numpy.abs(wanted) * (ROUNDING[element] + 8 * inner) + smallest
    assert numpy.all(numpy.abs(out.values.astype(numpy.longdouble) - wanted) <= limit)


@pytest.mark.parametrize("entry", HELD)
@pytest.mark.parametrize(("element", "pack"), PACKS)
def test_every_length_equals_numpy(element, pack, entry):
    packs = HELD[entry][pack > 1]
    for order, block in enumerate([(1, 32), (4, 16), (32, 2), (64, 1)]):
        most = block[0] * packs * pack
        for length in {pack, most, most - pack, most // 2 // pack * pack} - {0}:
            for kind in ["contiguous", "padded"]:
                for in_place in [False, True]:
                    kinds = (kind, "contiguous", kind)
                    run(entry, element, (5, length), kinds, block, pack, order, in_place)


@pytest.mark.parametrize("element", modules.FLOATS)
def test_large_blocks_equal_numpy(element):
    pack = modules.WIDEST[element]
    for entry in ["held_many", "looped"]:
        run(entry, element, (2, 1024 * 4 * pack - pack), block=(1024, 1), pack=pack, order=2)


@pytest.mark.parametrize("entry", HELD)
@pytest.mark.parametrize("element", modules.FLOATS)
def test_strided_layouts_equal_numpy(element, entry):
    kinds = ["contiguous", "off by one", "transposed", "backwards", "every second"]
    for shape in [(7,), (6, 40), (3, 4, 9), (2, 3, 1, 2, 5)]:
        for number, kind in enumerate(kinds):
            run(
                entry,
                element,
                shape,
                (kind, kinds[number - 1], kinds[number - 2]),
                (32, 4),
                order=number % 3,
            )


@pytest.mark.parametrize("entry", HELD)
@pytest.mark.parametrize("element", modules.FLOATS)
def test_extreme_scales_equal_numpy(element, entry):
    """Rows so small that eps decides, rows of zeros, and rows whose squares don't fit into the
    type.
    """
    for scale in [0, 1e-4, 100] + ([1e4] if element == "f16" else [1e15]):
        run(entry, element, (3, 40), scale=scale)


@pytest.mark.parametrize("entry", HELD)
@pytest.mark.parametrize("element", modules.FLOATS)
def test_empty_arrays_are_not_written(element, entry):
    run(entry, element, (0, 5))
    run(entry, element, (0, 3, 8))


@pytest.mark.parametrize("element", modules.FLOATS)
def test_infinities_and_nan_equal_numpy(element):
    for entry in HELD:
        for special in [numpy.inf, numpy.nan]:
            x = Array(DEVICE, element, (2, 8)).fill(1)
            x.values[1, 3] = special
            weight, out = Array(DEVICE, element, (8,)).fill(1), Array(DEVICE, element, (2, 8))
            kept = layout((2,), (8,), (8,))
            arguments = [
                x.pointer,
                weight.pointer,
                out.pointer,
                kept,
                u32(2),
                u64(8),
                i64(1),
                i64(1),
                i64(1),
                f64(0),
            ]
            DEVICE.launch(f"rms_norm_{element}x1_{entry}", 1, (32, 1), *arguments)
            found = out.values.astype("f8")
            assert numpy.all(found[0] == 1)
            # What is divided by infinity is 0, and infinity itself is not a number.
            rest = 0 if special == numpy.inf else numpy.nan
            numpy.testing.assert_array_equal(found[1], [rest] * 3 + [numpy.nan] + [rest] * 4)
