"""Derivatives of ops by their declared gradients: of reverse mode, and of forward mode."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from ..._errors import with_fields
from .. import gradients
from ..definition import flat
from .tangents import may_be_entered, primal
from .transforms import is_transformed, vmap

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp


def differentiable(op: PublishedOp) -> tuple[Any, Any, Any]:
    """Returns an op as a function of autograd, as one of a single transform of torch.func, and as
    one without transforms and tangents: of inputs, attributes, and the tensors of a variadic input.
    """
    kept = gradients.needed(op.row["gradients"])
    count, names = len(op.inputs) - op.variadic, list(op.kinds)
    before = count + len(names)

    def joined(values: Any) -> list[Any]:
        """Returns the inputs, of which a variadic one is a list."""
        return [*values[:count], *([list(values[before:])] if op.variadic else [])]

    def names_of(values: Any) -> list[str]:
        """Returns the names of a call's values."""
        return [*op.inputs[:count], *names, *op.inputs[count:] * (len(values) - before)]

    def published(name: str) -> PublishedOp:
        if name not in op.published:
            error = RuntimeError(f"a gradient calls the op {name}, which isn't published")
            raise with_fields(error, "name", wanted=name)
        return op.published[name]

    def call(name: str, tensors: list[Any], keywords: dict[str, Any]) -> Any:
        return published(name).functional(*tensors, **keywords)

    # What gradients are evaluated with.
    host = published, call, torch.real

    def declared(ctx: Any, name: str) -> Any:
        return gradients.declared(op.row, name, ctx.ranks, f"dlbridge::{op.name}")

    def keep(ctx: Any, inputs: Any, output: Any) -> list[Any]:
        """Keeps what gradients are made of. Returns it, and the results."""
        results = output if isinstance(output, tuple | list) else (output,)
        many = [of if isinstance(of, list) else [of] for of in joined(inputs)]
        tensors = {"input": [of[0] if of else None for of in many], "output": results}
        saved = [tensors[kind][at] for kind, at in kept]
        ctx.save_for_backward(*saved)
        ctx.attributes = dict(zip(names, inputs[count:before]))
        ctx.ranks = [[tensor.dim() for tensor in of if tensor is not None] for of in many]
        ctx.results = [{"size": of.shape, "dtype": of.dtype, "device": of.device} for of in results]
        return [*saved, *results]

    class Derivatives:
        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            found: list[Any] = [None] * len(ctx.needs_input_grad)
            if not [grad for grad in grads if grad is not None]:
                return tuple(found)
            known = dict(zip(kept, ctx.saved_tensors))
            for at, (grad, of) in enumerate(zip(grads, ctx.results)):
                known["gradient", at] = torch.zeros(**of) if grad is None else _conjugate(grad)
            for at, name in enumerate(names_of(found)):
                if ctx.needs_input_grad[at]:
                    value = declared(ctx, name)
                    found[at] = gradients.evaluate(value, known, ctx.attributes, *host)
            return tuple(map(_conjugate, found))

        @staticmethod
        def jvp(ctx: Any, *given: Any) -> Any:
            saved = [primal(tensor) for tensor in ctx.saved_tensors]
            known, results = dict(zip(kept, saved)), saved[len(kept) :]
            zeros = list(map(torch.zeros_like, results))
            known.update({("gradient", at): zero for at, zero in enumerate(zeros)})
            found: list[Any] = [None] * len(results)
            # It is off, and other transforms may follow what is called here.
            with forward_ad._set_fwd_grad_enabled(True):
                for name, tangent in zip(names_of(given), given):
                    if tangent is None:
                        continue
                    value = declared(ctx, name)
                    parts = gradients.transpose(value, tangent, known, ctx.attributes, *host)
                    for at, part in parts:
                        found[at] = part if found[at] is None else found[at] + part
            for at, zero in enumerate(zeros):
                # PyTorch takes none for whole numbers alone.
                if found[at] is None and (zero.is_floating_point() or zero.is_complex()):
                    found[at] = zero
            return found[0] if len(found) == 1 else tuple(found)

    def called(function: Any, values: Any) -> Any:
        return function(*joined(values), **dict(zip(names, values[count:before])))

    class Call(Derivatives):
        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            saved = keep(ctx, inputs, output)
            if may_be_entered():
                ctx.save_for_forward(*saved)
                # Zeros would be tangents of what has none, and infinity times zero isn't zero.
                ctx.set_materialize_grads(False)

    class Function(Call, torch.autograd.Function):
        @staticmethod
        def forward(*values: Any) -> Any:
            return called(op.kernel, values)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *values: Any) -> Any:
            attributes = dict(zip(names, values[count:before]))
            # Another transform may follow the tensors, too.
            follows = any(map(is_transformed, flat(values, {})))
            call = op.transform if follows else op.functional
            return vmap(op, call, info, joined(in_dims), joined(values), attributes)

    class InTransform(Call, _SingleLevelFunction):
        @staticmethod
        def forward(*values: Any) -> Any:
            # Other transforms have the op next, for which this one turned gradients and tangents
            # off.
            forward = forward_ad._set_fwd_grad_enabled(True)
            with torch.enable_grad(), forward, torch._C._AutoDispatchBelowAutograd():
                return called(op.functional, values)

    # Of a function with `setup_context` PyTorch looks up the names of `forward`'s arguments at each
    # call, which takes most of its time.
    class Plain(Derivatives, torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            result = called(op.kernel, values)
            keep(ctx, values, result)
            return result

    return Function, InTransform, Plain


def _conjugate(grad: torch.Tensor | None) -> torch.Tensor | None:
    return grad if grad is None or not grad.is_complex() else torch.conj_physical(grad)
