"""The pages of the site: those of `docs/SUMMARY.md`, their links and their blocks of code."""

import functools
import os
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SUMMARY = ROOT / "docs/SUMMARY.md"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
INCLUDE = re.compile(r"\{\{#include ([^\s:}]+)([^}]*)\}\}")
FENCED = re.compile(
    r"(?:^<!-- (?P<note>(?:not run|before):(?:(?!-->).)*?)\s*-->\n+)?"
    r"^```(?P<language>\w*)(?P<rest>[^\n]*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """Code between fences, and the comment before it that tells tests of it."""

    language: str
    rest: str
    code: str
    note: str
    line: int


@functools.cache
def pages():
    """Returns the files of the pages, in the order of the summary."""
    links = [link for _, _, link in LINK.findall(SUMMARY.read_text())]
    return [resolved(link, SUMMARY) for link in links]


def resolved(link, page):
    """Returns the file or folder that a local link leads to."""
    path = link.partition("#")[0]
    return Path(os.path.normpath(page.parent / path)) if path else page


def is_local(link):
    return not re.match(r"[a-z]+:", link)


def local_links(text, page):
    """Returns what a page's links and includes lead to."""
    prose = FENCED.sub("", text)
    links = [link for _, _, link in LINK.findall(prose) if is_local(link)]
    return [resolved(link, page) for link in links]


def relinked(text, page, changed):
    """Returns a page with other links, and with its includes by absolute paths. `changed` returns
    the link to a file, or None where only its text is to stay.
    """

    def link(match):
        mark, label, link = match.groups()
        if not is_local(link):
            return match[0]
        new = changed(link, resolved(link, page))
        return label if new is None else f"{mark}[{label}]({new})"

    def include(match):
        return f"{{{{#include {resolved(match[1], page)}{match[2]}}}}}"

    parts, end = [], 0
    for fence in FENCED.finditer(text):
        parts += [LINK.sub(link, text[end : fence.start()]), INCLUDE.sub(include, fence[0])]
        end = fence.end()
    return "".join([*parts, LINK.sub(link, text[end:])])


def blocks(text):
    """Returns a page's blocks of code."""
    return [
        Block(
            match["language"],
            match["rest"].strip(" ,"),
            match["code"],
            match["note"] or "",
            text[: match.start()].count("\n") + 1,
        )
        for match in FENCED.finditer(text)
    ]
