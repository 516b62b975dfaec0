"""Builds the documentation site: `python docs/site/build.py [FOLDER]`, by default target/site.

The pages are those of `docs/SUMMARY.md`, where they are in the repository, so that no text exists
twice. They are copied with what they link to or include, in the repository's layout, so that links
between them stay as they are; mdBook turns them into `FOLDER/html`. The Python reference is
generated from the package's sources, and the Rust reference is rustdoc's.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import python_reference
from pages import ROOT, local_links, pages, relinked

DOCS = ROOT / "docs"
#: The pages that are generated, in the folder of the pages' sources.
GENERATED = {ROOT / "docs/python": python_reference.write}
RUSTDOC = ["dlbridge", "dlbridge_dlpack"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", nargs="?", type=Path, default=ROOT / "target/site")
    arguments.add_argument("--no-rust", action="store_true", help="without the Rust reference")
    arguments = arguments.parse_args()
    folder = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    gather(folder / "src")
    shutil.copy(DOCS / "book.toml", folder)
    mdbook = Path(sys.executable).with_name("mdbook")
    subprocess.run([mdbook, "build", folder], check=True)
    if not arguments.no_rust:
        rust_reference(folder / "html/rust")
    print(folder / "html/index.html")


def gather(src):
    """Copies the pages, and the files that they link to or include."""
    for place, write in GENERATED.items():
        write(src / place.relative_to(ROOT))
    summary = (DOCS / "SUMMARY.md").read_text()
    src.mkdir(parents=True, exist_ok=True)
    (src / "SUMMARY.md").write_text(relinked(summary, DOCS / "SUMMARY.md", from_the_root))
    for page in pages():
        if not page.is_relative_to(DOCS / "python"):
            text = page.read_text()
            copy(src, page).write_text(relinked(text, page, shown))
            for file in local_links(text, page):
                if file.is_file() and file not in pages():
                    shutil.copy(file, copy(src, file))


def copy(src, file):
    """Returns the place of a file's copy."""
    place = src / shown_as(file).relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def from_the_root(link, file):
    return os.path.relpath(file, ROOT)


def shown(link, file):
    """Returns a page's link on the site: sources are shown as text, folders aren't there."""
    if file in pages() or link.startswith("#"):
        return link
    if file.is_dir():
        return f"{link}/README.md" if file / "README.md" in pages() else None
    return link.replace(file.name, shown_as(file).name)


def shown_as(file):
    """Returns the name that a browser shows as text or as an image."""
    is_shown = file in pages() or file.suffix in {".svg", ".txt"}
    return file if is_shown or file.suffix == ".html" else file.with_name(f"{file.name}.txt")


def rust_reference(folder):
    """Builds the crates' documentation, as `./dev crates` does, and copies it."""
    command = ["cargo", "doc", "--all-features", "--no-deps", "--quiet"]
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    packages = [f"--package={name.replace('_', '-')}" for name in RUSTDOC]
    # It has no documentation; with it, Cargo finds what is compiled for `./dev crates`.
    packages.append("--package=dlbridge-crates-tests")
    subprocess.run([*command, *packages], cwd=ROOT, check=True)
    shutil.copytree(target / "doc", folder, ignore=shutil.ignore_patterns(".lock"))


if __name__ == "__main__":
    main()
