"""The emulation finds mistakes: kernels that have one each are told of it, and a good one isn't."""

import os
import subprocess
import sys

import pytest
from modules import module
from on_cpu import HERE, Device, Mistake

DEVICE = Device([module(str(HERE / "mistakes.cu"), "test")])


@pytest.mark.parametrize(
    ("kernel", "mistake"),
    [
        ("barrier_that_some_skip", "5 of 64 threads are at a barrier, and 59 have ended"),
        ("barriers_of_different_numbers", "32 of 64 threads are at a barrier, and 32 have ended"),
        ("lane_that_isnt_there", "0 of 64 threads are at a barrier, and 48 have ended"),
        ("lane_outside_of_the_mask", "a lane .* that isn't in the mask"),
    ],
)
def test_thread_mistakes_are_detected(kernel, mistake):
    arguments = [] if kernel.startswith("barrier") else [DEVICE.memory(256)]
    for order in range(3):
        with pytest.raises(Mistake, match=mistake):
            DEVICE.launch(f"test_{kernel}", 1, (64, 1), *arguments, order=order)
        test_correct_kernel_passes()  # A mistake leaves nothing behind.


def test_correct_kernel_passes():
    out = DEVICE.memory(3 * 256).view("i4")
    for order in range(4):
        out[:] = 0
        DEVICE.launch("test_good", 3, (64, 1), out, order=order)
        sums = [sum(63 - thread + 2 for thread in range(first, first + 32)) for first in (0, 32)]
        assert out.tolist() == (sums[:1] * 32 + sums[1:] * 32) * 3


def test_race_result_depends_on_thread_order():
    results = []
    for order in (0, 1):
        out = DEVICE.memory(256).view("i4")
        DEVICE.launch("test_race", 1, (64, 1), out, order=order)
        results.append(out.tolist())
    assert results[0] != results[1]


@pytest.mark.parametrize(
    ("kernel", "report"),
    [
        ("beyond_the_end", "heap-buffer-overflow"),
        ("misaligned", "store to misaligned address"),
        ("overflow", "signed integer overflow"),
    ],
)
def test_memory_errors_are_detected_by_sanitizers(kernel, report):
    """In a process of its own, which ends with that."""
    code = f"from test_emulation import *; DEVICE.launch('test_{kernel}', 1, (64, 1), DEVICE.memory(256))"
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode != 0
    assert report in done.stderr
