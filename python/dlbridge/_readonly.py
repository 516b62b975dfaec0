"""The policy for read-only memory whose receiver can't be told that it is read-only."""

from __future__ import annotations

import sys
from contextvars import ContextVar

from ._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from .typing import Policy

    Policies = tuple[Policy, "Policies"] | None


class ReadOnlyWarning(UserWarning):
    """Read-only memory is shared with a framework that has no read-only tensors.

    Reading is fine. Writing through the result is forbidden: the framework that the memory is from
    relies on it to stay as it is.
    """


#: The innermost policy of this thread or task, and what it is inside of. Compiled extensions read
#: it here.
policies: ContextVar[Policies] = ContextVar("dlbridge.readonly", default=None)

#: The texts that were shown. The module `warnings` forgets its own such list whenever filters
#: change, which libraries do all the time.
_shown: dict[str, object] = {}


def warn(text: str) -> None:
    """Shows a `ReadOnlyWarning` once in this process, unless filters say otherwise. Compiled
    extensions call it.
    """
    import warnings  # Here, as the package is imported more often than it warns.

    frame = sys._getframe(0).f_back
    while frame and _module(frame).partition(".")[0] == "dlbridge":
        frame = frame.f_back
    place = (frame.f_code.co_filename, frame.f_lineno) if frame else ("<no Python frame>", 1)
    module = _module(frame) if frame else "dlbridge"
    action = _action(text, module, place[1])
    if action not in ("error", "always", "all"):
        this = object()
        if action == "ignore" or _shown.setdefault(text, this) is not this:
            return
    warnings.warn_explicit(text, ReadOnlyWarning, *place, module=module)


def _module(frame: FrameType) -> str:
    """The module of a frame's code, whose name can be anything."""
    name = frame.f_globals.get("__name__")
    return name if isinstance(name, str) else "<unknown>"


def _action(text: str, module: str, line: int) -> str:
    """What the filters say of a warning."""
    import warnings

    # From Python 3.14 on they may be those of a context.
    of_context = getattr(warnings, "_get_filters", None)
    for action, message, category, place, at in of_context() if of_context else warnings.filters:
        is_meant = (
            issubclass(ReadOnlyWarning, category)
            and _matches(message, text)
            and _matches(place, module)
        )
        if is_meant and at in (0, line):
            return str(action)
    return str(getattr(warnings, "defaultaction", "default"))


def _matches(pattern: Any, text: str) -> bool:
    """Whether a text is what a filter is for: Python's own filters have texts, and others have
    patterns.
    """
    return pattern is None or (
        pattern == text if isinstance(pattern, str) else pattern.match(text) is not None
    )


def checked(policy: Any) -> Policy:
    """The policy, if it is one."""
    if not isinstance(policy, str):
        found = type(policy).__name__
        refused = TypeError(f"readonly: expected a string, got {found}")
        raise with_fields(refused, "argument", found=found, wanted="str")
    if policy not in ("warn", "share", "refuse"):
        wanted = '"warn", "share" or "refuse"'
        error = ValueError(f'readonly: expected {wanted}, got "{policy}"')
        raise with_fields(error, "value", found=f'"{policy}"', wanted=wanted)
    return policy  # type: ignore[return-value]


class readonly:
    """Sets what happens, while the block runs, to read-only memory that goes to a framework without
    read-only tensors.

    "warn" shares it with a `ReadOnlyWarning` for each pair of frameworks, "share" shares it
    without, and "refuse" raises BufferError. The policy holds for this thread, or this asyncio
    task, and for all extensions that are written with dlbridge. Blocks may be nested, and must end
    in the reverse order, which those of generators that are used in turns don't. An argument
    `readonly=` of a call comes first; outside of all blocks the environment variable
    DLBRIDGE_READONLY holds, and without it "warn".

    with dlbridge.readonly("share"):
        y = dlbridge.convert(tensorflow_tensor, "torch")  # to be read only
    """

    __slots__ = ("policy",)

    def __init__(self, policy: Policy) -> None:
        self.policy = checked(policy)

    # What is inside of what is kept in the context alone, so that one object can be used by many.
    def __enter__(self) -> None:
        policies.set((self.policy, policies.get()))

    def __exit__(self, *_: object) -> None:
        held = policies.get()
        policies.set(held and held[1])

    def __repr__(self) -> str:
        return f"dlbridge.readonly({self.policy!r})"
