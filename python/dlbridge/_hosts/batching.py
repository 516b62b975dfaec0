"""One call for the calls of all indices of a new axis."""

from __future__ import annotations

from . import sizes

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .definition import Definition


class Plan:
    """How arguments become those of one call, with the new axis as the first."""

    def __init__(self, ranks: dict[int, int], expands: bool, attributes: Any) -> None:
        #: How many axes each input has behind the new one, of which those before its own are of
        #: size 1. Inputs that aren't here stay as they are.
        self.ranks = ranks
        #: Whether inputs without the axis are repeated along it.
        self.expands = expands
        self.attributes = attributes


def plan(
    op: Definition,
    ranks: list[list[int]],
    has_axis: list[list[bool]],
    attributes: dict[str, Any],
) -> Plan | None:
    """Returns the plan of a call; None if there is no such call.

    `ranks` are those of each input's tensors without the axis, `has_axis` says which of them have
    it, and `attributes` are those that the call gives.
    """
    row, rule = op.row, op.row["sizes"]
    is_unary = len(ranks) == 1 and not op.variadic
    if row["elementwise"] and (row["broadcasts"] or is_unary):
        most = max(rank for of in ranks for rank in of)
        return Plan({at: most for at in range(len(ranks))}, False, attributes)
    if row["elementwise"] and len({rank for of in ranks for rank in of}) == 1:
        # Inputs of one shape, which aren't broadcast: those without the axis are repeated.
        return Plan({at: of[0] for at, of in enumerate(ranks) if of}, True, attributes)
    if not row["batches"] or rule is None:
        return None
    chosen = sizes.alternative(rule, ranks)
    if chosen is None:
        return None
    items_of, outputs = rule[chosen]
    own = {at: len(items) - 1 for at, items in items_of.items() if _starts(items, "batch")}
    most = max((rank - fixed for at, fixed in own.items() for rank in ranks[at]), default=0)
    behind = {at: most + fixed for at, fixed in own.items()}
    for at, of in enumerate(ranks):
        if _starts(items_of.get(at), "spread") or _starts(items_of.get(at), "reduce"):
            behind[at] = (of or [0])[0]
        elif at not in own and any(has_axis[at]):
            return None
    moved = dict(attributes)
    given = {**op.defaults, **attributes}
    for items in [*items_of.values(), *outputs]:
        for item in items:
            name = item[2] if item[0] in ("axis", "reduce") else None
            if name is None:
                continue
            axes = given[name]
            if axes is None:
                if op.kinds[name] != "ints | None":
                    return None
                moved[name] = list(range(1, _rank_of(item[1], items_of, ranks) + 1))
            elif isinstance(axes, int):
                moved[name] = _behind(axes)
            else:
                moved[name] = [_behind(axis) for axis in axes]
    return Plan(behind, True, moved)


def _rank_of(spread: str, items_of: dict[int, Any], ranks: list[list[int]]) -> int:
    """Returns how many axes a spread has, without the new one."""
    has = [at for at, items in items_of.items() if ("spread", spread) in items]
    return ranks[has[0]][0] - (len(items_of[has[0]]) - 1)


def _starts(items: Any, kind: str) -> bool:
    return bool(items) and items[0][0] == kind


def _behind(axis: int) -> int:
    return axis + 1 if axis >= 0 else axis
