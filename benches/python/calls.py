"""Measures calls from Python into extensions: ours and its peers. Prints markdown.

Usage: python calls.py [--peers FOLDER] [--rounds N] [--only GROUP]

build.py builds what is measured. Each group of frameworks has a process of its own, since not all
can be in one; the lines of one table were always timed in one process, in turns. Every result is
checked before it is timed. The last column is the time as a multiple of the first line's; only
that says something, since the nanoseconds are this machine's.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import tables
from contestants import Contestants
from frameworks import framework

DEFAULT = Path(__file__).resolve().parent.parent.parent / "target" / "peers"
GROUPS = {
    "main": ["torch", "numpy"],
    "jax": ["jax"],
    "tensorflow": ["tensorflow"],
    "mlx": ["mlx"],
    "paddle": ["paddle"],
}
PACKAGES = ("numpy torch jax tensorflow mlx paddlepaddle apache-tvm-ffi nanobind ml_dtypes").split()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, default=DEFAULT, help="what build.py filled")
    parser.add_argument("--rounds", type=int, default=31, help="at least 11")
    parser.add_argument("--only", choices=GROUPS, help="measure one group, in this process")
    given = parser.parse_args()
    if given.rounds < 11:
        parser.error("fewer than 11 rounds say little")
    return given


def print_versions(folder):
    print(f"Python {platform.python_version()}, {platform.machine()}, {processor()}, ", end="")
    print(f"{os.cpu_count()} cores\n")
    for package in PACKAGES:
        try:
            print(f"- {package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"- {package}: not installed")
    stamps = folder / "built.json"
    built = json.loads(stamps.read_text()) if stamps.exists() else {}
    for name, versions in built.items():
        print(f"- {name} built with {', '.join(f'{k} {v}' for k, v in versions.items())}")
    print(flush=True)


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def measure_group(group, given):
    frameworks = []
    for name in GROUPS[group]:
        try:
            frameworks.append(framework(name))
        except ImportError as error:
            print(f"\nNot measured: {name} ({error})")
    if not frameworks:
        return
    contestants = Contestants(given.peers)
    for name, reason in contestants.missing.items():
        print(f"\nNot measured: {name} ({reason})")
    for one in frameworks:
        tables.calls(one, contestants, given.rounds)
        tables.imports(one, contestants, given.rounds)
    if group == "main":
        tables.conversions([one.name for one in frameworks], given.rounds)
        for one in frameworks:
            tables.strided(one, contestants, given.rounds)
            tables.ranks(one, contestants, given.rounds)
            tables.many(one, contestants, given.rounds)
            tables.fresh(one, contestants, given.rounds)
            tables.ops(one, given.rounds)


def measure_all(given):
    """One process for each group. Returns which ended badly."""
    print_versions(given.peers)
    failed = []
    for group in GROUPS:
        command = [sys.executable, __file__, "--only", group, "--rounds", str(given.rounds)]
        ended = subprocess.run([*command, "--peers", given.peers])
        if ended.returncode != 0:
            failed.append(f"{group} ended with {ended.returncode}")
    return failed


def main():
    given = arguments()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    given.peers = given.peers.resolve()
    if given.only:
        measure_group(given.only, given)
        return None
    failed = measure_all(given)
    return "; ".join(failed) or None


if __name__ == "__main__":
    sys.exit(main())
