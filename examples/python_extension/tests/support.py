"""The framework that the tests of this process use, which `FRAMEWORK` names.

TensorFlow and Paddle can't be in one process, so each framework has one of its own.
"""

import importlib
import os

import numpy as np
import pytest

NAME = os.environ.get("FRAMEWORK", "numpy")
module = importlib.import_module(NAME)


class NumPy:
    is_writable = True
    type = np.ndarray

    def make(self, array):
        return np.array(array)

    def array(self, tensor):
        return np.array(tensor)

    def address(self, tensor):
        return tensor.ctypes.data


class PyTorch:
    is_writable = True
    type = property(lambda self: module.Tensor)

    def make(self, array):
        return module.tensor(array)

    def array(self, tensor):
        return tensor.numpy().copy()

    def address(self, tensor):
        return tensor.data_ptr()


class JAX:
    is_writable = False
    type = property(lambda self: module.Array)

    def make(self, array):
        with module.enable_x64(True):
            return module.numpy.array(array)

    def array(self, tensor):
        return np.array(tensor)

    def address(self, tensor):
        return tensor.unsafe_buffer_pointer()


class TensorFlow:
    is_writable = False
    type = property(lambda self: module.Tensor)

    def make(self, array):
        return module.constant(array)

    def array(self, tensor):
        return tensor.numpy().copy()

    def address(self, tensor):
        return np.from_dlpack(tensor).ctypes.data


class Paddle:
    is_writable = True
    type = property(lambda self: module.Tensor)

    def make(self, array):
        return module.to_tensor(array)

    def array(self, tensor):
        return tensor.numpy().copy()

    def address(self, tensor):
        return tensor.data_ptr()


KNOWN = {
    "numpy": NumPy,
    "torch": PyTorch,
    "jax": JAX,
    "tensorflow": TensorFlow,
    "paddle": Paddle,
}
framework = KNOWN[NAME]()
#: The remedy that an error names for a tensor of another element type.
CASTS = {
    "torch": "cast it with x.to(torch.float32)",
    "tensorflow": 'cast it with tensorflow.cast(x, "float32")',
}
CAST = CASTS.get(NAME, 'cast it with x.astype("float32")')


def only(*names):
    """A test that is for these frameworks alone."""
    return pytest.mark.only(names)


writable = only(*(name for name, known in KNOWN.items() if known.is_writable))
immutable = only(*(name for name, known in KNOWN.items() if not known.is_writable))


def refused(error, message, function, *arguments):
    """The call fails with just this."""
    with pytest.raises(error) as caught:
        function(*arguments)
    assert str(caught.value) == message


def found(dtype, shape, strides):
    """What errors say of a tensor."""
    kind = type(framework.make(np.zeros(1)))
    name = f"{kind.__module__}.{kind.__qualname__}"
    return f"{name} of {dtype}, shape {shape}, strides {strides}, on cpu"
