"""TVM FFI, which has tensors of others alone."""

from __future__ import annotations

from typing import Any

from .. import capsules, elements
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter


class TvmFfi(Adapter):
    name = "tvm_ffi"
    module = "tvm_ffi"

    def make(self, dtype: str, layout: Layout) -> Any:
        if elements.BITS[dtype] % 8:
            raise AbsentError(f"{dtype} isn't of whole bytes")
        made = capsules.Producer(dtype, layout, elements.base(dtype, layout.span))
        try:
            return self.lib.from_dlpack(made)
        except Exception as error:
            raise AbsentError(f"TVM FFI has no such tensor: {error}") from None

    def look(self, x: Any) -> Look:
        name = elements.canonical(str(x.dtype))
        bits = elements.BITS.get(name, 8)  # Narrow ones are packed.
        is_host = x.device.type == "cpu"
        return Look(name, tuple(x.shape), tuple(x.strides), x.data_ptr(), bits, is_host)
