"""PyTorch."""

from __future__ import annotations

from typing import Any

from .. import elements, memory
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter, refuse


class Torch(Adapter):
    name = "torch"
    module = "torch"

    def _dtype(self, name: str) -> Any:
        dtype = getattr(self.lib, name.replace("m1fnx2", "m1fn_x2"), None)
        # Those of less than 8 bits, and of float4 alone, have a name and no operations.
        if dtype is None or elements.BITS[name] < 8:
            raise AbsentError(f"PyTorch has no {name}")
        return dtype

    def _vector(self, dtype: str, patterns: list[int]) -> Any:
        data = elements.to_bytes(dtype, patterns)
        raw = self.lib.empty(len(data), dtype=self.lib.uint8)
        memory.fill(raw.data_ptr(), data)
        return raw.view(self._dtype(dtype))

    def make(self, dtype: str, layout: Layout) -> Any:
        refuse(layout, "negative", why="PyTorch has no negative strides")
        vector = self._vector(dtype, elements.base(dtype, layout.span))
        return vector.as_strided(layout.shape, layout.strides, layout.offset)

    def look(self, x: Any) -> Look:
        name = elements.canonical(str(x.dtype))
        width = x.element_size() * 8
        return Look(
            name, tuple(x.shape), tuple(x.stride()), x.data_ptr(), width, x.device.type == "cpu"
        )

    def own_read(self, x: Any, dtype: str) -> list[int]:
        data = bytes(x.detach().cpu().contiguous().reshape(-1).view(self.lib.uint8).tolist())
        return elements.from_bytes(dtype, data)

    def own_write(self, x: Any, dtype: str, patterns: list[int]) -> None:
        x.copy_(self._vector(dtype, patterns).reshape(x.shape))

    def compute(self, x: Any) -> None:
        x.clone()
