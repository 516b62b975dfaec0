"""Tests of the functions that the pages "coming from" compare."""

import cookbook
import numpy as np
import pytest

X = np.arange(6, dtype="float32").reshape(2, 3)


def test_add_writes_the_sum_into_out(framework):
    out = np.zeros((2, 3), "float32")
    cookbook.add(framework.make(X), framework.make(X + 1), out)
    assert out.tolist() == (2 * X + 1).tolist()


def test_add_accepts_any_strides(framework):
    out = np.zeros((3, 4), "float32")
    cookbook.add(framework.make(X).T, framework.make(X.T.copy()), out[:, ::2])
    assert out.tolist() == np.insert(2 * X.T, [1, 2], 0, axis=1).tolist()


def test_add_refuses_another_shape(framework):
    with pytest.raises(ValueError, match=r"expected shape \[3\]"):
        cookbook.add(framework.make(X), framework.make(X), np.zeros(3, "float32"))


def test_add_refuses_overlapping_memory():
    x = np.zeros(4, "float32")
    with pytest.raises(ValueError, match="memory"):
        cookbook.add(x[:3], x[:3], x[1:])


def test_scaled_returns_a_tensor_of_the_same_framework(framework):
    y = cookbook.scaled(framework.make(X), 2.0)
    assert framework.array(y).tolist() == (2 * X).tolist()


def test_scaled_names_the_expected_dtype():
    with pytest.raises(TypeError, match="expected a tensor of float32") as caught:
        cookbook.scaled(np.ones(3), 2.0)
    assert (caught.value.kind, caught.value.wanted) == ("dtype", "float32")
