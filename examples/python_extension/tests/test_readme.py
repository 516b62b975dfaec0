"""The README's code is real: it runs, or is an excerpt of what is built here."""

import ast
import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tensor_math
from support import NAME, only

EXAMPLE = Path(__file__).resolve().parent.parent
README = EXAMPLE / "README.md"


class Block:
    """Code between fences: `language label`, and from which line on."""

    def __init__(self, match):
        self.language, self.label, self.code = match.groups()
        self.line = match.string[: match.start()].count("\n") + 1


FENCED = re.compile(r"^```(\w+)(?: ([\w./]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [Block(match) for match in FENCED.finditer(README.read_text())]


def blocks(language, label=None):
    chosen = [block for block in BLOCKS if block.language == language]
    return [block for block in chosen if label in (None, block.label)]


def test_readme_python_sessions_run():
    runner = doctest.DocTestRunner()
    names, tried = {}, 0
    for block in blocks("pycon", NAME):
        test = doctest.DocTestParser().get_doctest(
            block.code, names, "README", "README.md", block.line
        )
        runner.run(test, clear_globs=False)
        names, tried = test.globs, tried + len(test.examples)
    assert tried > 0 and runner.failures == 0


@only("numpy")
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"line {block.line}")
def test_readme_blocks_are_all_tested(block):
    kind = (block.language, block.label)
    if block.language in ("toml", "rust", "python") and block.label != "first":
        assert block.code in (EXAMPLE / block.label).read_text()
    elif block.language == "pycon":
        assert block.label in ("numpy", "torch", "jax", "tensorflow", "paddle")
    else:
        assert kind in (("sh", "tutorial"), ("rust", "first"), ("sh", None))


@only("numpy")
@pytest.mark.skipif(
    os.environ.get("DLBRIDGE_LONG_TESTS") != "1", reason="takes long: ./dev test --full runs it"
)
def test_readme_tutorial_builds_a_working_extension(tmp_path):
    start, build = blocks("sh", "tutorial")
    (lib,), (cargo,), (project,) = (
        blocks("rust", "first"),
        blocks("toml", "Cargo.toml"),
        blocks("toml", "pyproject.toml"),
    )
    site, crate = tmp_path / "site", tmp_path / "tensor_math"
    tools = Path(sys.executable).parent
    target = os.environ.get("CARGO_TARGET_DIR") or EXAMPLE.parent.parent / "target"
    variables = {
        **os.environ,
        "DLBRIDGE": str(EXAMPLE.parent.parent),
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(Path(target) / "tutorial"),
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",  # It compiles faster, and is called once.
        "PIP_TARGET": str(site),
    }

    def shell(code, folder):
        subprocess.run(["bash", "-euc", code], cwd=folder, env=variables, check=True)

    shell(start.code, tmp_path)
    with open(crate / "Cargo.toml", "a") as file:
        file.write(f"\n{cargo.code}")
    (crate / "pyproject.toml").write_text(project.code)
    (crate / "src" / "lib.rs").write_text(lib.code)
    shell(build.code, crate)

    code = "import numpy, tensor_math as t; print(t.relu(numpy.float32([-1, 2]).reshape(2)))"
    variables["PYTHONPATH"] = str(site)
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "[0. 2.]\n"


@only("numpy")
def test_stubs_match_the_module():
    stubs = ast.parse((EXAMPLE / "tensor_math.pyi").read_text())
    items = {
        node.name: node
        for node in stubs.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name != "Tensor"
    }
    public = {name for name in vars(tensor_math) if not name.startswith("_")} - {"tensor_math"}
    assert public == {*items}
    for name, node in items.items():
        check(node, getattr(tensor_math, name))


def check(node, item):
    assert ast.get_docstring(node) == item.__doc__
    if isinstance(node, ast.ClassDef):
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        public = {name for name in vars(item) if not name.startswith("_")}
        assert public == {each.name for each in methods} - {"__new__"}
        for each in methods:
            if each.name in public:
                check(each, getattr(item, each.name))
        return
    assert [each.arg for each in node.args.args] == [*inspect.signature(item).parameters]
