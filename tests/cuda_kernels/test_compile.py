"""Every module compiles for every architecture, without a warning, and keeps its numbers in
registers.
"""

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
def test_modules_compile_for_every_architecture_without_warnings(compiled, compiler, name):
    for architecture in ARCHITECTURES:
        result = compiled[compiler, name, architecture].result()
        assert result.code, result.log
        assert "warning" not in result.log.lower(), result.log
        assert sorted(result.entries()) == sorted(
            f"{name}_{entry}" for entry in MODULES[name].entries()
        )
        assert result.spilled() == 0, result.log


# Entries that move 16 bytes with one instruction: what they load so, and what they store.
WIDE = {
    "add_i8": (["flat", "rows"], ["flat", "rows"]),
    "add_f16": (["flat", "rows"], ["flat", "rows"]),
    "mul_f64": (["flat", "rows"], ["flat", "rows"]),
    "axpy_bf16": (["flat", "rows"], ["flat", "rows"]),
    "cast_f32_f16": (["flat"], []),
    "cast_f16_f32": ([], ["flat"]),
    "cast_i8_f64": ([], ["flat"]),
    "copy_1": (["flat", "rows"], ["flat", "rows"]),
    "copy_2": (["flat", "rows"], ["flat", "rows"]),
    "copy_16": (["flat", "rows", "strided"], ["flat", "rows", "strided"]),
    "sum_rows_i8": (["rows"], []),
    "sum_rows_f16": (["rows"], []),
    "max_rows_f32": (["rows"], []),
    "mean_columns_bf16": (["columns_packed"], []),
    "sum_columns_f64": (["columns_packed"], []),
    "softmax_f16x8": (["held_few", "held_several", "held_many"],) * 2,
    "softmax_f32x4": (["held_few", "held_several", "held_many"],) * 2,
    "softmax_long_bf16x8": (["online", "measured", "scaled"], ["online", "scaled"]),
    "softmax_columns_f32x4": (["columns"], ["columns"]),
    "rms_norm_f16x8": (["held_few", "held_several", "held_many", "looped"],) * 2,
    "image_f16x3": ([], ["planes"]),
    "image_f32x4": (["planes"], ["planes"]),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", WIDE)
def test_vector_kernels_move_16_bytes(compiler, name):
    ptx = nvrtc.compile(COMPILERS[compiler], MODULES[name], 80, "PTX").code.decode()
    bodies = dict(re.findall(r"\.entry (\w+)\((.*?)^}", ptx, re.MULTILINE | re.DOTALL))
    for access, entries in zip(("ld", "st"), WIDE[name]):
        for entry in entries:
            assert re.search(
                rf"{access}\.global[.\w]*\.(v4\.[ubf]32|v2\.[ubf]64)", bodies[f"{name}_{entry}"]
            ), entry


def test_headers_are_independent_of_macros():
    """A macro that a header happens to use as a name would change the header."""
    macros = {macro for module in MODULES.values() for macro, _ in module.macros}
    for header in modules.headers():
        assert not macros & set(re.findall(r"\w+", header.read_text())), header


def test_every_source_file_belongs_to_a_module():
    assert {module.file for module in MODULES.values()} == {
        file.name for file in modules.KERNELS.glob("*.cu")
    }


def test_readme_lists_every_entry_and_macro():
    words = set(re.findall(r"`(\w+)", (modules.KERNELS / "README.md").read_text()))
    for module in MODULES.values():
        assert {*module.entries(), *(macro for macro, _ in module.macros)} <= words, module
