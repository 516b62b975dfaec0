"""Tensors with a tangent, as of forward-mode automatic differentiation: ops have none."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

from ..._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp


def has_level() -> bool:
    """Whether forward-mode differentiation is on: without, no tensor has a tangent."""
    # Another release may have another name for it.
    return getattr(forward_ad, "_current_level", 0) >= 0


def _has_tangent(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_tangent, value))
    return isinstance(value, torch.Tensor) and forward_ad.unpack_dual(value).tangent is not None


def refuse_tangents(op: PublishedOp, args: Any) -> None:
    """Raises the error of an eager call if a tensor among an op's inputs, or in a list there, has
    a tangent.
    """
    if not has_level():
        return
    for at, value in enumerate(args):
        if _has_tangent(value):
            name = op.inputs[min(at, len(op.inputs) - 1)]
            what = "the tensor has a tangent (forward-mode automatic differentiation)"
            why = f'argument "{name}": {what}, which its memory doesn\'t hold'
            error = BufferError(f"{op.row['name']}: {why}")
            remedy = "pass torch.autograd.forward_ad.unpack_dual(tensor).primal"
            raise with_fields(error, "requires_grad", remedy=remedy)
