"""ONNX Runtime: its OrtValue."""

from __future__ import annotations

from typing import Any

from .. import elements, memory
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter, only_plain

#: ONNX's numbers for element types.
NUMBERS = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
}


class OnnxRuntime(Adapter):
    name = "onnxruntime"
    module = "onnxruntime"
    may_fork = False  # At its end, a fork would wait for threads that it hasn't.

    def make(self, dtype: str, layout: Layout) -> Any:
        only_plain(layout, "ONNX Runtime")
        if dtype not in NUMBERS:
            raise AbsentError(f"ONNX Runtime has no {dtype}")
        try:
            x = self.lib.OrtValue.ortvalue_from_shape_and_type(list(layout.shape), NUMBERS[dtype])
            if layout.span:
                memory.fill(
                    x.data_ptr(), elements.to_bytes(dtype, elements.base(dtype, layout.span))
                )
        except Exception as error:
            raise AbsentError(f"ONNX Runtime has no {dtype}: {error}") from None
        return x

    def look(self, x: Any) -> Look:
        names = {number: name for name, number in NUMBERS.items()}
        name = names.get(x.element_type(), x.data_type())
        shape = tuple(x.shape())
        pointer = x.data_ptr()
        return Look(
            name, shape, None, pointer, elements.BITS.get(name, 8), x.device_name() == "cpu"
        )

    def own_read(self, x: Any, dtype: str) -> list[int]:
        return elements.from_bytes(dtype, x.numpy().tobytes())

    def take(self, x: Any) -> Any:
        return self.lib.OrtValue.from_dlpack(x)
