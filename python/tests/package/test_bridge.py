"""The example that wraps products of matrices of ours and of TVM's for PyTorch and NumPy."""

import re
import subprocess
import sys
from pathlib import Path

from support import framework

framework("torch")
framework("tvm")
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "bridge.py"


def test_bridge_example_shares_memory_with_each_framework():
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split(" differ")[0] for line in done.stdout.splitlines()]
    expected = [f"  over {name:6} shares a, b and out; its products" for name in ("torch", "numpy")]
    assert lines[:6] == ["dlbridge.ops.matmul:", *expected, "a function of TVM's:", *expected]
    errors = [float(error) for error in re.findall(r"by (\S+) at most", done.stdout)]
    assert len(errors) == 4 and max(errors) < 1e-4
