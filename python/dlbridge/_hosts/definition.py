"""An op's definition, as adapters need it."""

from __future__ import annotations

import functools

from .. import _core, ops
from .._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The least and the greatest number of each dtype of integers.
INTEGERS = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
#: The least positive number that would be rounded to infinity, for each dtype of other numbers.
OVERFLOWS: dict[str, int | float] = {
    "bfloat16": float(2**128 - 2**119),
    "float16": 65520 - 2.0**-9,  # It is rounded to float32 first.
    "float32": float(2**128 - 2**103),
    "float64": 2**1024 - 2**970,
}
OVERFLOWS.update(
    complex32=OVERFLOWS["float16"],
    complex64=OVERFLOWS["float32"],
    complex128=OVERFLOWS["float64"],
)
INFINITY = float("inf")


def is_plain_number(value: Any) -> bool:
    """Whether a value is a number that may stand for a tensor."""
    # Of subclasses of float, numpy.float64 is an array.
    return isinstance(value, int) or type(value) is float


def function_of(name: str) -> Any:
    """Returns the function that callers of an op have, such as `dlbridge.ops.add`."""
    return functools.reduce(getattr, name.split("."), ops)


def comparable(value: Any) -> Any:
    """Returns the value of an attribute as one that is hashed and compared without its methods."""
    if isinstance(value, float):
        return value.hex()  # -0.0 is another value than 0.0, and NaN is the same as NaN.
    if isinstance(value, list):
        return tuple(value)
    is_plain = value is None or isinstance(value, bool | int | str)
    # The name of a dtype, whose class is that of the extension that the op is in.
    return value if is_plain else str(value)


def is_usual(value: Any) -> bool:
    """Whether a keyword that traced calls don't have is given the value that it has otherwise."""
    return value is None or (isinstance(value, str) and value in ("", "own", "caller"))


class Definition:
    """An op's arguments and rules."""

    def __init__(self, name: str, to_dtype: Callable[[Any], Any]) -> None:
        """Reads the definition of an op. `to_dtype` gives dtypes, or None, as the framework's."""
        self.eager = function_of(name)
        self.op = self.eager.__self__
        self.row = row = self.op._describe()
        self.inputs = [tensor["name"] for tensor in row["inputs"]]
        self.written = [at for at, tensor in enumerate(row["inputs"]) if tensor["writes"]]
        self.variadic = bool(row["inputs"]) and row["inputs"][-1]["variadic"]
        self.kinds = {attribute["name"]: attribute["kind"] for attribute in row["attributes"]}
        self.defaults = {
            attribute["name"]: to_dtype(attribute["default"])
            if "dtype" in attribute["kind"]
            else attribute["default"]
            for attribute in row["attributes"]
            if not attribute["required"]
        }

    def bind(self, args: Any, kwargs: Any) -> tuple[list[list[Any]], dict[str, Any]]:
        """Returns a list of tensors for each input, and all attributes.

        Only a variadic input, which is the last, has several.
        """
        row = self.row["name"]
        single = len(self.inputs) - self.variadic
        given, rest = list(args[:single]), list(args[single:])
        if rest and not self.variadic:
            error = TypeError(f"{row}: takes {single} tensors but {len(args)} were given")
            raise with_fields(error, "argument", found=str(len(args)), wanted=str(single))
        kwargs = dict(kwargs)
        for name in self.inputs[: len(given)]:
            if name in kwargs:
                error = TypeError(f'{row}: argument "{name}" was given twice')
                raise with_fields(error, "argument", found=name, wanted="each argument once")
        given += [kwargs.pop(name, None) for name in self.inputs[len(given) : single]]
        inputs = [[] if value is None else [value] for value in given]
        if self.variadic:
            name = self.inputs[-1]
            if name in kwargs:
                error = TypeError(f"{row}: the tensors of {name} are positional arguments")
                raise with_fields(error, "argument", found=f"{name}=", wanted=f"*{name}")
            is_list = len(rest) == 1 and isinstance(rest[0], list | tuple)
            inputs.append(list(rest[0]) if is_list else rest)
        for tensor, of in zip(self.row["inputs"], inputs):
            if not of and not tensor["optional"]:
                raise missing(row, tensor["name"])
        attributes = dict(self.defaults)
        for name, value in kwargs.items():
            if name not in self.kinds:
                names = ", ".join([*self.inputs, *self.kinds])
                error = TypeError(f'{row}: there is no argument "{name}"; there are {names}')
                raise with_fields(error, "argument", found=name, wanted=names)
            if value is not None or "None" in self.kinds[name]:
                attributes[name] = value
        for name in self.kinds:
            if name not in attributes:
                raise missing(row, name)
        return inputs, attributes

    def tensors(
        self, inputs: list[list[Any]], convert: Callable[[Any], Any], number: Callable[..., Any]
    ) -> list[list[Any]]:
        """Returns a list of tensors of a framework for each input.

        `convert` makes them of other tensors, and `number` of a number and the name of a dtype,
        which is that of tensors of the same kind.
        """
        row = self.row["name"]
        kinds = [tensor["dtype"] for tensor in self.row["inputs"]]
        found = [list(of) for of in inputs]
        dtypes = {kind: str(kind[1]) for kind in kinds if kind[0] == "is"}
        numbers: dict[Any, list[Any]] = {}
        for at, (of, kind) in enumerate(zip(found, kinds)):
            for place, value in enumerate(of):
                argument = self.argument(at, place)
                if is_plain_number(value):
                    if at in self.written:
                        raise not_a_tensor(row, argument, value)
                    numbers.setdefault(kind, []).append(value)
                    continue
                of[place] = converted(row, argument, value, convert)
                if kind not in dtypes:
                    dtypes[kind] = dtype_name(of[place].dtype)
        for kind, of in numbers.items():
            dtypes.setdefault(kind, dtype_of_numbers(of))
        for at, (of, kind) in enumerate(zip(found, kinds)):
            for place, value in enumerate(of):
                if is_plain_number(value):
                    check_number(row, self.argument(at, place), value, dtypes[kind])
                    is_huge = dtypes[kind] in OVERFLOWS and not -(2**63) <= value < 2**63
                    # Frameworks take only integers of 64 bits, whatever the dtype.
                    of[place] = number(float(value) if is_huge else value, dtypes[kind])
        return found

    def argument(self, at: int, place: int) -> str:
        """Returns what messages call a tensor of an input."""
        is_one_of_many = self.variadic and at == len(self.inputs) - 1
        return f"{self.inputs[at]}[{place}]" if is_one_of_many else self.inputs[at]


