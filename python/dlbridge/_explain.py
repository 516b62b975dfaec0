"""What would become of a tensor, without doing it."""

from __future__ import annotations

from ._core import _outlook

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import _TensorLike
    from ._readonly import Policy


class Explanation:
    """Whether a conversion would share memory, and what to heed then; if not, why, and what would make it so.

    It is true where memory would be shared.
    """

    __slots__ = ("outcome", "reason", "remark", "remedy", "to")

    def __init__(
        self,
        to: str,
        outcome: str,
        reason: str | None = None,
        remedy: str | None = None,
        remark: str | None = None,
    ) -> None:
        #: The framework that the tensor would be of.
        self.to = to
        #: "shared"; "copied", if `copy` allows it; or "refused".
        self.outcome = outcome
        #: Why it isn't shared.
        self.reason = reason
        #: What to do about it.
        self.remedy = remedy
        #: What to heed where it is shared: that writing is forbidden, if the memory is read-only and the
        #: framework can't be told so.
        self.remark = remark

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
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("to", "outcome", "reason", "remedy", "remark"))
        return f"Explanation({parts})"

    def __str__(self) -> str:
        if self.shares:
            remark = f"; {self.remark}" if self.remark else ""
            return f"{self.to} would share the memory{remark}"
        verb = "would need a copy" if self.outcome == "copied" else "can't have the tensor"
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.to} {verb}: {self.reason}{remedy}"


def explain(x: _TensorLike, to: str, *, readonly: Policy | None = None) -> Explanation:
    """Says whether `convert(x, to)` would share memory; if not, why, and what would make it so.

    `readonly` is as of `convert`.
    """
    outcome, why = _outlook(x, to, readonly)
    if outcome == "shared":
        return Explanation(to, outcome, remark=why)
    if outcome == "copied":
        remedy = "pass copy=None to have it copied"
        if why and why.startswith("the tensor is read-only"):
            remedy += ', or readonly="share" to share it without writing to it'
        if why and "is aligned to" in why:
            remedy += ", or make it in memory that is, as dlbridge.empty does"
        return Explanation(to, outcome, why, remedy)
    reason, _, remedy = (why or "").partition("; ")
    return Explanation(to, outcome, reason or None, remedy or None)
