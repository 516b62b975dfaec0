"""Builds the package's wheels for old Linux systems: `python python/build_wheels.py PYTHON ...`.

A wheel is linked by zig against glibc 2.17, stripped, and names no path of the machine that built
it. Besides this project's licences it holds those of the crates that are compiled into the module.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "python/Cargo.toml"
#: The oldest Python whose stable ABI the module can be built for.
STABLE_ABI = (3, 12)
NOTICE = "THIRD-PARTY.txt"
AT_ONCE = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "target/wheels")
    parser.add_argument("--profile", default="release", help="ci has the checks of a debug build")
    parser.add_argument("pythons", nargs="+", help="the interpreters to build for")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    # Most of a build is the optimisation of the whole, which takes one CPU.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        build_one = functools.partial(build, out=arguments.out, profile=arguments.profile)
        for wheel in pool.map(build_one, arguments.pythons):
            print(wheel)


def build(python: str, out: Path, profile: str) -> Path:
    """Builds one wheel, and returns its path."""
    python = itself(python)
    abi3 = ["--features", "pyo3/abi3-py312"] if version(python) >= STABLE_ABI else []
    target = ROOT / "target/wheels-build/{}.{}".format(*version(python))
    with alone_in(target), tempfile.TemporaryDirectory(dir=out) as folder:
        subprocess.run(
            ["maturin", "build", "--profile", profile, "--locked", "--quiet", "--zig", "--strip"]
            + ["--compatibility", "manylinux2014", "--interpreter", python, *abi3]
            + ["--manifest-path", str(MANIFEST), "--out", folder],
            env=environment(python, target),
            stdout=sys.stderr,  # Only the wheels' paths go to the standard output.
            check=True,
        )
        (made,) = Path(folder).glob("*.whl")
        finish(made, third_party_licences())
        return made.replace(out / made.name)


@contextlib.contextmanager
def alone_in(target: Path) -> Iterator[None]:
    """Waits for other builds in this target folder: maturin moves the module that Cargo has made,
    of which Cargo's own lock knows nothing.
    """
    target.mkdir(parents=True, exist_ok=True)
    with (target / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def itself(python: str) -> str:
    """The path of an interpreter without links and environments: another path would compile all
    anew.
    """
    code = "import os, sys; print(os.path.realpath(sys.executable))"
    said = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout
    return said.strip()


def version(python: str) -> tuple[int, int]:
    code = "import sys; print(*sys.version_info[:2])"
    said = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout
    major, minor = said.split()
    return int(major), int(minor)


def environment(python: str, target: Path) -> dict[str, str]:
    """The build's environment: the tools of this Python's environment, and paths that say
    nothing.
    """
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    rust = subprocess.run(
        ["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True
    )
    places = {ROOT: "dlbridge", rust.stdout.strip(): "rust"}
    places |= {source: "crates" for source in (cargo / "registry/src").glob("*")}
    flags = [f"--remap-path-prefix={place}={name}" for place, name in places.items()]
    flags += [f"-Clink-arg={unwinder()}"]
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYO3_PYTHON": python,
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        # Other flags than those of all other builds, and each Python's at the same time.
        "CARGO_TARGET_DIR": str(target),
    }


def unwinder() -> str:
    """The system's library that unwinds stacks. zig would link one of its own, which knows nothing
    of exceptions that C++ throws through a frame of the module, as PyTorch's kernels do.
    """
    command = ["cc", "-print-file-name=libgcc_s.so.1"]
    path = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    if not Path(path).is_absolute():
        raise FileNotFoundError("the C compiler knows no libgcc_s.so.1")
    return path


def third_party_licences() -> str:
    """The licence texts of the crates in the module, each text once."""
    texts: dict[str, list[str]] = {}
    for package in compiled_crates():
        folder = Path(package["manifest_path"]).parent
        name = f"{package['name']} {package['version']} ({package['license']})"
        files = sorted(
            path
            for path in folder.iterdir()
            if path.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE"))
            and path.is_file()
        )
        for file in files:
            texts.setdefault(file.read_text(errors="replace").strip(), []).append(name)
        if not files:
            texts.setdefault("(the crate brings no licence text)", []).append(name)
    parts = [f"{chr(10).join(sorted(set(names)))}\n\n{text}\n" for text, names in texts.items()]
    line = "\n" + "-" * 80 + "\n\n"
    return f"The compiled module contains these crates.\n{line}" + line.join(parts)


def compiled_crates() -> list[dict]:
    """The crates from elsewhere that the module depends on, other than for its build."""
    target = "x86_64-unknown-linux-gnu"
    command = ["cargo", "metadata", "--format-version", "1", "--filter-platform", target]
    command += ["--locked", "--manifest-path", str(MANIFEST)]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    wanted = [
        package["id"] for package in packages.values() if package["name"] == "dlbridge-python"
    ]
    seen: set[str] = set()
    while wanted:
        identifier = wanted.pop()
        if identifier in seen:
            continue
        seen.add(identifier)
        for dependency in nodes[identifier]["deps"]:
            if None in [kind["kind"] for kind in dependency["dep_kinds"]]:
                wanted.append(dependency["pkg"])
    foreign = [packages[identifier] for identifier in seen if packages[identifier]["source"]]
    return sorted(foreign, key=lambda package: (package["name"], package["version"]))


def finish(wheel: Path, notice: str) -> None:
    """Adds the notice, and takes this machine's paths out of the list of components."""
    with zipfile.ZipFile(wheel) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    record = next(info.filename for info, _ in entries if info.filename.endswith("/RECORD"))
    folder = record.rpartition("/")[0]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        lines = []

        def write(info: zipfile.ZipInfo, data: bytes) -> None:
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{info.filename},sha256={digest},{len(data)}")

        for info, data in entries:
            if info.filename == record:
                continue
            if "/sboms/" in info.filename:
                data = data.replace(f"path+file://{ROOT}".encode(), b"path+file:///dlbridge")
                data = data.replace(f"file://{ROOT}".encode(), b"file:///dlbridge")
            if info.filename == f"{folder}/METADATA":
                after = b"License-File: LICENSE-MIT\n"
                assert after in data, "the metadata names the project's licences"
                data = data.replace(after, after + f"License-File: {NOTICE}\n".encode(), 1)
            write(info, data)
        first = entries[0][0]
        added = zipfile.ZipInfo(f"{folder}/licenses/{NOTICE}", first.date_time)
        added.external_attr = first.external_attr
        write(added, notice.encode())
        listing = zipfile.ZipInfo(record, first.date_time)
        listing.external_attr = first.external_attr
        archive.writestr(listing, "\n".join([*lines, f"{record},,"]) + "\n", zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
