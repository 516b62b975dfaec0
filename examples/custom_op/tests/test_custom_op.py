"""The ops of this crate, called with tensors of a framework: FRAMEWORK says of which."""

import inspect
import os

import dlbridge
import numpy as np
import pytest

NAME = os.environ.get("FRAMEWORK", "numpy")
module = pytest.importorskip(NAME)
before = dir(dlbridge.ops)

import custom_op  # noqa: E402, F401

image = dlbridge.ops.image


def tensor(numbers, dtype="float32"):
    """A tensor of the framework."""
    return dlbridge.asarray(numbers, dtype).to(NAME)


def numbers(x):
    return dlbridge.from_dlpack(x).tolist()


def is_its_own(x):
    return type(x) is type(tensor([1.0]))


def test_import_of_extension_registers_its_ops():
    assert not {"image", "nn"} & set(before) and {"image", "nn"} < set(dir(dlbridge.ops))
    assert dir(dlbridge.ops.nn) == ["swiglu", "swiglu_backward"]
    assert dir(image) == ["invert", "normalize", "range"]
    assert repr(image.invert.__self__) == "<op image.invert(x: T) -> y: T>"
    signature = (
        "(x, *, mean=0.5, deviation=0.5, out=None, like=None, label='', memory='own', threads=None)"
    )
    assert str(inspect.signature(image.normalize)) == signature
    assert "mean 0 and deviation 1" in image.normalize.__doc__


def test_kernels_lists_types_and_origin():
    kernels = [kernel for kernel in dlbridge.kernels() if kernel["op"].startswith("image.")]
    assert sum(len(kernel["descriptions"]) for kernel in kernels) == 14 and {
        kernel["origin"] for kernel in kernels
    } == {"custom_op::image"}
    strict = [
        kernel["types"]["T"]
        for kernel in dlbridge.kernels("image.normalize")
        if kernel["label"] == "strict"
    ]
    assert strict == [["float16", "float32", "float64"]]
    assert "custom_op::image" in str(dlbridge.kernels("image.invert"))
    # Those of the package are there once, though this extension has a copy of its own of the crate.
    assert [kernel["device"] for kernel in dlbridge.kernels("add")] == ["cpu", "cuda"]
    assert {"add", "axpy", "matmul", "sum"} < set(dir(dlbridge.ops))


def test_results_are_of_the_callers_framework():
    x = tensor([[0, 1], [254, 255]], "uint8")
    y = image.invert(x)
    assert (
        is_its_own(y) and numbers(y) == [[255, 254], [1, 0]] and numbers(x) == [[0, 1], [254, 255]]
    )
    assert numbers(image.invert(tensor([0.25]))) == [0.75]
    assert type(image.invert(x, like=np.zeros(1))) is np.ndarray


def test_attributes_are_applied_and_checked():
    x = tensor([1.0, 3.0])
    assert numbers(image.normalize(x)) == [1, 5]
    assert numbers(image.normalize(x, mean=2, deviation=np.float32(0.5))) == [-2, 2]
    with pytest.raises(TypeError, match="attribute \"mean\" is of kind float, not '2'"):
        image.normalize(x, mean="2")
    with pytest.raises(ValueError, match="expected a positive number for deviation, got -1"):
        image.normalize(x, deviation=-1)


def test_label_selects_another_kernel():
    x = tensor([1.0, float("inf")])
    assert numbers(image.normalize(x))[0] == 1
    with pytest.raises(ValueError, match="expected a finite brightness for x, got inf"):
        image.normalize(x, label="strict")
    assert numbers(image.normalize(tensor([1.0]), label="strict")) == [1]
    with pytest.raises(LookupError, match='label "fast"; there are'):
        image.normalize(x, label="fast")


def test_op_with_two_results_returns_or_writes_both():
    darkest, brightest = image.range(tensor([[3, 1], [4, 2]], "uint8"))
    assert is_its_own(darkest) and (numbers(darkest), numbers(brightest)) == (1, 4)
    low, high = np.zeros((), "f4"), np.zeros((), "f4")
    x = tensor([3.0, 1.0])
    for out in ((low, high), None):
        results = image.range(x, out=out)
        assert (numbers(results[0]), numbers(results[1])) == (1, 3)
    assert (low, high) == (1, 3)
    assert (
        image.range(x, darkest=low, out=None)[0] is low
        and image.range(x, out=(None, high))[1] is high
    )
    for wrong in (low, [low, high], (low,), (low, high, low)):
        with pytest.raises(
            TypeError, match="image.range: expected a tuple of 2 tensors for out, got"
        ):
            image.range(x, out=wrong)
    with pytest.raises(
        ValueError, match='argument "brightest" is to be written, and shares memory with "darkest"'
    ):
        image.range(x, out=(low, low))
    with pytest.raises(TypeError, match='argument "darkest" was given twice'):
        image.range(x, darkest=low, out=(low, high))
    with pytest.raises(ValueError, match="image.range: there is no image"):
        image.range(tensor([], "float32"))


def test_out_may_be_the_input():
    x = np.array([0.0, 1.0], "f4")
    assert image.invert(x, out=x) is x and x.tolist() == [1, 0]
    assert image.normalize(x, out=x) is x and x.tolist() == [1, -1]
    if NAME in ("numpy", "torch", "paddle"):
        y = tensor([0.0, 1.0])
        assert image.invert(y, y=y) is y and numbers(y) == [1, 0]
    with pytest.raises(
        ValueError, match='argument "y" is to be written, and shares memory with "x"'
    ):
        image.invert(x, out=x[::-1])


def test_custom_ops_compose_with_builtin_ops():
    x = tensor([0.25, 0.75])
    with dlbridge.record() as calls:
        assert numbers(dlbridge.ops.add(image.invert(x), x)) == [1, 1]
    assert [call.op for call in calls] == ["image.invert", "add"] and len(calls) == 2
    assert numbers(dlbridge.wrap(image.invert, "numpy")(x)) == [0.75, 0.25]


def test_swiglu_is_of_the_callers_framework():
    gate, up, dy = np.array([[-2.0, 0.5], [0.0, 3.0]]), np.array([[1.0, -4.0], [2.0, 0.5]]), 0.5
    sigmoid = 1 / (1 + np.exp(-gate))
    args = tensor(gate.tolist()), tensor(up.tolist())
    y = dlbridge.ops.nn.swiglu(*args)
    assert is_its_own(y) and np.allclose(numbers(y), gate * sigmoid * up)
    z = dlbridge.ops.nn.swiglu_backward(*args, tensor([[dy, dy], [dy, dy]]))
    slope = sigmoid * (1 + gate * (1 - sigmoid))
    assert is_its_own(z) and np.allclose(numbers(z), slope * up * dy)
    with pytest.raises(ValueError, match=r"nn.swiglu: expected shape \[.*\] for up, got \[2\]"):
        dlbridge.ops.nn.swiglu(args[0], tensor([1.0, 2.0]))
