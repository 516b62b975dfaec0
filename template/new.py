"""Makes a project of the template: `python template/new.py NAME`, or `./dev new NAME`."""

import argparse
import re
import shutil
import sys
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parent
#: Files that belong to the template, not to a project.
OWN = {"new.py", "cargo-generate.toml"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the name of the crate and of the Python module")
    parser.add_argument("--into", type=Path, help="the folder to make, by default NAME")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--path", type=Path, help="a checkout of dlbridge, by default the template's"
    )
    source.add_argument("--git", help="the URL of a repository of dlbridge")
    source.add_argument("--version", help="a release of dlbridge")
    parser.add_argument("--rev", help="the repository's revision, a tag or a commit")
    given = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", given.name):
        parser.error(f"expected a name of a-z, 0-9 and _, which starts with a letter: {given.name}")
    if given.rev and not given.git:
        parser.error("--rev needs --git")
    if given.path and not (given.path / "python/Cargo.toml").is_file():
        parser.error(f"expected a checkout of dlbridge, got {given.path}")
    folder = given.into or Path(given.name)
    if folder.exists():
        parser.error(f"{folder} exists already")
    make(folder, {"crate_name": given.name, **dependency(given)})
    print(folder)
    return 0


def dependency(given):
    """Returns how Cargo.toml and requirements.txt name dlbridge."""
    if given.version:
        return names(f'version = "{given.version}"', f"dlbridge=={given.version}")
    if given.git:
        rev = f', rev = "{given.rev}"' if given.rev else ""
        at = f"@{given.rev}" if given.rev else ""
        url = f"git+{given.git}{at}#subdirectory=python"
        return names(f'git = "{given.git}"{rev}', f"dlbridge @ {url}")
    path = (given.path or TEMPLATE.parent).resolve()
    return names(f'path = "{path}"', f"dlbridge @ {(path / 'python').as_uri()}")


def names(cargo, package):
    return {"dlbridge": cargo, "dlbridge_package": package}


def make(folder, values):
    """Copies the template's files, with values for their placeholders."""
    for file in sorted(TEMPLATE.rglob("*")):
        name = str(file.relative_to(TEMPLATE))
        if not file.is_file() or name in OWN or "__pycache__" in name:
            continue
        place = folder / filled(name, values).removesuffix(".liquid")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(filled(file.read_text(), values))
        shutil.copymode(file, place)


def filled(text, values):
    """Returns a text with values in place of `{{name}}`."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], text)


if __name__ == "__main__":
    sys.exit(main())
