"""Builds examples of extensions, and runs their tests from Python, once for each framework, in a
process of its own.

    python examples/run_tests.py custom_op python_extension    # with all frameworks
    python examples/run_tests.py python_extension:numpy,torch  # with these
    python examples/run_tests.py --profile dev custom_op       # built without optimization

The Python that runs this has maturin, pytest, NumPy, what the examples depend on (their
pyproject.toml tells), and the frameworks. With DLBRIDGE_REQUIRE_ALL set, a framework that isn't
installed is a failure.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

EXAMPLES = Path(__file__).resolve().parent
FRAMEWORKS = ["numpy", "torch", "jax", "tensorflow", "paddle"]
AT_ONCE = 2


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "examples", nargs="+", type=example_and_frameworks, metavar="example[:framework,...]"
    )
    arguments.add_argument(
        "--profile", default="release", help="Cargo's profile to build the examples with"
    )
    arguments.add_argument(
        "--features", default="", help="Cargo's features to build the examples with"
    )
    arguments = arguments.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        # An example is built while the tests of those before run.
        for example, names in arguments.examples:
            of = Path(folder) / example.name
            site = build(example, of, arguments.profile, arguments.features)
            runs += [pool.submit(run, example, name, site, of / f"{name}.xml") for name in names]
        is_well = [future.result() for future in runs]
    return 0 if all(is_well) else 1


def example_and_frameworks(text):
    """An example's folder and the frameworks that its tests run with, of `example:framework,...`."""
    name, _, frameworks = text.partition(":")
    if not (EXAMPLES / name / "pyproject.toml").is_file():
        raise argparse.ArgumentTypeError(f"there is no example {name!r} with a pyproject.toml")
    return EXAMPLES / name, frameworks.split(",") if frameworks else FRAMEWORKS


def build(example, folder, profile, features):
    """Builds a wheel and installs it into a folder."""
    wheels, site = folder / "wheels", folder / "site"
    maturin = [
        sys.executable,
        "-m",
        "maturin",
        "build",
        "--profile",
        profile,
        "--features",
        features,
        "--quiet",
    ]
    subprocess.run(
        [*maturin, "--interpreter", sys.executable, "--out", wheels], cwd=example, check=True
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site]
    subprocess.run([*pip, *wheels.glob("*.whl")], check=True)
    return site


def run(example, name, site, report):
    """Runs the tests with one framework. Returns whether all is well."""
    if importlib.util.find_spec(name) is None:
        required = bool(os.environ.get("DLBRIDGE_REQUIRE_ALL"))
        print(f"test examples/{example.name}::{name} ... ignored, {name} isn't installed")
        return result(example, name, 0, int(required), int(not required))
    variables = {
        **os.environ,
        "FRAMEWORK": name,
        "PYTHONPATH": str(site),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore", f"--junitxml={report}"]
    pytest = [sys.executable, "-m", "pytest", *options, example / "tests"]
    done = subprocess.run(pytest, env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n")
    if not report.exists():
        return result(example, name, 0, 1, 0)
    suite = ElementTree.parse(report).getroot().find("testsuite")
    for case in suite.iter("testcase"):
        if (skipped := case.find("skipped")) is not None:
            reason = skipped.get("message")
            print(f"test examples/{example.name}, {name}: {case.get('name')} ... ignored, {reason}")
    counts = suite.attrib
    total, ignored = int(counts["tests"]), int(counts["skipped"])
    # Where the process ended badly, something failed, whatever was counted before.
    failed = max(int(counts["failures"]) + int(counts["errors"]), int(done.returncode != 0))
    return result(example, name, max(total - failed - ignored, 0), failed, ignored)


def result(example, name, passed, failed, ignored):
    word = "FAILED" if failed else "ok"
    counts = f"{passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out"
    print(f"test result: {word}. {counts} (examples/{example.name}, {name})", flush=True)
    return failed == 0


if __name__ == "__main__":
    sys.exit(main())
