"""Arithmetic on tensors of any framework."""

from collections.abc import Sequence
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

def layer_norm(x: T, weight: Tensor) -> T:
    """Each row less its mean, over its standard deviation, times `weight`."""

def concat(tensors: Sequence[T]) -> T:
    """The elements of vectors, one vector after another."""

def positions(x: T) -> T:
    """0, 1, 2, and so on, as integers of 64 bits if the framework of `x` has them, else of 32."""

class RunningSum:
    """The sum of all vectors that were added."""

    def __new__(cls, size: int) -> RunningSum: ...
    def add(self, x: Tensor) -> None:
        """Adds a vector."""

    def sum(self, like: T) -> T:
        """The sum, shared, as a tensor of the framework that `like` is of."""
