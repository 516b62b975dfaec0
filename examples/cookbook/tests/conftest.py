"""The framework that the tests of this process use, which `FRAMEWORK` names."""

import importlib
import os

import ml_dtypes
import numpy as np
import pytest

NAME = os.environ.get("FRAMEWORK", "numpy")
# The programs of the pages use PyTorch, and are in processes of their own.
collect_ignore = [] if NAME == "torch" else ["test_pages.py"]


class Framework:
    """Tensors of one framework, from NumPy's arrays and back."""

    def __init__(self):
        self.name = NAME
        self.module = importlib.import_module(NAME)
        self.type = type(self.make(np.zeros(1, "float32")))

    def make(self, array):
        if NAME == "numpy":
            return array.copy()
        if NAME == "jax":
            return self.module.numpy.asarray(array)
        if array.dtype == ml_dtypes.bfloat16:  # PyTorch has no conversion from NumPy's.
            return self.module.from_numpy(array.view("int16").copy()).view(self.module.bfloat16)
        return self.module.from_numpy(array.copy())

    def array(self, tensor):
        """The values of a tensor of this framework."""
        assert isinstance(tensor, self.type)
        if NAME == "torch" and tensor.dtype == self.module.bfloat16:
            return tensor.view(self.module.int16).numpy().view(ml_dtypes.bfloat16)
        return np.array(tensor)


@pytest.fixture(scope="session")
def framework():
    return Framework()
