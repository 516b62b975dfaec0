"""Gradients as ops' definitions declare them: values of `Op._describe()["gradients"]`.

A gradient is declared as the derivative times the output's gradient, without conjugates, as JAX has
gradients of complex numbers. PyTorch and TensorFlow have their conjugates: their adapters conjugate
the outputs' gradients before, and the result after.

A value is `("zero",)`, an input, output or gradient of an output by its number, a call of an op
with such values and attributes, or `("choice", input, value, otherwise)`, which depends on whether
the call has an optional input. `declared` returns values without choices.
"""

from __future__ import annotations

from .._errors import with_fields
from . import sizes

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .definition import Definition


def needed(gradients: dict[str, list[Any]]) -> list[tuple[str, int]]:
    """Returns the inputs and outputs that the gradients are made of, in order."""
    found: set[tuple[str, int]] = set()
    for values in gradients.values():
        for value in values:
            _find_needed(value, found)
    return sorted(found)


def _find_needed(value: Any, found: set[tuple[str, int]]) -> None:
    if value[0] in ("input", "output"):
        found.add(value)
    elif value[0] == "call":
        for tensor in value[2]:
            _find_needed(tensor, found)
        for _, attribute in value[3]:
            if attribute[0] == "dtype":
                _find_needed(attribute[1], found)
    elif value[0] == "choice":
        _find_needed(value[2], found)
        _find_needed(value[3], found)


def used(value: Any, row_of: Callable[[str], dict[str, Any]]) -> set[tuple[str, int]]:
    """Returns the inputs and outputs on whose elements a gradient depends, and not on their shapes
    and dtypes alone. `row_of` describes an op.
    """
    if value[0] in ("input", "output"):
        return {value}
    if value[0] != "call":
        return set()
    row, found = row_of(value[1]), set()
    names = [tensor["name"] for tensor in row["inputs"]]
    for at, tensor in enumerate(value[2]):
        # A variadic input, the last one, has several.
        if row["gradients"].get(names[min(at, len(names) - 1)]) != [("zero",)]:
            found |= used(tensor, row_of)
    return found


def evaluate(
    value: Any,
    known: dict[Any, Any],
    attributes: dict[str, Any],
    definition_of: Callable[[str], Definition],
    call: Callable[[str, list[Any], dict[str, Any]], Any],
    real: Callable[[Any], Any],
) -> Any:
    """Returns a gradient by calls of ops; None for zero.

    `known` has the values that the gradient is made of, `definition_of` returns an op's definition,
    `call` calls an op, and `real` returns the real parts of complex numbers.
    """
    if value[0] == "zero":
        return None
    if value[0] != "call":
        return known[value]
    _, name, inputs, _ = value
    host = definition_of, call, real
    tensors = [evaluate(tensor, known, attributes, *host) for tensor in inputs]
    keywords = _keywords(value, known, attributes, definition_of(name).kinds)
    if name == "cast" and is_complex(tensors[0].dtype) and not is_complex(keywords["dtype"]):
        tensors[0] = real(tensors[0])  # What is real has a real gradient.
    # Calls that give back what they are given.
    if name == "cast" and tensors[0].dtype == keywords["dtype"]:
        return tensors[0]
    if name == "sum_to_like" and _have_same_numbers(*tensors):
        return tensors[0]
    return call(name, tensors, keywords)


def _keywords(
    value: Any, known: dict[Any, Any], attributes: dict[str, Any], kinds: dict[str, str]
) -> dict[str, Any]:
    """Returns the attributes of a call in a gradient."""
    keywords = {}
    for keyword, (kind, argument) in value[3]:
        if kind == "same":
            argument = attributes[argument]
        elif kind == "dtype":
            argument = known[argument].dtype
        if kinds[keyword].startswith("ints") and isinstance(argument, int):
            argument = [argument]
        keywords[keyword] = argument
    return keywords


def transpose(
    value: Any,
    tangent: Any,
    known: dict[Any, Any],
    attributes: dict[str, Any],
    definition_of: Callable[[str], Definition],
    call: Callable[[str, list[Any], dict[str, Any]], Any],
    real: Callable[[Any], Any],
) -> list[tuple[int, Any]]:
    """Returns outputs' tangents, of which each output's are to be added up, by an input's tangent.

    An input's gradient is linear in those of the outputs, and its transpose is the derivative. That
    of each call is its own gradient. `known` has zeros as the outputs' gradients.
    """
    if value[0] == "gradient":
        return [(value[1], tangent)]
    if not _is_of_gradients(value):
        return []

    host = definition_of, call, real
    op = definition_of(value[1])
    keywords = {**op.defaults, **_keywords(value, known, attributes, op.kinds)}
    tensors = [evaluate(tensor, known, attributes, *host) for tensor in value[2]]
    names = [op.inputs[min(at, len(op.inputs) - 1)] for at in range(len(tensors))]
    given = [(name, tensor) for name, tensor in zip(names, tensors) if tensor is not None]
    ranks = [[len(tensor.shape) for name, tensor in given if name == of] for of in op.inputs]
    inside = {("input", names.index(name)): tensors[names.index(name)] for name in names}
    inside[("gradient", 0)] = tangent
    found = []
    for tensor, name in zip(value[2], names):
        if not _is_of_gradients(tensor):
            continue
        gradient = declared(op.row, name, ranks, op.row["name"])
        if ("output", 0) in needed({name: [gradient]}):
            inside[("output", 0)] = evaluate(value, known, attributes, *host)
        moved = evaluate(gradient, inside, keywords, *host)
        if moved is not None:
            found += transpose(tensor, moved, known, attributes, *host)
    return found


def declared(
    row: dict[str, Any],
    name: str,
    ranks: list[list[int]],
    op: str,
    error: type[Exception] = RuntimeError,
) -> Any:
    """Returns an input's gradient in a call with inputs of some ranks. Messages call it `op`."""
    values = row["gradients"].get(name)
    if values is None:
        text = f"{op} declares no gradient of {name!r}"
        raise with_fields(error(text), "kernel", wanted=name)
    if len(values) == 1:
        return _without_choices(values[0], ranks)
    at = sizes.alternative(row["sizes"], ranks)
    assert at is not None, "a call that ran has sizes of the rule"
    return _without_choices(values[at], ranks)


def _without_choices(value: Any, ranks: list[list[int]]) -> Any:
    """Returns a gradient of a call with inputs of some ranks, of which one left out has none."""
    if value[0] == "choice":
        _, (_, at), given, otherwise = value
        return _without_choices(given if ranks[at] else otherwise, ranks)
    if value[0] != "call":
        return value
    kind, name, inputs, attributes = value
    return kind, name, tuple(_without_choices(tensor, ranks) for tensor in inputs), attributes


def _is_of_gradients(value: Any) -> bool:
    """Whether a value depends on the outputs' gradients."""
    return value[0] == "gradient" or value[0] == "call" and any(map(_is_of_gradients, value[2]))


def is_complex(dtype: Any) -> bool:
    """Whether a dtype of any framework is one of complex numbers."""
    return "complex" in str(dtype)


def _have_same_numbers(x: Any, y: Any) -> bool:
    if None in (getattr(x.shape, "rank", 0), getattr(y.shape, "rank", 0)):
        return False  # TensorFlow knows not even how many sizes there are.
    shapes = tuple(x.shape), tuple(y.shape)
    return all(isinstance(size, int) for shape in shapes for size in shape) and (
        shapes[0] == shapes[1]
    )
