"""The known frameworks, and those that are installed."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterable

from .adapters.base import Adapter

#: The adapter of each, in the order in which they are shown.
ADAPTERS = {
    "dlbridge": "dlbridge._doctor.adapters.dlbridge:DLBridge",
    "numpy": "dlbridge._doctor.adapters.numpy:NumPy",
    "torch": "dlbridge._doctor.adapters.torch:Torch",
    "jax": "dlbridge._doctor.adapters.jax:Jax",
    "tensorflow": "dlbridge._doctor.adapters.tensorflow:TensorFlow",
    "paddle": "dlbridge._doctor.adapters.paddle:Paddle",
    "mlx": "dlbridge._doctor.adapters.mlx:Mlx",
    "pyarrow": "dlbridge._doctor.adapters.pyarrow:PyArrow",
    "cupy": "dlbridge._doctor.adapters.cupy:CuPy",
    "tvm_ffi": "dlbridge._doctor.adapters.tvm_ffi:TvmFfi",
    "tvm": "dlbridge._doctor.adapters.tvm:Tvm",
    "onnxruntime": "dlbridge._doctor.adapters.onnxruntime:OnnxRuntime",
}
#: Those that crash where both are imported.
ENEMIES = {frozenset(("tensorflow", "paddle")): "TensorFlow and Paddle crash in one process"}


def adapter_class(path: str) -> type[Adapter]:
    """The adapter of a path, as in "package.module:Class"."""
    module, _, name = path.partition(":")
    found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        raise ValueError(
            f"{path} can't be an adapter: expected package.module:Class, a subclass of Adapter"
        )
    for attribute in ("name", "module"):
        if not isinstance(getattr(found, attribute, None), str):
            raise ValueError(f"{path} can't be an adapter: expected a string as its {attribute}")
    if not re.fullmatch(r"[\w.-]+", found.name):  # It stands in options, tables and keys.
        raise ValueError(
            f"{path} can't be an adapter: expected letters, digits and any of ._- as its name, "
            f"got {found.name!r}"
        )
    return found


def known(also: Iterable[str] = ()) -> dict[str, str]:
    """The path of each adapter by the framework's name, with others that users have written."""
    return ADAPTERS | {adapter_class(path).name: path for path in also}


def is_here(path: str) -> bool:
    """Whether a framework is installed, without importing it."""
    try:
        return importlib.util.find_spec(adapter_class(path).module.partition(".")[0]) is not None
    except ValueError:  # A module that was made by hand has no spec.
        return True


def enmity(producer: str, consumer: str) -> str | None:
    """Why these two can't be in one process, if that is so."""
    return ENEMIES.get(frozenset((producer, consumer)))
