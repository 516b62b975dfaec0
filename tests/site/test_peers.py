"""Tests of what the pages "coming from" compare with: the excerpts of other libraries' extensions
are built, and add tensors as those pages say.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "benches/python/build.py"
FOLDER = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "peers"


def built(name):
    """Builds a peer, unless it is up to date, and returns its module."""
    command = [sys.executable, BUILD, FOLDER, "--only", name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out" not in done.stdout, done.stdout
    (file,) = [*FOLDER.glob(f"{name}*.so"), *FOLDER.glob(f"{name}_peer*.so")][:1]
    if name == "tvm_ffi_peer":
        import tvm_ffi

        return tvm_ffi.load_module(str(file))
    spec = importlib.util.spec_from_file_location(file.name.partition(".")[0], file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name, make",
    [
        ("rust_numpy", lambda numbers: np.array(numbers, "float32")),
        ("pybind11_torch", torch.tensor),
        ("nanobind_peer", torch.tensor),
        ("tvm_ffi_peer", torch.tensor),
    ],
)
def test_peer_adds_tensors(name, make):
    module = built(name)
    out = make([0.0, 0.0])
    module.add(make([1.0, 2.0]), make([3.0, 5.0]), out)
    assert out.tolist() == [4, 7]
