"""Tries dlbridge with older releases of the frameworks, each in an environment of its own.

    python python/compat/run.py                  # the oldest release of each framework
    python python/compat/run.py --all            # all, and the table in docs/compatibility.md
    python python/compat/run.py "torch 2.6.0"    # these
    python python/compat/run.py --published      # with the wheel that users of Python 3.12 get

While one environment is in use, the next one is made, unless times are measured; each is removed
after use: at most two of them are on the disk.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import standins
import table
from environments import ENVIRONMENTS, Environment

PYTHON = Path(__file__).resolve().parents[1]
sys.path += [str(PYTHON), str(PYTHON / "tests")]
import build_wheels  # noqa: E402
from outcomes import read_report  # noqa: E402

TESTS = PYTHON / "tests"
CHECK = Path(__file__).with_name("check.py")
UV = Path(sys.executable).with_name("uv")
# Seconds for a check, which takes less than one minute on a machine that does nothing else.
TIME_LIMIT = 1800
# Seconds to wait after a download that failed.
PAUSES = (5, 30)
NEWEST = ("numpy", "torch", "jax", "tensorflow", "paddle", "pyarrow", "mlx", "tvm_ffi")


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--all", action="store_true")
    arguments.add_argument("--newest", action="store_true", help="those that the tests use as well")
    arguments.add_argument(
        "--published", action="store_true", help="with the wheel that users of Python 3.12 get"
    )
    arguments.add_argument("--reports", type=Path, help="a folder that keeps what was seen")
    arguments.add_argument("--wheels", type=Path, help="a folder that keeps the package's wheels")
    arguments = arguments.parse_args()
    is_measured = arguments.all or arguments.newest
    chosen = [environment for environment in ENVIRONMENTS if is_chosen(environment, arguments)]
    with tempfile.TemporaryDirectory(prefix="compat-") as folder:
        runs = Runs(Path(folder), arguments, is_measured)
        runs.run_all(chosen)
        if arguments.all or arguments.newest:
            for framework in NEWEST:
                runs.run_newest(framework)
    if arguments.all:
        (PYTHON.parent / "docs/compatibility.md").write_text(table.page(runs.reports))
    return 1 if runs.has_failed else 0


def is_chosen(environment, arguments):
    if arguments.names:
        return environment.name in arguments.names
    is_oldest = environment.is_oldest or environment.is_oldest_with_graphs
    return arguments.all or (is_oldest and not arguments.newest)


class Runs:
    def __init__(self, folder, arguments, is_measured):
        self.folder, self.kept = folder, arguments.reports
        self.wheels = arguments.wheels or folder / "wheels"
        self.is_measured, self.is_published = is_measured, arguments.published
        self.ahead = 0 if is_measured else 1
        self.reports, self.has_failed = [], False

    def run_all(self, environments):
        """Checks each environment while a thread makes what comes next."""
        with ThreadPoolExecutor(1) as pool:
            begun = deque()
            for environment in environments:
                if (python := find_python(environment.python)) is None:
                    print(f"test {environment.name} ... ignored, no Python {environment.python}")
                    count(environment.name, ignored=1)
                    continue
                place = self.folder / environment.name.replace(" ", "-")
                making = pool.submit(self.make, environment, python, place)
                begun.append((environment, place, making))
                if len(begun) > self.ahead:
                    self.run(*begun.popleft())
            for each in begun:
                self.run(*each)

    def make(self, environment, python, place):
        """Makes an environment. Returns the variables that its Python needs, and what it took."""
        wheel = self.wheel(environment.python, python)
        began = time.monotonic()
        variables = make(environment, python, place, wheel)
        return variables, f"made in {time.monotonic() - began:.0f} s, {size(place):.1f} GB"

    def run(self, environment, place, making):
        """Checks an environment once it is made, and removes it."""
        try:
            variables, taken = making.result()
            began = time.monotonic()
            self.check(environment, place / "bin/python", variables)
            if environment.has_graphs:
                self.test_graphs(environment, place / "bin/python", variables)
            print(f"{environment.name}: {taken}, used for {time.monotonic() - began:.0f} s")
        except (subprocess.SubprocessError, OSError, DownloadError) as error:
            self.fail(environment, error)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        sys.stdout.flush()

    def fail(self, environment, why):
        self.has_failed = True
        print(f"test {environment.name} ... FAILED: {why}")
        print(f"test result: FAILED. 0 passed; 1 failed; 0 ignored ({environment.name})")

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
        command += ["--in-only"] if environment.in_only else []
        status = subprocess.run(
            command, env={**os.environ, **variables}, timeout=TIME_LIMIT, check=False
        ).returncode
        if not report.exists():
            return self.fail(environment, f"the process ended with status {status}")
        self.has_failed |= status != 0
        seen = json.loads(report.read_text())
        seen |= {"remark": environment.remark, "below": environment.below}
        report.write_text(json.dumps(seen))
        return self.reports.append(seen)

    def test_graphs(self, environment, python, variables):
        """Runs the tests of ops in the framework's graphs, in its environment."""
        folder = TESTS / "package"
        files = sorted(folder.glob(f"test_graphs_{environment.framework}*.py"))
        report = self.folder / "graphs.xml"
        report.unlink(missing_ok=True)
        command = [str(python), "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider"]
        command += [f"--junitxml={report}", f"--rootdir={folder}", "--tb=short", *map(str, files)]
        variables = {**os.environ, **variables, "PYTHONPATH": f"{TESTS}:{folder}"}
        variables.pop("DLBRIDGE_REQUIRE_ALL", None)  # The tests' extension isn't built for it.
        done = subprocess.run(
            command, env=variables, timeout=TIME_LIMIT, check=False, capture_output=True, text=True
        )
        outcomes = read_report(report, files)
        if not outcomes:
            return self.fail(environment, f"its tests of graphs ended with {done.returncode}")
        for outcome in outcomes:
            outcome.name = f"{environment.name}, {outcome.name}"
            outcome.output = done.stdout
            outcome.show()
            self.has_failed |= outcome.failed > 0
        return None

    def wheel(self, version, python):
        """The package's wheel for a Python: from 3.12 on, one for all.

        Times are measured of what users install; otherwise faults are found sooner with the checks
        of a debug build.
        """
        is_stable = version not in ("3.10", "3.11")
        is_released = self.is_measured or self.is_published and is_stable
        profile = "release" if is_released else "ci"
        out = self.wheels / profile / ("3.12" if is_stable else version)
        if not any(out.glob("*.whl")):
            if is_stable and sys.version_info >= (3, 12):
                python = sys.executable  # For which the wheels' tests build, too.
            out.mkdir(parents=True, exist_ok=True)
            build_wheels.build(str(python), out, profile)
        return next(out.glob("*.whl"))


