"""TensorFlow."""

from __future__ import annotations

import importlib
from typing import Any

from .. import arrays, capsules, elements
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter, only_plain


class TensorFlow(Adapter):
    name = "tensorflow"
    module = "tensorflow"
    immutable = True

    def make(self, dtype: str, layout: Layout) -> Any:
        only_plain(layout, "TensorFlow")
        try:
            self.lib.dtypes.as_dtype(dtype)
            # Of memory that stays: it may share what it is given.
            return self.lib.convert_to_tensor(arrays.array(dtype, layout))
        except (TypeError, ValueError) as error:
            raise AbsentError(f"TensorFlow has no {dtype}: {error}") from None

    def look(self, x: Any) -> Look:
        name, shape = elements.canonical(x.dtype.name), tuple(x.shape)
        # It tells its address in this way alone, and not of all dtypes.
        declared = capsules.declared(x)
        pointer = declared.pointer if declared else self._address(x)
        return Look(name, shape, None, pointer, x.dtype.size * 8, "CPU" in x.device)

    def _address(self, x: Any) -> int | None:
        """Returns the address as dlbridge finds it; what is written there is read by TensorFlow."""
        try:
            dlbridge: Any = importlib.import_module("dlbridge")
            return int(dlbridge.from_dlpack(x).data_ptr)
        except BufferError:
            return None

    def own_read(self, x: Any, dtype: str) -> list[int]:
        return elements.from_bytes(dtype, x.numpy().tobytes())

    def compute(self, x: Any) -> None:
        # It looks at the alignment no sooner than here.
        if x.dtype.is_bool:
            self.lib.logical_not(x)
        else:
            self.lib.raw_ops.AddV2(x=x, y=x)

    def take(self, x: Any) -> Any:
        capsule = x.__dlpack__() if hasattr(x, "__dlpack__") else x
        return self.lib.experimental.dlpack.from_dlpack(capsule)
