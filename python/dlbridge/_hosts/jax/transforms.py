"""Functions that JAX transforms: derivatives, and calls for each index of an axis."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from ..._errors import with_fields
from .. import batching, gradients
from . import custom_call, tangents

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .op import PublishedOp


@functools.lru_cache(maxsize=4096)
def traceable(
    op: PublishedOp, counts: tuple[int, ...], key: tuple[tuple[str, Any], ...]
) -> Callable[..., Any]:
    """Returns the function of an op's arrays, of which each input has as many as `counts` says.

    It is kept, so that calls that aren't in another jit are compiled once.
    """
    attributes = op.attributes(key)

    def plain(*arrays: Any) -> Any:
        return custom_call.run(op, counts, attributes, arrays)

    vectorised = custom_vmap(plain)

    @vectorised.def_vmap
    def vmap(size: int, has_axis: Any, *arrays: Any) -> Any:
        results = tuple(_vmap(op, counts, attributes, size, has_axis, arrays))
        return results, (True,) * len(results)

    def function(*arrays: Any) -> Any:
        return vectorised(*arrays)

    function.__name__ = function.__qualname__ = op.target
    differentiable = jax.custom_jvp(function)

    def derivative(primals: Any, given: Any) -> Any:
        # This is differentiated for further derivatives.
        results = differentiable(*primals)
        return results, _tangents(op, counts, attributes, primals, results, given)

    differentiable.defjvp(derivative, symbolic_zeros=True)
    return jax.jit(differentiable, inline=True)


def _tangents(
    op: PublishedOp,
    counts: tuple[int, ...],
    attributes: dict[str, Any],
    primals: Any,
    results: Any,
    given: Any,
) -> tuple[Any, ...]:
    """Returns the tangents of results, by the inputs' tangents that are given."""
    smooth = [at for at, result in enumerate(results) if _is_inexact(result)]
    # Integers have tangents without elements.
    found: list[Any] = [
        None if at in smooth else np.zeros(result.shape, jax.dtypes.float0)
        for at, result in enumerate(results)
    ]
    moved = [at for at, tangent in enumerate(given) if not isinstance(tangent, SymbolicZero)]
    moved = [at for at in moved if _is_inexact(primals[at])]
    if not moved or not smooth:
        for at in smooth:
            found[at] = jnp.zeros_like(results[at])
        return tuple(found)
    inputs = op.split(counts, primals)
    tensors = {"input": [of[0] if of else None for of in inputs], "output": results}
    known = {(kind, at): tensors[kind][at] for kind, at in gradients.needed(op.row["gradients"])}
    known.update({("gradient", at): zeros for at, zeros in enumerate(found)})
    keys = [key for key, tensor in known.items() if tensor is not None and key[0] != "gradient"]
    types = [(array.shape, array.dtype, custom_call.sharding(array)) for array in primals]
    # No tracers: the function is kept.
    others = {key: value for key, value in known.items() if key not in keys}
    value_of = _declared(op, counts, [len(shape) for shape, *_ in types])

    def backward(kept: list[Any], grads: list[Any]) -> list[Any]:
        now = {**others, **dict(zip(keys, kept))}
        now.update({("gradient", at): grad for at, grad in zip(smooth, grads)})
        return [_gradient(op, value_of(at), now, attributes, types[at]) for at in moved]

    of_results = tuple(tangents.type_of(results[at]) for at in smooth)
    kept = [known[key] for key in keys]
    linear = tangents.Gradients(backward, of_results)
    for at, tangent in zip(smooth, tangents.apply(linear, kept, [given[at] for at in moved])):
        found[at] = tangent
    return tuple(found)


def _declared(op: PublishedOp, counts: tuple[int, ...], ranks: list[int]) -> Callable[[int], Any]:
    """Returns the function that returns the declared gradient of an array."""
    declared = op.row["gradients"]
    names = [name for name, count in zip(op.inputs, counts) for _ in range(count)]
    chosen = gradients.chosen(op.row, op.split(counts, ranks)) if declared else 0

    def value_of(at: int) -> Any:
        values = declared.get(names[at])
        if values is None:
            error = RuntimeError(f"{op.target} declares no gradient of {names[at]!r}")
            raise with_fields(error, "kernel", wanted=names[at])
        return values[chosen if len(values) > 1 else 0]

    return value_of


def _gradient(
    op: PublishedOp, value: Any, known: dict[Any, Any], attributes: dict[str, Any], of: Any
) -> Any:
    """Returns a gradient, by calls of ops, of an array of some type."""
    shape, dtype, sharding = of

    def kinds_of(name: str) -> dict[str, str]:
        if name not in op.ops:
            error = RuntimeError(f"a gradient calls the op {name}, which isn't published")
            raise with_fields(error, "name", wanted=name)
        return op.ops[name].kinds

    def call(name: str, tensors: list[Any], attributes: dict[str, Any]) -> Any:
        return op.ops[name](*tensors, **attributes)

    grad = gradients.evaluate(value, known, attributes, kinds_of, call, jnp.real)
    if grad is None:
        return jnp.zeros(shape, dtype)
    is_other = custom_call.sharding(grad) != sharding
    return jax.reshard(grad, sharding) if sharding and is_other else grad


def _is_inexact(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


def _gathered(array: Any) -> Any:
    """Returns an array of which each device has all indices of the first axis."""
    of = custom_call.sharding(array)
    if of is None or not len(of.spec) or of.spec[0] is None:
        return array
    spec = jax.sharding.PartitionSpec(None, *of.spec[1:])
    return jax.reshard(array, jax.sharding.NamedSharding(of.mesh, spec))


def _vmap(
    op: PublishedOp,
    counts: tuple[int, ...],
    attributes: dict[str, Any],
    size: int,
    has_axis: Any,
    arrays: Any,
) -> Any:
    """Calls for each index of the first axis of some arrays: one call where the op can."""
    inputs, has = op.split(counts, arrays), op.split(counts, has_axis)
    ranks = [
        [array.ndim - one for array, one in zip(of, has_of)] for of, has_of in zip(inputs, has)
    ]
    plan = batching.plan(op, ranks, has, attributes)
    if plan is None:
        function = traceable(op, counts, op.key(attributes))

        def one(with_axis: Any) -> Any:
            rest = iter(with_axis)
            return function(*(next(rest) if h else array for array, h in zip(arrays, has_axis)))

        return jax.lax.map(one, [_gathered(array) for array, h in zip(arrays, has_axis) if h])
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
    return traceable(op, counts, op.key(plan.attributes))(*moved)
