"""Functions that JAX transforms: gradients, and calls for each index of an axis."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from .. import batching, gradients
from . import custom_call

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

    def forward(*primals: Any) -> Any:
        values = [primal.value for primal in primals]
        # This is differentiated for second gradients.
        results = differentiable(*values)
        return results, _keep(op, counts, values, results)

    def backward(kept: Any, grads: Any) -> Any:
        return _backward(op, counts, attributes, kept, grads)

    function.__name__ = function.__qualname__ = op.target
    differentiable = jax.custom_vjp(function)
    differentiable.defvjp(forward, backward, symbolic_zeros=True)
    guards = [
        None
        if name in op.row["gradients"]
        else _without(f"{op.target} declares no gradient of {name!r}")
        for name, count in zip(op.inputs, counts)
        for _ in range(count)
    ]

    def guarded(*arrays: Any) -> Any:
        return differentiable(
            *(guard(array) if guard else array for guard, array in zip(guards, arrays))
        )

    guarded.__name__ = guarded.__qualname__ = op.target
    return jax.jit(guarded, inline=True)


@functools.cache
def _without(problem: str) -> Any:
    """Returns the identity, whose gradient is an error.

    A gradient's function doesn't learn which inputs need one: JAX tells that to the half before
    alone, of which it may take what another call has kept.
    """

    def identity(array: Any) -> Any:
        return array

    def backward(_: Any, grad: Any) -> Any:
        if _is_zero(grad):
            return (None,)
        raise RuntimeError(problem)

    guard = jax.custom_vjp(identity)
    guard.defvjp(lambda primal: (guard(primal.value), None), backward, symbolic_zeros=True)
    return guard


class _Static:
    """What is known without elements, among what a gradient is calculated from."""

    def __init__(self, value: Any) -> None:
        self.value = value


jax.tree_util.register_pytree_node(
    _Static, lambda static: ((), static.value), lambda value, _: _Static(value)
)


def _keep(op: PublishedOp, counts: tuple[int, ...], values: Any, results: Any) -> Any:
    """Returns what the gradient is calculated from."""
    inputs = op.split(counts, values)
    tensors = {"input": [of[0] if of else None for of in inputs], "output": results}
    kept = [tensors[kind][at] for kind, at in gradients.needed(op.row["gradients"])]
    types = ((value.shape, value.dtype.name, custom_call.sharding(value)) for value in values)
    return kept, _Static(tuple(types))


def _backward(
    op: PublishedOp, counts: tuple[int, ...], attributes: dict[str, Any], kept: Any, grads: Any
) -> tuple[Any, ...]:
    """Returns the gradients of inputs; zeros where none is declared, for `_without`."""
    tensors, static = kept
    if all(map(_is_zero, grads)):
        return (None,) * len(static.value)
    declared, inputs = op.row["gradients"], op.split(counts, static.value)
    known = dict(zip(gradients.needed(declared), tensors))
    for at, grad in enumerate(grads):
        is_zero = _is_zero(grad) and grad.dtype != jax.dtypes.float0
        known["gradient", at] = jnp.zeros(grad.shape, grad.dtype) if is_zero else grad
    chosen = gradients.chosen(op.row, [[len(shape) for shape, *_ in of] for of in inputs])

    def kinds_of(name: str) -> dict[str, str]:
        if name not in op.ops:
            raise RuntimeError(f"a gradient calls the op {name}, which isn't published")
        return op.ops[name].kinds

    def call(name: str, tensors: list[Any], attributes: dict[str, Any]) -> Any:
        return op.ops[name](*tensors, **attributes)

    found: list[Any] = []
    for name, of in zip(op.inputs, inputs):
        values = declared.get(name)
        for shape, dtype, sharding in of:
            if not jnp.issubdtype(jnp.dtype(dtype), jnp.inexact):
                found.append(None)
            elif values is None:
                found.append(jnp.zeros(shape, dtype))
            else:
                value = values[chosen if len(values) > 1 else 0]
                grad = gradients.evaluate(value, known, attributes, kinds_of, call)
                is_other = grad is not None and custom_call.sharding(grad) != sharding
                found.append(jax.reshard(grad, sharding) if sharding and is_other else grad)
    return tuple(found)


def _is_zero(grad: Any) -> bool:
    return isinstance(grad, SymbolicZero) or grad.dtype == jax.dtypes.float0


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

        return jax.lax.map(one, [array for array, h in zip(arrays, has_axis) if h])
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
