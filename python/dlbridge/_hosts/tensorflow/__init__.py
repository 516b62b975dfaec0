"""Ops as ops of TensorFlow, for tf.function, SavedModels, tf.data and gradient tapes.

Kernels for the CPU are called without Python. Nodes are made by the functions that TensorFlow's
generated wrappers of ops use, which are private.
"""

from __future__ import annotations

from ..definition import flat, function_of, refusal
from .op import PublishedOp
from .private import private

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ops: dict[str, PublishedOp] = {}


def publish(names: list[str]) -> dict[str, str]:
    """Publishes ops, and returns why some can't be, by name."""
    private()
    refused = {}
    for name in names:
        if name in _ops:
            continue
        if not hasattr(function_of(name).__self__, "_tensorflow_publish"):
            refused[name] = f"{name}: its extension was built without feature hosts"
            continue
        try:
            _ops[name] = PublishedOp(name, _ops)
        except Exception as error:
            refused[name] = refusal(name, error)
    return refused


def follows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether TensorFlow traces a tensor among arguments, records it on a tape, or keeps it as a
    variable, which only TensorFlow reads: a tape watches it from then on.
    """
    functions = private()
    # A class of all of them: tensors, symbols, variables, and variables of Keras.
    tensors = [item for item in flat(args, kwargs) if isinstance(item, functions.tensor)]
    if any(not isinstance(item, functions.eager) for item in tensors):
        return True
    return bool(tensors) and functions.gradient_types(tensors) != 0


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls an op of TensorFlow with the arguments of the function in `dlbridge.ops`."""
    if name not in _ops:
        return NotImplemented
    return _ops[name](*args, **kwargs)
