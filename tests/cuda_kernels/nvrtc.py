"""The compiler that compiles kernels at run time, as its packages for Python bring it."""

import ctypes
import functools
import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

from modules import headers

# The packages of its versions have different names.
PACKAGES = {"nvidia.cu13": "libnvrtc.so.13", "nvidia.cuda_nvrtc": "libnvrtc.so.12"}


class Compiled(NamedTuple):
    code: bytes  # none if it failed
    log: str

    def entries(self):
        return re.findall(r"Compiling entry function '(\w+)'", self.log)

    def spilled(self):
        """Bytes that ended up in local memory, of all entries."""
        numbers = re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", self.log)
        assert len(numbers) == 3 * len(self.entries())
        return sum(map(int, numbers))


def found():
    """Where the compilers are that are installed, by their file names."""
    paths = {}
    for package, name in PACKAGES.items():
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in spec.submodule_search_locations if spec else ():
            if (Path(folder) / "lib" / name).exists():
                paths[name] = Path(folder) / "lib" / name
    return paths


@functools.cache
def library(path):
    # It looks for its built-in headers by their bare name, which is found if it is loaded already.
    for builtins in sorted(path.parent.glob("libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(path))


def compile(path, module, architecture, kind="CUBIN"):
    """To a cubin, or to the text of PTX, and what the compiler says."""
    nvrtc = library(path)
    program = ctypes.c_void_p()
    files = headers()
    names, texts = (
        texts_of([file.name for file in files]),
        texts_of([file.read_text() for file in files]),
    )
    created = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program),
        module.source().encode(),
        module.file.encode(),
        len(files),
        texts,
        names,
    )
    assert created == 0
    target = f"-arch={'sm' if kind == 'CUBIN' else 'compute'}_{architecture}"
    options = ["-std=c++17", target, *module.options()]
    if kind == "CUBIN":
        options.append("--ptxas-options=-v")
    status = nvrtc.nvrtcCompileProgram(program, len(options), texts_of(options))
    code = b"" if status else answer(nvrtc, kind, program)
    log = answer(nvrtc, "ProgramLog", program).rstrip(b"\0").decode()
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return Compiled(code, log)


def texts_of(texts):
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def answer(nvrtc, what, program):
    size = ctypes.c_size_t()
    assert getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert getattr(nvrtc, f"nvrtcGet{what}")(program, text) == 0
    return text.raw
