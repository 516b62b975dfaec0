"""Products of matrices at each SIMD level that the CPU has."""

import platform
import sys
from pathlib import Path

import pytest
from support import framework, in_new_process

framework("numpy")
framework("ml_dtypes")

IS_KNOWN = sys.platform == "linux" and platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(not IS_KNOWN, reason="reads the flags that Linux lists on x86-64")

# What Linux calls an instruction set that the level is the first one with.
FLAGS = {
    "baseline": "sse2",
    "avx2": "avx2",
    "avx512": "avx512_vnni",
    "avx512bf16": "avx512_bf16",
    "amx": "amx_bf16",
}

# Sums of products of small numbers, which are exact in every dtype; and whether the process has
# asked the system for tiles.
SCRIPT = """
import ctypes
import ml_dtypes
import numpy as np
from dlbridge import ops

random = np.random.default_rng(0)
for rows, depth, columns in [(64, 64, 64), (130, 2100, 33), (1000, 70, 1060), (8, 520, 40)]:
    for batch in ((), (3,)):
        a = random.integers(-3, 4, (*batch, rows, depth))
        b = random.integers(-3, 4, (*batch, depth, columns))
        for a_order in (a, a.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
            for b_order in (b, b.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
                expected = a.astype(float) @ b.astype(float)
                for dtype, result in ((ml_dtypes.bfloat16, "float32"), ("int8", "int32")):
                    x, y = a_order.astype(dtype, order="K"), b_order.astype(dtype, order="K")
                    found = ops.matmul(x, y, dtype=result)
                    assert (found == expected).all(), (rows, depth, columns, dtype)
GET_PERMITTED, TILES = 0x1022, 18
permitted = ctypes.c_uint64()
libc = ctypes.CDLL(None)
outcome = libc.syscall(158, GET_PERMITTED, ctypes.byref(permitted))
print("tiles" if outcome == 0 and permitted.value >> TILES & 1 else "vectors")
"""


@pytest.mark.parametrize("level", FLAGS)
def test_products_of_matrices_are_exact_at_each_simd_level(level):
    cpu = Path("/proc/cpuinfo").read_text()
    if level != "baseline" and FLAGS[level] not in cpu.split():
        pytest.skip(f"this CPU doesn't have {level}")
    printed = in_new_process(SCRIPT, DLBRIDGE_SIMD=level)
    assert printed.strip() == ("tiles" if level == "amx" else "vectors")
