"""Counts of passed, failed and ignored tests for each file, from pytest's report, printed in
Cargo's format.
"""

import ast
import dataclasses
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Outcome:
    """The counts of one file; or a heading for all files of a process, with what the process
    printed.
    """

    name: str
    passed: int = 0
    failed: int = 0
    ignored: list = dataclasses.field(default_factory=list)  # pairs of a test and the reason
    output: str = ""
    seconds: float = 0
    is_heading: bool = False
    has_crashed: bool = False

    def show(self, with_output=False):
        if self.output and (self.failed or with_output):
            print(self.output)
        if self.is_heading:
            print(f"{self.name}: {self.seconds:.0f} s", flush=True)
            return
        for test, reason in self.ignored:
            print(f"test {test} ... ignored, {reason}")
        word = "FAILED" if self.failed else "ok"
        counts = f"{self.passed} passed; {self.failed} failed; {len(self.ignored)} ignored"
        print(
            f"test result: {word}. {counts}; 0 measured; 0 filtered out ({self.name})", flush=True
        )


def read_report(report, paths):
    """Reads the outcomes of test files of one folder, which is pytest's root, from its report.

    Returns nothing where there is no report. A file that the report doesn't name has failed.
    """
    if not report.exists():
        return []
    files = {path.stem: _File() for path in paths}
    for case in ElementTree.parse(report).iter("testcase"):
        # Of a file that can't be collected there is but one case, which has the file's name and no
        # class.
        files[(case.get("classname") or case.get("name")).partition(".")[0]].add(case)
    return [files[path.stem].outcome(name_of(path)) for path in paths]


def name_of(path):
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


class _File:
    def __init__(self):
        self.passed, self.failed, self.ignored, self.skipped = set(), set(), {}, None

    def add(self, case):
        # Two classes of a file may have tests of one name.
        test, skipped = f"{case.get('classname')}.{case.get('name')}", case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            self.failed.add(
                test
            )  # Perhaps again: once for the test, once for what cleans up after it.
        elif skipped is None:
            self.passed.add(test)
        elif skipped.get("message") == "collection skipped":
            # Of the whole file; what is said of it is a tuple with the reason as its last part.
            self.skipped = ast.literal_eval(skipped.text)[-1].removeprefix("Skipped: ")
        else:
            self.ignored[case.get("name")] = skipped.get("message", "")

    def outcome(self, name):
        ignored = {f"{name}::{test}": reason for test, reason in self.ignored.items()}
        if self.skipped is not None:
            ignored = {name: self.skipped}
        reasons = [(test, " ".join(reason.split())) for test, reason in ignored.items()]
        passed = len(self.passed - self.failed)
        failed = len(self.failed) or int(not passed and not reasons)
        return Outcome(name, passed, failed, reasons)
