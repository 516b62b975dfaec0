"""The pages' code that uses this extension runs, and prints what it shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "docs/site"))
from pages import blocks  # noqa: E402


def programs():
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for block in blocks(page.read_text()):
            setup = block.note.partition(":")[2] if block.note.startswith("before") else ""
            if block.language == "python" and "import cookbook" in setup + block.code:
                name = f"{page.relative_to(ROOT)}:{block.line}"
                yield pytest.param(f"{setup}\n{block.code}", id=name)


@pytest.mark.parametrize("program", programs())
def test_program_of_a_page_prints_its_comments(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for shown in re.findall(r"^ *print\(.*\)  # (.*)$", program, re.MULTILINE):
        for part in shown.split(", then "):
            assert squeezed(part) in squeezed(done.stdout)


def squeezed(text):
    """Without the breaks of lines, of which a comment has none."""
    return re.sub(r"\s+", "", text)
