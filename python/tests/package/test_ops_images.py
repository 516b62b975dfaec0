"""Images cropped, mirrored and resized by areas, and frames of videos, against PyTorch and NumPy."""

import numpy as np
import pytest
from dlbridge import ops
from support import framework, refused

torch = framework("torch")
functional = torch.nn.functional

MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])


def pixels(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(256, shape, dtype=torch.uint8, generator=generator)


def as_torch_does(image, size=None, mode="bilinear"):
    planes = image.movedim(-1, -3).double()
    flat = planes.reshape(-1, *planes.shape[-3:])
    if size:
        corners = {} if mode == "area" else {"align_corners": False}
        flat = functional.interpolate(flat, size, mode=mode, **corners)
    planes = flat.reshape(*planes.shape[:-2], *flat.shape[-2:])
    return (planes / 255 - MEAN.double()[:, None, None]) / STD.double()[:, None, None]


def assert_close(found, expected):
    rounding = {torch.float32: 1e-5, torch.float16: 6e-4, torch.bfloat16: 5e-3}[found.dtype]
    torch.testing.assert_close(found.double(), expected, rtol=rounding, atol=5e-5)


SIZES = [(4, 6), (2, 3), (5, 5), (8, 13), (1, 1), (16, 12), (40, 30)]


@pytest.mark.parametrize("mode", ["bilinear", "area"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_resized_images_equal_torch(mode, dtype):
    for image in (pixels(8, 12, 3), pixels(2, 8, 13, 3), pixels(2, 1, 31, 21, 3)):
        for height, width in SIZES:
            options = {"height": height, "width": width, "resize": mode, "dtype": dtype}
            expected = as_torch_does(image, (height, width), mode)
            assert_close(ops.image_to_tensor(image, MEAN, STD, **options), expected)
            flipped = ops.image_to_tensor(image, MEAN, STD, flip=True, **options)
            assert_close(flipped, expected.flip(-1))
            planar = image.movedim(-1, 0).contiguous().movedim(0, -1)
            assert_close(ops.image_to_tensor(planar, MEAN, STD, **options), expected)


@pytest.mark.parametrize(
    "options", [{}, {"height": 17, "width": 40}, {"width": 9, "resize": "area"}]
)
def test_crop_equals_a_view(options):
    image = pixels(3, 40, 50, 3)
    view = image[:, 3:23, 5:36]
    expected = ops.image_to_tensor(view.contiguous(), MEAN, STD, **options)
    assert torch.equal(ops.image_to_tensor(view, MEAN, STD, **options), expected)
    cropped = ops.image_to_tensor(image, MEAN, STD, crop=(3, 5, 20, 31), **options)
    assert torch.equal(cropped, expected)
    flipped = ops.image_to_tensor(image, MEAN, STD, crop=[3, 5, 20, 31], flip=True, **options)
    assert torch.equal(flipped, expected.flip(-1))


def test_images_of_one_size_equal_numpy_bit_for_bit():
    for channels in (1, 3, 4):
        image = pixels(5, 301, channels)
        mean, std = np.linspace(0.2, 0.6, channels, dtype="f4"), np.float32([0.3] * channels)
        expected = (np.float32(1 / 255) * image.numpy().astype("f4") - mean) / std
        found = ops.image_to_tensor(image, mean, std)
        assert torch.equal(found, torch.from_numpy(expected).movedim(-1, -3))


def test_image_op_rejects_crops_and_filters_that_do_not_fit():
    image = pixels(4, 6, 3)
    with refused(
        ValueError, "crop=(1,2,4,2,) is out of bounds for an image of height 4 and width 6"
    ):
        ops.image_to_tensor(image, MEAN, STD, crop=(1, 2, 4, 2))
    with refused(ValueError, "expected (top, left, height, width) for crop, got (1,2,)"):
        ops.image_to_tensor(image, MEAN, STD, crop=(1, 2))
    with refused(ValueError, 'expected "bilinear" or "area" for resize, got "nearest"'):
        ops.image_to_tensor(image, MEAN, STD, resize="nearest")


def as_numpy_does(y, uv, standard, full_range):
    red, blue = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722)}[standard]
    green = 1 - red - blue
    black, of_y, of_uv = (0, 1, 1) if full_range else (16, 255 / 219, 255 / 224)

    def fixed(coefficient):
        return np.round(coefficient * 65536) / 65536

    y = fixed(of_y) * (y.astype("f8") - black)
    u, v = (uv.astype("f8").repeat(2, -3).repeat(2, -2)[..., at] - 128 for at in (0, 1))
    planes = [
        y + fixed(of_uv * 2 * (1 - red)) * v,
        y
        + fixed(-of_uv * 2 * (1 - blue) * blue / green) * u
        + fixed(-of_uv * 2 * (1 - red) * red / green) * v,
        y + fixed(of_uv * 2 * (1 - blue)) * u,
    ]
    return np.clip(np.floor(np.stack(planes, -1) + 0.5), 0, 255).astype("u1")


@pytest.mark.parametrize("standard", ["bt601", "bt709"])
@pytest.mark.parametrize("full_range", [False, True])
def test_nv12_to_rgb_equals_numpy(standard, full_range):
    options = {"standard": standard, "full_range": full_range}
    for height, width in [(2, 2), (4, 6), (34, 70), (270, 1200)]:
        frame = pixels(2, height * 3 // 2, width).numpy()
        y, rows = frame[:, :height], frame[:, height:]
        uv = rows.reshape(2, height // 2, width // 2, 2)
        expected = as_numpy_does(y, uv, **options)
        for colours in (rows, uv, np.asfortranarray(uv)):
            np.testing.assert_array_equal(ops.nv12_to_rgb(y, colours, **options), expected)
        np.testing.assert_array_equal(ops.nv12_to_rgb(y[1], uv[1], **options), expected[1])


def test_nv12_to_rgb_rejects_other_shapes():
    with refused(ValueError, "nv12_to_rgb: expected an even height and width"):
        ops.nv12_to_rgb(np.zeros((3, 4), "u1"), np.zeros((1, 4), "u1"))
    with refused(
        ValueError, "nv12_to_rgb: expected uv of shape [2, 2, 2] or [2, 4] for y of shape"
    ):
        ops.nv12_to_rgb(np.zeros((4, 4), "u1"), np.zeros((1, 4), "u1"))
    with refused(ValueError, 'expected "bt601" or "bt709" for standard, got "bt2020"'):
        ops.nv12_to_rgb(np.zeros((2, 2), "u1"), np.zeros((1, 2), "u1"), standard="bt2020")
