"""Checks dlbridge with the one framework of an environment, in that environment.

    python check.py torch report.json "torch 2.3.0"
    python check.py paddle report.json "paddle 2.6.2" --in-only

Prints one line for each test, and writes what was seen: releases, ways, counts and times. Times are
reported, and no test depends on them.
"""

import importlib
import json
import platform
import sys
import traceback
import warnings

import dlbridge
import figures
import guards
import releases
from dlbridge._doctor import trial
from dlbridge._doctor.layouts import LAYOUTS

warnings.simplefilter("ignore")
PLAIN = ("float32", LAYOUTS["contiguous"])


class Check:
    def __init__(self, name, title, in_only=False):
        self.adapter = releases.adapter(name)
        self.ours = releases.adapter("dlbridge")
        self.name, self.title, self.in_only = name, title, in_only
        self.failed, self.passed = [], 0
        self.seen = {"in": {}, "out": {}}

    def run(self, title, test):
        try:
            test()
        except Exception as error:
            self.failed.append(title)
            print(f"test {self.title}: {title} ... FAILED", flush=True)
            traceback.print_exception(error)
        else:
            self.passed += 1
            print(f"test {self.title}: {title} ... ok", flush=True)

    def every_tensor(self, direction):
        """Sends each dtype in each layout one way; none may arrive with other values."""
        wrong = []
        ends = (self.adapter, self.ours) if direction == "in" else (self.ours, self.adapter)
        counts = self.seen[direction]
        for dtype in releases.DTYPES:
            for layout in LAYOUTS.values():
                verdict, _ = trial.attempt(*ends, "dlbridge", dtype, layout, lambda stage: None)
                counts[verdict.outcome] = counts.get(verdict.outcome, 0) + 1
                is_clear = verdict.outcome != "refused" or "BufferError" in verdict.reason
                if verdict.outcome in ("wrong", "crashed") or not is_clear:
                    wrong.append(f"{dtype} {layout.name}: {verdict.outcome}, {verdict.reason}")
                if direction == "out" and (unexplained := self.unexplained(dtype, layout, verdict)):
                    wrong.append(unexplained)
                if self.in_only and direction == "out":
                    if verdict.outcome not in ("refused", "absent"):
                        wrong.append(f"{dtype} {layout.name} is {verdict.outcome}")
                elif (dtype, layout) == PLAIN and verdict.outcome not in ("shared", "copied"):
                    wrong.append(f"the plain tensor is {verdict.outcome}: {verdict.reason}")
        assert not wrong, "\n".join(wrong)

    def unexplained(self, dtype, layout, verdict):
        """How `explain` differs from what `convert` did."""
        if verdict.outcome not in ("shared", "copied", "refused", "empty"):
            return None
        said = dlbridge.explain(self.ours.make(dtype, layout), self.name).outcome
        is_empty = verdict.outcome == "empty" and said in ("shared", "copied")
        if said == verdict.outcome or is_empty:
            return None
        where = f"{dtype} {layout.name}"
        return f"{where}: explained as {said}, and {verdict.outcome}: {verdict.reason}"

    def all(self):
        for direction in ("in", "out"):
            self.run(
                f"every dtype and layout {direction}",
                lambda direction=direction: self.every_tensor(direction),
            )
        for title, test in guards.tests(self.name, self.in_only):
            self.run(title, test)
        if not self.in_only:
            self.run("memory stays flat", lambda: figures.check_memory(self.name))
        report = {
            "framework": self.name,
            "release": release(self.adapter),
            "python": platform.python_version(),
            "passed": self.passed,
            "failed": self.failed,
            "counts": self.seen,
            **({} if self.in_only else figures.measure(self.name)),
        }
        return report


def release(adapter):
    package = importlib.import_module(adapter.module.partition(".")[0])
    if version := getattr(package, "__version__", None):
        return version
    return importlib.import_module("importlib.metadata").version(adapter.name.replace("_", "-"))


def main():
    name, path, title, *in_only = sys.argv[1:]
    if name == "torch":
        guards.load_extension()
    check = Check(name, title, bool(in_only))
    report = check.all()
    with open(path, "w") as file:
        json.dump(report, file)
    word = "FAILED" if check.failed else "ok"
    counts = f"{check.passed} passed; {len(check.failed)} failed; 0 ignored"
    print(f"test result: {word}. {counts}; 0 measured; 0 filtered out ({title})", flush=True)
    return bool(check.failed)


if __name__ == "__main__":
    sys.exit(main())
