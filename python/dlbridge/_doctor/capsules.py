"""Hand-made producers of the protocol, for frameworks that only ever take tensors from others."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from . import elements, memory
from .layouts import Layout

_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}
_SMALL = [*elements.FLOAT8, "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
_FIRST_SMALL = 7


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


#: Nothing is released: it all lives as long as the process.
_keep = _Deleter(lambda _managed: None)
_KEPT: list[Any] = []


class Producer:
    """A tensor that other frameworks can take."""

    def __init__(self, dtype: str, layout: Layout, patterns: list[int]) -> None:
        self._dtype, self._layout = dtype, layout
        self._address = memory.aligned(elements.to_bytes(dtype, patterns))

    def __dlpack__(self, **_keywords: Any) -> Any:
        layout, rank = self._layout, len(self._layout.shape)
        code, bits, lanes = code_of(self._dtype)
        shape, strides = (
            (ctypes.c_int64 * rank)(*layout.shape),
            (ctypes.c_int64 * rank)(*layout.strides),
        )
        data = self._address + layout.offset * elements.BITS[self._dtype] // 8
        tensor = _Tensor(data, 1, 0, rank, code, bits, lanes, shape, strides, 0)
        managed = _Managed(tensor, self._address, _keep)
        _KEPT.append((managed, shape, strides))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        return new(ctypes.addressof(managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def code_of(dtype: str) -> tuple[int, int, int]:
    """The protocol's code, bits and lanes of a type."""
    if dtype == "float4_e2m1fnx2":
        return _FIRST_SMALL + _SMALL.index("float4_e2m1fn"), 4, 2
    code = (
        _FIRST_SMALL + _SMALL.index(dtype)
        if dtype in _SMALL
        else _CODES[dtype.rstrip("0123456789")]
    )
    return code, elements.BITS[dtype], 1


class Declared(NamedTuple):
    """What a producer's own capsule says of a tensor."""

    dtype: str
    pointer: int


def declared(x: Any) -> Declared | None:
    """What the capsule says, if there is one of the older kind."""
    try:
        capsule = x.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = _Managed.from_address(get(capsule, b"dltensor")).tensor
    except Exception:
        return None
    code = tensor.code, tensor.bits, tensor.lanes
    dtype = next((name for name in elements.BITS if code_of(name) == code), f"type {code}")
    return Declared(dtype, (tensor.data or 0) + tensor.byte_offset)
