"""Runs the Python tests, the files that need the same framework in one process.

    python python/tests/run.py                           # all but the long emulations
    python python/tests/run.py python/tests/test_jax.py  # these
    python python/tests/run.py --list                    # which files share a process

The Python that runs this has pytest and the frameworks. With DLBRIDGE_REQUIRE_ALL=1, a framework
that isn't installed is a failure. `groups.py` tells which files share a process. If such a process
crashes, each of its files runs again alone, so that the output names the one that fails. The output
of a process is shown if a test in it fails.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import build_double
import build_extension
import groups
from outcomes import ROOT, Outcome, name_of, read_report

TESTS = Path(__file__).resolve().parent
AT_ONCE = 3  # Some wait for processes that they started, or for a clock.
NO_TESTS = 5  # pytest's status where none ran, as of files that skip themselves


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("files", nargs="*", type=existing)
    arguments.add_argument(
        "--time-limit", type=float, default=3600, help="seconds for each process"
    )
    arguments.add_argument("--list", action="store_true", help="print the groups, and run nothing")
    arguments.add_argument(
        "--durations", type=int, default=0, help="print the slowest tests of each process"
    )
    arguments = arguments.parse_args()
    work = groups.split(arguments.files or groups.usual_files())
    if arguments.list:
        for group in work:
            print(group.name, *(f"    {name_of(file)}" for file in group.files), sep="\n")
        return 0
    build_extension.build()  # Once, so that the processes find it built.
    on_double = build_double.environment() if any(group.is_for_double for group in work) else {}
    runs = Runs(arguments.time_limit, arguments.durations, on_double)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(runs.run, group) for group in work]
        try:
            is_well = [
                shown(future.result(), arguments.durations) for future in as_completed(futures)
            ]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runs.stop()
            raise
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"the processes used {used.ru_utime + used.ru_stime:.0f} s of CPU time")
    return 0 if all(is_well) else 1


def existing(name):
    """A file that was requested, by its path or by its name in this folder."""
    for path in (Path(name), TESTS / name):
        if path.is_file():
            return path.resolve()
    raise argparse.ArgumentTypeError(f"there is no file {name}")


def shown(outcomes, with_output):
    """Prints what became of a group's files. Returns whether all is well."""
    for outcome in outcomes:
        outcome.show(with_output)
    return not any(outcome.failed for outcome in outcomes)


class Runs:
    """The processes that run, so that none stays behind."""

    def __init__(self, time_limit, durations, on_double):
        self.time_limit = time_limit
        self.durations = durations
        self.on_double = on_double
        self.running = set()
        self.lock = threading.Lock()

    def run(self, group):
        """Runs a group's files in one process, and each alone if that process doesn't end by
        itself.
        """
        outcomes = self.run_once(group)
        if len(group.files) > 1 and outcomes[0].has_crashed:
            outcomes += [outcome for part in group.parts() for outcome in self.run_once(part)]
        return outcomes

    def run_once(self, group):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            status, ending, output = self.process(group, report)
            files = read_report(report, group.files)
        seconds = time.monotonic() - began
        if ending or not files:
            ending = f"{group.name}: {ending or f'status {status}, and no report'}"
            return [
                Outcome(
                    group.name,
                    failed=1,
                    output=f"{output}\n{ending}",
                    seconds=seconds,
                    has_crashed=True,
                )
            ]
        outcomes = [
            Outcome(
                group.name,
                failed=sum(file.failed for file in files),
                output=output,
                seconds=seconds,
            )
        ]
        outcomes[0].is_heading = True
        if status not in (0, NO_TESTS) and not outcomes[0].failed:
            outcomes.append(Outcome(f"{group.name}, status {status}", failed=1))
        return outcomes + files

    def process(self, group, report):
        """Runs pytest. Returns its status, how it ended if not by itself, and its output."""
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "--continue-on-collection-errors",
            "--rootdir",
            group.files[0].parent,
        ]
        options += [f"--junitxml={report}"]
        if self.durations:
            options += [f"--durations={self.durations}", "--durations-min=0.5"]
        command = [sys.executable, "-m", "pytest", *options, *group.files]
        environment = {
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **os.environ,
            **(self.on_double if group.is_for_double else {}),
        }
        # Not through a pipe, which a process that such a process started could hold open.
        with tempfile.TemporaryFile() as output:
            # In a process group of its own, to be ended with all that it started.
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            with self.lock:
                self.running.add(process)
            try:
                status, ending = process.wait(self.time_limit), ""
            except subprocess.TimeoutExpired:
                end(process)
                status, ending = process.wait(), f"took more than {self.time_limit:g} seconds"
            with self.lock:
                self.running.discard(process)
            output.seek(0)
            text = output.read().decode(errors="replace")
        if status < 0 and not ending:
            ending = f"ended by {signal.Signals(-status).name}"
        return status, ending, text

    def stop(self):
        with self.lock:
            for process in self.running:
                end(process)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # Windows has no process groups.
        process.kill()
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    sys.exit(main())
