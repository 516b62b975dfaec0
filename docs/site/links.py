"""Checks the links of the built site: `python docs/site/links.py FOLDER`. Each link within the site
leads to a file, and to an anchor that the file has.
"""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Pages of rustdoc: links lead to them, and their own were checked when they were made.
RUST = "rust"
#: Pages that mdBook adds, without a place of their own.
ADDED = {"404.html", "toc.html"}


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ("href", "src") and tag in ("a", "img") and value:
                self.links.add(value)


def problems(folder):
    """Returns what is wrong with the links, as a text for each."""
    files = [file for file in sorted(folder.rglob("*.html")) if file.name not in ADDED]
    files = [file for file in files if file.relative_to(folder).parts[0] != RUST]
    read = {}
    found = []
    for file in files:
        text = file.read_text()
        page = read.setdefault(file, Page(text))
        name = file.relative_to(folder)
        if "{{#" in text:
            found.append(f"{name}: a file that is included wasn't found")
        for link in sorted(page.links):
            problem = wrong(link, file, folder, read)
            if problem:
                found.append(f"{name}: {link}: {problem}")
    if len(files) < 2:
        found.append(f"{folder} has no pages")
    return found


def wrong(link, file, folder, read):
    """Returns what is wrong with a link, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_relative_to(folder.resolve()):
        return "leads out of the site"
    if not target.is_file():
        return "no such file"
    if parts.fragment and target.suffix == ".html":
        if target not in read:
            read[target] = Page(target.read_text())
        if unquote(parts.fragment) not in read[target].anchors:
            return "no such anchor"
    return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    found = problems(arguments.parse_args().folder.resolve())
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
