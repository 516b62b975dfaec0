"""NumPy's arrays of any type and layout, from which some frameworks make theirs."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from . import elements, memory
from .adapters.base import AbsentError
from .layouts import Layout


def dtype_of(name: str) -> Any:
    """NumPy's type of this name, or that of ml_dtypes."""
    numpy: Any = importlib.import_module("numpy")
    try:
        return numpy.dtype(name)
    except TypeError:
        pass
    try:
        return numpy.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    except (ImportError, AttributeError):
        raise AbsentError(f"NumPy has no {name}") from None


def array(dtype: str, layout: Layout) -> Any:
    """An array in memory that is aligned to 64 bytes, but for the layout's offset."""
    numpy: Any = importlib.import_module("numpy")
    kind = dtype_of(dtype)
    data = elements.to_bytes(dtype, elements.base(dtype, layout.span))
    address, width = memory.aligned(data), kind.itemsize
    buffer = (ctypes.c_char * (max(layout.span, 1) * width)).from_address(address)
    if layout.name == "broadcast":
        # As users have it, who then have it read-only.
        return numpy.broadcast_to(numpy.ndarray(layout.shape[1:], kind, buffer), layout.shape)
    strides = [stride * width for stride in layout.strides]
    return numpy.ndarray(layout.shape, kind, buffer, layout.offset * width, strides)


def plain(dtype: str, shape: tuple[int, ...], patterns: list[int]) -> Any:
    """An array of these numbers in row-major order."""
    numpy: Any = importlib.import_module("numpy")
    return numpy.frombuffer(bytearray(elements.to_bytes(dtype, patterns)), dtype_of(dtype)).reshape(
        shape
    )


def look(x: Any) -> memory.Look:
    """How an array lies in memory."""
    width = x.itemsize
    strides = tuple(stride // width for stride in x.strides)
    return memory.Look(
        elements.canonical(x.dtype.name), tuple(x.shape), strides, x.ctypes.data, width * 8
    )
