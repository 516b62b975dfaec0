"""Ops as global functions of tvm-ffi, such as `dlbridge.add`, which are called without Python."""

from __future__ import annotations

from .definition import function_of

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_names: set[str] = set()


def publish(names: list[str]) -> dict[str, str]:
    """Publishes ops, and returns why some can't be, by name."""
    refused = {}
    for name in names:
        if name in _names:
            continue
        publish_one = getattr(function_of(name).__self__, "_tvm_publish", None)
        if publish_one is None:
            refused[name] = f"{name}: its extension was built without feature hosts"
            continue
        try:
            publish_one()
        except RuntimeError as error:
            refused[name] = f"{name}: {error}"
        else:
            _names.add(name)
    return refused


def follows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether tvm-ffi follows or traces a tensor among arguments: never."""
    return False


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls nothing, as there is nothing to follow."""
    return NotImplemented
