"""Tests of the checker of the site's links."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import links  # noqa: E402


@pytest.mark.parametrize(
    "link, problem",
    [
        ("b.html#there", None),
        ("b.html", None),
        ("#here", None),
        ("https://example.com/c", None),
        ("b.html#gone", "no such anchor"),
        ("#gone", "no such anchor"),
        ("c.html", "no such file"),
        ("../c.html", "leads out of the site"),
    ],
)
def test_links_are_checked(tmp_path, link, problem):
    site = tmp_path / "site"
    site.mkdir()
    (site / "a.html").write_text(f'<h1 id="here">A</h1><a href="{link}">b</a>')
    (site / "b.html").write_text('<h1 id="there">B</h1>')
    expected = [f"a.html: {link}: {problem}"] if problem else []
    assert links.problems(site) == expected


def test_missing_include_and_empty_site_are_found(tmp_path):
    assert links.problems(tmp_path) == [f"{tmp_path} has no pages"]
    (tmp_path / "a.html").write_text("{{#include x.rs}}")
    (tmp_path / "b.html").write_text("")
    assert links.problems(tmp_path) == ["a.html: a file that is included wasn't found"]
