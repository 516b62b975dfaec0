"""What PyTorch's dispatcher calls before a kernel that writes its inputs.

PyTorch's own functions for these dispatch keys are for ops that return what they write.
"""

from __future__ import annotations

import torch

from ..._errors import with_fields
from .tangents import has_tangent, may_be_entered, refused_tangent

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp


def register(library: Any, op: PublishedOp) -> None:
    """Registers the functions of the form of an op that writes its inputs."""
    written, name, names, call, functional = (
        op.written,
        op.row["name"],
        op.inputs,
        op.call,
        op.functional,
    )
    below_lazy = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.Conjugate)

    def resolved(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        for at in written:
            if args[at].is_conj():
                error, fields = _lazy(name, names[at], "conjugated", "resolve_conj")
                raise with_fields(error, "conjugate", **fields)
            if args[at].is_neg():
                error, fields = _lazy(name, names[at], "negated", "resolve_neg")
                raise with_fields(error, "negative", **fields)
        return call.redispatch(keyset & below_lazy, *map(_resolved, args), **kwargs)

    def counted(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        for at in written:
            if not args[at].is_inference():
                torch.autograd.graph.increment_version(args[at])
        return call.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, *args, **kwargs)

    def followed(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        is_dual = may_be_entered() and has_tangent(args)
        if is_dual and not op.row["gradients"]:
            raise refused_tangent(op, args)
        is_followed = torch.is_grad_enabled() and any(map(_requires_grad, args))
        if not is_dual and not is_followed:
            return counted(keyset, *args, **kwargs)
        results = functional(*args, **kwargs)
        results = results if isinstance(results, tuple | list) else (results,)
        for at, new in zip(written, results):
            args[at].copy_(new)
        more = tuple(results[len(written) :])
        return more[0] if len(more) == 1 else more or None

    def vectorised(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        for at in written:
            if in_dims[at] is None:
                why = "vmap has no axis of it, but of what is written there"
                error = ValueError(f'{name}: argument "{names[at]}": {why}')
                remedy = "pass a copy for each index"
                raise with_fields(error, "shape", remedy=remedy)
        results, dims = op.vmap(info, in_dims, *args, **kwargs)
        results = results if isinstance(results, tuple | list) else (results,)
        for at, new in zip(written, results):
            args[at].movedim(in_dims[at], 0).copy_(new)
        more = tuple(results[len(written) :])
        return (
            (more[0], 0) if len(more) == 1 else (more, dims[-len(more) :]) if more else (None, None)
        )

    torch.library.register_vmap(f"dlbridge::{op.forms[0]}", vectorised, lib=library)
    functions = {
        "Conjugate": resolved,
        "Negative": resolved,
        "ADInplaceOrView": counted,
        "Autograd": followed,
    }
    for key, function in functions.items():
        library.impl(op.forms[0], function, key, with_keyset=True)


def _lazy(op: str, argument: str, done: str, resolve: str) -> tuple[BufferError, dict[str, str]]:
    """Returns the error of a lazy value, as of an eager call, and its fields."""
    why = f"the tensor is {done} lazily, so its memory isn't its value"
    fields = {"found": f"{done} lazily", "wanted": f"not {done}"}
    fields["remedy"] = f"pass tensor.{resolve}()"
    return BufferError(f'{op}: argument "{argument}": {why}'), fields


def _requires_grad(arg: Any) -> bool:
    if isinstance(arg, tuple | list):
        return any(map(_requires_grad, arg))
    return isinstance(arg, torch.Tensor) and arg.requires_grad


def _resolved(arg: Any) -> Any:
    """Returns an argument that is only read, with its value in memory."""
    if isinstance(arg, tuple | list):
        return [_resolved(item) for item in arg]
    return arg.resolve_conj().resolve_neg() if isinstance(arg, torch.Tensor) else arg
