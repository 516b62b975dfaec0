"""TVM's run time."""

from __future__ import annotations

import importlib
from typing import Any

from .. import elements, memory
from ..layouts import Layout
from .base import AbsentError, only_plain
from .tvm_ffi import TvmFfi


class Tvm(TvmFfi):
    name = "tvm"
    module = "tvm"

    def __init__(self) -> None:
        super().__init__()
        self.runtime: Any = importlib.import_module("tvm.runtime")

    def make(self, dtype: str, layout: Layout) -> Any:
        only_plain(layout, "TVM")
        if elements.BITS[dtype] % 8:
            raise AbsentError(f"{dtype} isn't of whole bytes")
        try:
            x = self.runtime.empty(layout.shape, dtype)
        except Exception as error:
            raise AbsentError(f"TVM has no {dtype}: {error}") from None
        memory.fill(x.data_ptr(), elements.to_bytes(dtype, elements.base(dtype, layout.span)))
        return x

    def own_read(self, x: Any, dtype: str) -> list[int]:
        if elements.BITS[dtype] % 8 or dtype.endswith("x2"):
            raise TypeError("numpy() has no such type")
        return elements.from_bytes(dtype, x.numpy().tobytes())

    def take(self, x: Any) -> Any:
        return self.runtime.from_dlpack(x)
