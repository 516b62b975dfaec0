"""Tests of the five functions, with the tensors of one framework."""

import cookbook
import ml_dtypes
import numpy as np
import pytest

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 8)).astype("float32")
EPS = 1e-5
WEIGHT, BIAS = RANDOM.normal(size=(2, 8)).astype("float32")


def only_writable(framework):
    if framework.name == "jax":
        pytest.skip("JAX's arrays are read-only")


# layer_norm


def normalized(x, weight, bias):
    x = x.astype("float64")
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt(centred.var(1, keepdims=True) + EPS) * weight + bias


def test_layer_norm_of_float32(framework):
    y = cookbook.layer_norm(*map(framework.make, (X, WEIGHT, BIAS)), EPS)
    np.testing.assert_allclose(
        framework.array(y), normalized(X, WEIGHT, BIAS), rtol=1e-5, atol=1e-6
    )


def test_layer_norm_of_bfloat16(framework):
    arguments = [array.astype(ml_dtypes.bfloat16) for array in (X, WEIGHT, BIAS)]
    expected = normalized(*(array.astype("float64") for array in arguments))
    y = cookbook.layer_norm(*map(framework.make, arguments), EPS)
    assert str(y.dtype).endswith("bfloat16")
    found = framework.array(y).astype("float64")
    np.testing.assert_allclose(found, expected, rtol=2**-8, atol=1e-6)


def test_layer_norm_reads_rows_with_gaps(framework):
    wide = framework.make(np.concatenate([X, X], axis=1))
    y = cookbook.layer_norm(wide[:, :8], framework.make(WEIGHT), framework.make(BIAS), EPS)
    np.testing.assert_allclose(
        framework.array(y), normalized(X, WEIGHT, BIAS), rtol=1e-5, atol=1e-6
    )


def test_layer_norm_refuses_other_arguments(framework):
    x, weight, bias = map(framework.make, (X, WEIGHT, BIAS))
    with pytest.raises(TypeError, match="float32.*bfloat16"):
        cookbook.layer_norm(framework.make(X.astype("int32")), weight, bias, EPS)
    with pytest.raises(TypeError, match='"weight" of the same dtype as "x"'):
        cookbook.layer_norm(x, framework.make(WEIGHT.astype(ml_dtypes.bfloat16)), bias, EPS)
    with pytest.raises(ValueError, match="8"):
        cookbook.layer_norm(x, weight[:4], bias, EPS)


# rotary_


def rotated(x, cos, sin):
    a, b = np.split(x, 2, axis=3)
    cos, sin = cos[None, :, None], sin[None, :, None]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=3)


def angles(time, features):
    phase = RANDOM.normal(size=(time, features // 2))
    return np.cos(phase).astype("float32"), np.sin(phase).astype("float32")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (3, 2, 1, 0)])
def test_rotary_rotates_strided_tensors_in_place(framework, order):
    only_writable(framework)
    expected = RANDOM.normal(size=(2, 3, 4, 6)).astype("float32")
    memory = framework.make(np.ascontiguousarray(expected.transpose(order)))
    back = np.argsort(order).tolist()
    x = memory.permute(back) if framework.name == "torch" else memory.transpose(back)
    cos, sin = angles(3, 6)
    assert cookbook.rotary_(x, framework.make(cos), framework.make(sin)) is None
    np.testing.assert_allclose(np.array(x), rotated(expected, cos, sin), rtol=1e-5, atol=1e-6)


def test_rotary_refuses_read_only_overlapping_and_other_shapes(framework):
    cos, sin = map(framework.make, angles(3, 6))
    x = np.zeros((2, 3, 4, 6), "float32")
    with pytest.raises(ValueError, match="3"):
        cookbook.rotary_(x, cos[:2], sin)
    with pytest.raises((BufferError, ValueError), match="read-only|overlap"):
        cookbook.rotary_(np.broadcast_to(x[:1], x.shape), cos, sin)
    with pytest.raises(ValueError, match=r"shape \[\*, \*, \*, 4\], got \[2, 3, 4, 5\]"):
        cookbook.rotary_(x[..., :5], cos, sin)
    if framework.name == "jax":
        with pytest.raises(BufferError, match="read-only"):
            cookbook.rotary_(framework.make(x), cos, sin)


# topk


