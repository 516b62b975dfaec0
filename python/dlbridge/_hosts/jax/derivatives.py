"""Derivatives of calls, and transposes of those that are linear, by the declared gradients."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from ..._errors import with_fields
from .. import gradients
from . import custom_call, tangents
from .primitive import CALL, traceable

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp
    from .primitive import Counts, Key


def _derivative(
    primals: Any, given: Any, *, op: PublishedOp, counts: Counts, key: Key
) -> tuple[Any, list[Any]]:
    """Returns a call's results, and their tangents by those of the inputs that are given.

    What this calls is differentiated for further derivatives.
    """
    results = traceable(op, counts, key)(*primals)
    found: list[Any] = [ad.Zero(tangents.type_of(result)) for result in results]
    smooth = [at for at, result in enumerate(results) if _is_inexact(result)]
    moved = [at for at, tangent in enumerate(given) if not isinstance(tangent, ad.Zero)]
    moved = [at for at in moved if _is_inexact(primals[at])]
    if not moved or not smooth:
        return results, found
    call = _Call(op, counts, key, tuple(map(_type_of, primals)))
    known = call.known(primals, results)
    names = tuple(name for name, tensor in known.items() if tensor is not None)
    absent = tuple(name for name in known if name not in names)
    of_results = tuple(tangents.type_of(results[at]) for at in smooth)
    declared = _Gradients(
        call, tuple(moved), names, absent, tuple(smooth), len(results), of_results
    )
    kept = [known[name] for name in names]
    moves = tangents.apply(declared, kept, [given[at] for at in moved])
    for at, tangent in zip(smooth, moves):
        found[at] = tangent
    return results, found


def _transposed(grads: Any, *operands: Any, op: PublishedOp, counts: Counts, key: Key) -> list[Any]:
    """Returns the gradients of inputs without values, in which the call is linear."""
    moved = [at for at, operand in enumerate(operands) if ad.is_undefined_primal(operand)]
    found: list[Any] = [None] * len(operands)
    if all(isinstance(grad, ad.Zero) for grad in grads):
        return found
    call = _Call(op, counts, key, tuple(map(_type_of, operands)))
    call.check_linear(moved)
    # Gradients have but the shapes and dtypes of what stands for the values that aren't there.
    inputs = list(operands)
    for at in moved:
        inputs[at] = ad.instantiate_zeros(ad.Zero(operands[at].aval))
    grads = [ad.instantiate_zeros(grad) for grad in grads]
    known = call.known(inputs, grads)
    grads = [grad if _is_inexact(grad) else None for grad in grads]
    for at, one in zip(moved, call.evaluate(moved, known, grads)):
        found[at] = one
    return found


class _Gradients(NamedTuple):
    """The gradients of some arrays of a call, as `tangents.apply` takes them."""

    call: _Call
    moved: tuple[int, ...]
    #: What the gradients are made of, and what of it the call doesn't have.
    names: tuple[Any, ...]
    absent: tuple[Any, ...]
    #: The results that have gradients, how many there are of all, and the gradients' types.
    smooth: tuple[int, ...]
    count: int
    results: tuple[Any, ...]

    def __call__(self, kept: list[Any], grads: list[Any]) -> list[Any]:
        known = {**dict.fromkeys(self.absent), **dict(zip(self.names, kept))}
        of_all: list[Any] = [None] * self.count
        for at, grad in zip(self.smooth, grads):
            of_all[at] = grad
        return self.call.evaluate(self.moved, known, of_all)


class _Call(NamedTuple):
    """A call with inputs of some types."""

    op: PublishedOp
    counts: Counts
    key: Key
    types: tuple[Any, ...]

    def known(self, inputs: Any, results: Any) -> dict[Any, Any]:
        """Returns the inputs and results that gradients are made of."""
        first = [of[0] if of else None for of in self.op.split(self.counts, inputs)]
        tensors = {"input": first, "output": results}
        needed = gradients.needed(self.op.row["gradients"])
        return {(kind, at): tensors[kind][at] for kind, at in needed}

    def evaluate(self, moved: Any, known: dict[Any, Any], grads: list[Any]) -> list[Any]:
        """Returns the gradients of some arrays as they are declared, by calls of ops.

        `grads` are those of the results, with None for those of whole numbers.
        """
        known = {**known, **{("gradient", at): grad for at, grad in enumerate(grads)}}
        return [self._of_array(at, known) for at in moved]

    def check_linear(self, moved: list[int]) -> None:
        """Checks that the gradients of some arrays need no elements of these, or of results."""
        absent = {("input", self._place(at)) for at in moved}
        for at in moved:
            used = gradients.used(self._declared(at), self._rows)
            if any(kind == "output" or (kind, number) in absent for kind, number in used):
                name = self.op.inputs[self._place(at)]
                error = RuntimeError(f"{self.op.target} isn't linear in {name!r}")
                remedy = "differentiate it where the array has a value"
                raise with_fields(error, "kernel", wanted=name, remedy=remedy)

    def _place(self, at: int) -> int:
        places = [place for place, count in enumerate(self.counts) for _ in range(count)]
        return places[at]

    def _declared(self, at: int) -> Any:
        name = self.op.inputs[self._place(at)]
        ranks = self.op.split(self.counts, [len(shape) for shape, *_ in self.types])
        return gradients.declared(self.op.row, name, ranks, self.op.target)

    def _of_array(self, at: int, known: dict[Any, Any]) -> Any:
        shape, dtype, sharding = self.types[at]

        def call(name: str, tensors: list[Any], attributes: dict[str, Any]) -> Any:
            return self._published(name)(*tensors, **attributes)

        value, attributes = self._declared(at), self.op.attributes(self.key)
        grad = gradients.evaluate(value, known, attributes, self._published, call, jnp.real)
        if grad is None:
            return jnp.zeros(shape, dtype)
        is_other = custom_call.spread(custom_call.type_of(grad)) != sharding
        return jax.reshard(grad, sharding) if sharding and is_other else grad

    def _rows(self, name: str) -> dict[str, Any]:
        return self._published(name).row

    def _published(self, name: str) -> PublishedOp:
        if name not in self.op.ops:
            error = RuntimeError(f"a gradient calls the op {name}, which isn't published")
            raise with_fields(error, "name", wanted=name)
        return self.op.ops[name]


def _type_of(array: Any) -> Any:
    """Returns the shape and dtype of an array, and how it is spread over a mesh."""
    of = array.aval if ad.is_undefined_primal(array) else custom_call.type_of(array)
    return of.shape, of.dtype, custom_call.spread(of)


def _is_inexact(of: Any) -> bool:
    return bool(jnp.issubdtype(of.dtype, jnp.inexact))


ad.primitive_jvps[CALL] = _derivative
ad.primitive_transposes[CALL] = _transposed
