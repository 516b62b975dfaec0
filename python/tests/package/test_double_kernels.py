"""Ops on a GPU that there isn't: every kernel's source, run on the CPU, launched as on a GPU,
against NumPy.
"""

import numpy as np
import pytest

import dlbridge
from double_kernels import kinds_that_ran, register, wrong

import double

ops = dlbridge.ops
TYPES = {"f32": "float32", "f64": "float64", "i16": "int16", "u8": "uint8"}
FLOATS = ["float32", "float64"]
SHAPES = [(1, 1), (5, 37), (64, 96), (7, 129), (3, 5, 33)]
VIEWS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.transpose(),
    "cut": lambda x: x[..., 1:-1],
    "every second": lambda x: x[..., ::2],
    "backwards": lambda x: x[::-1],
    "off by one": lambda x: x[..., 1:],
}


@pytest.fixture(autouse=True)
def all_is_well():
    yield
    dlbridge.cuda.synchronize()
    assert wrong == []
    assert double.mistakes() == ""


def numbers(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    if dtype in FLOATS:
        return (5 * generator.standard_normal(shape)).astype(dtype)
    return generator.integers(1, 50, shape).astype(dtype)


def pair(array, view):
    """What NumPy sees of an array, and what is the same on the GPU."""
    there = dlbridge.asarray(array, device="cuda")
    return VIEWS[view](array), VIEWS[view](there)


def host(tensor):
    assert tensor.device == "cuda:0"
    return np.asarray(tensor.to("cpu"))


def same(tensor, expected):
    found = host(tensor)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def cases(shapes=SHAPES):
    for shape in shapes:
        for view in VIEWS:
            if VIEWS[view](np.empty(shape)).size:
                yield shape, view


@pytest.mark.parametrize("dtype", TYPES.values())
def test_arithmetic_equals_numpy(dtype):
    register("elementwise.cu", elements=TYPES)
    for shape, view in cases():
        (a, ours), (b, others) = (pair(numbers(shape, dtype, seed), view) for seed in (1, 2))
        same(ops.add(ours, others), a + b)
        same(ops.sub(ours, others), a - b)
        same(ops.mul(ours, others), a * b)
        same(ops.add(ours, others[..., :1, :]), a + b[..., :1, :])
        same(ops.mul(ours, others[..., :1]), a * b[..., :1])
        out = pair(np.zeros(shape, dtype), view)[1]
        if out.shape == ours.shape:
            ops.sub(ours, others, out=out)
            same(out, a - b)
        if dtype in FLOATS:
            same(ops.div(ours, others), a / b)
        ops.add(ours, ours, out=ours)
        same(ours, a + a)
    assert kinds_that_ran("elementwise.cu") >= {"flat", "rows", "strided"}


LOOKS = {
    "tolist": dlbridge.Tensor.tolist,
    "bytes": bytes,
    "memoryview": lambda x: memoryview(x).tobytes(),
    "asarray": np.asarray,
    "from_dlpack": np.from_dlpack,
    "copy": dlbridge.Tensor.copy,
    "to_dlpack": lambda x: dlbridge.from_dlpack(x.to_dlpack()),
    "to": lambda x: x.to("cpu"),
    "==": lambda x: x == x,
}


@pytest.mark.parametrize("look", LOOKS)
def test_managed_memory_is_read_after_its_kernel(look):
    register("elementwise.cu", elements=TYPES)
    x = dlbridge.full(16, 3, "uint8", device="cuda_managed")
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()) as stream:
        y = ops.add(x, x)
        assert not stream.is_done()
        seen = LOOKS[look](y)
        assert stream.is_done()
    assert (y.device, y.tolist()) == ("cuda_managed:0", [6] * 16)
    if look != "==":
        assert bytes(seen) == bytes([6] * 16)


@pytest.mark.parametrize("dtype", TYPES.values())
def test_axpy_equals_numpy(dtype):
    register("axpy.cu", elements=TYPES)
    for shape, view in cases():
        (x, ours), (y, others) = (pair(numbers(shape, dtype, seed), view) for seed in (1, 2))
        ops.axpy(3, ours, others)
        same(others, y + x * np.asarray(3, dtype))
    assert kinds_that_ran("axpy.cu") >= {"flat", "rows", "strided"}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_copy_equals_numpy(dtype):
    register("copy.cu", "transpose.cu", elements=TYPES)
    for shape, view in cases([*SHAPES, (3, 70, 90), (128, 96)]):
        x, ours = pair(numbers(shape, "int16").astype(dtype), view)
        same(ops.copy(ours), x)
        out = dlbridge.zeros(x.shape[::-1], dtype, device="cuda").transpose()
        ops.copy(ours, out=out)
        same(out, x)
    assert kinds_that_ran("copy.cu") >= {"flat", "rows", "strided"}
    assert kinds_that_ran("transpose.cu") == {"tiles"}


def test_copy_of_unusual_itemsize_equals_numpy():
    register("copy.cu", elements=TYPES)
    wide = dlbridge.asarray(numbers((6, 12), "float32"), device="cuda")
    threes = wide.view("float32x3")
    assert (
        ops.copy(threes[:, ::2]).view("float32").tolist()
        == threes[:, ::2].copy().view("float32").tolist()
    )


