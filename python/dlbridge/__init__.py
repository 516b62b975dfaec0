"""Moves tensors between frameworks with zero copies, and says why where that can't be."""

from ._core import (
    Device,
    DType,
    Tensor,
    _restore,
    arange,
    asarray,
    convert,
    empty,
    from_dlpack,
    full,
    ones,
    zeros,
)
from ._explain import Explanation, explain

__all__ = [
    "DType",
    "Device",
    "Explanation",
    "Tensor",
    "arange",
    "asarray",
    "convert",
    "empty",
    "explain",
    "from_dlpack",
    "full",
    "ones",
    "zeros",
]
__version__ = "0.1.0"
