"""The functions that torch.compile traces in the place of those in `dlbridge.ops`."""

from __future__ import annotations

import torch

from ..._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .op import PublishedOp

#: Keywords of calls that don't change what a traced call does.
OTHER_KEYWORDS = ("like", "label", "memory", "threads")

# PyTorch 2.8 doesn't trace unions of types.
NUMBERS = (bool, int, float)
LISTS = (list, tuple)


def to_dtype(dtype: Any) -> torch.dtype | None:
    """Returns the dtype of PyTorch of a name, or of one of another library."""
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    return getattr(torch, str(dtype).removeprefix("torch."))


def function_of_op(op: PublishedOp, call: Any, functional: Any) -> Callable[..., Any]:
    """Returns the function that takes the place of that in `dlbridge.ops`."""
    # What it refers to is what torch.compile can trace: ops, constants, and lists of them.
    is_transform = call == functional != op.call
    inputs, variadic = op.inputs, op.variadic
    dtypes = [name for name, kind in op.kinds.items() if "dtype" in kind]
    lists = [name for name, kind in op.kinds.items() if kind.startswith("ints")]
    written, row, others = op.written, op.row["name"], OTHER_KEYWORDS
    kinds = [tensor["dtype"] for tensor in op.row["inputs"]]
    variables = [kind[1] if kind[0] == "variable" else None for kind in kinds]
    fixed = [to_dtype(kind[1]) if kind[0] == "is" else None for kind in kinds]
    single = len(inputs) - 1 if variadic else len(inputs)

    def function(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        for name in others:
            if kwargs.pop(name, None) not in (None, "", "own", "caller"):
                error = TypeError(f"{row}: a traced call has no argument {name!r}")
                raise with_fields(error, "argument", found=name)
        if variadic:
            rest = args[single:]
            if len(rest) == 1 and isinstance(rest[0], LISTS):
                rest = rest[0]
            tensors = [*args[:single], list(rest)]
        else:
            if len(args) > single:
                error = TypeError(f"{row}: expected {single} tensors, got {len(args)}")
                raise with_fields(error, "argument", found=len(args), wanted=single)
            tensors = list(args)
            for name in inputs[len(args) :]:
                tensors.append(kwargs.pop(name, None))
        for at, tensor in enumerate(tensors):
            if isinstance(tensor, NUMBERS):
                like = [
                    other
                    for other, variable in zip(tensors, variables)
                    if isinstance(other, torch.Tensor)
                    and (variables[at] is None or variable == variables[at])
                ]
                dtype = like[0].dtype if variables[at] is not None and like else fixed[at]
                # Of its kind, such as a fake tensor.
                if like:
                    tensors[at] = like[0].new_full((), tensor, dtype=dtype)
                else:
                    tensors[at] = torch.full((), tensor, dtype=dtype)
        for name in dtypes:
            if name in kwargs:
                kwargs[name] = to_dtype(kwargs[name])
        for name in lists:
            if isinstance(kwargs.get(name), int):
                kwargs[name] = [kwargs[name]]
        if not written:
            result = call(*tensors, **kwargs)
            if out is None:
                return result
            if not isinstance(out, tuple):
                return out.copy_(result)
            for to, one in zip(out, result):
                to.copy_(one)
            return out
        if out is not None:
            error = TypeError(f"{row}: a traced call that writes inputs has no out")
            raise with_fields(error, "argument", found="out")
        follows = [isinstance(tensor, torch.Tensor) and tensor.requires_grad for tensor in tensors]
        if is_transform or torch.is_grad_enabled() and any(follows):
            news = functional(*tensors, **kwargs)
            news = news if isinstance(news, LISTS) else (news,)
            for at, new in zip(written, news):
                tensors[at].copy_(new)
            more = tuple(news[len(written) :])
        else:
            more = call(*tensors, **kwargs)
            more = () if more is None else more if isinstance(more, tuple) else (more,)
        results = (*(tensors[at] for at in written), *more)
        return results[0] if len(results) == 1 else results

    return function
