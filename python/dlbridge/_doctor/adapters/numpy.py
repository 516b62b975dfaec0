"""NumPy."""

from __future__ import annotations

from typing import Any

from .. import arrays, elements
from ..layouts import Layout
from ..memory import Look
from .base import Adapter


class NumPy(Adapter):
    name = "numpy"
    module = "numpy"

    def make(self, dtype: str, layout: Layout) -> Any:
        return arrays.array(dtype, layout)

    def look(self, x: Any) -> Look:
        return arrays.look(x)

    def own_read(self, x: Any, dtype: str) -> list[int]:
        return elements.from_bytes(dtype, x.tobytes())

    def own_write(self, x: Any, dtype: str, patterns: list[int]) -> None:
        x[...] = arrays.plain(dtype, x.shape, patterns)

    def is_readonly(self, x: Any) -> bool:
        return not x.flags.writeable
