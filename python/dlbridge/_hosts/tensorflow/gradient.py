"""The gradient of an op's node, as calls of ops."""

from __future__ import annotations

import tensorflow as tf

from ..._errors import with_fields
from .. import gradients
from ..definition import flat

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp


def gradient(op: PublishedOp, node: Any, *grads: Any) -> Any:
    """The gradients of a node's inputs, as calls of ops."""
    row, flat_inputs = op.row, list(node.inputs)
    counts = []
    for tensor in row["inputs"]:
        count = 1
        if tensor["optional"] or tensor["variadic"]:
            prefix = "T_" if tensor["dtype"][0] == "any" else "N_"
            count = node.get_attr(prefix + tensor["name"])
            count = count if isinstance(count, int) else len(count)
        counts.append(count)
    starts = [sum(counts[:at]) for at in range(len(counts))]
    inputs = [flat_inputs[at : at + count] for at, count in zip(starts, counts)]
    known: dict[Any, Any] = {("output", at): of for at, of in enumerate(node.outputs)}
    known.update({("input", at): of[0] if of else None for at, of in enumerate(inputs)})
    for at, grad in enumerate(grads):
        grad = tf.zeros_like(node.outputs[at]) if grad is None else grad
        known["gradient", at] = _conjugate(tf.convert_to_tensor(grad))
    attributes = {name: op.decoded(name, node.get_attr(name)) for name in op.kinds}
    ranks = [[tensor.shape.rank for tensor in of] for of in inputs]
    skipped = getattr(node, "skip_input_indices", None) or ()

    def declared(name: str) -> Any:
        if len(row["gradients"].get(name, ())) > 1 and None in flat(ranks, {}):
            error = ValueError(f"{row['name']}: its gradient needs tensors of known rank")
            raise with_fields(error, "rank")
        return gradients.declared(row, name, ranks, op.name, LookupError)

    def published(name: str) -> PublishedOp:
        if name not in op.published:
            error = LookupError(f"a gradient calls the op {name}, which isn't published")
            raise with_fields(error, "name", wanted=name)
        return op.published[name]

    def call(name: str, tensors: list[Any], keywords: dict[str, Any]) -> Any:
        return published(name)(*tensors, **keywords)

    found: list[Any] = []
    for at, of in enumerate(inputs):
        for number, tensor in enumerate(of, starts[at]):
            is_needed = tensor.dtype.is_floating or tensor.dtype.is_complex
            if not is_needed or number in skipped:
                found.append(None)
                continue
            value = declared(op.inputs[at])
            of_all = known, attributes, published, call, tf.math.real
            found.append(_conjugate(gradients.evaluate(value, *of_all)))
    return found


def _conjugate(grad: Any) -> Any:
    return grad if grad is None or not grad.dtype.is_complex else tf.math.conj(grad)
