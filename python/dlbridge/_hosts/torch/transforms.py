"""Gradients, and calls in transforms of torch.func."""

from __future__ import annotations

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from ..._errors import with_fields
from .. import batching, gradients
from ..definition import flat
from . import tangents
from .tangents import has_level, has_tangent, refused_tangent

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .op import PublishedOp


def is_transformed(tensor: Any) -> bool:
    """Whether a transform of torch.func, such as vmap or grad, follows a tensor."""
    functorch = torch._C._functorch
    return isinstance(tensor, torch.Tensor) and (
        functorch.is_gradtrackingtensor(tensor) or functorch.is_batchedtensor(tensor)
    )


def _any_requires_grad(*tensors: Any) -> bool:
    found = (tensor for tensor in flat(tensors, {}) if isinstance(tensor, torch.Tensor))
    return any(tensor.requires_grad for tensor in found)


#: Whether autograd follows a tensor among arguments, and lists of them. Not all releases have it.
requires_grad = getattr(torch._C, "_any_requires_grad", _any_requires_grad)


def followed(op: PublishedOp) -> Callable[..., Any]:
    """Returns what PyTorch's dispatcher calls for autograd: an op made of its kernel."""
    kernel, functional, declares = op.kernel, op.functional, bool(op.row["gradients"])
    below = torch._C._after_autograd_keyset
    # Looked up once, as each call asks them.
    is_grad_enabled, is_exporting = torch.is_grad_enabled, torch.compiler.is_exporting
    are_transforms_active = torch._C._are_functorch_transforms_active

    def function(keyset: Any, *tensors: Any, **attributes: Any) -> Any:
        is_dual = has_level() and has_tangent(tensors)
        if is_dual and not declares:
            raise refused_tangent(op, tensors)
        is_followed = is_dual or is_grad_enabled() and requires_grad(*tensors)
        if are_transforms_active():
            # PyTorch has chosen one transform, to which the tensors belong.
            if is_followed:
                with enable_single_level_autograd_function():
                    return _applied(op, tensors, attributes, op.single_level)
            # Others have the op next.
            with torch._C._AutoDispatchBelowAutograd():
                return functional(*tensors, **attributes)
        if is_followed and declares:
            return _applied(op, tensors, attributes)
        # An exported program may be trained later: the kernel alone has no gradient.
        if is_exporting():
            return functional.redispatch(keyset & below, *tensors, **attributes)
        return kernel(*tensors, **attributes)

    return function


def transform(op: PublishedOp, tensors: Any, attributes: dict[str, Any]) -> Any:
    """Calls an op with tensors that transforms of torch.func follow."""
    if op.variadic and not op.row["gradients"]:
        layers = torch._C._functorch.get_interpreter_stack() or []
        keys = {layer.key() for layer in layers}
        if keys - {torch._C._functorch.TransformType.Vmap}:
            error = RuntimeError(f"{op.row['name']} declares no gradient")
            raise with_fields(error, "kernel")
        return op.kernel(*tensors, **attributes)
    return _applied(op, tensors, attributes)


def _applied(
    op: PublishedOp, tensors: Any, attributes: dict[str, Any], function: Any = None
) -> Any:
    function = function or op.differentiable
    values = {**op.defaults, **attributes}
    given = [values[name] for name in op.kinds]
    if op.variadic:
        *tensors, rest = tensors
        return function.apply(*tensors, *given, *rest)
    # Inputs that were left out may be missing at the end.
    tensors = (*tensors, *[None] * (len(op.inputs) - len(tensors)))
    return function.apply(*tensors, *given)


