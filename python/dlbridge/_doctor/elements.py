"""Element types by name, and numbers of each as bit patterns, which compare without any
framework.
"""

from __future__ import annotations

import struct

from .layouts import Layout

FLOAT8 = [
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
]
FLOAT8 += ["float8_e5m2fnuz", "float8_e8m0fnu"]
#: How many bits an element of each type has.
BITS: dict[str, int] = {
    "bool": 8,
    **{f"int{bits}": bits for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": bits for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits for bits in (16, 32, 64)},
    "bfloat16": 16,
    **{f"complex{bits}": bits for bits in (32, 64, 128)},
    **{name: 8 for name in FLOAT8},
    **{"float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4, "float4_e2m1fnx2": 8},
    **{f"int{bits}": bits for bits in (1, 2, 4)},
    **{f"uint{bits}": bits for bits in (1, 2, 4)},
}


def base(dtype: str, count: int) -> list[int]:
    """The bit patterns of numbers that are in memory, one after another."""
    return [_pattern(dtype, number) for number in range(count)]


def changed(patterns: list[int]) -> list[int]:
    """Other numbers of the same type: the lowest bit makes a neighbour of any."""
    return [pattern ^ 1 for pattern in patterns]


def _pattern(dtype: str, number: int) -> int:
    bits = BITS[dtype]
    if dtype.startswith("complex"):
        half = bits // 2
        real, imaginary = _pattern(f"float{half}", number), _pattern(f"float{half}", number + 2)
        return real | imaginary << half
    if dtype.startswith("float") and bits >= 16:
        return int.from_bytes(
            struct.pack({16: "<e", 32: "<f", 64: "<d"}[bits], float(number + 1)), "little"
        )
    if dtype == "bfloat16":
        return _pattern("float32", number) >> 16
    if dtype.startswith("float8"):
        return 0x28 + number  # Plain numbers in all eight formats.
    # Of few values, in an order that isn't the same when rows and columns are exchanged.
    few = 1 if dtype == "bool" else bits
    return number + 1 if few >= 8 else (number * number // 3 + number // 2) % (1 << few)


def expected(dtype: str, layout: Layout) -> list[int]:
    """What is read through the layout, in row-major order."""
    patterns = base(dtype, layout.span)
    return [patterns[index] for index in layout.indices()]


def to_bytes(dtype: str, patterns: list[int]) -> bytes:
    """As in memory, each element in whole bytes."""
    width = -(-BITS[dtype] // 8)
    return b"".join(pattern.to_bytes(width, "little") for pattern in patterns)


def from_bytes(dtype: str, data: bytes) -> list[int]:
    """The bit patterns of elements that take whole bytes; what pads them doesn't count."""
    bits = BITS[dtype]
    width = -(-bits // 8)
    parts = [data[start : start + width] for start in range(0, len(data), width)]
    return [int.from_bytes(part, "little") & ((1 << bits) - 1) for part in parts]


def canonical(name: str) -> str:
    """One name for each type, of what the frameworks call it."""
    name = name.rsplit(".", 1)[-1].removesuffix("'>")
    return {"bool_": "bool", "float4_e2m1fn_x2": "float4_e2m1fnx2"}.get(name, name)
