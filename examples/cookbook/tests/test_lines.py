"""The cookbook's code stays short."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import lines  # noqa: E402


@pytest.mark.parametrize("name", lines.LIMITS)
def test_file_is_within_its_limit(name):
    assert 10 < lines.count((lines.SRC / name).read_text()) <= lines.LIMITS[name]


def test_blank_lines_and_comments_do_not_count():
    assert lines.count("//! A\n\nfn f() {\n    // b\n    /// c\n    1; // d\n}\n") == 3
