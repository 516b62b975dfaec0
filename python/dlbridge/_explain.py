"""Explanations: the outcome of a conversion, without converting."""

from __future__ import annotations

from ._core import _outlook

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .typing import TensorLike
    from .typing import Policy


class Explanation:
    """Whether a conversion would share memory, and what to heed then; if not, why, and what would
    make it so.

    It is true where memory would be shared.
    """

    __slots__ = ("found", "kind", "outcome", "reason", "remark", "remedy", "to", "wanted")

    def __init__(
        self,
        to: str,
        outcome: str,
        reason: str | None = None,
        remedy: str | None = None,
        remark: str | None = None,
        kind: str | None = None,
        found: str | None = None,
        wanted: str | None = None,
    ) -> None:
        #: The framework that the tensor would be of.
        self.to = to
        #: "shared"; "copied", if `copy` allows it; or "refused".
        self.outcome = outcome
        #: Why it isn't shared.
        self.reason = reason
        #: What to do about it.
        self.remedy = remedy
        #: What to heed where it is shared: that writing is forbidden, if the memory is read-only
        #: and the framework can't be told so.
        self.remark = remark
        #: What doesn't fit, such as "dtype" or "layout": as of exceptions.
        self.kind = kind
        #: What was found.
        self.found = found
        #: What was expected instead.
        self.wanted = wanted

    @property
    def shares(self) -> bool:
        """Whether memory would be shared."""
        return self.outcome == "shared"

    def __bool__(self) -> bool:
        return self.shares

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Explanation):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ["to", "outcome", "reason", "remedy", "remark"]
        names += [name for name in ("kind", "found", "wanted") if getattr(self, name) is not None]
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"Explanation({parts})"

    def __str__(self) -> str:
        if self.shares:
            remark = f"; {self.remark}" if self.remark else ""
            return f"{self.to} would share the memory{remark}"
        verb = "would need a copy" if self.outcome == "copied" else "can't have the tensor"
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.to} {verb}: {self.reason}{remedy}"


def explain(x: TensorLike, to: str, *, readonly: Policy | None = None) -> Explanation:
    """Says whether `convert(x, to)` would share memory; if not, why, and what would make it so.

    `readonly` is as of `convert`.
    """
    outcome, kind, found, wanted, reason, remedy = _outlook(x, to, readonly)
    if outcome == "shared":
        return Explanation(to, outcome, remark=reason, kind=kind, found=found, wanted=wanted)
    if outcome == "copied":
        remedy = "pass copy=None to have it copied"
        if kind == "readonly":
            remedy += ', or readonly="share" to share it without writing to it'
        if kind == "alignment":
            remedy += ", or make it in memory that is, as dlbridge.empty does"
    return Explanation(to, outcome, reason, remedy, kind=kind, found=found, wanted=wanted)
