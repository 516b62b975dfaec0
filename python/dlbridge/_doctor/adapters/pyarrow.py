"""PyArrow: its tensors, and the array of one dimension that it may make of what it takes."""

from __future__ import annotations

from typing import Any

from .. import arrays, elements
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter

NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}


class PyArrow(Adapter):
    name = "pyarrow"
    module = "pyarrow"

    def make(self, dtype: str, layout: Layout) -> Any:
        try:
            return self.lib.Tensor.from_numpy(arrays.array(dtype, layout))
        except (self.lib.ArrowException, TypeError, ValueError) as error:
            raise AbsentError(f"PyArrow has no such tensor: {error}") from None

    def _array(self, x: Any) -> Any:
        return x.to_numpy() if isinstance(x, self.lib.Tensor) else x.to_numpy(zero_copy_only=True)

    def look(self, x: Any) -> Look:
        seen = arrays.look(self._array(x))
        name = str(x.type)
        return seen._replace(dtype=NAMES.get(name, name))

    def own_read(self, x: Any, dtype: str) -> list[int]:
        return elements.from_bytes(dtype, self._array(x).tobytes())

    def is_readonly(self, x: Any) -> bool:
        return not (isinstance(x, self.lib.Tensor) and x.is_mutable)

    def take(self, x: Any) -> Any:
        return self.lib.Tensor.from_dlpack(x)
