"""Ops as ops of PyTorch's dispatcher, for torch.compile, torch.export, autograd and torch.func.

Kernels for the CPU are called without Python. What PyTorch calls while it traces, differentiates or
vectorises is here, and generated of the ops' definitions.
"""

from __future__ import annotations

import sys

import torch

from ..definition import flat, refusal
from .tangents import has_tangent, is_entered, refused_tangent
from .transforms import is_transformed

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp as Op

#: The first release whose C functions define ops.
_OLDEST = (2, 8)
if torch.__version__ >= _OLDEST:
    from .op import PublishedOp

_ops: dict[str, Op] = {}
#: Whether `trace` was called once torch._dynamo was there.
_traces = False


def publish(names: list[str]) -> dict[str, str]:
    """Publishes ops, and returns why some can't be, by name."""
    if torch.__version__ < _OLDEST:
        return dict.fromkeys(names, f"expected PyTorch 2.8 or newer, got {torch.__version__}")
    refused = {}
    for name in names:
        if name in _ops:
            continue
        try:
            op = PublishedOp(name, _ops)
            op.register()
        except Exception as error:
            refused[name] = refusal(name, error)
        else:
            _ops[name] = op
    tracer = sys.modules.get("torch._dynamo")
    # While another thread imports it, `trace` would wait for that, and that for this thread: ops
    # are traced at its end.
    if _traces or tracer and not getattr(tracer.__spec__, "_initializing", False):
        trace()
    return refused


def trace() -> None:
    """Has torch.compile trace the functions in `dlbridge.ops` as calls of PyTorch's ops."""
    global _traces
    _traces = True
    for op in _ops.values():
        if not op.is_traced:
            op.is_traced = True
            substitute = torch.compiler.substitute_in_graph
            substitute(op.eager, skip_signature_check=True)(op.function)


def follows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether PyTorch follows or traces a tensor among arguments."""
    tensors = [item for item in flat(args, kwargs) if isinstance(item, torch.Tensor)]
    return any(map(_is_followed, tensors))


def _is_followed(tensor: torch.Tensor) -> bool:
    return (
        tensor.requires_grad
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        or (is_entered() and has_tangent(tensor))
        or type(tensor).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl
    )


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls an op of PyTorch with the arguments of the function in `dlbridge.ops`."""
    if name not in _ops:
        return NotImplemented
    op = _ops[name]
    if any(map(is_transformed, flat(args, kwargs))):
        return op.transformed(*args, **kwargs)
    if is_entered():
        tensors = [*args, *map(kwargs.get, op.inputs[len(args) :])]
        if has_tangent(tensors):
            if not op.row["gradients"]:
                raise refused_tangent(op, tensors)
            return op.transformed(*args, **kwargs)
    return op.function(*args, **kwargs)


assert sys.modules["torch"] is torch
