"""Builds the extension, and runs each test file in a process of its own: some frameworks crash where another one is.

    python python/tests/run.py                           # all files
    python python/tests/run.py python/tests/test_jax.py  # these

The Python that runs this has pytest and the frameworks. With DLBRIDGE_REQUIRE_ALL=1, a framework that
isn't installed is a failure. What a file prints is shown if it fails; of the others, one line, and one
for each test that was skipped. Files called test_double_* run with a double of NVIDIA's driver, as the
loader looks for libraries only when a process starts.
"""

import argparse
import ast
import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import build_double
import build_extension

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
AT_ONCE = 2
NO_TESTS = 5  # pytest's status where none was run, as of a file that skips itself


class Outcome(NamedTuple):
    name: str
    passed: int
    failed: int
    ignored: list  # pairs of a test and the reason
    output: str

    def show(self):
        if self.failed:
            print(self.output)
        for test, reason in self.ignored:
            print(f"test {test} ... ignored, {reason}")
        word = "FAILED" if self.failed else "ok"
        counts = f"{self.passed} passed; {self.failed} failed; {len(self.ignored)} ignored"
        print(f"test result: {word}. {counts}; 0 measured; 0 filtered out ({self.name})", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("files", nargs="*", type=existing)
    arguments.add_argument("--time-limit", type=float, default=600, help="seconds for each file")
    arguments = arguments.parse_args()
    files = arguments.files or sorted(TESTS.rglob("test_*.py"))
    build_extension.build()  # Once, so that the processes find it built.
    on_double = build_double.environment() if any(map(is_for_double, files)) else {}
    runs = Runs(arguments.time_limit, on_double)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        reports = (Path(folder) / f"{number}.xml" for number in range(len(files)))
        futures = [pool.submit(runs.run, file, report) for file, report in zip(files, reports)]
        try:
            outcomes = [future.result() for future in shown(futures)]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runs.stop()
            raise
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def existing(name):
    """A file that was asked for, by its path or by its name in this folder."""
    for path in (Path(name), TESTS / name):
        if path.is_file():
            return path.resolve()
    raise argparse.ArgumentTypeError(f"there is no file {name}")


def is_for_double(file):
    return file.name.startswith("test_double_")


def shown(futures):
    for future in as_completed(futures):
        future.result().show()
        yield future


class Runs:
    """The processes that run, so that none stays behind."""

    def __init__(self, time_limit, on_double):
        self.time_limit = time_limit
        self.on_double = on_double
        self.running = set()
        self.lock = threading.Lock()

    def run(self, file, report):
        name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else str(file)
        options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, file]
        environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, **(self.on_double if is_for_double(file) else {})}
        # Not through a pipe, which a process that such a process started could hold open.
        with tempfile.TemporaryFile() as output:
            # In a group of its own, to be ended with all that it started.
            process = subprocess.Popen(
                command, env=environment, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            with self.lock:
                self.running.add(process)
            try:
                status, ending = process.wait(self.time_limit), ""
            except subprocess.TimeoutExpired:
                end(process)
                status, ending = process.wait(), f"{name} took more than {self.time_limit:g} seconds"
            with self.lock:
                self.running.discard(process)
            output.seek(0)
            text = output.read().decode(errors="replace")
        if status < 0 and not ending:
            ending = f"{name} was ended by {signal.Signals(-status).name}"
        return judge(name, status, report, f"{text}\n{ending}".rstrip())

    def stop(self):
        with self.lock:
            for process in self.running:
                end(process)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # Windows has no groups.
        process.kill()
    except ProcessLookupError:
        pass


def judge(name, status, report, output):
    """What became of a file, from its process's status and its report, if it came to write one."""
    passed, failed, ignored = set(), set(), {}
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        test, skipped = case.get("name"), case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(test)  # Perhaps again: once for the test, once for what cleans up after it.
        elif skipped is not None:
            ignored[f"{name}::{test}"] = skipped.get("message", "")
            if skipped.get("message") == "collection skipped":
                # Of the whole file; what is said of it is a tuple with the reason as its last part.
                ignored = {name: ast.literal_eval(skipped.text)[-1].removeprefix("Skipped: ")}
        else:
            passed.add(test)
    is_well = status == 0 or (status == NO_TESTS and ignored)
    # Where the process ended badly, something failed, whatever the report says.
    failures = max(len(failed), int(not is_well))
    reasons = [(test, " ".join(reason.split())) for test, reason in ignored.items()]
    return Outcome(name, len(passed - failed), failures, reasons, output)


if __name__ == "__main__":
    sys.exit(main())
