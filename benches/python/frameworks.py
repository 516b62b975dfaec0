"""Construction and import of a float32 array in each framework."""

import importlib
from dataclasses import dataclass
from typing import Any, Callable


@dataclass
class Framework:
    name: str
    # (list of numbers, shape) to an array on the CPU.
    make: Callable
    # The framework's own from_dlpack: a call, and what takes its result where it takes two.
    imports: tuple[Callable, Callable | None] | None
    # Whether its arrays may be written to. Those of the others are said to never change.
    writable: bool


def _torch(torch):
    return Framework(
        "torch",
        # A clone, as a reshaped tensor is a view, of which more has to be asked.
        lambda values, shape: torch.tensor(values, dtype=torch.float32).reshape(shape).clone(),
        (torch.from_dlpack, None),
        True,
    )


def _numpy(numpy):
    return Framework(
        "numpy",
        lambda values, shape: numpy.array(values, dtype=numpy.float32).reshape(shape),
        (numpy.from_dlpack, None),
        True,
    )


def _jax(jax):
    def make(values, shape):
        return jax.numpy.array(values, dtype="float32").reshape(shape).block_until_ready()

    return Framework("jax", make, (jax.dlpack.from_dlpack, None), False)


def _tensorflow(tensorflow):
    dlpack = tensorflow.experimental.dlpack
    return Framework(
        "tensorflow",
        lambda values, shape: tensorflow.reshape(tensorflow.constant(values, "float32"), shape),
        # It takes a capsule only.
        (dlpack.to_dlpack, dlpack.from_dlpack),
        False,
    )


def _mlx(mlx):
    def make(values, shape):
        array = mlx.array(values, dtype=mlx.float32).reshape(shape)
        mlx.eval(array)
        return array

    return Framework("mlx", make, None, False)


def _paddle(paddle):
    paddle.set_device("cpu")
    return Framework(
        "paddle",
        lambda values, shape: paddle.to_tensor(values, dtype="float32").reshape(shape),
        (paddle.from_dlpack, None),
        True,
    )


_FRAMEWORKS: dict[str, tuple[str, Callable[[Any], Framework]]] = {
    "torch": ("torch", _torch),
    "numpy": ("numpy", _numpy),
    "jax": ("jax", _jax),
    "tensorflow": ("tensorflow", _tensorflow),
    "mlx": ("mlx.core", _mlx),
    "paddle": ("paddle", _paddle),
}


def framework(name):
    """The framework, or an ImportError."""
    module, describe = _FRAMEWORKS[name]
    found = importlib.import_module(module)
    if name == "jax":
        importlib.import_module("jax.dlpack")
    return describe(found)
