"""Findings: crashes, wrong values, silent copies, and read-only memory that could be written."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .results import Result, Survey


class Group(NamedTuple):
    """Results that are the same but for the producers, element types and layouts."""

    subject: str
    reason: str
    results: list[Result]


class Kind(NamedTuple):
    title: str
    applies: Callable[[Result], bool]
    #: Whether it is told of each producer, or else of each consumer.
    is_of_producer: bool = False


KINDS = [
    Kind(
        "The process ends, or doesn't come to an end",
        lambda result: result.verdict.outcome in ("crashed", "timeout"),
    ),
    Kind(
        "Something else arrives",
        lambda result: result.verdict.outcome == "wrong" and not result.verdict.by_producer,
    ),
    Kind(
        "The producer itself calls it something else",
        lambda result: result.verdict.outcome == "wrong" and result.verdict.by_producer,
        is_of_producer=True,
    ),
    Kind(
        "Copied, without being asked or saying so",
        lambda result: result.route == "direct" and result.verdict.outcome == "copied",
    ),
    Kind(
        "Shared so that the consumer writes to what the producer holds to be read-only",
        lambda result: result.verdict.writes_readonly and not result.verdict.warned,
    ),
    Kind(
        "Shared read-only: a warning says that writing through the result is forbidden",
        lambda result: result.verdict.warned and result.verdict.outcome == "shared",
    ),
]


def groups(survey: Survey, route: str, kind: Kind) -> list[Group]:
    found: dict[tuple[str, str], list[Result]] = {}
    for result in survey.results():
        if result.route == route and kind.applies(result):
            subject = result.producer if kind.is_of_producer else result.consumer
            found.setdefault((subject, _same(result)), []).append(result)
    ordered = sorted(
        found.items(), key=lambda item: (survey.names.index(item[0][0]), -len(item[1]))
    )
    return [Group(subject, reason, results) for (subject, reason), results in ordered]


def _same(result: Result) -> str:
    """A reason without what differs from one case to the next."""
    reason = result.verdict.reason or ""
    reason = re.sub(r"\[[-\d, ]*\]|\([-\d, ]+\)", "…", reason)
    return re.sub(r"0x[0-9a-f…]+|\b\d{5,}\b", "…", reason)


def in_words(survey: Survey, group: Group, is_of_producer: bool = False) -> str:
    """How often, with whom, of which types and in which layouts."""
    others = {result.consumer if is_of_producer else result.producer for result in group.results}
    dtypes = _ordered(result.dtype for result in group.results)
    layouts = _ordered(result.layout for result in group.results)
    return "; ".join(
        (
            f"{len(group.results)} cases",
            f"{'to' if is_of_producer else 'from'} {_some(sorted(others, key=survey.names.index), 12)}",
            _some(dtypes, 6, "types"),
            "all layouts" if len(layouts) == len(survey.layouts) else _some(layouts, 9),
        )
    )


def _ordered(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _some(names: list[str], most: int, what: str = "others") -> str:
    return (
        ", ".join(names)
        if len(names) <= most
        else f"{len(names)} {what}, as {', '.join(names[:3])}"
    )


class Change(NamedTuple):
    """Cases that have one outcome by the consumer's own import, and another one by way of
    dlbridge.
    """

    direct: str
    ours: str
    cases: int
    #: The most frequent reason of what it is by way of dlbridge.
    reason: str


def changes(survey: Survey) -> list[Change]:
    verdicts = {
        route: {
            (result.producer, result.consumer, result.dtype, result.layout): result
            for result in survey.results()
            if result.route == route
        }
        for route in ("direct", "dlbridge")
    }
    reasons: dict[tuple[str, str], collections.Counter[str]] = {}
    for case, direct in verdicts["direct"].items():
        ours = verdicts["dlbridge"].get(case)
        if ours and ours.verdict.outcome != direct.verdict.outcome:
            change = direct.verdict.outcome, ours.verdict.outcome
            reasons.setdefault(change, collections.Counter())[_same(ours)] += 1
    found = [
        Change(*change, counts.total(), counts.most_common(1)[0][0])
        for change, counts in reasons.items()
    ]
    return sorted(found, key=lambda change: -change.cases)
