"""Compiles kernels as C++ for the CPU, with sanitizers, and runs them."""

import contextlib
import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import numpy
from modules import KERNELS, ROOT, headers

HERE = Path(__file__).resolve().parent
COMPILER = os.environ.get("CXX", "g++")
# Without contractions, what is rounded twice on a device is rounded twice here; vectors are read
# through types of their own, as CUDA allows.
OPTIONS = (
    "-std=c++17 -O0 -g1 -fPIC -shared -ffp-contract=off -fno-strict-aliasing -Wall -Wextra -Werror "
    "-Wno-unknown-pragmas -fsanitize=address,undefined -fno-sanitize-recover=all"
).split()
BUILT = ROOT / "target" / "cuda_kernels"


def translation_unit(modules, is_used):
    """One source with all of them, each in a namespace, and a function that finds an entry by its
    name.
    """
    parts = ['#include "on_cpu.hpp"']
    parts += [f'#include "{header.name}"' for header in headers()]
    entries = []
    for module in modules:
        macros = [("NAME", module.name), *module.macros]
        parts += [f"#define {macro} {value}" for macro, value in macros]
        parts += [f"namespace of_{module.name} {{", f'#include "{module.file}"', "}"]
        parts += [f"#undef {macro}" for macro, _ in macros]
        used = (entry for entry in module.entries() if is_used(module, entry))
        entries += [(module.name, f"{module.name}_{entry}") for entry in used]
    table = ",\n".join(
        f'  {{"{entry}", [](Arguments) {{ return on_cpu::launch(of_{name}::{entry}, arguments, blocks, block, order); }}}}'
        for name, entry in entries
    )
    parts.append(AROUND.replace("TABLE", table))
    return "\n".join(parts)


AROUND = """
#define Arguments void **arguments, unsigned blocks, on_cpu::Place block, unsigned order
struct Entry {
  const char *name;
  std::string (*run)(Arguments);
};
static const Entry entries[] = {
TABLE
};

// The mistake that was made; an empty text if there was none; null if there is no such kernel.
extern "C" const char *run_kernel(const char *name, void **arguments, unsigned blocks, unsigned x,
                                  unsigned y, unsigned order) {
  static std::string mistake;
  for (const Entry &entry : entries) {
    if (strcmp(entry.name, name) != 0) continue;
    mistake = entry.run(arguments, blocks, {x, y, 1}, order);
    return mistake.c_str();
  }
  return nullptr;
}
// Which blocks are run of the grids to come.
extern "C" void choose_blocks(unsigned first, unsigned end) {
  on_cpu::device.first_block = first;
  on_cpu::device.end_of_blocks = end;
}
extern "C" void *allocate(size_t bytes) {
  void *memory = nullptr;
  return posix_memalign(&memory, 256, bytes) == 0 ? memory : nullptr;
}
extern "C" void release(void *memory) { free(memory); }
"""


def build(modules, is_used):
    """The shared library, which is kept until one of its sources changes."""
    source = translation_unit(modules, is_used)
    files = [
        HERE / "on_cpu.hpp",
        *headers(),
        *(KERNELS / file for file in {module.file for module in modules}),
    ]
    text = "\0".join([source, COMPILER, *OPTIONS, *(file.read_text() for file in sorted(files))])
    library = (
        BUILT / f"{Path(modules[0].file).stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
    )
    if not library.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILT) as folder:
            unit, made = Path(folder) / "unit.cpp", Path(folder) / "made.so"
            unit.write_text(source)
            command = [COMPILER, *OPTIONS, f"-I{HERE}", f"-I{KERNELS}", unit, "-o", made]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            made.replace(library)
    return library


class Mistake(Exception):
    """What a kernel did that it may not do on a device."""


class Device:
    """Kernels, and memory that they work on. Entries that aren't used needn't be compiled."""

    def __init__(self, modules, is_used=lambda module, entry: True):
        self.library = ctypes.CDLL(str(build(modules, is_used)))
        self.library.run_kernel.restype = ctypes.c_char_p
        self.library.allocate.restype = ctypes.c_void_p

    def launch(self, kernel, blocks, block, *arguments, order=0):
        """Arguments are as ctypes has them, or arrays of NumPy, for their addresses. A block is (x,
        y).
        """
        kept = [as_argument(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(kept))(*(ctypes.addressof(argument) for argument in kept))
        mistake = self.library.run_kernel(kernel.encode(), pointers, blocks, *block, order)
        assert mistake is not None, f"there is no kernel {kernel}"
        if mistake:
            raise Mistake(mistake.decode())

    @contextlib.contextmanager
    def only_block(self, number):
        """Grids of which only one block is run, as there are too many to run them all."""
        self.library.choose_blocks(ctypes.c_uint(number), ctypes.c_uint(number + 1))
        try:
            yield
        finally:
            self.library.choose_blocks(0, ctypes.c_uint(-1))

    def memory(self, bytes):
        """Bytes at a multiple of 256, around which nothing may be touched."""
        return Memory(self.library, bytes).array()


class Memory:
    """Released when the last array over it is gone."""

    def __init__(self, library, bytes):
        self.library, self.bytes = library, bytes
        self.address = library.allocate(ctypes.c_size_t(bytes))

    @property
    def __array_interface__(self):
        return {
            "shape": (self.bytes,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
        }

    def array(self):
        return numpy.asarray(self)

    def __del__(self):
        self.library.release(ctypes.c_void_p(self.address))


def as_argument(argument):
    if isinstance(argument, numpy.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, numpy.generic):  # A number of the element type.
        return (ctypes.c_char * argument.itemsize).from_buffer_copy(argument.tobytes())
    return argument
