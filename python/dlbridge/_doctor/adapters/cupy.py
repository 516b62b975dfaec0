"""CuPy, whose memory is a GPU's."""

from __future__ import annotations

from typing import Any

from .. import arrays, elements
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter


class CuPy(Adapter):
    name = "cupy"
    module = "cupy"
    may_fork = False  # To ask for GPUs is to use it.

    def __init__(self) -> None:
        super().__init__()
        self.lib.cuda.runtime.getDeviceCount()  # Without a GPU there is nothing that it could hold.

    def make(self, dtype: str, layout: Layout) -> Any:
        try:
            kind = self.lib.dtype(arrays.dtype_of(dtype))
            data = elements.to_bytes(dtype, elements.base(dtype, layout.span)) or bytes(16)
            raw = self.lib.asarray(bytearray(data), dtype="uint8").view(kind)
        except (TypeError, ValueError) as error:
            raise AbsentError(f"CuPy has no {dtype}: {error}") from None
        width = kind.itemsize
        memory = raw.data + layout.offset * width
        return self.lib.ndarray(
            layout.shape, kind, memory, [stride * width for stride in layout.strides]
        )

    def look(self, x: Any) -> Look:
        width = x.itemsize
        strides = tuple(stride // width for stride in x.strides)
        return Look(
            elements.canonical(x.dtype.name), tuple(x.shape), strides, x.data.ptr, width * 8, False
        )

    def own_read(self, x: Any, dtype: str) -> list[int]:
        return elements.from_bytes(dtype, x.get().tobytes())

    def own_write(self, x: Any, dtype: str, patterns: list[int]) -> None:
        x[...] = self.lib.asarray(arrays.plain(dtype, x.shape, patterns))

    def compute(self, x: Any) -> None:
        x.copy()
