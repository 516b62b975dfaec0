"""The fields of exceptions that are raised in Python: the same as those of the compiled module."""

from __future__ import annotations

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    E = TypeVar("E", bound=BaseException)


def with_fields(
    error: E, kind: str, *, found: Any = None, wanted: Any = None, remedy: str | None = None
) -> E:
    """Returns an exception with its fields set, and the remedy at the end of its message."""
    if remedy is not None:
        error.args = (f"{error}; {remedy}",)
    for name, value in (("kind", kind), ("found", found), ("wanted", wanted), ("remedy", remedy)):
        setattr(error, name, value)
    return error


def no_such_name(name: str, what: str, known: Iterable[str]) -> AttributeError:
    """Returns what is raised for a name that there isn't, with the nearest one that there is."""
    from difflib import get_close_matches

    known = list(known)
    near = get_close_matches(name, known, n=1, cutoff=0.67)
    remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    error = AttributeError(f"there is no {what} {name!r}")
    return with_fields(error, "name", found=name, remedy=remedy)
