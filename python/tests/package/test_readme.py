"""Tests that the README's examples run and print what it shows."""

import re
from pathlib import Path

import dlbridge
import pytest
from support import framework, in_fork, in_new_process

framework("torch")
framework("jax")
framework("tensorflow")
ROOT = Path(__file__).resolve().parents[3]
PAGES = {"the front page": ROOT / "README.md", "the package's page": ROOT / "python" / "README.md"}


def blocks(page):
    """Its blocks of Python, but for those of examples/custom_op, whose tests run them."""
    found = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [code for code in found if "import custom_op" not in code]


@pytest.mark.parametrize("page", PAGES)
def test_readme_code_prints_its_comments(page):
    code, *others = blocks(PAGES[page])
    for other in others:
        if 'device="cuda"' in other and not dlbridge.cuda.is_available():
            compile(other, str(PAGES[page]), "exec")  # It takes a GPU to run it.
        else:
            assert in_fork("torch", other).strip() or "cuda" in other
    printed = in_new_process(code, JAX_PLATFORMS="cpu")
    comments = re.findall(r"^# (.*?)(?:, \.\.\.)?$", code, re.MULTILINE)
    for comment in comments:
        assert comment in printed
    assert "tensorflow would need a copy" in printed


def test_readme_example_shares_memory():
    code, *_ = blocks(PAGES["the front page"])
    code += "\nassert y.unsafe_buffer_pointer() == x.data_ptr() == z.ctypes.data\n"
    code += "assert x[0, 0] == 7 == float(y[0, 0]) and z.shape == (2, 2)\n"
    in_fork("torch", code, JAX_PLATFORMS="cpu")
