"""Calls that autograd follows, or that take part in transforms of torch.func."""

from __future__ import annotations

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function

from ..._errors import with_fields
from .. import batching
from ..definition import flat
from .tangents import has_tangent, may_be_entered, refused_tangent

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
        is_dual = may_be_entered() and has_tangent(tensors)
        if is_dual and not declares:
            raise refused_tangent(op, tensors)
        is_followed = is_dual or is_grad_enabled() and requires_grad(*tensors)
        if are_transforms_active():
            # PyTorch has chosen one transform, to which the tensors belong.
            if is_followed:
                with enable_single_level_autograd_function():
                    return _applied(op, tensors, attributes, op.in_transform)
            # Others have the op next.
            with torch._C._AutoDispatchBelowAutograd():
                return functional(*tensors, **attributes)
        if is_followed and declares:
            return _applied(op, tensors, attributes, op.differentiable if is_dual else op.plain)
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
    return _applied(op, tensors, attributes, op.differentiable)


def _applied(op: PublishedOp, tensors: Any, attributes: dict[str, Any], function: Any) -> Any:
    values = {**op.defaults, **attributes}
    given = [values[name] for name in op.kinds]
    if op.variadic:
        *tensors, rest = tensors
        return function.apply(*tensors, *given, *rest)
    # Inputs that were left out may be missing at the end.
    tensors = (*tensors, *[None] * (len(op.inputs) - len(tensors)))
    return function.apply(*tensors, *given)


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
