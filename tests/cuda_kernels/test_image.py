"""image_to_tensor, against NumPy in f32, bit for bit, and resized as PyTorch does it."""

import modules
import numpy
import pytest
from arrays import TYPES, Array, assert_same, i64, layout, run_unchanged_around, size, u32, u64
from on_cpu import Device

DEVICE = Device(modules.image())
RESULTS = ["f16", "bf16", "f32"]
F32 = numpy.float32
SCALE = F32(1 / 255)


class Images:
    """Images of bytes, and room for their planes."""

    def __init__(
        self, result, batch, height, width, channels, kinds=("contiguous",) * 2, size=None, crop=0
    ):
        generator = numpy.random.default_rng(height)
        self.x = Array(DEVICE, "u8", (*batch, height, width, channels), kinds[0])
        self.x.fill(generator.integers(0, 256, self.x.values.shape))
        self.x.values = self.x.values[..., crop:, crop:, :]
        self.out_size = size or self.x.values.shape[-3:-1]
        self.out = Array(DEVICE, result, (*batch, channels, *self.out_size), kinds[1])
        self.mean, self.std = (Array(DEVICE, "f32", (channels,)) for _ in range(2))
        self.mean.fill(generator.random(channels))
        self.std.fill(generator.random(channels) + 0.1)
        self.batch, self.channels, self.result = batch, channels, result

    def pointers(self):
        return [array.pointer for array in (self.x, self.mean, self.std, self.out)]

    def normalized(self, values):
        values = numpy.moveaxis(values.astype(F32), -1, -3)
        mean, std = (array.values.reshape(-1, 1, 1) for array in (self.mean, self.std))
        return ((SCALE * values - mean) / std).astype(TYPES[self.result])

    def run(self, entry, arguments, wanted, blocks=2, order=0):
        name = f"image_{self.result}x{self.channels if entry == 'planes' else 1}_{entry}"
        call = [name, blocks, (256, 1), *self.pointers(), *arguments, SCALE]
        if entry == "resized":
            call += [u32(size) for size in self.x.values.shape[-3:-1]]
        run_unchanged_around(self.out, DEVICE, *call, order=order)
        assert_same(self.out.values, wanted)

    def pixels(self):
        """The layout of all dimensions but the colours', and what else is requested."""
        of_out, of_x = self.out.strides, self.x.strides
        shape = (*self.batch, *self.out_size)
        strides = [(*of_out[:-3], *of_out[-2:]), of_x[:-1]]
        return [
            layout(shape, *strides),
            u64(size(shape)),
            u32(self.channels),
            i64(of_x[-1]),
            i64(of_out[-3]),
        ]


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("result", RESULTS)
def test_planes_equal_numpy(result, channels):
    for batch, height, width in [((), 4, 4), ((3,), 8, 31), ((2, 2), 2, 600), ((0,), 4, 4)]:
        images = Images(result, batch, height, width, channels)
        strides = [array.strides[:-3] for array in (images.out, images.x)]
        arguments = [
            layout(batch, *strides),
            u32(size(batch)),
            u32(height * width),
            i64(images.out.strides[-3]),
        ]
        for blocks, order in [(1, 1), (3, 2)]:
            images.run("planes", arguments, images.normalized(images.x.values), blocks, order)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("result", RESULTS)
def test_pixels_equal_numpy(result, channels):
    for batch, height, width in [
        ((), 1, 1),
        ((), 5, 7),
        ((3,), 9, 40),
        ((2, 2), 3, 3),
        ((0,), 4, 4),
        ((2,), 0, 3),
    ]:
        for number, kinds in enumerate(
            [("contiguous", "off by one"), ("transposed", "backwards"), ("every second",) * 2]
        ):
            for crop in [0, 1] if min(height, width) > 1 else [0]:
                images = Images(result, batch, height, width, channels, kinds, crop=crop)
                images.run("pixels", images.pixels(), images.normalized(images.x.values), 2, number)


def between(out_size, size):
    """Which pixels of a line, and how much of each: as in PyTorch, without its antialiasing."""
    numbers = numpy.arange(out_size).astype(F32)
    place = F32(size) / F32(out_size) * (numbers + F32(0.5)) - F32(0.5)
    place = numpy.maximum(place, F32(0))
    before = numpy.minimum(place.astype(int), size - 1)
    share = numpy.minimum(place - before.astype(F32), F32(1))
    return before, numpy.minimum(before + 1, size - 1), F32(1) - share, share


def resized(images, height, width):
    above, below, of_above, of_below = between(height, images.shape[-3])
    left, right, of_left, of_right = between(width, images.shape[-2])
    values = images.astype(F32)
    of_left, of_right = of_left[:, None], of_right[:, None]
    lines = [
        of_left * values[..., lines, :, :][..., left, :]
        + of_right * values[..., lines, :, :][..., right, :]
        for lines in (above, below)
    ]
    return of_above[:, None, None] * lines[0] + of_below[:, None, None] * lines[1]


@pytest.mark.parametrize("result", RESULTS)
def test_resized_images_equal_numpy(result):
    for batch, channels in [((), 3), ((2,), 1), ((2, 2), 4)]:
        for shape, out_shape in [
            ((5, 7), (10, 14)),
            ((10, 14), (5, 7)),
            ((6, 6), (6, 6)),
            ((9, 5), (4, 31)),
            ((1, 1), (3, 2)),
            ((3, 8), (1, 1)),
        ]:
            for number, kinds in enumerate(
                [("contiguous",) * 2, ("transposed", "backwards"), ("every second",) * 2]
            ):
                images = Images(result, batch, *shape, channels, kinds, size=out_shape)
                wanted = images.normalized(resized(images.x.values, *out_shape))
                images.run("resized", images.pixels(), wanted, 2, number)


def test_resized_images_equal_torch():
    torch = pytest.importorskip("torch")
    for shape, out_shape in [
        ((5, 7), (10, 14)),
        ((31, 17), (8, 9)),
        ((9, 5), (4, 31)),
        ((64, 48), (224, 224)),
    ]:
        images = Images("f32", (2,), *shape, 3, size=out_shape)
        planes = torch.from_numpy(numpy.moveaxis(images.x.values, -1, 1).astype(F32))
        theirs = torch.nn.functional.interpolate(
            planes, out_shape, mode="bilinear", align_corners=False
        ).numpy()
        ours = numpy.moveaxis(resized(images.x.values, *out_shape), -1, 1)
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-3)
        wanted = images.normalized(resized(images.x.values, *out_shape))
        images.run("resized", images.pixels(), wanted, 3)
