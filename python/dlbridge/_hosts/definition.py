"""An op's definition, as adapters need it."""

from __future__ import annotations

import functools

from .. import ops

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def function_of(name: str) -> Any:
    """Returns the function that callers of an op have, such as `dlbridge.ops.add`."""
    return functools.reduce(getattr, name.split("."), ops)


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
        """Returns a list of tensors for each input, and all attributes."""
        given = dict(zip(self.inputs, args))
        given.update(kwargs)
        inputs = []
        for name in self.inputs:
            value = given.pop(name, None)
            many = isinstance(value, list | tuple)
            inputs.append(list(value) if many else [] if value is None else [value])
        return inputs, {**self.defaults, **given}


def flat(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """Returns the arguments of a call, and the items of lists among them."""
    items = [*args, *kwargs.values()]
    return items + [item for item in items if isinstance(item, list | tuple) for item in item]
