"""Runs all that needs a GPU, and writes a report in markdown, and beside it, in log.txt, how each
step's output ended.

    python run.py [--report FILE] [--wheels FOLDER] [--examples FOLDER] [--only WHAT,WHAT] [--deadline S] [--limit S]

What it does can be shared among several calls, each of which adds to the report: `--only tests`,
`examples`, `figures`, `sanitizers`, or a step by its name in the report, as `--only
test_graphs.py,figures`. Each step is a process of its own; one that crashes, or takes too long, is
reported as such, and the others go on. What there is no time for before the deadline is said not to
have been run.

Wheels, where they are given, are installed into a temporary folder, and nowhere else.
"""

import argparse
import datetime
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import outcomes
from outcomes import Outcome
from processes import attempt

HERE = Path(__file__).resolve().parent
KINDS = ("tests", "examples", "figures", "sanitizers")
LIMITS = {"tests": 150, "examples": 60, "figures": 150, "sanitizers": 240}
# It compiles some hundred kernels when they are called for the first time.
LONG = {"test_ops.py": 300}
LEAST = 5  # seconds, which must be left for a step to begin.
TAIL, TAIL_OF_FAILED = 3_000, 30_000  # characters of a step's output in the log.


class Step(NamedTuple):
    name: str
    kind: str
    command: list
    environment: dict | tuple = ()
    why_not: str = ""  # Why it can't be run.

    @property
    def limit(self):
        return LONG.get(self.name, LIMITS[self.kind])


def main():
    given = arguments()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(given, Path(folder), begin)
        if not runner.prepare():
            return 1
        for step in steps(given):
            if not given.only or {step.kind, step.name} & set(given.only):
                runner.run(step)
    return runner.conclude()


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--report", type=Path, default=Path("gpu-report.md"))
    parser.add_argument("--wheels", type=Path)
    parser.add_argument(
        "--examples", type=Path, default=HERE.parents[1] / "examples" / "cuda_interop"
    )
    parser.add_argument(
        "--only", type=lambda names: names.split(","), default=[], help="kinds or names of steps"
    )
    parser.add_argument("--deadline", type=float, default=570, help="seconds for all of it")
    parser.add_argument(
        "--limit", type=float, default=float("inf"), help="the most seconds for a step"
    )
    given = parser.parse_args()
    known = [*KINDS, *(step.name for step in steps(given))]
    for name in given.only:
        if name not in known:
            parser.error(f"there is no {name}; there are {', '.join(known)}")
    return given


def steps(given):
    """All steps, in order: what tells most in the least time comes first."""
    python = sys.executable
    files = sorted(HERE.glob("test_*.py"), key=lambda file: (file.name in LONG, file.name))
    for file in files:
        options = [
            "-v",
            "--tb=short",
            "-rfE",
            "--maxfail=50",
            "--durations=5",
            "-p",
            "no:cacheprovider",
        ]
        yield Step(file.name, "tests", [python, "-m", "pytest", *options, str(file)])
    for file in sorted(given.examples.resolve().glob("*.py")):
        yield Step(f"examples/{file.name}", "examples", [python, str(file)])
    yield Step("figures.py", "figures", [python, str(HERE / "figures.py")])
    tool = sanitizer()
    why_not = "" if tool else "compute-sanitizer isn't installed"
    # The end of a kernel's parameters is found by an error of the driver's, which isn't one of
    # ours.
    for check, options in {"memcheck": ["--report-api-errors", "no"], "racecheck": []}.items():
        command = [
            tool,
            "--tool",
            check,
            *options,
            "--error-exitcode",
            "1",
            python,
            str(HERE / "sanitized.py"),
        ]
        # Our own kernels are to be watched, also those that multiply matrices.
        yield Step(
            f"compute-sanitizer {check}",
            "sanitizers",
            command,
            {"DLBRIDGE_CUBLASLT": "none"},
            why_not,
        )


def sanitizer():
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders = [os.environ.get("PATH", ""), *(str(Path(root) / "bin") for root in roots if root)]
    return shutil.which("compute-sanitizer", path=os.pathsep.join(folders))


