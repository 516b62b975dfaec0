"""Tests of `concat`, `layer_norm` and `rms_norm` without weights: optional and variadic tensors,
against PyTorch and NumPy.
"""

import gc
import inspect
import itertools
import sys

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from support import framework, refused

torch = framework("torch")
functional = torch.nn.functional

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def random(shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    return (torch.randn(shape, generator=generator, dtype=torch.float64) * 4).to(dtype)


def assert_close(found, exact, dtype):
    rounding = {
        torch.float64: 1e-13,
        torch.float32: 3e-6,
        torch.float16: 1e-3,
        torch.bfloat16: 8e-3,
    }[dtype]
    assert found.dtype == dtype
    torch.testing.assert_close(
        found.double(), exact, rtol=rounding, atol=2 * rounding, equal_nan=True
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm_equals_torch(dtype):
    for shape in [(1,), (7,), (3, 5), (2, 3, 4), (0, 3), (1, 300), (70, 1000)]:
        x, weight = random(shape, dtype), random(shape[-1:], dtype)
        bias = random((*shape[-1:], 2), dtype)[:, 1]
        for has_weight, has_bias in itertools.product([True, False], repeat=2):
            weights, biases = weight if has_weight else None, bias if has_bias else None
            exact = functional.layer_norm(
                x.double(),
                shape[-1:],
                weight.double() if has_weight else None,
                bias.double() if has_bias else None,
            )
            assert_close(ops.layer_norm(x, weights, biases), exact, dtype)
            assert_close(ops.layer_norm(x, bias=biases, weight=weights, threads=2), exact, dtype)
            out = x.clone()
            assert ops.layer_norm(out, weights, biases, out=out) is out
            assert_close(out, exact, dtype)
        for axis in range(-x.ndim, x.ndim):
            exact = x.double().movedim(axis, -1)
            exact = functional.layer_norm(exact, exact.shape[-1:], eps=0.5).movedim(-1, axis)
            assert_close(ops.layer_norm(x, axis=axis, eps=0.5), exact, dtype)
            turned = x.permute(*reversed(range(x.ndim))).contiguous()
            turned = turned.permute(*reversed(range(x.ndim)))
            assert_close(ops.layer_norm(turned, axis=axis, eps=0.5), exact, dtype)


def test_layer_norm_of_special_values_equals_torch():
    inf, nan = float("inf"), float("nan")
    for row in [
        [1, nan, 2],
        [inf, 1, 2],
        [-inf, inf, 0],
        [3, 3, 3],
        [1e30, -1e30, 0],
        [0, -0.0, 0],
    ]:
        x = torch.tensor(row, dtype=torch.float32)
        expected = functional.layer_norm(x, (3,))
        torch.testing.assert_close(ops.layer_norm(x), expected, equal_nan=True)
    # Differences that float16 doesn't have the squares of.
    x = torch.tensor([6e4, -6e4, 0.0, 0.0], dtype=torch.float16)
    torch.testing.assert_close(ops.layer_norm(x), functional.layer_norm(x, (4,)))


def test_norms_refuse_what_does_not_fit():
    x = torch.ones(2, 3)
    with refused(
        ValueError, "layer_norm: bias has shape [2], and axis 1 of x 3 elements"
    ) as caught:
        ops.layer_norm(x, bias=x[:, 0])
    error = caught.value
    assert (error.kind, error.found, error.wanted) == ("shape", "[2]", "[3]")
    with refused(
        IndexError, "layer_norm: axis 2 is out of bounds for a tensor of rank 2"
    ) as caught:
        ops.layer_norm(x, axis=2)
    assert (caught.value.kind, caught.value.found, caught.value.wanted) == ("index", "2", "-2 to 1")
    with refused(TypeError, 'layer_norm: argument "x" is missing'):
        ops.layer_norm(None, x)
    with refused(TypeError, 'layer_norm: argument "weight" was given twice'):
        ops.layer_norm(x, x[0], weight=x[0])
    with refused(TypeError, "layer_norm: takes 3 tensors but 4 were given"):
        ops.layer_norm(x, None, None, None)
    with refused(LookupError, "layer_norm: no kernel for (x: int64", "weight: None"):
        ops.layer_norm(torch.ones(3, dtype=torch.int64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rms_norm_without_weight_equals_torch(dtype):
    for shape in [(7,), (3, 5), (70, 1000), (0, 3)]:
        x = random(shape, dtype)
        exact = functional.rms_norm(x.double(), shape[-1:], eps=1e-6)
        for result in (ops.rms_norm(x), ops.rms_norm(x, None), ops.rms_norm(x, weight=None)):
            assert_close(result, exact, dtype)


def test_optional_tensors_are_observed_where_they_are_given():
    x, weight = np.ones((2, 3), "f4"), np.ones(3, "f4")
    with dlbridge.record() as calls:
        ops.rms_norm(x)
        ops.rms_norm(x, weight)
        ops.concat(x, x, x)
    shapes = [[tuple(shape) for shape in call.shapes] for call in calls]
    assert shapes == [[(2, 3)] * 2, [(2, 3), (3,), (2, 3)], [(2, 3)] * 3 + [(6, 3)]]


NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()


@pytest.mark.parametrize("name", [*NAMES, "complex64", "complex128"])
def test_concat_equals_numpy(name):
    generator = np.random.default_rng(3)
    for shapes, axis in [
        ([(3,), (2,)], 0),
        ([(2, 3), (4, 3), (0, 3)], 0),
        ([(2, 3), (2, 1), (2, 5)], 1),
        ([(2, 3, 4), (2, 5, 4)], -2),
        ([(2, 3, 4), (2, 3, 1)], 2),
        ([(0, 3), (0, 2)], 1),
        ([(300, 700), (300, 33)], 1),
        ([(300, 7), (300, 1)], -1),
        ([(5,)], 0),
    ]:
        xs = [(generator.random(shape) * 100).astype(name) for shape in shapes]
        expected = np.concatenate(xs, axis=axis)
        for found in (ops.concat(*xs, axis=axis), ops.concat(xs, axis=axis, threads=2)):
            assert found.dtype == expected.dtype and np.array_equal(found, expected)
        turned = [x.copy(order="F") for x in xs]
        assert np.array_equal(ops.concat(tuple(turned), axis=axis), expected)
        out = np.zeros_like(expected)[::-1][::-1]
        assert ops.concat(xs[0], *turned[1:], axis=axis, out=out) is out
        assert np.array_equal(out, expected)
        wide = np.zeros([2 * size for size in expected.shape], name)
        wide = wide[(slice(None, None, 2),) * wide.ndim]
        assert np.array_equal(ops.concat(*xs, axis=axis, out=wide), expected)


def test_concat_keeps_bits():
    x = torch.tensor([float("nan"), float("inf"), -0.0])
    joined = ops.concat(x, -x)
    assert torch.equal(joined.view(torch.int32), torch.cat([x, -x]).view(torch.int32))
    brain = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    assert torch.equal(ops.concat([brain, brain]), torch.cat([brain, brain]))


def test_concat_takes_one_tensor_to_hundreds():
    for count in (1, 2, 3, 31, 32, 33, 500):
        xs = [torch.full((2,), number) for number in range(count)]
        expected = torch.cat(xs)
        assert torch.equal(ops.concat(*xs), expected) and torch.equal(ops.concat(xs), expected)
    x = np.arange(3.0)
    assert ops.concat(x, dlbridge.from_dlpack(x)).tolist() == [0, 1, 2, 0, 1, 2]
    assert isinstance(ops.concat(dlbridge.from_dlpack(x), x), dlbridge.Tensor)
    assert isinstance(ops.concat(torch.ones(2), np.ones(2, "f4"), like=x), np.ndarray)


def test_variadic_arguments_that_do_not_fit_are_refused_by_name():
    x = np.ones((2, 3), "f4")
    for none in ((), ([],), ((),)):
        with refused(TypeError, 'concat: argument "xs" is missing') as caught:
            ops.concat(*none)
        assert caught.value.kind == "argument"
    for call in (lambda: ops.concat(x, None), lambda: ops.concat([x, None])):
        with refused(TypeError, 'concat: argument "xs[1]": expected a tensor, got NoneType'):
            call()
    with refused(TypeError, 'concat: argument "xs[0]": expected a tensor, got NoneType'):
        ops.concat(None)
    with refused(TypeError, 'concat: argument "xs[1]": expected a tensor, got list'):
        ops.concat(x, [x])
    with refused(ValueError, "concat: xs[2] has shape [3, 2], and xs[0] [2, 3]") as caught:
        ops.concat(x, x, x.T)
    error = caught.value
    assert (error.kind, error.found, error.wanted) == ("shape", "[3, 2]", "[_, 3]")
    with refused(TypeError, "concat: the tensors of xs are positional arguments") as caught:
        ops.concat(xs=[x])
    assert (caught.value.found, caught.value.wanted) == ("xs=", "*xs")
    with refused(TypeError, 'there is no argument "ys"; there are out, axis, like'):
        ops.concat(x, ys=x)
    with refused(IndexError, "concat: axis 2 is out of bounds"):
        ops.concat(x, x, axis=2)
    with refused(TypeError, 'cast "xs[0]" and "xs[1]" to float64') as caught:
        ops.concat(x, x, x.astype("f8"))
    assert (caught.value.found, caught.value.wanted) == ("float32", "float64")
    memory = np.ones((4, 3), "f4")
    with refused(
        ValueError, 'concat: argument "out" is to be written, and shares memory with "xs[1]"'
    ):
        ops.concat(x[:1], memory[2:], out=memory[:3])


def test_lists_that_change_during_the_call_are_read_once():
    x = np.ones(2)

    class Changes:
        """A tensor that empties the list that it is in while it is exported."""

        def __dlpack__(self, **keywords):
            tensors.clear()
            gc.collect()
            return np.full(2, 2.0).__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    tensors = [x, Changes(), np.full(2, 3.0), np.full(2, 4.0)]
    assert ops.concat(tensors).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert tensors == []


def test_calls_of_variadic_ops_keep_no_references():
    xs = [np.full(3, number) for number in range(300)]
    before = [sys.getrefcount(x) for x in xs]
    for _ in range(3):
        ops.concat(xs)
        ops.concat(*xs)
        with pytest.raises(ValueError):
            ops.concat([*xs, np.ones((1, 1), int)])
        with pytest.raises(TypeError):
            ops.concat([*xs, None])
    assert [sys.getrefcount(x) for x in xs] == before
    # Nothing is borrowed any more.
    assert ops.add(xs[0], 1, out=xs[0]) is xs[0]


def test_signatures_show_optional_and_variadic_tensors():
    norm = inspect.signature(ops.layer_norm).parameters
    assert [norm[name].default for name in ("weight", "bias")] == [None, None]
    joined = inspect.signature(ops.concat).parameters
    assert joined["xs"].kind is inspect.Parameter.VAR_POSITIONAL
    assert joined["axis"].kind is inspect.Parameter.KEYWORD_ONLY
    assert "concat(*xs: T, axis: int = 0) -> out: T" in ops.concat.__doc__
