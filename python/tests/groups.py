"""Groups of test files that share a process: those of one folder that need the same framework.

A file tells by `framework("torch")` what it needs. Of several frameworks the first of `FRAMEWORKS`
counts, so that TensorFlow and Paddle, which crash in one process, never meet. PyTorch's, which take
the longest, are two groups: those of its compiler, and the others. A file runs alone if its
`pytestmark` has `pytest.mark.own_process`, or if it belongs to another folder of tests. So does a
file called test_double_*, with a double of NVIDIA's driver: the loader looks for libraries only
when a process starts, and the double's clocks have an entry for each stream that the process ever
made, so that every call takes longer as files share one.
"""

import re
from pathlib import Path
from typing import NamedTuple

# TVM comes before PyTorch, as it puts a class of its own in the place of that of tvm_ffi's tensors.
FRAMEWORKS = ["tensorflow", "paddle", "jax", "tvm", "torch", "cupy", "mxnet"]
#: How much longer tests of the same size take with a framework, as it compiles.
COSTS = {"tensorflow": 5, "paddle": 7, "jax": 7, "torch": 3, "torch, graphs": 5}
# Those that get along with each other.
RUNTIMES = {"mlx.core", "onnxruntime", "pyarrow", "tvm_ffi"}
TESTS = Path(__file__).resolve().parent
#: Long tests with doubles of GPUs: run where they are named, as `./dev test --full` does.
LONG = {"test_double_flat.py", "test_double_kernels.py"}
OWN_PROCESS = re.compile(r"^pytestmark = .*pytest\.mark\.own_process", re.MULTILINE)
NEEDED = re.compile(r"framework\(\"([\w.]+)\"\)")


class Group(NamedTuple):
    name: str
    files: list

    @property
    def is_for_double(self):
        return any(map(is_for_double, self.files))

    def parts(self):
        """Each file as a group of its own."""
        return [Group(file.name, [file]) for file in self.files]


def usual_files():
    """The files that run where none are named."""
    return sorted(file for file in TESTS.rglob("test_*.py") if file.name not in LONG)


def split(files):
    """The groups of files."""
    groups = {}
    for file in files:
        groups.setdefault(key(file), []).append(file)
    # The longest first, so that none is left to run alone at the end.
    names = sorted(groups, key=lambda key: -cost(key[1], groups[key]))
    return [Group(f"{folder.name}: {name}", groups[folder, name]) for folder, name in names]


def cost(framework, files):
    """About how long a group takes."""
    return COSTS.get(framework, 1) * sum(file.stat().st_size for file in files)


def is_for_double(file):
    return file.name.startswith("test_double_")


def key(file):
    """The folder, and the name of the process."""
    return file.parent, name(file)


def name(file):
    text = file.read_text()
    if OWN_PROCESS.search(text) or is_for_double(file) or not file.is_relative_to(TESTS):
        return file.name
    needed = set(NEEDED.findall(text))
    for framework in FRAMEWORKS:
        if framework in needed:
            is_halved = framework == "torch" and file.name.startswith("test_graphs_")
            return f"{framework}, graphs" if is_halved else framework
    return "runtimes" if needed & RUNTIMES else "numpy"
