"""The fields of exceptions that are raised in Python: the same as those of the compiled module."""

from __future__ import annotations

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
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
