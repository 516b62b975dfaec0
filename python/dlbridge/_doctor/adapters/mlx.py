"""MLX."""

from __future__ import annotations

from typing import Any

from .. import elements, memory
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter


class Mlx(Adapter):
    name = "mlx"
    module = "mlx.core"

    def make(self, dtype: str, layout: Layout) -> Any:
        kind = getattr(self.lib, "bool_" if dtype == "bool" else dtype, None)
        if not isinstance(kind, self.lib.Dtype):
            raise AbsentError(f"MLX has no {dtype}")
        with self.lib.stream(self.lib.cpu):
            if not layout.span:
                x = self.lib.zeros(layout.shape, kind)
            else:
                data = elements.to_bytes(dtype, elements.base(dtype, layout.span))
                vector = self.lib.array(list(data), self.lib.uint8).view(kind)
                x = self.lib.as_strided(vector, layout.shape, layout.strides, layout.offset)
            self.lib.eval(x)
        return x

    def look(self, x: Any) -> Look:
        pointer, strides = memory.buffer_of(x)
        name = elements.canonical(str(x.dtype))
        return Look(name, tuple(x.shape), strides, pointer, x.itemsize * 8)

    def own_read(self, x: Any, dtype: str) -> list[int]:
        with self.lib.stream(self.lib.cpu):
            return elements.from_bytes(dtype, bytes(x.reshape(-1).view(self.lib.uint8).tolist()))

    def compute(self, x: Any) -> None:
        with self.lib.stream(self.lib.cpu):
            self.lib.eval(x == x)

    def take(self, x: Any) -> Any:
        take = getattr(self.lib, "from_dlpack", None) or self.lib.array
        x = take(x)
        self.lib.eval(x)
        return x
