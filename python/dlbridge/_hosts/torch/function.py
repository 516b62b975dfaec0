"""The functions that torch.compile traces in the place of those in `dlbridge.ops`."""

from __future__ import annotations

import torch

from ... import _core
from ..._errors import with_fields
from ..definition import (
    OVERFLOWS,
    check_number,
    dtype_name,
    dtype_of_numbers,
    is_plain_number,
    is_usual,
    missing,
    not_a_tensor,
    tensor_like,
    wrong_kind,
)

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
SYMBOLS = (torch.SymBool, torch.SymInt, torch.SymFloat)
LISTS = (list, tuple)
#: Types of values that are refused while torch.compile traces.
NEITHER = (list, tuple, dict, set, str, complex)


#: The names of dtypes.
NAMES = {
    dtype: str(dtype).removeprefix("torch.")
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}


def to_dtype(dtype: Any) -> torch.dtype | None:
    """Returns the dtype of PyTorch of a name, or of one of another library."""
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    name = dtype_name(dtype)
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        error = TypeError(f"PyTorch has no dtype {name}")
        raise with_fields(error, "dtype", found=name)
    return found


# As torch.compiler.assume_constant_result does, which imports torch._dynamo: it is called while
# torch.compile traces.
to_dtype._dynamo_marked_constant = True  # type: ignore[attr-defined]


def is_number(value: Any) -> bool:
    """Whether a value is a number that may stand for a tensor, or a symbol of one."""
    return is_plain_number(value) or isinstance(value, SYMBOLS)


def is_wrong(kind: str, value: Any) -> bool:
    """Whether an attribute of some kind can't be a number that PyTorch would convert."""
    if isinstance(value, bool):
        return kind != "bool"
    if isinstance(value, int):
        return kind == "bool"
    return isinstance(value, float) and kind != "float"


def decided(comparison: Any) -> bool:
    """Returns a comparison of a number. One of symbols is a guard, or False if it can't be one."""
    if not torch.compiler.is_compiling():
        return bool(comparison)
    from torch.fx.experimental import symbolic_shapes

    # An exported program has no guards.
    if torch.compiler.is_exporting():
        return symbolic_shapes.statically_known_true(comparison)
    return symbolic_shapes.guard_or_false(comparison)


def converted(op: str, argument: str, value: Any, writes: bool) -> Any:
    """Returns a tensor of PyTorch of one of another framework, or a number as it is."""
    if isinstance(value, torch.Tensor) or value is None or is_number(value):
        return value
    if torch.compiler.is_compiling():
        # NumPy's arrays are traced as tensors.
        if isinstance(value, NEITHER):
            raise not_a_tensor(op, argument, value)
        return value
    tensor_like(op, argument, value)
    # What is only read may be read-only.
    return _core.convert(value, "torch", readonly="refuse" if writes else "share")


def filled(op: str, argument: str, out: Any, result: Any) -> Any:
    """Returns `out` with the elements of a result; the result if there is no `out`."""
    if out is None:
        return result
    if not isinstance(out, torch.Tensor):
        if isinstance(out, (*NUMBERS, *NEITHER)):
            raise not_a_tensor(op, argument, out)
        found = type(out).__name__
        error = TypeError(f'{op}: argument "{argument}": expected a tensor of PyTorch, got {found}')
        raise with_fields(error, "type", found=found, wanted="a tensor of PyTorch")
    if out.dtype != result.dtype:
        found, wanted = str(out.dtype)[6:], str(result.dtype)[6:]
        text = f'{op}: argument "{argument}" has elements of {found}, and the result is {wanted}'
        remedy = f"pass a tensor of {wanted}"
        raise with_fields(TypeError(text), "dtype", found=found, wanted=wanted, remedy=remedy)
    if out.shape != result.shape:
        found, wanted = str(list(out.shape)), str(list(result.shape))
        text = f'{op}: argument "{argument}" has shape {found}; the result has {wanted}'
        raise with_fields(ValueError(text), "shape", found=found, wanted=wanted)
    if out.device != result.device:
        found, wanted = str(out.device), str(result.device)
        text = f'{op}: argument "{argument}" is on {found}, and others are on {wanted}'
        raise with_fields(ValueError(text), "device", found=found, wanted=wanted)
    return out.copy_(result)