class Runner:
    """Runs steps one after another, and writes what became of each at once, as the next one may be
    the last.
    """

    def __init__(self, given, folder, begin):
        self.given = given
        self.folder = folder
        self.end = begin + given.deadline
        self.report = given.report.resolve()
        self.log = self.report.parent / "log.txt"
        self.report.parent.mkdir(parents=True, exist_ok=True)
        self.counts = {"ok": 0, "FAILED": 0, "not run": 0}
        self.is_complete = True
        # JAX would take most of the GPU's memory, and leave too little for the others.
        self.environment = dict(
            os.environ,
            PYTHONUNBUFFERED="1",
            PYTHONFAULTHANDLER="1",
            XLA_PYTHON_CLIENT_PREALLOCATE="false",
        )

    def add(self, text):
        with self.report.open("a") as file:
            file.write(text + "\n")
        print(text, flush=True)

    def prepare(self):
        """Installs the package, and says what machine this is."""
        commit = HERE / "COMMIT"
        of = f", commit {commit.read_text().strip()}" if commit.exists() else ""
        self.add(f"\n## {datetime.datetime.now():%Y-%m-%d %H:%M}{of}\n")
        if self.given.wheels:
            site = self.folder / "site"
            wheels = [str(wheel) for wheel in sorted(self.given.wheels.resolve().glob("*.whl"))]
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--no-index",
                "--no-deps",
                "--target",
                str(site),
            ]
            installed = self.attempt([*pip, *wheels], 120)
            if not installed.is_well:
                self.record(
                    "the wheels' installation", installed, Outcome(False, f"it {installed.how()}")
                )
                self.add(f"\n```\n{installed.complained.strip()[-3000:]}\n```")
                return False
            path = [str(site), self.environment.get("PYTHONPATH", "")]
            self.environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        about = self.attempt([sys.executable, str(HERE / "about.py")], 60)
        self.add(f"{about.last_line()}\n")
        return True

    def attempt(self, command, limit, environment=()):
        left = max(self.end - time.monotonic(), LEAST)
        return attempt(
            command, {**self.environment, **dict(environment)}, min(limit, self.given.limit, left)
        )

    def run(self, step):
        if step.why_not:
            return self.leave_out(step, step.why_not)
        if self.end - time.monotonic() < LEAST:
            self.is_complete = False
            return self.leave_out(step, f"the {self.given.deadline:g} s for all were over")
        xml = self.folder / f"{step.name}.xml"
        command = [*step.command, f"--junitxml={xml}"] if step.kind == "tests" else step.command
        ended = self.attempt(command, step.limit, step.environment)
        of = {
            "tests": lambda: outcomes.of_tests(ended, xml),
            "examples": lambda: outcomes.of_program(ended),
            "figures": lambda: outcomes.of_figures(ended),
            "sanitizers": lambda: outcomes.of_sanitizer(ended),
        }
        outcome = of[step.kind]()
        if ended.is_late and time.monotonic() >= self.end:
            outcome = outcome._replace(
                details=[*outcome.details, f"the {self.given.deadline:g} s for all were over"]
            )
        self.record(step.name, ended, outcome)

    def record(self, name, ended, outcome):
        word = "ok" if outcome.is_well else "FAILED"
        self.counts[word] += 1
        self.add(f"- {name}: {word}, {outcome.line} ({ended.seconds:.0f} s)")
        for line in outcome.details:
            self.add(f"  - {line}")
        if outcome.text:
            self.add(f"\n{outcome.text}\n")
        tail = TAIL if outcome.is_well else TAIL_OF_FAILED
        with self.log.open("a") as log:
            log.write(
                f"== {name}: {word}, {ended.how()}\n{ended.said[-tail:]}\n{ended.complained[-tail:]}\n"
            )

    def leave_out(self, step, why):
        self.counts["not run"] += 1
        self.add(f"- {step.name}: not run, as {why}")

    def conclude(self):
        self.add(f"\nSteps: {', '.join(f'{count} {word}' for word, count in self.counts.items())}.")
        return 0 if self.is_complete and not self.counts["FAILED"] else 1


if __name__ == "__main__":
    sys.exit(main())
