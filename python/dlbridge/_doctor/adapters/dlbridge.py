"""dlbridge's own tensors."""

from __future__ import annotations

from typing import Any

from .. import elements, memory
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter


class DLBridge(Adapter):
    name = "dlbridge"
    module = "dlbridge"

    def make(self, dtype: str, layout: Layout) -> Any:
        try:
            vector = self.lib.empty([layout.span], dtype)
            step = int(vector.itemsize * 8)
            for index, pattern in enumerate(elements.base(dtype, layout.span)):
                memory.write_bits(vector.data_ptr, index * step, elements.BITS[dtype], pattern)
            return _arranged(vector, layout)
        except (ValueError, BufferError, TypeError) as error:
            raise AbsentError(f"dlbridge has no such tensor: {error}") from None

    def look(self, x: Any) -> Look:
        is_host = x.device == "cpu"
        return Look(
            str(x.dtype), tuple(x.shape), tuple(x.strides), x.data_ptr, int(x.itemsize * 8), is_host
        )

    def own_read(self, x: Any, dtype: str) -> list[int]:
        copy = x.copy()  # Which has to live until it is read.
        return self.look(copy).read(elements.BITS[dtype])

    def is_readonly(self, x: Any) -> bool:
        return bool(x.readonly)

    def compute(self, x: Any) -> None:
        x.tolist()


def _arranged(vector: Any, layout: Layout) -> Any:
    """A view of a layout, by the methods that there are for it."""
    if layout.name == "transposed":
        return vector.reshape(layout.shape[::-1]).T
    if layout.name == "sliced":
        return vector.reshape((layout.shape[0], layout.strides[0]))[:, 1 : 1 + layout.shape[1]]
    if layout.name == "negative":
        return vector.reshape(layout.shape)[::-1]
    if layout.name == "broadcast":
        return vector.broadcast_to(layout.shape)
    return vector[layout.offset :].reshape(layout.shape)