def differentiable(op: PublishedOp) -> tuple[Any, Any]:
    """Returns an op as a function of autograd, and as one of a single transform of torch.func: of
    inputs, attributes, and the tensors of a variadic input.
    """
    declared = op.row["gradients"]
    kept = gradients.needed(declared)
    count, names = len(op.inputs) - op.variadic, list(op.kinds)
    before = count + len(names)

    def joined(values: Any) -> list[Any]:
        """Returns the inputs, of which a variadic one is a list."""
        return [*values[:count], *([list(values[before:])] if op.variadic else [])]

    def names_of(values: Any) -> list[str]:
        """Returns the names of a call's values."""
        return [*op.inputs[:count], *names, *op.inputs[count:] * (len(values) - before)]

    def gradient(ctx: Any, name: str) -> Any:
        return gradients.declared(op.row, name, ctx.ranks, f"dlbridge::{op.name}")

    class Call:
        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            results = output if isinstance(output, tuple | list) else (output,)
            many = [of if isinstance(of, list) else [of] for of in joined(inputs)]
            tensors = {"input": [of[0] if of else None for of in many], "output": results}
            saved = [tensors[kind][at] for kind, at in kept]
            ctx.save_for_backward(*saved)
            if has_level():
                ctx.save_for_forward(*saved, *results)
            ctx.attributes = dict(zip(names, inputs[count:before]))
            ctx.ranks = [[tensor.dim() for tensor in of if tensor is not None] for of in many]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            known = {key: tensor for key, tensor in zip(kept, ctx.saved_tensors)}
            known.update({("gradient", at): _conjugate(grad) for at, grad in enumerate(grads)})
            found: list[Any] = []
            for name, needs in zip(names_of(ctx.needs_input_grad), ctx.needs_input_grad):
                value = gradient(ctx, name) if needs else None
                found.append(value and _gradient(op, value, known, ctx.attributes))
            return tuple(found)

        @staticmethod
        def jvp(ctx: Any, *given: Any) -> Any:
            saved = [tangents.primal(tensor) for tensor in ctx.saved_tensors]
            known, results = dict(zip(kept, saved)), saved[len(kept) :]
            for at, result in enumerate(results):
                known["gradient", at] = torch.zeros_like(result)
            found: list[Any] = [None] * len(results)
            # It is off, and other transforms may follow what is called here.
            with forward_ad._set_fwd_grad_enabled(True):
                for name, tangent in zip(names_of(given), given):
                    value = None if tangent is None else gradient(ctx, name)
                    for at, part in _tangents(op, value, tangent, known, ctx.attributes):
                        found[at] = part if found[at] is None else found[at] + part
            return found[0] if len(found) == 1 else tuple(found)

    def called(function: Any, values: Any) -> Any:
        return function(*joined(values), **dict(zip(names, values[count:before])))

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

    class SingleLevel(Call, _SingleLevelFunction):
        @staticmethod
        def forward(*values: Any) -> Any:
            # Other transforms have the op next, for which this one turned gradients and tangents
            # off.
            forward = forward_ad._set_fwd_grad_enabled(True)
            with torch.enable_grad(), forward, torch._C._AutoDispatchBelowAutograd():
                return called(op.functional, values)

    return Function, SingleLevel


def vmap(
    op: PublishedOp, call: Callable[..., Any], info: Any, in_dims: Any, args: Any, kwargs: Any
) -> Any:
    """Returns a call for each index of an axis, as one call where the op can."""
    moved = _batched(op, info, in_dims, args, kwargs)
    if moved is not None:
        args, kwargs = moved
        result = call(*args, **kwargs)
    elif info.batch_size == 0:
        result = _of_no_index(op, in_dims, args, kwargs)
    else:
        results = []
        for at in range(info.batch_size):
            one = [_selected(value, dim, at) for value, dim in zip(args, in_dims)]
            results.append(call(*one, **kwargs))
        if isinstance(results[0], tuple | list):
            result = tuple(torch.stack(parts) for parts in zip(*results))
        else:
            result = torch.stack(results)
    return result, (0,) * len(result) if isinstance(result, tuple | list) else 0


