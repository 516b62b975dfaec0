"""Runs all that needs a GPU, and writes a report in markdown.

    python run.py [--report FILE] [--wheels FOLDER] [--examples FOLDER] [--quick]

Wheels, where they are given, are installed into a folder beside the report, and nowhere else.
"""

import argparse
import datetime
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--report", type=Path, default=Path("gpu-report.md"))
    arguments.add_argument("--wheels", type=Path)
    arguments.add_argument("--examples", type=Path, default=HERE.parents[1] / "examples" / "cuda_interop")
    arguments.add_argument("--quick", action="store_true", help="without figures and sanitizers")
    given = arguments.parse_args()
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    with tempfile.TemporaryDirectory() as site:
        if given.wheels:
            install(given.wheels, site)
            environment["PYTHONPATH"] = os.pathsep.join([site, environment.get("PYTHONPATH", "")])
        report = Report(given.report)
        failures = run_all(report, environment, given)
    print(given.report.read_text())
    return 1 if failures else 0


class Report:
    def __init__(self, path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def add(self, text):
        with self.path.open("a") as file:
            file.write(text + "\n")


def install(wheels, site):
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", site]
    subprocess.run([*pip, *sorted(wheels.glob("*.whl"))], check=True)


def run_all(report, environment, given):
    report.add(f"## {datetime.date.today()}, {about(environment)}\n")
    commit = HERE / "COMMIT"
    if commit.exists():
        report.add(f"Commit {commit.read_text().strip()}.\n")
    failures = 0
    report.add("| tests | result |\n|---|---|")
    for file in sorted(HERE.glob("test_*.py")):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x" if given.quick else "-q", str(file)]
        failures += run(report, environment, file.name, command, timeout=240)
    for example in sorted(given.examples.glob("*.py")):
        failures += run(report, environment, f"examples/cuda_interop/{example.name}", [sys.executable, str(example)], 60)
    if not given.quick:
        failures += sanitized(report, environment)
        report.add("")
        done = attempt([sys.executable, str(HERE / "figures.py")], environment, 240)
        report.add(done.stdout if done.returncode == 0 else f"The figures failed:\n\n{block(done)}")
        failures += done.returncode != 0
    return failures


def about(environment):
    code = (
        "import torch, dlbridge; p = dlbridge.cuda.properties();"
        "print(f'{p.name}, driver {torch._C._cuda_getDriverVersion()}, torch {torch.__version__}')"
    )
    done = attempt([sys.executable, "-c", code], environment, 120)
    where = done.stdout.strip() if done.returncode == 0 else "no GPU was seen: " + (done.stderr.strip().splitlines() or ["?"])[-1]
    return f"{where}, Python {platform.python_version()}"


def sanitized(report, environment):
    """The kernels under NVIDIA's tools, which find wrong accesses and races on the GPU."""
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        report.add("| compute-sanitizer | isn't installed |")
        return 0
    failures = 0
    for check in ("memcheck", "racecheck"):
        command = [tool, "--tool", check, "--error-exitcode", "1", sys.executable, str(HERE / "sanitized.py")]
        failures += run(report, environment, f"compute-sanitizer {check}", command, timeout=300)
    return failures


def run(report, environment, name, command, timeout):
    done = attempt(command, environment, timeout)
    lines = (done.stdout + done.stderr).strip().splitlines()
    said = next((line for line in reversed(lines) if "passed" in line or "failed" in line or "ERROR SUMMARY" in line), None)
    word = "ok" if done.returncode == 0 else f"FAILED ({done.returncode})"
    report.add(f"| {name} | {word}: {said or (lines or [''])[-1]} |")
    if done.returncode != 0:
        print(f"== {name}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}", flush=True)
    return int(done.returncode != 0)


def block(done):
    return f"```\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}\n```"


def attempt(command, environment, timeout):
    try:
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        text = lambda said: said.decode(errors="replace") if isinstance(said, bytes) else said or ""  # noqa: E731
        return subprocess.CompletedProcess(command, 124, text(late.stdout), text(late.stderr) + f"\nover {timeout} s")


if __name__ == "__main__":
    sys.exit(main())
