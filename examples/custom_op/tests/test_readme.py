"""The README: its excerpts are in the sources, and what it shows of Python happens."""

import doctest
import re
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1]
TEXT = (EXAMPLE / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+) ?(.*)\n([\s\S]*?)^```$", TEXT, re.MULTILINE)
EXCERPTS = [(file, code) for kind, file, code in BLOCKS if kind == "rust"]


def squeezed(code):
    """Without what a formatter decides."""
    return re.sub(r"\s+", "", code).replace(",)", ")")


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
