"""Tests of the example's promises, with the tensors of one framework."""

import sys
import threading

import numpy as np
import pytest
import tensor_math
from support import CAST, NAME, found, framework, immutable, module, only, refused, writable

MATRIX = np.array([[-1, 2, -3], [4, -5, 6]], "float32")

# Arguments


def test_borrowed_argument_is_not_copied():
    x = framework.make(MATRIX)
    assert tensor_math.address(x) == framework.address(x)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "complex64"])
def test_untyped_argument_accepts_every_dtype(dtype):
    x = framework.make(np.ones(3, dtype))
    assert tensor_math.address(x) == framework.address(x)


def test_argument_of_other_dtype_is_refused():
    x = framework.make(MATRIX.astype("float64"))
    wanted = "a tensor of float32, in memory that the CPU reaches"
    message = f"expected {wanted}; got {found('float64', [2, 3], [3, 1])}; {CAST}"
    refused(TypeError, message, tensor_math.relu, x)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes before 3.11")
def test_error_notes_name_the_argument():
    with pytest.raises(TypeError) as caught:
        tensor_math.add_(np.zeros((2, 3), "float32"), 1.0)
    assert caught.value.__notes__ == ["while processing 'y'"]
    with pytest.raises(ValueError) as caught:
        tensor_math.sum_rows(framework.make(MATRIX[0]))
    assert caught.value.__notes__ == ["while processing 'x'"]


@pytest.mark.parametrize("other, name", [([1.0], "list"), (1.0, "float"), (None, "NoneType")])
def test_relu_of_another_object_raises_type_error(other, name):
    message = f"expected a tensor, got {name}, which has neither __dlpack__ nor a buffer"
    refused(TypeError, message, tensor_math.relu, other)


# relu


def test_relu_returns_a_tensor_of_the_same_framework():
    y = tensor_math.relu(framework.make(MATRIX))
    assert isinstance(y, framework.type)
    assert framework.array(y).dtype == np.float32
    assert framework.array(y).tolist() == [[0, 2, 0], [4, 0, 6]]


def test_relu_does_not_write_its_argument():
    x = framework.make(MATRIX)
    y = tensor_math.relu(x)
    assert framework.address(y) != framework.address(x)
    assert framework.array(x).tolist() == MATRIX.tolist()


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (1, 1, 1), (5, 7), (2, 3, 4, 5)])
def test_relu_accepts_every_shape(shape):
    expected = np.random.default_rng(0).normal(size=shape).astype("float32")
    y = framework.array(tensor_math.relu(framework.make(expected)))
    assert y.shape == shape
    assert y.tolist() == np.maximum(expected, 0).tolist()


def test_relu_propagates_nan():
    y = framework.array(tensor_math.relu(framework.make(np.array([np.nan, -np.inf, np.inf], "f4"))))
    assert np.isnan(y[0]) and y[1:].tolist() == [0, np.inf]


@only("numpy", "torch", "paddle")
def test_relu_accepts_every_stride():
    x = framework.make(MATRIX)
    assert framework.array(tensor_math.relu(x.T)).tolist() == [[0, 4], [2, 0], [0, 6]]
    assert framework.array(tensor_math.relu(x[:, ::2])).tolist() == [[0, 0], [4, 6]]


def test_result_is_usable_in_the_framework():
    x = framework.make(MATRIX)
    for _ in range(3):
        x = tensor_math.relu(x) + tensor_math.relu(x)
    assert framework.array(x).tolist() == (8 * np.maximum(MATRIX, 0)).tolist()


# In place


@writable
def test_scale_writes_in_place():
    x = framework.make(MATRIX)
    before = framework.address(x)
    assert tensor_math.scale_(x, 10.0) is None
    assert framework.address(x) == before
    assert framework.array(x).tolist() == (10 * MATRIX).tolist()


@writable
def test_scale_of_row_writes_through_to_the_tensor():
    x = framework.make(MATRIX)
    tensor_math.scale_(x[1], 10.0)
    assert framework.array(x).tolist() == [[-1, 2, -3], [40, -50, 60]]


