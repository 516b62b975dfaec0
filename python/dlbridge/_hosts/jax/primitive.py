"""The primitive of JAX that a call is until it is compiled, which transforms know by its rules."""

from __future__ import annotations

import functools

import jax
from jax.extend import core
from jax.interpreters import mlir

from . import custom_call

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .op import PublishedOp

Counts = tuple[int, ...]
Key = tuple[tuple[str, "Any"], ...]

CALL = core.Primitive("dlbridge_call")
CALL.multiple_results = True


@functools.lru_cache(maxsize=4096)
def traceable(op: PublishedOp, counts: Counts, key: Key) -> Callable[..., Any]:
    """Returns the function of an op's arrays, of which each input has as many as `counts` says.

    It is kept, so that calls that aren't in another jit are compiled once.
    """

    def function(*arrays: Any) -> Any:
        return tuple(CALL.bind(*arrays, op=op, counts=counts, key=key))

    function.__name__ = function.__qualname__ = op.target
    return jax.jit(function, inline=True)


def _plain(*arrays: Any, op: PublishedOp, counts: Counts, key: Key) -> Any:
    return custom_call.run(op, counts, op.attributes(key), arrays)


@functools.lru_cache(maxsize=4096)
def _compiled(op: PublishedOp, counts: Counts, key: Key) -> Callable[..., Any]:
    return jax.jit(functools.partial(_plain, op=op, counts=counts, key=key))


@CALL.def_impl
def _run(*arrays: Any, op: PublishedOp, counts: Counts, key: Key) -> Any:
    # Not `traceable`, which comes here where JAX runs it without a compiler.
    return _compiled(op, counts, key)(*arrays)


@CALL.def_abstract_eval
def _types(*types: Any, op: PublishedOp, counts: Counts, key: Key) -> Any:
    # As JAX has them of the custom call, which differs by release.
    function = functools.partial(_plain, op=op, counts=counts, key=key)
    return jax.make_jaxpr(function)(*types).out_avals


mlir.register_lowering(CALL, mlir.lower_fun(_plain, multiple_results=True))
