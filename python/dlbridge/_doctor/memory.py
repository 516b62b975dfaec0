"""Memory by its address: to see and to write what is there, past every framework."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any, NamedTuple


class Look(NamedTuple):
    """How a framework says that a tensor lies in memory."""

    dtype: str
    shape: tuple[int, ...]
    #: Counted in elements; none where the framework doesn't say, and has only the plain order.
    strides: tuple[int, ...] | None
    pointer: int | None
    #: From one element to the next.
    step_bits: int
    #: Whether the address is one of this process's memory.
    is_host: bool = True

    def _bit_offsets(self) -> list[int]:
        strides = self.strides if self.strides is not None else row_major(self.shape)
        positions = itertools.product(*map(range, self.shape))
        return [
            self.step_bits * sum(i * s for i, s in zip(position, strides)) for position in positions
        ]

    @property
    def _address(self) -> int:
        if not self.pointer or not self.is_host:
            raise ValueError("its memory has no address here")
        return self.pointer

    def read(self, bits: int) -> list[int]:
        """The bit patterns of the elements in row-major order."""
        return [read_bits(self._address, offset, bits) for offset in self._bit_offsets()]

    def write(self, bits: int, patterns: list[int]) -> None:
        for offset, pattern in zip(self._bit_offsets(), patterns):
            write_bits(self._address, offset, bits, pattern)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def read_bits(address: int, offset: int, bits: int) -> int:
    """The pattern that begins a number of bits behind an address."""
    start, shift = divmod(offset, 8)
    data = ctypes.string_at(address + start, -(-(shift + bits) // 8))
    return int.from_bytes(data, "little") >> shift & ((1 << bits) - 1)


def write_bits(address: int, offset: int, bits: int, pattern: int) -> None:
    start, shift = divmod(offset, 8)
    size = -(-(shift + bits) // 8)
    old = int.from_bytes(ctypes.string_at(address + start, size), "little")
    new = old & ~(((1 << bits) - 1) << shift) | pattern << shift
    ctypes.memmove(address + start, new.to_bytes(size, "little"), size)


#: Memory that lives as long as the process, since its remaining users are unknown.
_KEPT: list[Any] = []


def aligned(data: bytes) -> int:
    """The address of a copy that is aligned to 64 bytes and has some room behind it."""
    room = ctypes.create_string_buffer(len(data) + 128)
    _KEPT.append(room)
    address = -(-ctypes.addressof(room) // 64) * 64
    ctypes.memmove(address, data, len(data))
    return address


def fill(address: int, data: bytes) -> None:
    ctypes.memmove(address, data, len(data))


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_FULL_RO = 0x011C


def buffer_of(x: Any) -> tuple[int | None, tuple[int, ...]]:
    """The address and the strides in elements of an object with a buffer, whatever its format."""
    view = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(x), ctypes.byref(view), _FULL_RO)
    try:
        strides = tuple(view.strides[axis] // view.itemsize for axis in range(view.ndim))
        return view.buf, strides
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
