"""The package's wheels: what is in them, where they run, and that they install into nothing."""

import base64
import csv
import fcntl
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import build_wheels  # noqa: E402

#: The glibc of manylinux2014.
OLDEST_GLIBC = (2, 17)
#: Libraries that each such system has.
EVERYWHERE = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|util)\.so|ld-linux")


@pytest.fixture(params=["newest", "oldest"])
def python_and_wheel(request, wheels):
    if request.param == "oldest" and len(wheels) < 2:
        pytest.skip("there is no Python 3.10 to build a wheel for")
    return list(wheels.items())[0 if request.param == "newest" else -1]


@pytest.fixture
def python(python_and_wheel):
    return python_and_wheel[0]


@pytest.fixture
def wheel(python_and_wheel):
    return python_and_wheel[1]


@pytest.fixture
def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def metadata(contents):
    return Parser().parsestr(only(contents, "/METADATA").decode())


@pytest.fixture
def module(contents):
    return ELFFile(io.BytesIO(only(contents, ".so")))


def only(contents, end):
    (data,) = [data for name, data in contents.items() if name.endswith(end)]
    return data


def test_module_needs_glibc_of_manylinux2014(module):
    needed = {}
    for section in module.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for _, versions in section.iter_versions():
                for version in versions:
                    family, _, number = version.name.partition("_")
                    numbers = tuple(int(part) for part in number.split("."))
                    needed[family] = max(needed.get(family, ()), numbers)
    assert needed["GLIBC"] <= OLDEST_GLIBC


def test_module_links_only_to_libraries_of_the_system(module):
    tags = module.get_section_by_name(".dynamic").iter_tags()
    names = [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
    assert names and all(EVERYWHERE.match(name) for name in names), names


def test_module_unwinds_by_the_library_that_cpp_unwinds_by(module):
    tags = module.get_section_by_name(".dynamic").iter_tags()
    assert "libgcc_s.so.1" in [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
    symbols = module.get_section_by_name(".dynsym").iter_symbols()
    places = {symbol.name: symbol["st_shndx"] for symbol in symbols}
    assert places["_Unwind_GetLanguageSpecificData"] == "SHN_UNDEF"


def test_module_is_stripped(module):
    sections = {section.name for section in module.iter_sections()}
    assert ".dynsym" in sections and ".symtab" not in sections
    assert not any(name.startswith(".debug") for name in sections)


def test_wheel_names_no_path_of_this_machine(contents):
    paths = [str(ROOT), str(Path.home() / ".cargo"), str(Path.home() / ".rustup")]
    for name, data in contents.items():
        for path in paths:
            assert path.encode() not in data, (name, path)


def test_record_has_each_file_and_its_hash(contents):
    rows = {row[0]: row[1:] for row in csv.reader(only(contents, "/RECORD").decode().splitlines())}
    assert set(rows) == set(contents)
    for name, (digest, size) in rows.items():
        if not name.endswith("/RECORD"):
            data = contents[name]
            made = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={made}", str(len(data))), name


def test_wheel_holds_licences_of_the_project_and_its_crates(contents, metadata):
    assert metadata["License-Expression"] == "Apache-2.0 OR MIT"
    files = metadata.get_all("License-File")
    assert files == ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"]
    texts = {file: only(contents, f"/licenses/{file}").decode() for file in files}
    for file in files[:2]:
        assert texts[file] == (ROOT / file).read_text()
    assert re.search(r"^pyo3 0\.", texts["THIRD-PARTY.txt"], re.MULTILINE)
    assert "Permission is hereby granted" in texts["THIRD-PARTY.txt"]
    assert not re.search(r"^(maturin|dlbridge)", texts["THIRD-PARTY.txt"], re.MULTILINE)


def test_metadata_has_classifiers_for_each_python(metadata):
    classifiers = metadata.get_all("Classifier")
    for version in ["3", "3.10", "3.11", "3.12", "3.13"]:
        assert f"Programming Language :: Python :: {version}" in classifiers
    assert "Typing :: Typed" in classifiers


def test_twine_accepts_wheel_and_sdist(wheel, sdist):
    command = [sys.executable, "-m", "twine", "check", "--strict", wheel, sdist]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


def test_abi3audit_finds_no_violation(wheels):
    wheel = list(wheels.values())[0]
    assert "-abi3-" in wheel.name
    command = [sys.executable, "-m", "abi3audit", "--strict", "--verbose", wheel]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


USE = """
import sys
import dlbridge
x = dlbridge.arange(6, dtype="float32").reshape(2, 3)
y = dlbridge.ops.add(x, x)
assert y.tolist() == [[0, 2, 4], [6, 8, 10]]
view = memoryview(x)
view[0, 1] = 7.0
assert x.tolist()[0][1] == 7
assert dlbridge.from_dlpack(x).data_ptr == x.data_ptr
if "{numpy}":
    import numpy
    a = x.to("numpy")
    assert a.ctypes.data == x.data_ptr and a[0, 1] == 7
else:
    assert "numpy" not in sys.modules
    try:
        x.to("numpy")
    except ModuleNotFoundError as error:
        assert "numpy" in str(error), error
    else:
        raise AssertionError("converted to a framework that isn't installed")
print("used", dlbridge.__file__)
"""


@pytest.mark.parametrize("numpy", ["", "numpy"], ids=["without NumPy", "with NumPy"])
def test_wheel_installs_into_empty_environment(python, wheel, numpy, tmp_path):
    environment = tmp_path / "environment"
    base = subprocess.run(
        [python, "-c", "import os, sys; print(os.path.realpath(sys.executable))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", base, environment], check=True)
    inside = environment / "bin/python"
    what = f"dlbridge[{numpy}] @ file://{wheel}" if numpy else str(wheel)
    install = [*uv, "pip", "install", "--quiet", "--python", inside, what]
    subprocess.run(install, check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    said = subprocess.run(
        [inside, "-c", USE.replace("{numpy}", numpy)],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(f"used {environment}")


def test_sdist_has_sources_and_no_files_for_ci(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"python/src/lib.rs", "src/lib.rs", "dlpack/src/lib.rs"} <= names
    assert {"LICENSE-APACHE", "LICENSE-MIT"} <= {Path(name).name for name in names}
    unwanted = re.compile(
        r"(^|/)(\.ci|\.github|dev$|ruff\.toml|fuzz|\.venv|target)(/|$)|^((dlpack|python)/)?tests/"
    )
    assert not [name for name in names if unwanted.search(name)]


def test_builds_for_one_python_wait_for_each_other(tmp_path):
    target = tmp_path / "3.12"
    with build_wheels.alone_in(target), (target / "wheel.lock").open() as another:
        with pytest.raises(BlockingIOError):
            fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (target / "wheel.lock").open() as another:
        fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
