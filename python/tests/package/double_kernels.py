"""The CUDA kernels' source, run on the CPU, in the place of what the driver's double is asked to
launch.

So a call of an op goes all the way: dispatch, the choice of a kernel for the layouts, its
arguments, its grid, and what the source does with them. The double opens only the memory that a
kernel says it uses.
"""

import ctypes
import sys
from collections import Counter
from pathlib import Path

import double

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "cuda_kernels"))
import modules  # noqa: E402
import on_cpu  # noqa: E402

# Without sanitizers, with which tests/cuda_kernels runs. Few modules run often, so they are
# optimized.
on_cpu.OPTIONS[:] = [
    "-O1" if option == "-O0" else option
    for option in on_cpu.OPTIONS
    if "sanitize" not in option and option != "-Werror"
]
BYTES = {
    "b8": 1,
    "i8": 1,
    "u8": 1,
    "i16": 2,
    "u16": 2,
    "f16": 2,
    "bf16": 2,
    "i32": 4,
    "u32": 4,
    "f32": 4,
}


def strided(tensors):
    return f"v{8 + 64 + 64 * tensors}"


S1, S2, S3 = strided(1), strided(2), strided(3)


def of_map(pointers, layout):
    return {
        "flat": f"{pointers} v8",
        "rows": f"{pointers} {layout} v4",
        "strided": f"{pointers} {layout} v4",
        "strided_wide": f"{pointers} {layout} v8",
    }


def axpy(module):
    return of_map(f"v{BYTES.get(dict(module.macros)['TYPE'], 8)} r rw", S2)


LINES = f"r w {S2} v4 v8 v8 v8"
NORM = f"r r w {S2} v4 v8 v8 v8 v8 v8"
IMAGE = "r r r w"
# What each argument of an entry point is, as the double has it told, by file.
SIGNATURES = {
    "elementwise.cu": lambda _: of_map("r r w", S3),
    "axpy.cu": axpy,
    "cast.cu": lambda _: of_map("r w", S2),
    "copy.cu": lambda _: of_map("r w", S2),
    "transpose.cu": lambda _: {"tiles": f"r w {S2} v4 v8 v8 v8 v8"},
    "reduce_rows.cu": lambda _: {
        "rows": f"r w rw {S2} v4 v8 v4 v8",
        "strided": f"r w rw {S2} v4 {S1} v8 v4 v8",
        "finish": f"r w {S2} v4 v4 v8",
    },
    "reduce_columns.cu": lambda _: {
        "columns": f"r w rw {S2} v4 {S1} v4 v4 v8",
        "columns_packed": f"r w rw {S2} v4 {S1} v4 v4 v8",
        "finish": f"r w {S2} v4 v4 v8",
    },
    "softmax.cu": lambda _: {"held_few": LINES, "held_several": LINES, "held_many": LINES},
    "softmax_long.cu": lambda _: {
        "online": LINES,
        "measured": f"r w {S2} v4 v8 v8 v4",
        "scaled": f"r w r {S2} v4 v8 v8 v8 v4",
    },
    "softmax_columns.cu": lambda _: {"columns": LINES},
    "rms_norm.cu": lambda _: {
        "held_few": NORM,
        "held_several": NORM,
        "held_many": NORM,
        "looped": NORM,
    },
    "image.cu": lambda _: {
        "planes": f"{IMAGE} {S2} v4 v4 v8 v4",
        "pixels": f"{IMAGE} {S2} v8 v4 v8 v8 v4",
        "resized": f"{IMAGE} {S2} v8 v4 v8 v8 v4 v4 v4",
    },
}


class Launch(ctypes.Structure):
    """What the double tells of a launch."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("arguments", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
    ]


Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Launch), ctypes.c_void_p)
LAUNCH_FAILED = 719
kept = []
# How often each kind of entry ran, and what one did that it may not do on a GPU.
ran, wrong = Counter(), []


def register(*files, elements):
    """Has the kernels of these files run, for these element types."""
    for file in files:
        of_file = [module for module in modules.all_modules() if module.file == file]
        wanted = [module for module in of_file if is_of(module, elements)]
        library = ctypes.CDLL(str(on_cpu.build(wanted, lambda module, entry: True)))
        library.run_kernel.restype = ctypes.c_char_p
        callback = Callback(runner(library, file))
        kept.append((library, callback))
        for module in wanted:
            signatures = SIGNATURES[file](module)
            for entry in module.entries():
                name, signature = f"{module.name}_{entry}".encode(), signatures[entry].encode()
                assert (
                    double.library.cudaDoubleRegisterKernel(name, signature, callback, None) == 0
                ), name


def is_of(module, elements):
    macros = dict(module.macros)
    types = {macros[macro] for macro in ("TYPE", "SOURCE", "RESULT") if macro in macros}
    return types <= set(elements)


def runner(library, file):
    def run(launch, _):
        launch = launch.contents
        ran[f"{file} {launch.name.decode().split('_', 1)[1]}"] += 1
        x, y, _ = launch.block
        # Blocks run in some order, as they may on a GPU.
        mistake = library.run_kernel(
            launch.name, ctypes.c_void_p(launch.arguments), launch.grid[0], x, y, 1
        )
        if mistake == b"":
            return 0
        wrong.append((launch.name, mistake))
        return LAUNCH_FAILED

    return run


def kinds_that_ran(file):
    """The last words of the entry points of a file that ran."""
    return {name.rsplit("_", 1)[-1] for name in ran if name.startswith(f"{file} ")}
