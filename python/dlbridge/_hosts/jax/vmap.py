"""Calls for each index of an axis: one call where the op can."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax.interpreters import batching as rules

from .. import batching
from . import custom_call
from .primitive import CALL, traceable

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .op import PublishedOp
    from .primitive import Counts, Key


def _batched(arrays: Any, axes: Any, *, op: PublishedOp, counts: Counts, key: Key) -> Any:
    """Returns the results of calls for each index of an axis, which is their first one."""
    size = next(x.shape[axis] for x, axis in zip(arrays, axes) if axis is not None)
    has_axis = [axis is not None for axis in axes]
    arrays = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(arrays, axes)]
    inputs, has = op.split(counts, arrays), op.split(counts, has_axis)
    ranks = [
        [array.ndim - one for array, one in zip(of, has_of)] for of, has_of in zip(inputs, has)
    ]
    plan = batching.plan(op, ranks, has, op.attributes(key))
    if plan is None:
        results = _each(op, counts, key, tuple(has_axis))(*arrays)
        return results, [0] * len(results)
    moved = []
    for at, (of, has_of) in enumerate(zip(inputs, has)):
        repeats = plan.expands or at in op.written
        for array, has_one in zip(of, has_of):
            if at in plan.ranks and repeats and not has_one:
                array = jnp.broadcast_to(array, (size, *array.shape))
            if at in plan.ranks and (repeats or has_one):
                ones = [1] * (plan.ranks[at] - (array.ndim - 1))
                array = array.reshape((size, *ones, *array.shape[1:]))
            moved.append(array)
    results = traceable(op, counts, op.key(plan.attributes))(*moved)
    return results, [0] * len(results)


@functools.lru_cache(maxsize=4096)
def _each(
    op: PublishedOp, counts: Counts, key: Key, has_axis: tuple[bool, ...]
) -> Callable[..., Any]:
    """Returns the function that calls an op for each index of the first axis of some arrays.

    It is kept, as that of `traceable` is.
    """
    function = traceable(op, counts, key)

    def each(*arrays: Any) -> Any:
        def one(with_axis: Any) -> Any:
            rest = iter(with_axis)
            return function(*(next(rest) if has else x for x, has in zip(arrays, has_axis)))

        return jax.lax.map(one, [_gathered(x) for x, has in zip(arrays, has_axis) if has])

    return jax.jit(each, inline=True)


def _gathered(array: Any) -> Any:
    """Returns an array of which each device has all indices of the first axis."""
    of = custom_call.spread(custom_call.type_of(array))
    if of is None or not len(of.spec) or of.spec[0] is None:
        return array
    spec = jax.sharding.PartitionSpec(None, *of.spec[1:])
    return jax.reshard(array, jax.sharding.NamedSharding(of.mesh, spec))


rules.primitive_batchers[CALL] = _batched
