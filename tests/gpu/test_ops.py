"""Every op on the GPU against PyTorch's, over shapes, layouts and element types."""

import numpy as np
import pytest

import dlbridge

ops = dlbridge.ops
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8"]
# How far a result may be from PyTorch's, which rounds in other places.
CLOSE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12}
LAYOUTS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.transpose(-1, -2),
    "sliced": lambda x: x[..., 1:-1],
    "stepped": lambda x: x[..., ::2],
    "misaligned": lambda x: x.reshape(-1)[1:][: x.numel() - x.shape[-1]].reshape(-1, x.shape[-1]),
}
SHAPES = [(64, 96), (2, 7), (513, 1025), (3, 5, 33)]


def values(torch, shape, dtype, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    if dtype in FLOATS:
        return torch.randn(shape, device="cuda", generator=generator).to(getattr(torch, dtype))
    return torch.randint(0, 100, shape, device="cuda", generator=generator).to(
        getattr(torch, dtype)
    )


def close(torch, ours, theirs, dtype, size=1):
    """`size` is about that of the numbers: where they are small, so is what they may be off by."""
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype and ours.is_cuda
    if dtype in FLOATS:
        limit = CLOSE[dtype]
        torch.testing.assert_close(ours, theirs, rtol=limit, atol=limit * size, equal_nan=True)
    else:
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_equals_torch(torch, name, dtype, layout):
    if name == "div" and dtype in INTEGERS:
        pytest.skip("integers have no quotients")
    theirs = getattr(torch, name)
    for shape in SHAPES:
        a = LAYOUTS[layout](values(torch, shape, dtype, 1))
        b = LAYOUTS[layout](values(torch, shape, dtype, 2))
        close(torch, getattr(ops, name)(a, b), theirs(a, b), dtype)
        row = b[..., :1, :]
        close(torch, getattr(ops, name)(a, row), theirs(a, row), dtype)
        out = torch.empty_like(a)
        assert getattr(ops, name)(a, b, out=out) is out
        close(torch, out, theirs(a, b), dtype)
        inside = a.clone()
        getattr(ops, name)(inside, b, out=inside)
        close(torch, inside, theirs(a, b), dtype)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_axpy_equals_torch(torch, dtype):
    for shape in SHAPES:
        x, y = values(torch, shape, dtype, 1), values(torch, shape, dtype, 2)
        expected = y + 3 * x
        ops.axpy(3, x, y)
        close(torch, y, expected, dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool", "complex64", "complex128"])
def test_copy_equals_torch(torch, dtype, layout):
    for shape in SHAPES:
        x = LAYOUTS[layout](values(torch, shape, "float32").to(getattr(torch, dtype)))
        copy = ops.copy(x)
        assert copy.is_contiguous() and torch.equal(copy, x) and copy.data_ptr() != x.data_ptr()
        out = torch.empty_like(x.transpose(-1, -2)).transpose(-1, -2)
        ops.copy(x, out=out)
        assert torch.equal(out, x)


@pytest.mark.parametrize("result", [*FLOATS, *INTEGERS, "bool"])
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "bool"])
def test_cast_equals_torch(torch, source, result):
    x = values(torch, (65, 33), "float32").mul(20).to(getattr(torch, source))
    if source in FLOATS and result == "uint8":
        x = x.abs()  # What is below 0 is 0 here, and anything in PyTorch.
    close(torch, ops.cast(x, dtype=result), x.to(getattr(torch, result)), result)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [[], [0], [-1], [0, -1]], ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions_equal_torch(torch, dtype, axis, layout):
    for shape in [*SHAPES, (3, 1 << 17), (1 << 17, 3)]:
        x = LAYOUTS[layout](values(torch, shape, dtype))
        axes = axis or list(range(x.dim()))
        limit = CLOSE[dtype]
        wide = x.double()
        # Means of many numbers are near 0, and must be right nevertheless.
        for ours, theirs, near in [
            (ops.sum(x, axis=axis), wide.sum(axes), 50 * limit),
            (ops.mean(x, axis=axis, keepdims=True), wide.mean(axes, keepdim=True), 0.1 * limit),
        ]:
            torch.testing.assert_close(ours.double(), theirs, rtol=limit, atol=near)
        assert torch.equal(ops.max(x, axis=axis), x.amax(axes))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_reductions_equal_torch(torch, dtype):
    x = values(torch, (37, 41), dtype)
    sums = ops.sum(x, axis=[0])
    assert sums.dtype == (torch.uint64 if dtype.startswith("u") else torch.int64)
    assert torch.equal(sums.to(torch.int64), x.sum(0))
    assert torch.equal(ops.sum(x, axis=[0], dtype=dtype), x.sum(0, dtype=x.dtype))
    assert torch.equal(ops.max(x), x.max())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_equals_torch(torch, dtype, axis, layout):
    for shape in [*SHAPES, (4, 40_000), (2, 1 << 18)]:
        x = LAYOUTS[layout](values(torch, shape, dtype))
        theirs = x.double().softmax(axis).to(x.dtype)
        close(torch, ops.softmax(x, axis=axis), theirs, dtype, size=theirs.max().item())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_rms_norm_equals_torch(torch, dtype, layout):
    for shape in [*SHAPES, (4, 40_000)]:
        x = LAYOUTS[layout](values(torch, shape, dtype))
        weight = values(torch, x.shape[-1:], dtype, 3)
        theirs = torch.nn.functional.rms_norm(
            x.double(), x.shape[-1:], weight.double(), eps=1e-6
        ).to(x.dtype)
        close(torch, ops.rms_norm(x, weight), theirs, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(0, 0), (224, 224), (31, 77)], ids=str)
