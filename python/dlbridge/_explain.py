"""What would become of a tensor, without doing it."""

from ._core import _outlook, from_dlpack


class Explanation:
    """Whether a conversion would share memory, and if not, why, and what would make it so.

    It is true where memory would be shared.
    """

    __slots__ = ("outcome", "reason", "remedy", "to")

    def __init__(self, to, outcome, reason=None, remedy=None):
        #: The framework that the tensor would be of.
        self.to = to
        #: "shared"; "copied", if `copy` allows it; or "refused".
        self.outcome = outcome
        #: Why it isn't shared.
        self.reason = reason
        #: What to do about it.
        self.remedy = remedy

    @property
    def shares(self):
        """Whether memory would be shared."""
        return self.outcome == "shared"

    def __bool__(self):
        return self.shares

    def __eq__(self, other):
        if not isinstance(other, Explanation):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None

    def __repr__(self):
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("to", "outcome", "reason", "remedy"))
        return f"Explanation({parts})"

    def __str__(self):
        if self.shares:
            return f"{self.to} would share the memory"
        verb = "would need a copy" if self.outcome == "copied" else "can't have the tensor"
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.to} {verb}: {self.reason}{remedy}"


def explain(x, to):
    """Says whether `convert(x, to)` would share memory; if not, why, and what would make it so."""
    try:
        tensor = from_dlpack(x, copy=False)
    except (BufferError, TypeError, ValueError) as error:
        reason, _, remedy = str(error).partition("; ")
        return Explanation(to, "refused", reason, remedy or None)
    outcome, reason = _outlook(tensor, to)
    remedy = None
    if outcome == "copied":
        remedy = "pass copy=None to have it copied"
        if "is aligned to" in reason:
            remedy += ", or make it in memory that is, as dlbridge.empty does"
    elif reason and "; " in reason:
        reason, _, remedy = reason.partition("; ")
    return Explanation(to, outcome, reason, remedy)
