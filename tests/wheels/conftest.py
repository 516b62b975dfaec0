"""The wheels and the source distribution that the tests look into, built once."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import build_wheels  # noqa: E402


def pythons():
    """This Python, and an older one if there is one: its wheel is for that version alone."""
    found = [sys.executable]
    places = Path.home().glob(".pyenv/versions/3.10.*/bin/python")
    found += [str(place) for place in sorted(places)[:1]]
    return found


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """The wheel for each Python, by its path: the first as users get it, the other one, whose
    optimization would take as long, with the checks of a debug build.
    """
    out = tmp_path_factory.mktemp("wheels")
    profiles = ("release", "ci")
    with ThreadPoolExecutor(build_wheels.AT_ONCE) as pool:
        made = pool.map(build_wheels.build, pythons(), repeat(out), profiles)
        return dict(zip(pythons(), made, strict=True))


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    out = tmp_path_factory.mktemp("sdist")
    manifest = ROOT / "python/Cargo.toml"
    command = [sys.executable, "-m", "maturin", "sdist", "--manifest-path", manifest, "--out", out]
    subprocess.run(command, check=True)
    (made,) = out.glob("*.tar.gz")
    return made
