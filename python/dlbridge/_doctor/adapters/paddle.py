"""Paddle."""

from __future__ import annotations

from typing import Any

from .. import elements, memory
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter, refuse


class Paddle(Adapter):
    name = "paddle"
    module = "paddle"

    def _vector(self, dtype: str, patterns: list[int]) -> Any:
        kind = getattr(self.lib, dtype, None)
        if kind is None:
            raise AbsentError(f"Paddle has no {dtype}")
        data = elements.to_bytes(dtype, patterns) or bytes(16)
        raw = self.lib.empty([len(data)], dtype="uint8")
        memory.fill(raw.data_ptr(), data)
        try:
            vector = raw.view(kind)
        except Exception as error:
            raise AbsentError(f"Paddle has no {dtype}: {_brief(error)}") from None
        if elements.canonical(str(vector.dtype)) != dtype:
            raise AbsentError(f"Paddle's {dtype} is {vector.dtype}")
        return vector

    def make(self, dtype: str, layout: Layout) -> Any:
        refuse(layout, "negative", why="Paddle has no negative strides")
        vector = self._vector(dtype, elements.base(dtype, layout.span))
        if layout.name == "empty":
            return self.lib.empty(list(layout.shape), dtype=vector.dtype)
        offset = layout.offset * elements.BITS[dtype] // 8
        return self.lib.as_strided(vector, list(layout.shape), list(layout.strides), offset)

    def look(self, x: Any) -> Look:
        name = elements.canonical(str(x.dtype))
        is_host = x.place.is_cpu_place()
        return Look(
            name, tuple(x.shape), tuple(x.strides), x.data_ptr(), x.element_size() * 8, is_host
        )

    def own_read(self, x: Any, dtype: str) -> list[int]:
        # Not by contiguous(), which moves the tensor itself to other memory.
        return elements.from_bytes(dtype, x.numpy().tobytes())

    def own_write(self, x: Any, dtype: str, patterns: list[int]) -> None:
        x[...] = self._vector(dtype, patterns).reshape(x.shape)

    def compute(self, x: Any) -> None:
        x.clone()


def _brief(error: Exception) -> str:
    """What it says, without where in its sources it says it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "Error" in line), lines[-1] if lines else repr(error))