class DownloadError(Exception):
    """Packages that can't be installed."""


def count(name, ignored):
    print(f"test result: ok. 0 passed; 0 failed; {ignored} ignored; 0 measured ({name})")


def make(environment, python, place, wheel):
    """Makes an environment. Returns the variables that its Python needs."""
    uv("venv", "--python", str(python), str(place))
    # What is downloaded goes with the environment.
    into = ("--python", str(place / "bin/python"), "--cache-dir", str(place / "cache"))
    if environment.bare:
        download(*into, "--no-deps", *environment.bare)
    download(*into, *environment.packages)
    uv("pip", "install", *into, "--no-deps", str(wheel))
    package = next(place.glob("lib/python*/site-packages/torch"), None)
    if package is None:
        return {}
    standins.build(package, place / "standins")
    return {"LD_LIBRARY_PATH": str(place / "standins")}


def download(*arguments):
    """Installs packages from the index. What fails is tried again, as networks do now and then."""
    for pause in (*PAUSES, None):
        try:
            return uv("pip", "install", "--only-binary", ":all:", *arguments)
        except subprocess.CalledProcessError:
            if pause is None:
                packages = ", ".join(name for name in arguments if "==" in name)
                raise DownloadError(
                    f"{len(PAUSES) + 1} attempts to download {packages} have failed; is the"
                    " package index in reach?"
                ) from None
            print(f"a download failed, and is tried again in {pause} s", flush=True)
            time.sleep(pause)


def uv(*arguments):
    subprocess.run([str(UV), *arguments[:1], "--quiet", *arguments[1:]], check=True)


def find_python(version):
    """The path of a Python of this version; none where there isn't one."""
    pyenv = Path.home() / ".pyenv/versions"
    for name in (f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))):
        path = shutil.which(name)
        if path and version_of(path) == version:
            return path
    return None


def version_of(python):
    """The version of a Python, such as 3.12; none where there isn't one."""
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        found = subprocess.run(
            [str(python), "-c", code], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def size(place):
    files = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    # A file in the cache is the one that is installed, by another name.
    sizes = {(status.st_dev, status.st_ino): status.st_size for status in map(os.stat, files)}
    return sum(sizes.values()) / 1e9


if __name__ == "__main__":
    sys.exit(main())
