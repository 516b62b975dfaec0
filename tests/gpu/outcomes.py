"""Outcomes of steps, from the exit status and from pytest's report."""

import re
from collections import Counter
from typing import NamedTuple
from xml.etree import ElementTree

MOST_FAILURES = 20  # are named in the report; the log has more of them.
BEGUN = re.compile(r"\S+\.py::")
RESULT = re.compile(r"(\S+\.py::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: .*")


class Outcome(NamedTuple):
    is_well: bool
    line: str
    details: list[str] | tuple = ()
    text: str = ""  # Markdown for the report.


def of_program(ended):
    if ended.is_well:
        return Outcome(True, ended.last_line())
    return Outcome(False, f"it {ended.how()}", last_complaints(ended))


def of_figures(ended):
    """What it printed is for the report, also when parts of it failed."""
    line = "the figures are below" if ended.is_well else f"it {ended.how()}"
    return Outcome(
        ended.is_well, line, () if ended.is_well else last_complaints(ended), ended.said.strip()
    )


def of_sanitizer(ended):
    summaries = SUMMARY.findall(ended.said + ended.complained)
    if not ended.is_well:
        return Outcome(False, f"it {ended.how()}: {(summaries or [ended.last_line()])[-1]}")
    if not summaries:
        return Outcome(False, "it gave no summary, so perhaps nothing was watched")
    return Outcome("every op ran" in ended.said, summaries[-1])


def of_tests(ended, xml):
    """What became of a file of tests. Without pytest's own report its process ended badly, and
    something is known of the tests that had been run by then."""
    try:
        cases = list(ElementTree.parse(xml).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return of_unfinished(ended)
    passed, failed, skipped = set(), {}, {}
    for case in cases:
        name = case.get("name")
        wrong = [found for kind in ("failure", "error") if (found := case.find(kind)) is not None]
        if wrong:  # Perhaps twice: for the test, and for what cleans up after it.
            failed.setdefault(name, wrong[0].get("message") or wrong[0].text or "")
        elif (reason := case.find("skipped")) is not None:
            skipped[name] = reason.get("message") or reason.text or ""
        else:
            passed.add(name)
    passed -= failed.keys()
    line = f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped"
    details = [
        f"{name}: {short(message)}" for name, message in list(failed.items())[:MOST_FAILURES]
    ]
    if len(failed) > MOST_FAILURES:
        details.append(f"and {len(failed) - MOST_FAILURES} more")
    reasons = Counter(short(reason) for reason in skipped.values())
    details += [f"{count} skipped: {reason}" for reason, count in reasons.items()]
    if not ended.is_well and not failed:
        line += f", and it {ended.how()}"
    if not passed and not failed:
        line += ", so nothing was tested"
    return Outcome(ended.is_well and bool(passed), line, details)


def of_unfinished(ended):
    lines = [line for line in ended.said.splitlines() if BEGUN.match(line)]
    results = [found for line in lines if (found := RESULT.match(line))]
    counts = Counter(found[2] for found in results)
    line = f"it {ended.how()}; until then {counts['PASSED']} passed, {counts['FAILED'] + counts['ERROR']} failed"
    details = [f"{found[1]}: {found[2]}" for found in results if found[2] in ("FAILED", "ERROR")][
        :MOST_FAILURES
    ]
    if not lines:
        details.append(f"no test had begun: {short(ended.last_line())}")
    elif RESULT.match(lines[-1]):
        details.append(f"the last one that ended was {results[-1][1]}")
    else:
        details.append(f"it was in {lines[-1].strip()}")
    return Outcome(False, line, details)


def last_complaints(ended):
    return [short(line) for line in ended.complained.splitlines() if line.strip()][-3:]


def short(message):
    message = " ".join(message.split())
    return message if len(message) <= 300 else f"{message[:300]} ..."