@only("numpy", "torch")
def test_scale_of_column_writes_through_to_the_tensor():
    x = framework.make(MATRIX)
    tensor_math.scale_(x[:, 1], 10.0)
    assert framework.array(x).tolist() == [[-1, 20, -3], [4, -50, 6]]


@immutable
@pytest.mark.parametrize(
    "function, other", [(tensor_math.scale_, 10.0), (tensor_math.add_, MATRIX)]
)
def test_written_argument_refuses_immutable_tensor(function, other):
    x = framework.make(MATRIX)
    what = found("float32", [2, 3], [3, 1])
    message = f"the tensor is read-only, and the function writes it ({what}); pass a copy that can be written, such as dlbridge.from_dlpack(x, copy=True)"
    refused(BufferError, message, function, x, other)
    assert framework.array(x).tolist() == MATRIX.tolist()


@only("numpy")
def test_written_argument_refuses_read_only_array():
    x = np.array(MATRIX)
    x.flags.writeable = False
    what = found("float32", [2, 3], [3, 1])
    message = f"the tensor is read-only, and the function writes it ({what}); pass a copy that can be written, such as dlbridge.from_dlpack(x, copy=True)"
    refused(BufferError, message, tensor_math.scale_, x, 10.0)
    assert x.tolist() == MATRIX.tolist()
    assert tensor_math.relu(x).tolist() == [[0, 2, 0], [4, 0, 6]]


@only("numpy", "torch")
def test_written_argument_refuses_overlapping_elements():
    x = framework.make(MATRIX[0])
    x = np.lib.stride_tricks.as_strided(x, (2, 3), (0, 4)) if NAME == "numpy" else x.expand(2, 3)
    what = found("float32", [2, 3], [0, 1])
    message = (
        f"elements of the tensor are at one place, and the function writes them ({what}); "
        "pass a copy of it"
    )
    refused(BufferError, message, tensor_math.scale_, x, 10.0)


@writable
def test_add_writes_the_sum():
    x = framework.make(MATRIX)
    tensor_math.add_(x, framework.make(10 * MATRIX))
    assert framework.array(x).tolist() == (11 * MATRIX).tolist()


def test_arguments_of_two_frameworks_are_accepted():
    x = MATRIX.copy()
    tensor_math.add_(x, framework.make(10 * MATRIX))
    assert x.tolist() == (11 * MATRIX).tolist()


def test_shape_mismatch_error_names_both_shapes():
    x = MATRIX.copy()
    y = framework.make(MATRIX[0])
    message = f"expected shape [2, 3]; got {found('float32', [3], [1])}"
    refused(ValueError, message, tensor_math.add_, x, y)
    assert x.tolist() == MATRIX.tolist()


@writable
def test_written_argument_that_is_also_read_is_refused():
    message = (
        "memory that is to be read is being written by another argument, or another call; "
        "pass a copy"
    )
    x = framework.make(MATRIX)
    refused(ValueError, message, tensor_math.add_, x, x)
    refused(ValueError, message, tensor_math.add_, x[0], x[0])
    assert framework.array(x).tolist() == MATRIX.tolist()


@writable
def test_disjoint_rows_are_read_and_written():
    x = framework.make(MATRIX)
    tensor_math.add_(x[0], x[1])
    assert framework.array(x).tolist() == [[3, -3, 3], [4, -5, 6]]


@only("numpy", "torch")
def test_interleaved_columns_are_read_and_written():
    x = framework.make(MATRIX)
    tensor_math.add_(x[:, 0], x[:, 1])
    assert framework.array(x).tolist() == [[1, 2, -3], [-1, -5, 6]]


# Reductions


@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (4, 0), (0, 4), (0, 0), (33, 17)])
def test_sum_rows_returns_row_sums(shape):
    numbers = np.random.default_rng(0).integers(-9, 9, shape).astype("float32")
    sums = tensor_math.sum_rows(framework.make(numbers))
    assert isinstance(sums, framework.type)
    assert framework.array(sums).tolist() == numbers.sum(axis=1).tolist()


