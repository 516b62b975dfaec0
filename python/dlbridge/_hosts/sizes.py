"""Evaluation of ops' rules of sizes, for numbers and for symbols.

A rule is that of `Op._describe()["sizes"]`. Sizes are compared by `check`, so that symbols needn't
be numbers.
"""

from __future__ import annotations

from .._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

MANY = ("batch", "spread", "reduce")


def are_known(shapes: list[list[Sequence[Any]]]) -> bool:
    """Returns whether all sizes are numbers."""
    return all(isinstance(size, int) for of in shapes for shape in of for size in shape)


def dtypes(op: Any, inputs: list[list[tuple[Any, str]]], attributes: dict[str, Any]) -> list[Any]:
    """Returns the dtypes of results, of shapes and dtypes of inputs. What can be said without the
    symbols' values is checked.
    """

    def known(shape: Any) -> list[int | None]:
        return [size if isinstance(size, int) else None for size in shape]

    partial = [[(known(shape), dtype) for shape, dtype in of] for of in inputs]
    return [dtype for _, dtype in op._infer_partial(partial, attributes)]


def alternative(rule: list[Any], ranks: list[list[int]]) -> int | None:
    """Returns which alternative of a rule has the ranks of a call's inputs."""
    for at, (inputs, _) in enumerate(rule):
        if all(_fits(inputs.get(place), of) for place, all_of in enumerate(ranks) for of in all_of):
            return at
    return None


def _fits(items: list[Any] | None, rank: int) -> bool:
    if items is None:
        return True
    single = sum(item[0] not in MANY for item in items)
    return rank == single if single == len(items) else rank >= single


def parts(items: list[Any], shape: Sequence[Any], attributes: dict[str, Any]) -> list[list[Any]]:
    """Returns the sizes of each item of an input."""
    for at, item in enumerate(items):
        if item[0] == "axis":
            axis = axis_of(attributes[item[2]], len(shape))
            before, after = items[:at], items[at + 1 :]
            return [
                *_around(before, shape[:axis]),
                [shape[axis]],
                *_around(after, shape[axis + 1 :]),
            ]
    return _around(items, shape)


def _around(items: list[Any], shape: Sequence[Any]) -> list[list[Any]]:
    several = len(shape) + 1 - len(items)
    found, at = [], 0
    for item in items:
        count = several if item[0] in MANY else 1
        found.append(list(shape[at : at + count]))
        at += count
    return found


def axis_of(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        error = IndexError(f"axis {axis} is out of bounds for a tensor of rank {rank}")
        raise with_fields(error, "rank", found=axis, wanted=rank)
    return axis % rank


def evaluate(
    rule: list[Any],
    shapes: list[list[Sequence[Any]]],
    attributes: dict[str, Any],
    check: Callable[[Any, str], None],
    broadcast: Callable[..., Sequence[Any]],
) -> list[list[Any]]:
    """Returns the outputs' shapes, of a list of shapes for each input."""
    chosen = alternative(rule, [[len(shape) for shape in all_of] for all_of in shapes])
    if chosen is None:
        raise with_fields(
            ValueError(f"no rule of sizes for shapes {shapes}"), "shape", found=shapes
        )
    inputs, outputs = rule[chosen]
    sizes: dict[str, Any] = {}
    sums: dict[str, Any] = {}
    spreads: dict[str, list[Any]] = {}
    batches: list[list[Any]] = []
    calculated, reduced = [], []
    summed = {
        name for items in outputs for item in items for name in _sums(item[1:] if item else ())
    }
    for place, items in inputs.items():
        for shape in shapes[place]:
            for item, part in zip(items, parts(items, shape, attributes)):
                if item[0] == "batch":
                    batches.append(part)
                elif item[0] == "spread":
                    known = spreads.setdefault(item[1], part)
                    check(len(known) == len(part), f"{item[1]}... has one rank")
                    for a, b in zip(known, part):
                        check(a == b, f"{item[1]}... has one shape")
                elif item[0] == "axis" or (isinstance(item[1], tuple) and item[1][0] == "name"):
                    name = item[1] if item[0] == "axis" else item[1][1]
                    (size,) = part
                    sums[name] = sums.get(name, 0) + size
                    if name in sizes and name not in summed:
                        check(sizes[name] == size, f"{name} is one size")
                    sizes.setdefault(name, size)
                elif item[0] == "reduce":
                    reduced.append((item, part))
                else:
                    calculated.append((item[1], part[0]))
    env = sizes, sums, attributes
    for expression, size in calculated:
        check(_size(expression, *env) == size, "a size is as calculated")
    for item, part in reduced:
        wanted = _reduced(item, spreads, attributes)
        check(len(wanted) == len(part), f"{item[1]}... is reduced to one rank")
        for a, b in zip(wanted, part):
            check(a == b, f"{item[1]}... is reduced to one shape")
    batch = broadcast(*batches) if batches else []
    results = []
    for items in outputs:
        result: list[Any] = []
        for item in items:
            if item[0] == "batch":
                result += batch
            elif item[0] == "spread":
                result += spreads[item[1]]
            elif item[0] == "reduce":
                result += _reduced(item, spreads, attributes)
            else:
                result.append(_size(item[1], *env))
        results.append(result)
    return results


def _sums(expression: Any) -> list[str]:
    if not isinstance(expression, tuple):
        return []
    if expression and expression[0] == "sum":
        return [expression[1]]
    return [name for part in expression for name in _sums(part)]


def _reduced(item: Any, spreads: dict[str, list[Any]], attributes: dict[str, Any]) -> list[Any]:
    _, name, axis, keepdims = item
    keeps = keepdims is not None and attributes[keepdims]
    sizes, axes = spreads[name], attributes[axis]
    rank = len(sizes)
    axes = range(rank) if axes is None else [axes] if isinstance(axes, int) else axes
    reduced = {axis_of(axis, rank) for axis in axes}
    return [
        1 if at in reduced else size for at, size in enumerate(sizes) if keeps or at not in reduced
    ]


def _size(
    expression: Any, sizes: dict[str, Any], sums: dict[str, Any], attributes: dict[str, Any]
) -> Any:
    if not isinstance(expression, tuple):
        return expression
    kind = expression[0]
    if kind == "name":
        return sizes[expression[1]]
    if kind == "sum":
        return sums[expression[1]]
    if kind == "attribute":
        return attributes[expression[1]]
    left, right = (_size(part, sizes, sums, attributes) for part in expression[1:])
    if kind == "+":
        return left + right
    if kind == "-":
        return left - right
    return left * right if kind == "*" else left // right