def function_of_op(op: PublishedOp, call: Any, functional: Any) -> Callable[..., Any]:
    """Returns the function that takes the place of that in `dlbridge.ops`."""
    # What it refers to is what torch.compile can trace: ops, constants, and lists of them.
    is_transform = call == functional != op.call
    inputs, variadic = op.inputs, op.variadic
    dtypes = [name for name, kind in op.kinds.items() if "dtype" in kind]
    lists = [name for name, kind in op.kinds.items() if kind.startswith("ints")]
    written, row, others, read = op.written, op.row["name"], OTHER_KEYWORDS, op.op._attributes
    op_kinds = list(op.kinds.items())
    kinds = [tensor["dtype"] for tensor in op.row["inputs"]]
    variables = [kind[1] if kind[0] == "variable" else None for kind in kinds]
    fixed = [to_dtype(kind[1]) if kind[0] == "is" else None for kind in kinds]
    optional = [tensor["optional"] for tensor in op.row["inputs"]]
    outputs = [output["name"] for output in op.row["outputs"]]
    single = len(inputs) - 1 if variadic else len(inputs)

    def function(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        for name in others:
            if not is_usual(kwargs.pop(name, None)):
                error = TypeError(f"{row}: a traced call has no argument {name!r}")
                raise with_fields(error, "argument", found=name)
        if variadic:
            rest = args[single:]
            if len(rest) == 1 and isinstance(rest[0], LISTS):
                rest = rest[0]
            tensors = [*args[:single], list(rest)]
        else:
            if len(args) > single:
                error = TypeError(f"{row}: takes {single} tensors but {len(args)} were given")
                raise with_fields(error, "argument", found=str(len(args)), wanted=str(single))
            tensors = list(args)
            for name in inputs[len(args) :]:
                tensors.append(kwargs.pop(name, None))
        numbers_of = {}
        for at in range(single):
            if tensors[at] is None and not optional[at]:
                raise missing(row, inputs[at])
            tensors[at] = converted(row, inputs[at], tensors[at], at in written)
        if variadic:
            rest = tensors[single]
            tensors[single] = [
                converted(row, f"{inputs[single]}[{at}]", rest[at], False)
                for at in range(len(rest))
            ]
        for at in range(single):
            tensor = tensors[at]
            if is_number(tensor):
                if at in written:
                    raise not_a_tensor(row, inputs[at], tensor)
                like = [
                    other
                    for other, variable in zip(tensors, variables)
                    if isinstance(other, torch.Tensor)
                    and (variables[at] is None or variable == variables[at])
                ]
                dtype = fixed[at]
                if dtype is None and like:
                    dtype = like[0].dtype
                elif dtype is None:
                    numbers = [
                        other
                        for other, variable in zip(tensors, variables)
                        if variable == variables[at] and is_number(other)
                    ]
                    dtype = to_dtype(dtype_of_numbers(numbers))
                check_number(row, inputs[at], tensor, NAMES[dtype], decided)
                # PyTorch takes only integers of 64 bits, whatever the dtype.
                if NAMES[dtype] in OVERFLOWS and (
                    decided(tensor >= 2**63) or decided(tensor < -(2**63))
                ):
                    tensor = float(tensor)
                # Of its kind, such as a fake tensor.
                any_tensors = [other for other in tensors if isinstance(other, torch.Tensor)]
                if any_tensors:
                    numbers_of[at] = any_tensors[0].new_full((), tensor, dtype=dtype)
                else:
                    numbers_of[at] = torch.full((), tensor, dtype=dtype)
        for at, tensor in numbers_of.items():
            tensors[at] = tensor
        for name, kind in op_kinds:
            value = kwargs.get(name)
            if value is None and name in kwargs and "None" not in kind:
                kwargs.pop(name)
            elif is_wrong(kind, value):
                raise wrong_kind(row, name, kind, value)
        has_symbols = any(isinstance(value, SYMBOLS) for value in kwargs.values())
        if not torch.compiler.is_compiling() and not has_symbols:
            kwargs = read(kwargs)
        for name in dtypes:
            if name in kwargs:
                kwargs[name] = to_dtype(kwargs[name])
        for name in lists:
            if isinstance(kwargs.get(name), int):
                kwargs[name] = [kwargs[name]]
        if not written:
            result = call(*tensors, **kwargs)
            if out is None or not isinstance(result, LISTS):
                return filled(row, outputs[0], out, result)
            if not isinstance(out, tuple) or len(out) != len(result):
                wanted = f"a tuple of {len(result)} tensors"
                error = TypeError(f"{row}: expected {wanted} for out, got {type(out).__name__}")
                raise with_fields(error, "argument", found=type(out).__name__, wanted=wanted)
            return tuple(filled(row, name, to, one) for name, to, one in zip(outputs, out, result))
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
