"""Softmax, norms and images as tensors, compared with PyTorch's."""

import itertools

import numpy as np
import pytest
from dlbridge import ops
from support import framework, refused

torch = framework("torch")
functional = torch.nn.functional

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
SHAPES = [(1,), (7,), (3, 5), (2, 3, 4), (2, 1, 3, 2), (0, 3), (1, 300)]


def random(shape, dtype, scale=4.0):
    generator = torch.Generator().manual_seed(sum(shape))
    return (torch.randn(shape, generator=generator, dtype=torch.float64) * scale).to(dtype)


def layouts(x):
    """The same numbers in other places."""
    wide = torch.zeros([2 * n for n in x.shape], dtype=x.dtype)[(slice(None, None, 2),) * x.ndim]
    wide.copy_(x)
    backwards = torch.zeros(x.shape[::-1], dtype=x.dtype).permute(*range(x.ndim - 1, -1, -1))
    backwards.copy_(x)
    return [x, wide, backwards]


def assert_close(found, exact):
    """As exact as the type can be, calculated in `float32` at least."""
    assert isinstance(found, torch.Tensor)
    rounding = {
        torch.float64: 1e-14,
        torch.float32: 3e-6,
        torch.float16: 6e-4,
        torch.bfloat16: 5e-3,
    }[found.dtype]
    torch.testing.assert_close(found.double(), exact, rtol=rounding, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_equals_torch(dtype):
    for shape in SHAPES:
        x = random(shape, dtype)
        for axis in range(-x.ndim, x.ndim):
            expected = torch.softmax(x.double(), axis)
            for tensor in layouts(x):
                assert_close(ops.softmax(tensor, axis=axis), expected)
                out = layouts(torch.zeros_like(x))[-1]
                assert ops.softmax(tensor, axis=axis, out=out) is out
                assert_close(out, expected)
                assert ops.softmax(tensor, axis=axis, out=tensor) is tensor
                assert_close(tensor, expected)
                tensor.copy_(random(shape, dtype))
    x = torch.tensor([1e4, 1e4, -1e4]).to(dtype)
    assert ops.softmax(x).tolist() == [0.5, 0.5, 0]
    assert torch.isnan(ops.softmax(torch.tensor([-torch.inf, -torch.inf], dtype=dtype))).all()
    with refused(IndexError, "softmax: axis 1 is out of bounds for a tensor of rank 1"):
        ops.softmax(x, axis=1)
    with refused(IndexError, "softmax: axis -1 is out of bounds for a tensor of rank 0"):
        ops.softmax(x[0])
    with refused(
        ValueError,
        'softmax: argument "out" is to be written, and shares memory with "x"; it can be exactly',
    ):
        ops.softmax(x[1:], out=x[:-1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rms_norm_equals_torch(dtype):
    for shape in SHAPES:
        x, weight = random(shape, dtype), random(shape[-1:], dtype)
        for eps in (None, 0.5):
            expected = functional.rms_norm(x.double(), shape[-1:], weight.double(), eps or 1e-6)
            for tensor, weights in itertools.product(layouts(x), layouts(weight)):
                assert_close(ops.rms_norm(tensor, weights, eps=eps), expected)
                assert ops.rms_norm(tensor, weights, eps=eps, out=tensor) is tensor
                assert_close(tensor, expected)
                tensor.copy_(random(shape, dtype))
    x = torch.full((4,), 6e4).to(dtype)
    assert_close(ops.rms_norm(x, torch.ones_like(x)), torch.ones(4, dtype=torch.float64))
    with refused(ValueError, "rms_norm: weight has shape [3], and the last axis of x 4 elements"):
        ops.rms_norm(x, x[:3])
    with refused(ValueError, "rms_norm: expected x of rank 1 or more, got rank 0"):
        ops.rms_norm(x[0], x)
    with refused(
        ValueError, 'rms_norm: argument "out" is to be written, and shares memory with "weight"'
    ):
        ops.rms_norm(x, x, out=x)


def as_torch_does(image, mean, std, height=0, width=0, scale=1 / 255):
    planes = image.movedim(-1, -3).double()
    size = (height or planes.shape[-2], width or planes.shape[-1])
    flat = planes.reshape(-1, *planes.shape[-3:])
    planes = functional.interpolate(flat, size, mode="bilinear", align_corners=False)
    planes = planes.reshape(*image.shape[:-3], image.shape[-1], *size)
    return (scale * planes - mean.double()[:, None, None]) / std.double()[:, None, None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_image_to_tensor_equals_torch(dtype):
    generator = torch.Generator().manual_seed(5)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    for shape in [(5, 7, 3), (1, 1, 3), (2, 6, 4, 3), (2, 2, 3, 5, 3), (40, 30, 3)]:
        image = torch.randint(256, shape, dtype=torch.uint8, generator=generator)
        for size in [
            {},
            {"height": 11},
            {"width": 3},
            {"height": 4, "width": 9},
            {"height": 1, "width": 1},
        ]:
            for scale in (1 / 255, 0.5):
                expected = as_torch_does(image, mean, std, scale=scale, **size)
                for seen in layouts(image):
                    result = ops.image_to_tensor(seen, mean, std, dtype=dtype, scale=scale, **size)
                    assert result.dtype == dtype
                    rounding = {torch.float32: 1e-5, torch.float16: 6e-4, torch.bfloat16: 5e-3}[
                        dtype
                    ]
                    torch.testing.assert_close(
                        result.double(), expected, rtol=rounding, atol=1e-2 * scale
                    )
    one = torch.arange(6, dtype=torch.uint8).reshape(2, 3, 1)
    plain = ops.image_to_tensor(one, torch.zeros(1), torch.ones(1), scale=1, dtype=dtype)
    assert plain.tolist() == [[[0, 1, 2], [3, 4, 5]]]
    out = torch.zeros(1, 4, 6, dtype=dtype)[:, ::2, ::2]
    assert (
        ops.image_to_tensor(one, torch.zeros(1), torch.ones(1), out=out, scale=1, dtype=dtype)
        is out
    )
    assert out.tolist() == plain.tolist()


def test_image_to_tensor_of_mixed_frameworks_returns_the_first():
    image = np.arange(24, dtype="u1").reshape(2, 4, 3)
    mean, std = np.zeros(3, "f4"), torch.ones(3)
    planes = ops.image_to_tensor(image, mean, std, scale=1)
    assert type(planes) is np.ndarray and np.array_equal(planes, image.transpose(2, 0, 1))
    assert isinstance(ops.image_to_tensor(image, mean, std, like=std), torch.Tensor)


def test_non_image_tensor_is_refused():
    image, three = torch.zeros(4, 5, 3, dtype=torch.uint8), torch.ones(3)
    with refused(
        ValueError, "image_to_tensor: an image has height, width and channels, not shape [5, 3]"
    ):
        ops.image_to_tensor(image[0], three, three)
    with refused(ValueError, "image_to_tensor: std has shape [2], and the image 3 channels"):
        ops.image_to_tensor(image, three, three[:2])
    with refused(ValueError, "image_to_tensor: mean has shape [], and the image 3 channels"):
        ops.image_to_tensor(image, 0.5, three)
    with refused(
        TypeError, 'image_to_tensor: argument "image" has elements of float32, and uint8 is needed'
    ):
        ops.image_to_tensor(image.float(), three, three)
    with refused(ValueError, "image_to_tensor: height can't be -3"):
        ops.image_to_tensor(image, three, three, height=-3)
    with refused(ValueError, "image_to_tensor: an image of shape [0, 5, 3] has nothing to resize"):
        ops.image_to_tensor(image[:0], three, three, height=3)
    assert ops.image_to_tensor(image[:0], three, three).shape == (3, 0, 5)
    with refused(
        LookupError, "no kernel for (image: uint8 of rank 3 on cpu", '"out" is of float64'
    ):
        ops.image_to_tensor(image, three, three, dtype="float64")
