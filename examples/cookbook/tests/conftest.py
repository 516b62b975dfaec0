"""The framework that the tests of this process use, which `FRAMEWORK` names."""

import importlib
import os

import numpy as np
import pytest

NAME = os.environ.get("FRAMEWORK", "numpy")
MAKE = {
    "numpy": lambda module, array: array.copy(),
    "torch": lambda module, array: module.from_numpy(array.copy()),
    "jax": lambda module, array: module.numpy.asarray(array),
}
# The programs of the pages use PyTorch, and are in processes of their own.
collect_ignore = [] if NAME == "torch" else ["test_pages.py"]


class Framework:
    """Tensors of one framework, from NumPy's arrays and back."""

    def __init__(self):
        self.name = NAME
        self.module = importlib.import_module(NAME)
        self.type = type(self.make(np.zeros(1, "float32")))

    def make(self, array):
        return MAKE[NAME](self.module, array)

    def array(self, tensor):
        """The values of a tensor of this framework."""
        assert isinstance(tensor, self.type)
        return np.array(tensor)


@pytest.fixture(scope="session")
def framework():
    return Framework()