WANTED = "a tensor of float32, of rank 2, row-major without gaps, in memory that the CPU reaches"


def test_argument_of_other_rank_is_refused():
    x = framework.make(MATRIX[0])
    message = f"expected {WANTED}; got {found('float32', [3], [1])}"
    refused(ValueError, message, tensor_math.sum_rows, x)


@only("numpy", "torch")
def test_argument_of_other_layout_is_refused():
    x = framework.make(MATRIX).T
    message = f"expected {WANTED}; got {found('float32', [3, 2], [1, 3])}"
    refused(ValueError, message, tensor_math.sum_rows, x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 4, 5)])
def test_mean_equals_numpy(dtype, shape):
    numbers = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    assert tensor_math.mean(framework.make(numbers)) == pytest.approx(numbers.mean(), abs=1e-12)


def test_mean_of_no_elements_is_refused():
    x = framework.make(np.zeros((0, 3), "float32"))
    refused(ValueError, "the mean of no elements", tensor_math.mean, x)


def test_unsupported_dtype_error_names_both_accepted_dtypes():
    with pytest.raises(TypeError) as caught:
        tensor_math.mean(framework.make(np.ones(3, "int32")))
    message = str(caught.value)
    assert message.startswith("expected a tensor of float32 or float64, in memory that the CPU ")
    assert found("int32", [3], [1]) in message
    assert caught.value.wanted == "float32 or float64"


def test_mean_releases_the_gil():
    x = framework.make(np.ones(1_000_000, "float32"))
    ready, has_run = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: (ready.wait(), has_run.set()))
    interval = sys.getswitchinterval()
    other.start()
    # From here on, other threads run only when this one releases the GIL.
    sys.setswitchinterval(1e6)
    try:
        ready.set()
        calls = 0
        while not has_run.is_set() and calls < 10_000:
            tensor_math.mean(x)
            calls += 1
        assert has_run.is_set()
    finally:
        sys.setswitchinterval(interval)
        other.join()


# What only one of them has


@only("torch")
@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: module.ones(3, requires_grad=True),
            "autograd follows this tensor (requires_grad), which it can't outside of PyTorch; "
            "pass tensor.detach()",
        ),
        (
            lambda: module.ones(3, dtype=module.complex64).conj(),
            "the tensor is conjugated lazily, so its memory isn't its value; "
            "pass tensor.resolve_conj()",
        ),
        (
            lambda: module.ones(3, dtype=module.complex64).conj().imag,
            "the tensor is negated lazily, so its memory isn't its value; "
            "pass tensor.resolve_neg()",
        ),
    ],
)
def test_tensor_with_lazy_value_is_refused(make, message):
    refused(BufferError, message, tensor_math.address, make())


@only("torch")
def test_detached_tensor_that_required_grad_is_accepted():
    x = module.ones(3, requires_grad=True)
    assert tensor_math.relu(x.detach()).tolist() == [1, 1, 1]


@only("numpy")
def test_swapped_byte_order_is_refused():
    foreign = MATRIX.astype(MATRIX.dtype.newbyteorder())
    message = f'NumPy\'s {foreign.dtype!r} has no DLPack equivalent; pass x.astype(x.dtype.newbyteorder("="))'
    count = sys.getrefcount(foreign.dtype)
    for _ in range(100):
        refused(BufferError, message, tensor_math.relu, foreign)
    assert abs(sys.getrefcount(foreign.dtype) - count) < 10


@only("tensorflow")
def test_variable_is_refused_and_its_value_accepted():
    variable = module.Variable(MATRIX)
    with pytest.raises(TypeError, match="expected a tensor, got"):
        tensor_math.relu(variable)
    assert framework.array(tensor_math.relu(variable.value())).tolist() == [[0, 2, 0], [4, 0, 6]]


@only("jax")
def test_traced_array_is_refused():
    with pytest.raises(BufferError, match="jax can't share the tensor: Abstract tracer"):
        module.jit(tensor_math.relu)(framework.make(MATRIX))
