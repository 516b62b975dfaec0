"""The wheels and the source distribution that the tests look into, built once."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pythons():
    """This Python, and an older one if there is one: its wheel is for that version alone."""
    found = [sys.executable]
    places = Path.home().glob(".pyenv/versions/3.10.*/bin/python")
    found += [str(place) for place in sorted(places)[:1]]
    return found


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """The wheel for each Python, by its path."""
    out = tmp_path_factory.mktemp("wheels")
    with ThreadPoolExecutor() as pool:
        built = pool.map(lambda python: build(python, out), pythons())
        return dict(zip(pythons(), built, strict=True))


def build(python, out):
    """Builds a wheel. Only this Python's is optimised like those for users, which takes minutes."""
    is_first = python == sys.executable
    quick = {"LTO": "off", "CODEGEN_UNITS": "16", "OPT_LEVEL": "0"}
    variables = {} if is_first else {f"CARGO_PROFILE_RELEASE_{key}": quick[key] for key in quick}
    command = [sys.executable, ROOT / "python/build_wheels.py", "--out", out, python]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}
    )
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    out = tmp_path_factory.mktemp("sdist")
    manifest = ROOT / "python/Cargo.toml"
    command = [sys.executable, "-m", "maturin", "sdist", "--manifest-path", manifest, "--out", out]
    subprocess.run(command, check=True)
    (made,) = out.glob("*.tar.gz")
    return made
