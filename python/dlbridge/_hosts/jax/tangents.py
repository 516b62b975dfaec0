"""A primitive of JAX for the derivative of a call: a linear map, of which the transpose is known.

Reverse mode transposes it, which calls the gradients as they are declared. Forward mode evaluates
it: as the transpose of the gradients, which are linear in what they are given.
"""

from __future__ import annotations

import functools
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from . import custom_call

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TANGENT = core.Primitive("dlbridge_tangent")
_TANGENT.multiple_results = True


class Gradients(Protocol):
    """The gradients of a call, by what it keeps and its results' gradients. Those that are equal
    are compiled once.
    """

    #: The types of the results' gradients.
    results: tuple[Any, ...]

    def __call__(self, kept: list[Any], grads: list[Any]) -> list[Any]: ...


def type_of(result: Any) -> Any:
    """Returns the type of a result's tangents."""
    return custom_call.type_of(result).to_tangent_aval()


def apply(gradients: Gradients, kept: list[Any], tangents: list[Any]) -> list[Any]:
    """Returns the results' tangents of some inputs' tangents."""
    found: list[Any] = _TANGENT.bind(*kept, *tangents, gradients=gradients, count=len(kept))
    return found


def _evaluate(*operands: Any, gradients: Gradients, count: int) -> Any:
    kept, tangents = list(operands[:count]), operands[count:]

    def function(grads: Any) -> Any:
        return gradients(kept, grads)

    # The gradient of a linear map is its transpose, wherever it is calculated.
    zeros = [ad.instantiate_zeros(ad.Zero(of)) for of in gradients.results]
    return jax.vjp(function, zeros)[1](list(tangents))[0]


@functools.lru_cache(maxsize=4096)
def _compiled(gradients: Gradients, count: int) -> Callable[..., Any]:
    # XLA leaves out the gradients of zeros, as nothing uses them.
    return jax.jit(functools.partial(_evaluate, gradients=gradients, count=count))


@_TANGENT.def_impl
def _run(*operands: Any, gradients: Gradients, count: int) -> Any:
    return _compiled(gradients, count)(*operands)


@_TANGENT.def_abstract_eval
def _types(*_: Any, gradients: Gradients, count: int) -> Any:
    return gradients.results


mlir.register_lowering(_TANGENT, mlir.lower_fun(_evaluate, multiple_results=True))


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    tangents = tuple(ad.instantiate_zeros(tangent) for tangent in tangents)
    return jax.jvp(lambda *given: _evaluate(*given, **params), tuple(primals), tangents)


def _is_none(tangent: Any) -> bool:
    return isinstance(tangent, ad.Zero)


def _transpose(grads: Any, *operands: Any, gradients: Gradients, count: int) -> Any:
    if all(map(_is_none, grads)):
        return [None] * len(operands)
    grads = [
        ad.instantiate_zeros(ad.Zero(of)) if _is_none(grad) else grad
        for grad, of in zip(grads, gradients.results)
    ]
    if any(map(ad.is_undefined_primal, operands[:count])):
        return _transpose_of_calls(grads, operands, gradients, count)
    return [None] * count + list(gradients(list(operands[:count]), grads))


def _transpose_of_calls(
    grads: list[Any], operands: Any, gradients: Gradients, count: int
) -> list[Any]:
    """Returns the gradients of operands without values, of which some are what the map is made of:
    it isn't linear in these, unless the calls that evaluate it are.
    """
    unknown = [at for at, operand in enumerate(operands) if ad.is_undefined_primal(operand)]

    def function(*given: Any) -> Any:
        whole = list(operands)
        for at, operand in zip(unknown, given):
            whole[at] = operand
        return _evaluate(*whole, gradients=gradients, count=count)

    types = [operands[at].aval for at in unknown]
    found: list[Any] = [None] * len(operands)
    for at, one in zip(unknown, jax.linear_transpose(function, *types)(grads)):
        found[at] = one
    return found


def _batched(operands: Any, axes: Any, *, gradients: Gradients, count: int) -> Any:
    """Applies the map to each index of an axis, with the axis as the results' first."""
    size = next(x.shape[axis] for x, axis in zip(operands, axes) if axis is not None)
    kept_axes, kept = list(axes[:count]), operands[:count]
    tangents = [
        jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands[count:], axes[count:])
    ]

    types = tuple(_with_axis(size, of) for of in gradients.results)
    batched = _Batched(gradients, tuple(kept_axes), size, types)
    results = apply(batched, list(kept), tangents)
    return results, [0] * len(results)


class _Batched(NamedTuple):
    """Gradients for each index of an axis, which is the first of the results' gradients."""

    gradients: Gradients
    axes: tuple[int | None, ...]
    size: int
    results: tuple[Any, ...]

    def __call__(self, kept: list[Any], grads: list[Any]) -> list[Any]:
        each = jax.vmap(self.gradients, (list(self.axes), 0), 0, axis_size=self.size)
        found: list[Any] = each(kept, grads)
        return found


def _with_axis(size: int, of: Any) -> Any:
    """Returns the type of several arrays of one, along a new first axis."""
    try:
        return core.unmapped_aval(size, 0, of)
    except (AttributeError, TypeError):  # before 0.5 or so
        return of.update(shape=(size, *of.shape))


ad.primitive_jvps[_TANGENT] = _jvp
ad.primitive_transposes[_TANGENT] = _transpose
batching.primitive_batchers[_TANGENT] = _batched
