"""Results as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from .results import BAD, OUTCOMES, PairResult, Survey

#: What is shown of an outcome where there is little room.
WORDS = {"absent": "-", "crashed": "CRASHED", "wrong": "WRONG", "timeout": "TIMEOUT"}
KEY = "shared/copied/refused, of tensors with elements, and !n where n are wrong or end the process"


def cell(pair: PairResult | None) -> str:
    """The counts of a pair in few letters."""
    if pair is None:
        return ""
    counts = pair.counts()
    bad = sum(counts[outcome] for outcome in BAD)
    if not pair.results:
        return "untried" if pair.untried else "-"
    flags = (f" !{bad}" if bad else "") + (" at exit!" if pair.at_exit else "")
    return f"{counts['shared']}/{counts['copied']}/{counts['refused']}{flags}"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows whose cells are as wide as the widest in their column."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows
    )
    return "\n".join(lines)


def matrix(survey: Survey, route: str) -> list[list[str]]:
    """One row for each producer, one column for each consumer."""
    rows = [["", *survey.names]]
    for producer in survey.names:
        rows.append(
            [producer, *(cell(survey.pair(producer, consumer, route)) for consumer in survey.names)]
        )
    return rows


def totals(survey: Survey, route: str) -> str:
    counts = {outcome: 0 for outcome in OUTCOMES if outcome != "absent"}
    for result in survey.results():
        if result.route == route and result.verdict.outcome in counts:
            counts[result.verdict.outcome] += 1
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def overview(survey: Survey) -> str:
    """All pairs, for each route."""
    parts = [", ".join(f"{name} {version}".strip() for name, version in survey.versions.items())]
    parts += [f"{name} can't be used: {why}" for name, why in survey.unusable.items()]
    for route in survey.routes:
        parts += [
            "",
            f"{route}: {route_title(route)}",
            columns(matrix(survey, route)),
            totals(survey, route),
        ]
    return "\n".join([*parts, "", f"rows give, columns take; {KEY}"])


def route_title(route: str) -> str:
    return {"dlbridge": "by dlbridge.convert", "direct": "by the consumer's own import"}[route]


def details(pair: PairResult, layouts: Sequence[str]) -> str:
    """What became of each element type in each layout, and why."""
    title = f"{pair.producer} to {pair.consumer}, {route_title(pair.route)}"
    if not pair.results:
        return f"{title}: {pair.untried or 'no tensors'}"
    reasons: dict[str, int] = {}
    rows: dict[str, dict[str, str]] = {}
    for result in pair.results:
        outcome, reason = result.verdict.outcome, result.verdict.reason
        word = WORDS.get(outcome, outcome)
        if reason and outcome != "absent":
            word += f" {reasons.setdefault(reason, len(reasons) + 1)}"
        elif result.verdict.warned:
            word += " +"
        elif result.verdict.writes_readonly:
            word += " *"
        rows.setdefault(result.dtype, {})[result.layout] = word
    shown = {dtype: row for dtype, row in rows.items() if set(row.values()) != {"-"}}
    table = [
        ["", *layouts],
        *([dtype, *(row.get(layout, "") for layout in layouts)] for dtype, row in shown.items()),
    ]
    notes = [f"{number}: {reason}" for reason, number in reasons.items()]
    if any(result.verdict.warned for result in pair.results):
        notes.append(
            f"+: it is read-only, and a warning says that {pair.consumer} must not write to it"
        )
    if any(result.verdict.writes_readonly and not result.verdict.warned for result in pair.results):
        notes.append(
            f"*: {pair.consumer} writes to it, and {pair.producer} holds it to be read-only"
        )
    if len(shown) < len(rows):
        notes.append(
            f"{pair.producer} has no {', '.join(dtype for dtype in rows if dtype not in shown)}"
        )
    if pair.untried:
        notes.append(f"the rest is untried: {pair.untried}")
    if pair.at_exit:
        notes.append(f"when all is done, the process ends badly: {pair.at_exit}")
    return "\n".join([title, columns(table), *notes])
