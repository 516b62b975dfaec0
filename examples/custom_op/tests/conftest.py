import os
import runpy
import sys
from pathlib import Path

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
EXAMPLE = Path(__file__).resolve().parents[1]
sys.path.append(str(EXAMPLE))  # for the programs that train

# The README is gone through once: what it shows is NumPy's. A program that trains needs its
# framework.
FILES = {
    "test_readme.py": "numpy",
    "test_train_jax.py": "jax",
    "test_train_keras.py": "tensorflow",
    "test_train_torch.py": "torch",
}
NAME = os.environ.get("FRAMEWORK", "numpy")
collect_ignore = [file for file, name in FILES.items() if name != NAME]


@pytest.fixture
def printed(capsys):
    """Runs a program of this example, and returns the numbers that it prints."""

    def run(file):
        runpy.run_path(str(EXAMPLE / file), run_name="__main__")
        return [float(number) for number in capsys.readouterr().out.split()]

    return run
