"""Tries dlbridge with older releases of the frameworks, each in an environment of its own.

    python python/compat/run.py                  # the oldest release of each framework
    python python/compat/run.py --all            # all, and the table in docs/compatibility.md
    python python/compat/run.py "torch 2.6.0"    # these

Environments are made one after another, and removed after use: at most one of them is on the disk.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import standins
import table
from environments import ENVIRONMENTS, Environment

ROOT = Path(__file__).resolve().parents[2]
CHECK = Path(__file__).with_name("check.py")
UV = Path(sys.executable).with_name("uv")
MATURIN = Path(sys.executable).with_name("maturin")
# Seconds for a check, which takes less than one minute on a machine that does nothing else.
TIME_LIMIT = 1200
NEWEST = ("numpy", "torch", "jax", "tensorflow", "paddle", "pyarrow", "mlx", "tvm_ffi")


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--all", action="store_true")
    arguments.add_argument("--newest", action="store_true", help="those that the tests use as well")
    arguments.add_argument("--reports", type=Path, help="a folder that keeps what was seen")
    arguments = arguments.parse_args()
    chosen = [environment for environment in ENVIRONMENTS if is_chosen(environment, arguments)]
    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        runs = Runs(Path(folder), arguments.reports)
        for environment in chosen:
            runs.run(environment)
        if arguments.all or arguments.newest:
            for framework in NEWEST:
                runs.run_newest(framework)
    if arguments.all:
        (ROOT / "docs/compatibility.md").write_text(table.page(runs.reports))
    return 1 if runs.has_failed else 0


def is_chosen(environment, arguments):
    if arguments.names:
        return environment.name in arguments.names
    return arguments.all or (environment.is_oldest and not arguments.newest)


class Runs:
    def __init__(self, folder, kept):
        self.folder, self.kept = folder, kept
        self.wheels, self.reports, self.has_failed = {}, [], False

    def run(self, environment):
        began = time.monotonic()
        python = find_python(environment.python)
        if python is None:
            print(f"test {environment.name} ... ignored, Python {environment.python} isn't here")
            count(environment.name, ignored=1)
            return
        place = self.folder / "environment"
        try:
            wheel = self.wheel(environment.python, python)
            began_here = time.monotonic()
            variables = make(environment, python, place, wheel)
            seconds = time.monotonic() - began_here
            print(f"{environment.name}: made in {seconds:.0f} s, {size(place):.1f} GB", flush=True)
            self.check(environment, place / "bin/python", variables)
        except (subprocess.CalledProcessError, OSError) as error:
            self.has_failed = True
            print(f"{environment.name}: {error}")
            print(f"test result: FAILED. 0 passed; 1 failed; 0 ignored ({environment.name})")
        finally:
            shutil.rmtree(place, ignore_errors=True)
        print(f"{environment.name}: {time.monotonic() - began:.0f} s", flush=True)

    def run_newest(self, framework):
        """Checks the release that the tests use, in the environment of the tests."""
        wheel = self.wheel(".".join(map(str, sys.version_info[:2])), sys.executable)
        place = self.folder / "newest"
        if not place.exists():
            target = ["--target", str(place)]
            uv("pip", "install", "--no-deps", "--python", sys.executable, *target, str(wheel))
        release = "of the tests"
        environment = Environment(framework, release, "", ())
        self.check(environment, sys.executable, {"PYTHONPATH": str(place)})

    def check(self, environment, python, variables):
        report = (self.kept or self.folder) / f"{environment.name.replace(' ', '-')}.json"
        report.parent.mkdir(parents=True, exist_ok=True)
        report.unlink(missing_ok=True)
        command = [str(python), str(CHECK), environment.framework, str(report), environment.name]
        status = subprocess.run(
            command, env={**os.environ, **variables}, timeout=TIME_LIMIT, check=False
        ).returncode
        self.has_failed |= status != 0
        if report.exists():
            seen = json.loads(report.read_text())
            self.reports.append({**seen, "remark": environment.remark})
        else:
            print(f"test result: FAILED. 0 passed; 1 failed; 0 ignored ({environment.name})")

    def wheel(self, version, python):
        """The package's wheel for a Python: from 3.12 on, one for all."""
        is_stable = version not in ("3.10", "3.11")
        key = "3.12" if is_stable else version
        if key not in self.wheels:
            out = self.folder / f"wheel-{key}"
            features = ["--features", "pyo3/abi3-py312"] if is_stable else []
            command = [str(MATURIN), "build", "--release", "--quiet", "--out", str(out), *features]
            command += ["--interpreter", str(python)]
            command += ["--manifest-path", str(ROOT / "python/Cargo.toml")]
            variables = {"PYO3_PYTHON": str(python), "LD_LIBRARY_PATH": library_path(python)}
            subprocess.run(command, check=True, env={**os.environ, **variables})
            self.wheels[key] = next(out.glob("*.whl"))
        return self.wheels[key]


def count(name, ignored):
    print(f"test result: ok. 0 passed; 0 failed; {ignored} ignored; 0 measured ({name})")


def make(environment, python, place, wheel):
    """Makes an environment. Returns the variables that its Python needs."""
    uv("venv", "--python", str(python), str(place))
    # What is downloaded goes with the environment.
    into = ("--python", str(place / "bin/python"), "--cache-dir", str(place / "cache"))
    if environment.bare:
        uv("pip", "install", *into, "--no-deps", *environment.bare)
    uv("pip", "install", *into, *environment.packages)
    uv("pip", "install", *into, "--no-deps", str(wheel))
    package = next(place.glob("lib/python*/site-packages/torch"), None)
    if package is None:
        return {}
    standins.build(package, place / "standins")
    return {"LD_LIBRARY_PATH": str(place / "standins")}


def uv(*arguments):
    subprocess.run([str(UV), *arguments[:1], "--quiet", *arguments[1:]], check=True)


def find_python(version):
    """The path of a Python of this version; none where there isn't one."""
    pyenv = Path.home() / ".pyenv/versions"
    for name in (f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))):
        path = shutil.which(name)
        asked = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        if path:
            found = subprocess.run([path, "-c", asked], capture_output=True, text=True)
            if found.stdout.strip() == version:
                return path
    return None


def library_path(python):
    code = "import sysconfig; print(sysconfig.get_config_var('LIBDIR') or '')"
    return subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def size(place):
    files = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    # A file in the cache is the one that is installed, by another name.
    sizes = {(status.st_dev, status.st_ino): status.st_size for status in map(os.stat, files)}
    return sum(sizes.values()) / 1e9


if __name__ == "__main__":
    sys.exit(main())