def _batched(op: PublishedOp, info: Any, in_dims: Any, args: Any, kwargs: Any) -> Any:
    """The arguments of one call for all indices; None if there is no such call."""
    many = [list(arg) if isinstance(arg, list | tuple) else [arg] for arg in args]
    dims = [
        list(dim) if isinstance(dim, list | tuple) else [dim] * len(of)
        for of, dim in zip(many, in_dims)
    ]
    ranks = [
        [tensor.dim() - (dim is not None) for tensor, dim in zip(*of) if tensor is not None]
        for of in zip(many, dims)
    ]
    has_axis = [[dim is not None for dim in dim_of] for dim_of in dims]
    plan = batching.plan(op, ranks, has_axis, kwargs)
    if plan is None:
        return None
    moved = []
    for at, (of, dim_of) in enumerate(zip(many, dims)):
        new = []
        for tensor, dim in zip(of, dim_of):
            if tensor is not None and at in plan.ranks:
                if dim is not None:
                    tensor = tensor.movedim(dim, 0)
                elif plan.expands:
                    tensor = tensor.expand(info.batch_size, *tensor.shape)
                if dim is not None or plan.expands:
                    ones = plan.ranks[at] - (tensor.dim() - 1)
                    shape = (tensor.shape[0], *([1] * ones), *tensor.shape[1:])
                    tensor = tensor.reshape(shape)
            new.append(tensor)
        moved.append(new if isinstance(args[at], list | tuple) else new[0])
    return moved, plan.attributes


def _of_no_index(op: PublishedOp, in_dims: Any, args: Any, kwargs: Any) -> Any:
    """Returns the results, without elements, of calls for each index of an axis of size 0."""
    one = [_without_axis(value, dim) for value, dim in zip(args, in_dims)]
    result = op.fake(bool(op.written))(*one, **kwargs)
    if isinstance(result, tuple):
        return tuple(each.new_empty((0, *each.shape)) for each in result)
    return result.new_empty((0, *result.shape))


def _without_axis(value: Any, dim: Any) -> Any:
    """Returns a tensor of other elements, without an axis."""
    if isinstance(value, list | tuple):
        dims = dim if isinstance(dim, list | tuple) else [dim] * len(value)
        return [_without_axis(item, dim) for item, dim in zip(value, dims)]
    if dim is None:
        return value
    shape = list(value.shape)
    del shape[dim]
    return value.new_empty(shape)


def _selected(value: Any, dim: Any, at: int) -> Any:
    if isinstance(value, list | tuple):
        dims = dim if isinstance(dim, list | tuple) else [dim] * len(value)
        return [_selected(item, dim, at) for item, dim in zip(value, dims)]
    return value if dim is None else value.select(dim, at)


def _published(op: PublishedOp) -> Callable[[str], PublishedOp]:
    """Returns what finds an op that a gradient calls."""

    def published(name: str) -> PublishedOp:
        if name not in op.published:
            error = RuntimeError(f"a gradient calls the op {name}, which isn't published")
            raise with_fields(error, "name", wanted=name)
        return op.published[name]

    return published


def _calls(op: PublishedOp) -> Callable[..., Any]:
    """Returns what calls the ops of a gradient."""
    published = _published(op)

    def call(name: str, tensors: list[Any], keywords: dict[str, Any]) -> Any:
        other = published(name)
        # Dynamo, which traces this for compiled autograd, can't ask.
        follows = not torch.compiler.is_compiling() and any(map(is_transformed, tensors))
        function = other.transform if follows else other.functional
        return function(*tensors, **keywords)

    return call


def _gradient(
    op: PublishedOp, value: Any, known: dict[Any, Any], attributes: dict[str, Any]
) -> Any:
    """Returns a gradient, as calls of ops."""
    published = _published(op)

    def kinds_of(name: str) -> dict[str, str]:
        return published(name).kinds

    grad = gradients.evaluate(value, known, attributes, kinds_of, _calls(op), torch.real)
    return _conjugate(grad)


def _tangents(
    op: PublishedOp, value: Any, tangent: Any, known: dict[Any, Any], attributes: dict[str, Any]
) -> list[tuple[int, Any]]:
    """Returns the tangents of outputs by that of the input with a gradient, as calls of ops."""
    if value is None:
        return []
    published = _published(op)

    def call(name: str, tensors: list[Any], keywords: dict[str, Any]) -> Any:
        return published(name).functional(*tensors, **keywords)

    return gradients.transpose(value, tangent, known, attributes, published, call, torch.real)


def _conjugate(grad: torch.Tensor | None) -> torch.Tensor | None:
    return grad if grad is None or not grad.is_complex() else torch.conj_physical(grad)