def test_topk_returns_values_and_indices_in_order(framework):
    values, indices = cookbook.topk(framework.make(X), 3)
    expected = np.argsort(-X, axis=1, kind="stable")[:, :3]
    assert framework.array(indices).tolist() == expected.tolist()
    np.testing.assert_array_equal(framework.array(values), np.take_along_axis(X, expected, 1))


def test_topk_of_equal_numbers_and_of_transposed_memory(framework):
    x = np.float32([[1, 1, 0], [0, 2, 2]])
    values, indices = cookbook.topk(framework.make(np.ascontiguousarray(x.T)).T, 2)
    assert framework.array(indices).tolist() == [[0, 1], [1, 2]]
    assert framework.array(values).tolist() == [[1, 1], [2, 2]]


@pytest.mark.parametrize("shape, k", [((2, 3), 0), ((0, 3), 2), ((2, 0), 0)])
def test_topk_of_nothing_is_empty(framework, shape, k):
    values, indices = cookbook.topk(framework.make(np.zeros(shape, "float32")), k)
    assert framework.array(values).shape == framework.array(indices).shape == (shape[0], k)


def test_topk_refuses_more_than_there_are(framework):
    with pytest.raises(ValueError, match=r"shape \[3, 9\] has 27 elements, and there are 24"):
        cookbook.topk(framework.make(X), 9)


# clip_


def test_clip_scales_all_gradients(framework):
    only_writable(framework)
    gradients = {"w": framework.make(X), "b": framework.make(BIAS)}
    norm = np.sqrt((X**2).sum() + (BIAS**2).sum())
    assert cookbook.clip_(gradients, 1.0) == pytest.approx(norm, rel=1e-5)
    np.testing.assert_allclose(np.array(gradients["w"]), X / norm, rtol=1e-5)
    np.testing.assert_allclose(np.array(gradients["b"]), BIAS / norm, rtol=1e-5)
    assert cookbook.clip_(gradients, 2.0) == pytest.approx(1, rel=1e-5)
    np.testing.assert_allclose(np.array(gradients["b"]), BIAS / norm, rtol=1e-5)


def test_clip_of_a_limit_without_effect_changes_nothing():
    for numbers, most in (([0, 1, 2], np.inf), ([0, 0, 0], 0), ([0, 0, 0], 1)):
        x = np.float32(numbers)
        cookbook.clip_({"x": x}, most)
        assert x.tolist() == numbers
    x = np.float32([3e30, 4e30])  # Whose squares float32 doesn't have.
    assert cookbook.clip_({"x": x}, 1) == pytest.approx(5e30, rel=1e-6)
    np.testing.assert_allclose(x, [0.6, 0.8], rtol=1e-6)


def test_clip_names_the_gradient_that_is_wrong(framework):
    with pytest.raises(TypeError) as caught:
        cookbook.clip_({"b": BIAS.copy(), "w": X.astype("float64")}, 1.0)
    assert "float64" in str(caught.value) and any('["w"]' in x for x in caught.value.__notes__)
    x = np.zeros((2, 3), "float32")
    with pytest.raises(ValueError, match="memory"):
        cookbook.clip_({"a": x, "b": x[0]}, 1.0)
    assert cookbook.clip_({}, 1.0) == 0


# Average


def test_average_is_updated_while_a_value_is_lent(framework):
    x, y = framework.make(X), framework.make(X + 1)
    average = cookbook.Average(x)
    average.update(y, 0.5)
    lent = average.value(x)
    average.update(y, 0.5)
    np.testing.assert_allclose(framework.array(lent), X + 0.5, rtol=1e-6)
    np.testing.assert_allclose(framework.array(average.value(x)), X + 0.75, rtol=1e-6)
    np.testing.assert_array_equal(framework.array(x), X)


def test_average_is_updated_in_place_while_nothing_is_lent(framework):
    average = cookbook.Average(X)
    average.update(X, 0.5)
    addresses = set()
    for _ in range(3):
        average.update(X, 0.5)
        lent = average.value(X)
        addresses.add(lent.ctypes.data)
        del lent
    assert len(addresses) == 1


def test_average_refuses_another_shape():
    with pytest.raises(ValueError, match=r"expected shape \[3, 8\]"):
        cookbook.Average(X).update(X[0], 0.5)