def test_image_to_tensor_equals_torch(torch, size, channels, dtype):
    image = torch.randint(0, 256, (2, 120, 160, channels), dtype=torch.uint8, device="cuda")
    mean = torch.linspace(0.4, 0.5, channels, device="cuda")
    std = torch.linspace(0.2, 0.3, channels, device="cuda")
    theirs = image.permute(0, 3, 1, 2).float() / 255
    if size != (0, 0):
        theirs = torch.nn.functional.interpolate(
            theirs, size=size, mode="bilinear", align_corners=False
        )
    theirs = ((theirs - mean[:, None, None]) / std[:, None, None]).to(getattr(torch, dtype))
    ours = ops.image_to_tensor(image, mean, std, dtype=dtype, height=size[0], width=size[1])
    # Where a pixel lies is as precise as f32 is at the width of an image, in both.
    torch.testing.assert_close(ours, theirs, rtol=CLOSE[dtype] * 2, atol=max(CLOSE[dtype], 2e-4))


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "int64"])
def test_matmul_equals_torch(torch, dtype):
    for m, k, n in [(64, 64, 64), (1, 128, 7), (129, 33, 65), (256, 512, 384)]:
        a, b = values(torch, (m, k), dtype, 1), values(torch, (k, n), dtype, 2)
        theirs = (a.double() @ b.double()).to(a.dtype)
        columns, rows = a.t().contiguous().t(), b.t().contiguous().t()
        for left, right in [(a, b), (columns, b), (a, rows), (columns, rows)]:
            close(torch, ops.matmul(left, right), theirs, dtype, size=k**0.5)


def test_every_op_is_tested():
    known = set(
        "add sub mul div axpy copy cast sum mean max softmax rms_norm image_to_tensor matmul".split()
    )
    of_gpu = {kernel["op"] for kernel in dlbridge.kernels() if kernel["device"] == "cuda"}
    assert of_gpu == known


def test_mixed_devices_are_refused(torch):
    x = torch.arange(5, device="cuda", dtype=torch.float32)
    with pytest.raises((LookupError, BufferError, ValueError)):
        ops.add(x, np.ones(5, "float32"))
