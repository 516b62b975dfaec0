"""The example that wraps products of matrices, for MXNet."""

import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 12):
    pytest.skip("MXNet is for Python before 3.12, and NumPy before 1.24", allow_module_level=True)
import numpy as np

if tuple(int(part) for part in np.__version__.split(".")[:2]) >= (1, 24):
    pytest.skip(
        f"MXNet is for NumPy before 1.24, and this is {np.__version__}", allow_module_level=True
    )
from support import framework  # noqa: E402

framework("mxnet")
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "bridge.py"


def test_bridge_example_with_mxnet_shares_memory():
    command = [sys.executable, "-W", "ignore", EXAMPLE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "over mxnet  shares a, b and out; its products differ from mxnet's by" in done.stdout
    assert "tvm" in done.stdout.splitlines()[-1]
