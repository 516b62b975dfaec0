"""Arithmetic on tensors of any framework."""

from typing import Any, Protocol, TypeVar

class Tensor(Protocol):
    """A tensor of any framework: of NumPy, PyTorch, JAX, TensorFlow, Paddle and others."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

T = TypeVar("T", bound=Tensor)

def address(x: Tensor) -> int:
    """The address of the first element."""

def relu(x: T) -> T:
    """A new tensor: `x` where it is positive, else 0."""

def scale_(x: Tensor, factor: float) -> None:
    """Multiplies `x` by `factor`, in place."""

def add_(x: Tensor, y: Tensor) -> None:
    """Adds `y` to `x`, in place."""

def sum_rows(x: T) -> T:
    """The sum of each row of a matrix, as a new tensor."""

def mean(x: Tensor) -> float:
    """The mean of all elements. Other threads run meanwhile."""
