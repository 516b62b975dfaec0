"""Tensors with a tangent, as of forward-mode automatic differentiation."""

from __future__ import annotations

import sys

import torch
from torch.autograd import forward_ad

from ..._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp


#: The only level that PyTorch has, whatever transforms are nested.
_LEVEL = 0
_unpack = torch._VF._unpack_dual
# A subclass may have others of these names.
_layout_of, _is_nested = torch.Tensor.layout.__get__, torch.Tensor.is_nested.__get__


def is_entered() -> bool:
    """Whether a program has turned forward-mode differentiation on, other than a compiled one."""
    # Another release may have another name for it.
    return getattr(forward_ad, "_current_level", 0) >= 0


def may_be_entered() -> bool:
    """Whether tensors may have tangents. Compiled programs don't tell, but by their tensors."""
    return is_entered() or "torch._dynamo" in sys.modules


def has_tangent(value: Any) -> bool:
    """Whether a tensor, or one in a list, has a tangent."""
    if isinstance(value, list | tuple):
        return any(map(has_tangent, value))
    if not isinstance(value, torch.Tensor):
        return False
    # Neither modes nor subclasses see the questions.
    with torch._C.DisableTorchFunctionSubclass(), torch._C._DisableTorchDispatch():
        # PyTorch can't tell of others, such as sparse ones, which ops refuse.
        if _layout_of(value) is not torch.strided or _is_nested(value):
            return False
        return _unpack(value, level=_LEVEL)[1] is not None


def primal(value: Any) -> Any:
    """Returns a tensor without its tangent."""
    return _unpack(value, level=_LEVEL)[0] if isinstance(value, torch.Tensor) else value


def refused_tangent(op: PublishedOp, args: Any) -> BufferError:
    """Returns the error of a call with a tangent of an op that declares no gradient."""
    at = next(at for at, value in enumerate(args) if has_tangent(value))
    name = op.inputs[min(at, len(op.inputs) - 1)]
    what = "the tensor has a tangent (forward-mode automatic differentiation)"
    why = f'argument "{name}": {what}, and the op declares no gradient'
    error = BufferError(f"{op.row['name']}: {why}")
    remedy = "pass torch.autograd.forward_ad.unpack_dual(tensor).primal"
    return with_fields(error, "requires_grad", remedy=remedy)
