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
        return re.findall(r"^KERNEL(?:_OF|_IN)?\((?:\d+, )*(\w+)\)", self.source(), re.MULTILINE)


def headers():
    return sorted(KERNELS.glob("*.cuh"))


def module(file, name, **macros):
    return Module(file, name, tuple(macros.items()))


def elementwise():
    operations = {"add": NUMBERS, "sub": NUMBERS, "mul": NUMBERS, "div": FLOATS}
    return [
        module("elementwise.cu", f"{name}_{element}", TYPE=element, OPERATION=name.capitalize())
        for name, elements in operations.items()
        for element in elements
    ]


def axpy():
    return [module("axpy.cu", f"axpy_{element}", TYPE=element) for element in NUMBERS]


def cast():
    elements = ["b8", *NUMBERS]
    pairs = [(source, result) for source in elements for result in elements if source != result]
    return [
        module("cast.cu", f"cast_{source}_{result}", SOURCE=source, RESULT=result)
        for source, result in pairs
    ]


def copy():
    return [module("copy.cu", f"copy_{size}", SIZE=size) for size in (1, 2, 4, 8, 16)]


def transpose():
    packs = [(1, 1), (1, 4), (2, 1), (2, 2), (4, 1), (8, 1), (16, 1)]
    return [
        module("transpose.cu", f"transpose_{size}x{pack}", SIZE=size, PACK=pack)
        for size, pack in packs
    ]


def reduce():
    operations = [
        *(("sum", element, element) for element in NUMBERS),
        # The usual results of small integers, and some others.
        *(("sum", element, "i64") for element in ("i8", "i16", "i32")),
        *(("sum", element, "u64") for element in ("u8", "u16", "u32")),
        *(("sum", *pair) for pair in (("i64", "u8"), ("f16", "f32"), ("f32", "f64"))),
        *(("mean", element, element) for element in FLOATS),
        *(("max", element, element) for element in NUMBERS),
    ]
    return [
        module(
            f"reduce_{kind}.cu",
            "_".join([name, kind, element] + [result] * (element != result)),
            TYPE=element,
            RESULT=result,
            OPERATION=name.capitalize(),
        )
        for kind in ("rows", "columns")
        for name, element, result in operations
    ]


# How many elements of a type of floats make 16 bytes.
WIDEST = {"f16": 8, "bf16": 8, "f32": 4, "f64": 2}


def of_rows(*files):
    return [
        module(f"{file}.cu", f"{file}_{element}x{pack}", TYPE=element, PACK=pack)
        for file in files
        for element in FLOATS
        for pack in (1, WIDEST[element])
    ]


def softmax():
    return of_rows("softmax", "softmax_long", "softmax_columns")


def rms_norm():
    return of_rows("rms_norm")


def matmul():
    return [module("matmul.cu", f"matmul_{element}", TYPE=element) for element in NUMBERS]


def image():
    return [
        module("image.cu", f"image_{element}x{channels}", RESULT=element, CHANNELS=channels)
        for element in ("f16", "bf16", "f32")
        for channels in (1, 3, 4)
    ]


FAMILIES = [elementwise, axpy, cast, copy, transpose, reduce, softmax, rms_norm, image, matmul]


def all_modules():
    return [module for family in FAMILIES for module in family()]
