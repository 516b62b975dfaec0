"""The stub that maturin generates of the example: to type checkers it is the one written by hand."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/python_extension"
CHECKERS = {
    "mypy": ["-m", "mypy", "--strict", "--no-error-summary"],
    # Pyright with what it needs in its wheel, and with pyright's own defaults.
    "pyright": ["-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable],
}
PYRIGHT = {"typeCheckingMode": "standard", "reportMissingModuleSource": False}
# Calls, and what type checkers must not let pass: they are errors at run time.
PROGRAM = """\
import numpy as np
import torch
import {stub} as m
from typing import assert_type

x, y = np.zeros(3), torch.zeros(3)
m.add_(x, y)
m.add_(bytearray(4), memoryview(b"1234"))
m.scale_(x, 2)
m.scale_(x, torch.ones(1))
m.layer_norm(x, weight=y)
m.concat([x, x])
m.concat((y, y))
m.relu(torch.nn.Parameter(y))
assert_type(m.address(x), int)
assert_type(m.mean(y), float)
m.RunningSum(size=2).add(x)
m.relu(3)  # wrong
m.relu([1.0])  # wrong
m.relu(x, y)  # wrong
m.concat(1)  # wrong
m.concat([x, "x"])  # wrong
m.scale_(x, "2")  # wrong
m.scale_(x)  # wrong
m.RunningSum(2.5)  # wrong
m.RunningSum(2).add(None)  # wrong
m.RunningSum(2).total  # wrong
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with both stubs: `by_hand` and `generated`."""
    folder = tmp_path_factory.mktemp("stubs")
    command = [sys.executable, "-m", "maturin", "generate-stubs", "--quiet", "--profile", "ci"]
    command += ["--manifest-path", EXAMPLE / "Cargo.toml", "--out", folder / "out"]
    subprocess.run([*command, "--features", "dlbridge/experimental-inspect"], check=True)
    (made,) = (folder / "out").rglob("*.pyi")
    shutil.copy(made, folder / "generated.pyi")
    shutil.copy(EXAMPLE / "tensor_math.pyi", folder / "by_hand.pyi")
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    return folder


def errors(checker, program, folder):
    """The lines of a program that a type checker complains of, and what it says."""
    (folder / "program.py").write_text(program)
    command = [sys.executable, *CHECKERS[checker], "program.py"]
    environment = {**os.environ, "MYPYPATH": str(folder), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"program\.py:(\d+):(?:\d+ -|) error: (.*)", done.stdout)
    assert bool(found) == bool(done.returncode), done.stdout
    return {int(line): text for line, text in found}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("stub", ["by_hand", "generated"])
def test_checkers_complain_of_wrong_calls_alone(folder, checker, stub):
    wrong = [i for i, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")]
    found = errors(checker, PROGRAM.format(stub=stub), folder)
    assert sorted(found) == wrong, found


def public(path):
    """A stub's functions and methods by their names, as `relu` and `RunningSum(1).add`."""
    functions = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            functions |= {f"{node.name}(1).{each.name}": each for each in methods}
    return functions


SAME = """\
from typing import Generic, TypeVar
import by_hand
import generated
F = TypeVar("F")
class Typed(Generic[F]):
    def __init__(self, function: F) -> None: ...
    def accept(self, function: F) -> None: ...
"""


@pytest.mark.parametrize("checker", CHECKERS)
def test_stubs_have_the_same_types(folder, checker):
    """Each function of either stub can stand for that of the other."""
    names = [name for name in public(folder / "by_hand.pyi") if "__" not in name]
    assert len(names) == 11
    pairs = [("by_hand", "generated"), ("generated", "by_hand")]
    calls = [f"Typed({a}.{name}).accept({b}.{name})\n" for name in names for a, b in pairs]
    assert errors(checker, SAME + "".join(calls), folder) == {}
    others = "Typed(by_hand.relu).accept(generated.address)\n"
    others += "Typed(generated.add_).accept(by_hand.address)\n"
    assert len(errors(checker, SAME + others, folder)) == 2


def test_stubs_have_the_same_names_and_docstrings(folder):
    by_hand, generated = (public(folder / f"{name}.pyi") for name in ("by_hand", "generated"))
    assert {*by_hand} == {*generated}
    for name, node in by_hand.items():
        other = generated[name]
        assert ast.get_docstring(node) == ast.get_docstring(other), name
        expected, found = ([*a.args.posonlyargs, *a.args.args] for a in (node, other))
        assert [each.arg for each in expected] == [each.arg for each in found], name


def test_generated_stub_names_types_that_are_there(folder):
    imported = re.findall(
        r"^from dlbridge\.typing import (.*)$", (folder / "generated.pyi").read_text(), re.M
    )
    assert imported == ["TensorLike"]
    code = "import dlbridge.typing as t; print(*(hasattr(t, name) for name in t.__all__))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert set(said.stdout.split()) == {"True"}
