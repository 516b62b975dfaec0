"""Arithmetic on tensors of any framework."""

from collections.abc import Sequence
from typing import SupportsFloat, SupportsIndex

from dlbridge.typing import TensorLike, TensorT

def address(x: TensorLike) -> int:
    """The address of the first element."""

def relu(x: TensorT) -> TensorT:
    """A new tensor: `x` where it is positive, else 0."""

def scale_(x: TensorLike, factor: SupportsFloat | SupportsIndex) -> None:
    """Multiplies `x` by `factor`, in place."""

def add_(x: TensorLike, y: TensorLike) -> None:
    """Adds `y` to `x`, in place."""

def sum_rows(x: TensorT) -> TensorT:
    """The sum of each row of a matrix, as a new tensor."""

def mean(x: TensorLike) -> float:
    """The mean of all elements. Other threads run meanwhile."""

def layer_norm(x: TensorT, weight: TensorLike) -> TensorT:
    """Each row less its mean, over its standard deviation, times `weight`."""

def concat(tensors: Sequence[TensorT]) -> TensorT:
    """The elements of vectors, one vector after another."""

def positions(x: TensorT) -> TensorT:
    """0, 1, 2, and so on, as integers of 64 bits if the framework of `x` has them, else of 32."""

class RunningSum:
    """The sum of all vectors that were added."""

    def __new__(cls, size: SupportsIndex) -> RunningSum: ...
    def add(self, x: TensorLike) -> None:
        """Adds a vector."""

    def sum(self, like: TensorT) -> TensorT:
        """The sum, shared, as a tensor of the framework that `like` is of."""
