"""Tests of the blocks of code on the site's pages: each runs, is compiled, or says why not.

A comment before a block is for these tests: `before:` and code that runs first, or `not run:` and
the reason.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
from pages import INCLUDE, blocks, pages, resolved  # noqa: E402

#: Output, and diagrams.
NOT_CODE = {"text", "mermaid"}
#: Pages whose blocks other tests run or compile.
TESTED_ELSEWHERE = {
    "README.md": "python/tests/package/test_readme.py",
    "examples/python_extension/README.md": "examples/python_extension/tests/test_readme.py",
    "examples/custom_op/README.md": "examples/custom_op/tests/test_readme.py",
}
#: The test of blocks that need the extension of the cookbook.
COOKBOOK = "import cookbook"


def cases():
    for page in pages():
        name = str(page.relative_to(ROOT))
        if page.exists() and name not in TESTED_ELSEWHERE:
            for block in blocks(page.read_text()):
                if block.language not in NOT_CODE:
                    yield pytest.param(page, block, id=f"{name}:{block.line}")


CASES = list(cases())
RUN = {"python", "pycon"}


def is_run(block):
    return block.language in RUN and not block.note.startswith("not run")


def setup(block):
    return block.note.partition(":")[2] if block.note.startswith("before") else ""


def test_every_page_exists_or_is_generated():
    for page in pages():
        assert page.exists() or page.is_relative_to(ROOT / "docs/python"), page
    for test in TESTED_ELSEWHERE.values():
        assert (ROOT / test).is_file()


@pytest.mark.parametrize("page, block", CASES)
def test_block_runs_or_is_compiled_or_has_a_reason(page, block):
    if block.note.startswith("not run"):
        assert block.note.partition(":")[2].strip(), "no reason"
    elif block.language in ("rust", "rs", "cpp"):
        is_doctest = f'include_str!("../{page.relative_to(ROOT)}")' in sources()
        assert is_doctest or is_excerpt(page, block), "nothing compiles it"
    else:
        assert is_run(block), f"{block.language or 'a block without a language'} isn't run"


def sources():
    return (ROOT / "src/lib.rs").read_text()


def is_excerpt(page, block):
    """Returns whether a block is made of included files, and of lines that these have."""
    text, is_found = "", True
    for match in INCLUDE.finditer(block.code):
        included = resolved(match[1], page).read_text()
        anchor = match[2].removeprefix(":")
        is_found &= not anchor or f"ANCHOR: {anchor}\n" in included
        text += included
    others = [line for line in block.code.splitlines() if not INCLUDE.fullmatch(line)]
    return bool(text) and is_found and all(line in text for line in others)


PROGRAMS = [case for case in CASES if is_run(case.values[1])]
OURS = [
    case
    for case in PROGRAMS
    if COOKBOOK not in case.values[1].code and COOKBOOK not in case.values[1].note
]


@pytest.mark.parametrize("page, block", OURS)
def test_python_block_runs(page, block):
    check_runs(block)


def check_runs(block):
    """Runs a block in a process of its own."""
    if block.language == "pycon":
        code = f"import doctest\nnames = {{}}\nexec({setup(block)!r}, names)\n"
        code += (
            f"test = doctest.DocTestParser().get_doctest({block.code!r}, names, 'page', '', 0)\n"
        )
        code += "result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)\n"
        code += "assert result.attempted and not result.failed"
    else:
        code = f"{setup(block)}\n{block.code}"
    environment = {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for shown in re.findall(r"^print\(.*\)  # ([^,]*)$", block.code, re.MULTILINE):
        assert shown in done.stdout


def test_a_block_that_fails_is_found():
    (block,) = blocks("<!-- before:\nx = 1\n-->\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError, match="x == 2"):
        check_runs(block)
    (block,) = blocks("```pycon\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError):
        check_runs(block)
    (block,) = blocks("```python\nprint(1)  # 2\n```\n")
    with pytest.raises(AssertionError):
        check_runs(block)