def test_cast_equals_numpy():
    register("cast.cu", "copy.cu", elements=TYPES)
    for source in TYPES.values():
        for result in TYPES.values():
            for shape, view in cases([(5, 37), (64, 96)]):
                x, ours = pair(abs(numbers(shape, source)), view)
                same(ops.cast(ours, dtype=result), x.astype(result))
    assert kinds_that_ran("cast.cu") >= {"flat", "strided"}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_reductions_equal_numpy(dtype):
    register("reduce_rows.cu", "reduce_columns.cu", elements=[*TYPES, "i64"])
    for shape, view in cases(
        [(1, 1), (5, 37), (64, 96), (3, 5000), (5000, 3), (2, 40_000), (4, 5, 6), (17, 33, 64)]
    ):
        x, ours = pair(numbers(shape, dtype), view)
        for axis in (
            None,
            [],
            [0],
            [-1],
            list(range(x.ndim)),
            [0, x.ndim - 1] if x.ndim > 2 else [1],
        ):
            axes = None if axis is None else tuple(axis)
            wide = x.astype("float64") if dtype in FLOATS else x
            close = dict(rtol=1e-5, atol=1e-3) if dtype in FLOATS else dict(rtol=0)
            found = host(ops.sum(ours, axis=axis, keepdims=True))
            np.testing.assert_allclose(found, wide.sum(axes, keepdims=True), **close)
            if dtype not in FLOATS:
                assert found.dtype == wide.sum().dtype
            same(ops.max(ours, axis=axis), np.asarray(x.max(axes)))
            if dtype in FLOATS:
                np.testing.assert_allclose(
                    host(ops.mean(ours, axis=axis)), wide.mean(axes), rtol=1e-5, atol=1e-5
                )
    assert kinds_that_ran("reduce_rows.cu") >= {"rows", "strided", "finish"}
    assert kinds_that_ran("reduce_columns.cu") >= {"columns", "packed"}


def test_reductions_of_no_elements_equal_numpy():
    register("reduce_rows.cu", "reduce_columns.cu", elements=[*TYPES, "i64"])
    nothing = dlbridge.zeros((3, 0), device="cuda")
    assert ops.sum(nothing, axis=[1]).tolist() == [0, 0, 0]
    assert np.isnan(host(ops.mean(nothing, axis=[1]))).all()
    assert ops.sum(nothing, axis=[0]).tolist() == []
    with pytest.raises(ValueError, match="has no largest element"):
        ops.max(nothing, axis=[1])


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_equals_numpy(dtype):
    register("softmax.cu", "softmax_long.cu", "softmax_columns.cu", elements=TYPES)
    for shape, view in cases([*SHAPES, (9, 1000), (2, 40_000), (3000, 3)]):
        x, ours = pair(numbers(shape, dtype), view)
        for axis in (-1, 0):
            powers = np.exp(x.astype("float64") - x.max(axis, keepdims=True))
            expected = powers / powers.sum(axis, keepdims=True)
            np.testing.assert_allclose(
                host(ops.softmax(ours, axis=axis)), expected, rtol=3e-5, atol=1e-7
            )
        ops.softmax(ours, axis=0, out=ours)
        np.testing.assert_allclose(host(ours), expected, rtol=3e-5, atol=1e-7)
    assert kinds_that_ran("softmax.cu") == {"few", "several", "many"}
    assert kinds_that_ran("softmax_long.cu") >= {"measured", "scaled"}
    assert kinds_that_ran("softmax_columns.cu") == {"columns"}


@pytest.mark.parametrize("dtype", FLOATS)
def test_rms_norm_equals_numpy(dtype):
    register("rms_norm.cu", elements=TYPES)
    for shape, view in cases([*SHAPES, (9, 1000), (2, 40_000)]):
        x, ours = pair(numbers(shape, dtype), view)
        weight = numbers(x.shape[-1], dtype, 3)
        wide = x.astype("float64")
        expected = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * weight
        for weights in (weight, np.repeat(weight, 2)):
            there = dlbridge.asarray(weights, device="cuda")[:: len(weights) // len(weight)]
            np.testing.assert_allclose(
                host(ops.rms_norm(ours, there)), expected, rtol=3e-5, atol=1e-5
            )
    assert kinds_that_ran("rms_norm.cu") >= {"few", "several", "looped"}


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_image_to_tensor_equals_numpy(channels):
    register("image.cu", elements=["f32"])
    colours = np.linspace(0.2, 0.6, channels, dtype="float32")
    mean, std = colours, colours + np.float32(0.3)
    there = [dlbridge.asarray(array, device="cuda") for array in (mean, std)]
    for size in [(8, 16), (5, 7), (12, 24)]:
        images = numbers((2, *size, channels), "uint8")
        for cut in (slice(None), slice(1, None)):
            for asked in ({}, {"height": 9, "width": 11}):
                ours = dlbridge.asarray(images, device="cuda")[:, cut, cut]
                expected = ops.image_to_tensor(
                    np.ascontiguousarray(images[:, cut, cut]), mean, std, **asked
                )
                same(ops.image_to_tensor(ours, *there, **asked), expected)
    assert kinds_that_ran("image.cu") >= {"pixels", "resized"}


def test_kernel_with_too_many_dimensions_raises_runtime_error():
    register("elementwise.cu", elements=TYPES)
    x = dlbridge.zeros((3,) * 9, "uint8", device="cuda")[(slice(None, None, 2),) * 9]
    with pytest.raises(RuntimeError, match="8 dimensions at most"):
        ops.add(x, x)
