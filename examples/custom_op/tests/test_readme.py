"""The README: its excerpts are in the sources, and what it shows of Python happens."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1]
TEXT = (EXAMPLE / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+) ?(.*)\n([\s\S]*?)^```$", TEXT, re.MULTILINE)
FRONT_PAGE = (EXAMPLE.parents[1] / "README.md").read_text()
EXCERPTS = [(file, code) for kind, file, code in BLOCKS if kind == "rust"]


def squeezed(code):
    """Without what a formatter decides, and without remarks."""
    return re.sub(r"\s+", "", re.sub(r" // .*", "", code)).replace(",)", ")")


def of_front_page(language):
    """The blocks of the repository's README that show this example."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", FRONT_PAGE, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "nn.swiglu" in block]


@pytest.mark.parametrize("file, code", EXCERPTS)
def test_readme_excerpts_are_in_the_sources(file, code):
    assert squeezed(code) in squeezed((EXAMPLE / file).read_text())


def test_readme_has_excerpts_and_other_blocks():
    assert len(EXCERPTS) > 6 and len(BLOCKS) > len(EXCERPTS)


def test_readme_python_session_prints_what_it_shows():
    (session,) = [code for kind, _, code in BLOCKS if kind == "pycon"]
    test = doctest.DocTestParser().get_doctest(session, {}, "README.md", "README.md", 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert results.attempted > 8 and not results.failed


def test_readme_links_lead_to_files():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (EXAMPLE / link).exists(), link


def test_front_page_excerpt_is_in_the_sources():
    (code,) = of_front_page("rs")
    assert squeezed(code) in squeezed((EXAMPLE / "src/nn.rs").read_text())


@pytest.mark.parametrize("module", ["torch", "jax", "keras"])
def test_front_page_code_prints_its_comments(module):
    if None in map(importlib.util.find_spec, [module, *["tensorflow"][module != "keras" :]]):
        pytest.skip(f"{module} isn't installed")
    (code,) = [code for code in of_front_page("python") if f"import {module}\n" in code]
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (comment,) = re.findall(r"^print.*  # (.*)$", code, re.MULTILINE)
    assert done.stdout.strip() == comment
