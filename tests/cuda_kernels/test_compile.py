"""Every module compiles for every architecture, without a warning, and keeps its numbers in registers."""

import multiprocessing
import os
import re
from concurrent.futures import ProcessPoolExecutor

import modules
import nvrtc
import pytest

ARCHITECTURES = [80, 90, 100]
COMPILERS = nvrtc.found()
MODULES = {module.name: module for module in modules.all_modules()}

# The entries that move 16 bytes with one instruction, by file. Some only read so much, or write.
LOADS = {"elementwise.cu": ["flat", "rows"]}
STORES = {"elementwise.cu": ["flat", "rows"]}

if not COMPILERS:
    if os.environ.get("DLBRIDGE_REQUIRE_ALL") == "1":
        raise ImportError("NVRTC isn't installed")
    pytest.skip("NVRTC isn't installed", allow_module_level=True)


@pytest.fixture(scope="module")
def compiled():
    """What will become of each compiler, module and architecture: all are begun at once."""
    sanitizer = os.environ.pop("LD_PRELOAD", None)  # It would watch the compiler.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=spawn) as pool:
        yield {
            (compiler, name, architecture): pool.submit(nvrtc.compile, path, module, architecture)
            for compiler, path in COMPILERS.items()
            for name, module in MODULES.items()
            for architecture in ARCHITECTURES
        }
        pool.shutdown(cancel_futures=True)
    if sanitizer is not None:
        os.environ["LD_PRELOAD"] = sanitizer


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", MODULES)
def test_for_all_architectures(compiled, compiler, name):
    for architecture in ARCHITECTURES:
        result = compiled[compiler, name, architecture].result()
        assert result.code, result.log
        assert "warning" not in result.log.lower(), result.log
        assert sorted(result.entries()) == sorted(f"{name}_{entry}" for entry in MODULES[name].entries())
        assert result.spilled() == 0, result.log


WIDE = r"\.(?:v4\.[ubf]32|v2\.[ubf]64)"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("file", LOADS)
def test_memory_is_moved_16_bytes_at_once(compiler, file):
    """In the modules of some element types, of each size one."""
    for module in MODULES.values():
        if module.file != file or not re.search("_(i8|f16|f32|f64)$", module.name):
            continue
        ptx = nvrtc.compile(COMPILERS[compiler], module, 80, "PTX").code.decode()
        bodies = dict(re.findall(r"\.entry (\w+)\((.*?)^}", ptx, re.MULTILINE | re.DOTALL))
        for access, entries in (("ld", LOADS[file]), ("st", STORES[file])):
            for entry in entries:
                assert re.search(rf"{access}\.global[.\w]*{WIDE}", bodies[f"{module.name}_{entry}"])