def refusal(name: str, error: Exception) -> str:
    """Returns why an op can't be published."""
    text = str(error) or type(error).__name__
    return text if text.startswith(f"{name}: ") else f"{name}: {text}"


def missing(op: str, argument: str) -> TypeError:
    """Returns the error of an argument that isn't given."""
    error = TypeError(f'{op}: argument "{argument}" is missing')
    return with_fields(error, "argument", found="nothing", wanted=argument)


def wrong_kind(op: str, name: str, kind: str, value: Any) -> TypeError:
    """Returns the error of an attribute of another kind."""
    error = TypeError(f'{op}: attribute "{name}" is of kind {kind}, not {value!r}')
    return with_fields(error, "argument", found=repr(value), wanted=kind)


def not_a_tensor(op: str, argument: str, value: Any) -> TypeError:
    """Returns the error of a value where a tensor is expected."""
    of = type(value)
    name = of.__qualname__
    if of.__module__ != "builtins":
        name = f"{of.__module__}.{name}"
    why = f"expected a tensor, got {name}, which has neither __dlpack__ nor a buffer"
    error = TypeError(f'{op}: argument "{argument}": {why}')
    return with_fields(error, "type", found=name, wanted="a tensor")


def tensor_like(op: str, argument: str, value: Any) -> Any:
    """Returns a tensor, array or buffer. Raises TypeError for everything else, such as lists."""
    if hasattr(value, "dtype") or hasattr(value, "__dlpack__"):
        return value
    try:
        return memoryview(value)
    except TypeError:
        raise not_a_tensor(op, argument, value) from None


def converted(op: str, argument: str, value: Any, convert: Callable[[Any], Any]) -> Any:
    """Returns a tensor of a framework of a tensor, array or buffer. Errors name the argument."""
    value = tensor_like(op, argument, value)
    try:
        return convert(value)
    except (BufferError, TypeError, ValueError, LookupError, MemoryError) as error:
        if type(error) not in (BufferError, TypeError, ValueError, LookupError, MemoryError):
            raise
        named = type(error)(f'{op}: argument "{argument}": {error}')
        vars(named).update(vars(error))
        raise named from error


def dtype_name(dtype: Any) -> str:
    """Returns the name of a dtype of any library."""
    if isinstance(dtype, str):
        return dtype.removeprefix("torch.")
    name = getattr(dtype, "name", None)
    if isinstance(name, str):
        return name  # NumPy's, JAX's or TensorFlow's
    return str(_core.empty((0,), dtype=dtype).dtype)


def dtype_of_numbers(numbers: list[Any]) -> str:
    """Returns the dtype of numbers without a tensor of the same kind."""
    if any(type(value) is float for value in numbers):
        return "float64"
    return "bool" if all(type(value) is bool for value in numbers) else "int64"


def check_number(
    op: str, argument: str, value: Any, dtype: str, holds: Callable[[Any], bool] = bool
) -> None:
    """Checks that a dtype can represent a number. `holds` decides comparisons of symbols."""
    if not _fits(value, dtype, holds):
        error = ValueError(f'{op}: argument "{argument}": {value!r} can\'t be stored as {dtype}')
        raise with_fields(error, "value", found=repr(value), wanted=dtype)


def _fits(value: Any, dtype: str, holds: Callable[[Any], bool]) -> bool:
    if isinstance(value, bool):
        return dtype == "bool" or dtype in INTEGERS or dtype in OVERFLOWS
    if dtype in INTEGERS:
        least, most = INTEGERS[dtype]
        return not (isinstance(value, float) or holds(value < least) or holds(value > most))
    if dtype not in OVERFLOWS:
        return False
    bound = OVERFLOWS[dtype]
    return not (
        (holds(value >= bound) and holds(value < INFINITY))
        or (holds(value <= -bound) and holds(value > -INFINITY))
    )


def flat(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """Returns the arguments of a call, and the items of lists among them."""
    items = [*args, *kwargs.values()]
    return items + [item for item in items if isinstance(item, list | tuple) for item in item]
