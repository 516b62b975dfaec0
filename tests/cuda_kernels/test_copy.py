"""copy, in all sizes of elements, and the transposition of matrices by tiles."""

import ctypes
import itertools
import mmap

import modules
import numpy
import pytest
from arrays import Array, i64, layout, run_unchanged_around, size, u32, u64
from on_cpu import Device

DEVICE = Device(modules.copy() + modules.transpose())
SIZES = [1, 2, 4, 8, 16]
ENTRIES = ["flat", "rows", "strided", "strided_wide"]
KINDS = ["contiguous", "off by one", "transposed", "backwards", "every second", "padded"]


class Elements(Array):
    """Elements of a size in bytes, with distinct bytes, so that none is like another."""

    def __init__(self, bytes, shape, kind="contiguous"):
        super().__init__(DEVICE, f"bytes{bytes}", shape, kind)

    def count(self):
        bytes = self.values.itemsize
        counted = numpy.zeros((size(self.values.shape), bytes), numpy.uint8)
        numbers = numpy.arange(len(counted))
        for k in range(min(bytes, 4)):
            counted[:, k] = numbers >> (8 * k)
        counted[:, -1] ^= 0x3C
        return self.fill(counted.view(self.values.dtype).reshape(self.values.shape))


def run(bytes, entry, x, out, blocks=2, order=0):
    shape = out.values.shape
    arguments = [x.pointer, out.pointer]
    if entry == "flat":
        arguments += [u64(size(shape))]
    else:
        count = size(shape[:-1]) if entry == "rows" else size(shape)
        arguments += [
            layout(shape, out.strides, x.strides),
            (u64 if entry == "strided_wide" else u32)(count),
        ]
    run_unchanged_around(
        out, DEVICE, f"copy_{bytes}_{entry}", blocks, (256, 1), *arguments, order=order
    )
    assert out.values.tobytes() == x.values.tobytes()


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("bytes", SIZES)
def test_contiguous_arrays_equal_numpy(bytes, entry):
    for shape in [(0,), (1,), (7,), (4099,), (3, 32), (2, 5, 64)]:
        for blocks in [1, 3, 40]:
            run(
                bytes,
                entry,
                Elements(bytes, shape).count(),
                Elements(bytes, shape),
                blocks,
                blocks % 3,
            )


@pytest.mark.parametrize("entry", ["strided", "strided_wide"])
@pytest.mark.parametrize("bytes", SIZES)
def test_strided_layouts_equal_numpy(bytes, entry):
    for shape in [(), (1,), (37,), (5, 7), (3, 1, 11), (2, 3, 2, 1, 2, 3, 2, 2)]:
        for kinds in itertools.product(KINDS, KINDS):
            x, out = (Elements(bytes, shape, kind) for kind in kinds)
            run(bytes, entry, x.count(), out)


@pytest.mark.parametrize("bytes", SIZES)
def test_rows_equal_numpy(bytes):
    for shape in [(5,), (7, 5), (3, 1, 37)]:
        run(
            bytes,
            "rows",
            Elements(bytes, shape, "padded").count(),
            Elements(bytes, shape, "padded"),
        )
    for shape in [(), (32,), (6, 1)]:
        for entry in ["rows", "strided"]:
            x = Elements(bytes, shape).count()
            x.values = numpy.broadcast_to(x.values, (6, 32))
            run(bytes, entry, x, Elements(bytes, (6, 32)))


@pytest.mark.parametrize(
    ("entry", "stride"), [("strided", (1 << 30) - 1), ("strided_wide", 3 << 29)]
)
def test_offsets_around_32_bits_are_reached(entry, stride):
    """Offsets up to the ends of what 32 bits hold, and beyond, in both directions."""
    memory = numpy.frombuffer(
        mmap.mmap(-1, 2 * stride + 1), numpy.uint8
    )  # Of which few pages are touched.
    memory[::stride] = [1, 2, 3]
    out = Elements(1, (3,))
    count = (u64 if entry == "strided_wide" else u32)(3)
    for first, step, expected in [(0, stride, b"\1\2\3"), (2 * stride, -stride, b"\3\2\1")]:
        x = ctypes.c_void_p(memory.ctypes.data + first)
        DEVICE.launch(
            f"copy_1_{entry}", 1, (256, 1), x, out.pointer, layout((3,), (1,), (step,)), count
        )
        assert out.values.tobytes() == expected


def transpose(bytes, pack, batch, rows, columns, gap=0, order=0, blocks=None):
    """From rows to columns, each with a gap after it."""
    x = Elements(bytes, (*batch, rows, columns + gap)).count()
    out = Elements(bytes, (*batch, columns, rows + gap))
    x.values, look = x.values[..., :columns], out.look
    out.look = lambda all: look(all)[..., :rows]
    out.values = out.values[..., :rows]
    matrices = layout(batch, out.strides[:-2], x.strides[:-2])
    side = 32 * max(4 // bytes, 1)
    tiles = -(-rows // side) * -(-columns // side) * size(batch)
    arguments = [x.pointer, out.pointer, matrices, u32(size(batch)), u64(rows), u64(columns)]
    arguments += [i64(x.strides[-2]), i64(out.strides[-2])]
    run_unchanged_around(
        out,
        DEVICE,
        f"transpose_{bytes}x{pack}_tiles",
        blocks or max(tiles, 1),
        (32, 8),
        *arguments,
        order=order,
    )
    assert out.values.tobytes() == x.values.swapaxes(-1, -2).tobytes()


@pytest.mark.parametrize("bytes", SIZES)
def test_transpose_equals_numpy(bytes):
    for rows, columns in [(1, 1), (1, 70), (70, 1), (32, 32), (33, 31), (65, 130), (129, 3)]:
        for order, (batch, gap) in enumerate([((), 0), ((3,), 1), ((2, 2), 5)]):
            transpose(bytes, 1, batch, rows, columns, gap, order)
    transpose(bytes, 1, (3,), 100, 200, blocks=2, order=2)
    transpose(bytes, 1, (0,), 3, 4)


@pytest.mark.parametrize(("bytes", "pack"), [(1, 4), (2, 2)])
def test_packed_transpose_equals_numpy(bytes, pack):
    for rows, columns in [(4, 4), (4, 132), (132, 8), (128, 128), (64, 260)]:
        for order, (batch, gap) in enumerate([((), 0), ((3,), 4), ((2, 2), 8)]):
            transpose(bytes, pack, batch, rows, columns, gap, order)
    transpose(bytes, pack, (3,), 100, 200, blocks=2, order=2)
