"""What would become of a tensor, without doing it."""

from __future__ import annotations

from ._core import _outlook, empty, from_dlpack

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import _TensorLike


class Explanation:
    """Whether a conversion would share memory, and if not, why, and what would make it so.

    It is true where memory would be shared.
    """

    __slots__ = ("outcome", "reason", "remedy", "to")

    def __init__(self, to: str, outcome: str, reason: str | None = None, remedy: str | None = None) -> None:
        #: The framework that the tensor would be of.
        self.to = to
        #: "shared"; "copied", if `copy` allows it; or "refused".
        self.outcome = outcome
        #: Why it isn't shared.
        self.reason = reason
        #: What to do about it.
        self.remedy = remedy

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
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("to", "outcome", "reason", "remedy"))
        return f"Explanation({parts})"

    def __str__(self) -> str:
        if self.shares:
            return f"{self.to} would share the memory"
        verb = "would need a copy" if self.outcome == "copied" else "can't have the tensor"
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.to} {verb}: {self.reason}{remedy}"


def explain(x: _TensorLike, to: str) -> Explanation:
    """Says whether `convert(x, to)` would share memory; if not, why, and what would make it so."""
    try:
        tensor = from_dlpack(x, copy=False)
    except (BufferError, TypeError) as error:
        trace = error.__traceback__
        if isinstance(error, TypeError) and trace is not None and trace.tb_next is not None:
            raise  # By Python code that was asked for a tensor: a fault of its own.
        _outlook(empty(0), to)  # A framework that isn't known is an error of its own.
        reason, _, remedy = str(error).partition("; ")
        return Explanation(to, "refused", reason, remedy or None)
    outcome, why = _outlook(tensor, to)
    if outcome == "copied":
        remedy = "pass copy=None to have it copied"
        if why and "is aligned to" in why:
            remedy += ", or make it in memory that is, as dlbridge.empty does"
        return Explanation(to, outcome, why, remedy)
    reason, _, remedy = (why or "").partition("; ")
    return Explanation(to, outcome, reason or None, remedy or None)
