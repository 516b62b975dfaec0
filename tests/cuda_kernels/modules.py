"""All modules that are made of the kernels: a file, and what its macros stand for."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "src" / "cuda" / "kernels"

FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
NUMBERS = INTEGERS + FLOATS


class Module(NamedTuple):
    file: str
    name: str  # which the names of its entry points begin with
    macros: tuple  # pairs of a macro and its value

    def options(self):
        return [f"-D{macro}={value}" for macro, value in (("NAME", self.name), *self.macros)]

    def source(self):
        return (KERNELS / self.file).read_text()

    def entries(self):
        """The entry points by their last part, as the source declares them."""
        return re.findall(r"^KERNEL(?:_OF)?\((?:\d+, )?(\w+)\)", self.source(), re.MULTILINE)


def headers():
    return sorted(KERNELS.glob("*.cuh"))


def module(file, name, **macros):
    return Module(file, name, tuple(macros.items()))


def elementwise():
    operations = {"add": NUMBERS, "sub": NUMBERS, "mul": NUMBERS, "div": FLOATS}
    return [
        module("elementwise.cu", f"{name}_{element}", T=element, OP=name.capitalize())
        for name, elements in operations.items()
        for element in elements
    ]


def all_modules():
    return elementwise()
