"""Views under the function names of the array API standard."""

from __future__ import annotations

from ._core import Tensor, from_dlpack

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from .typing import TensorLike


def permute_dims(x: TensorLike, /, axes: Sequence[SupportsIndex]) -> Tensor:
    """Returns any framework's tensor with its dimensions in another order, sharing the memory."""
    return from_dlpack(x).permute_dims(axes)


def expand_dims(x: TensorLike, /, axis: SupportsIndex = 0) -> Tensor:
    """Returns any framework's tensor with one more dimension of size 1, sharing the memory."""
    return from_dlpack(x).expand_dims(axis)
