"""Ops as custom calls of XLA, for jax.jit, scan, vmap, grad, shard_map and jax.export.

XLA calls kernels for the CPU without Python. What JAX calls while it traces, differentiates or
vectorises is here, and generated of the ops' definitions.
"""

from __future__ import annotations

import sys

import jax

from ..definition import flat, refusal

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp as Op

#: The first release with the functions that this needs.
_OLDEST = (0, 4, 38)
if jax.__version_info__ >= _OLDEST:
    from . import derivatives, vmap  # noqa: F401 (the rules of the primitive)
    from .op import PublishedOp

_ops: dict[str, Op] = {}


def publish(names: list[str]) -> dict[str, str]:
    """Publishes ops, and returns why some can't be, by name."""
    if jax.__version_info__ < _OLDEST:
        return dict.fromkeys(names, f"expected JAX 0.4.38 or newer, got {jax.__version__}")
    refused = {}
    for name in names:
        if name in _ops:
            continue
        try:
            _ops[name] = PublishedOp(name, _ops)
        except Exception as error:
            refused[name] = refusal(name, error)
    return refused


def follows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether JAX traces an array among arguments."""
    return any(isinstance(item, jax.core.Tracer) for item in flat(args, kwargs))


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls an op with the arguments of the function in `dlbridge.ops`."""
    if name not in _ops:
        return NotImplemented
    return _ops[name](*args, **kwargs)


assert sys.modules["jax"] is jax
