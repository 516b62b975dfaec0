"""Results as one self-contained HTML page."""

from __future__ import annotations

import importlib.resources
import json
import string
from html import escape
from typing import Any

from . import table
from .results import BAD, OUTCOMES, PairResult, Survey

#: What is in a cell's bar, in its order.
_BAR = ("shared", "copied", "empty", "refused", *BAD)


def page(survey: Survey) -> str:
    template = (
        importlib.resources.files(__package__ or "")
        .joinpath("page.html")
        .read_text(encoding="utf-8")
    )
    return string.Template(template).substitute(
        versions=escape(
            ", ".join(f"{name} {version}".strip() for name, version in survey.versions.items())
        ),
        platform=escape(survey.platform),
        unusable="".join(
            f"<p>{escape(name)} can't be used: {escape(why)}</p>"
            for name, why in survey.unusable.items()
        ),
        key="".join(
            f'<span title="{escape(meaning)}"><i class="{outcome}"></i>{outcome}</span>'
            for outcome, meaning in OUTCOMES.items()
            if outcome != "absent"
        ),
        matrices="".join(_matrix(survey, route) for route in survey.routes),
        # Nothing in it may end the element that it is in.
        data=json.dumps(_data(survey), separators=(",", ":")).replace("<", "\\u003c"),
    )


def _matrix(survey: Survey, route: str) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in survey.names)
    rows = "".join(
        f'<tr><th scope="row">{escape(producer)}</th>'
        + "".join(
            f"<td>{_cell(survey.pair(producer, consumer, route))}</td>" for consumer in survey.names
        )
        + "</tr>"
        for producer in survey.names
    )
    title = f"{escape(route)}: {escape(table.route_title(route))}"
    totals = escape(table.totals(survey, route))
    corner = "<th>from \\ to</th>"
    return f"<section><h2>{title}</h2><table><tr>{corner}{head}</tr>{rows}</table><p>{totals}</p></section>"


def _cell(pair: PairResult | None) -> str:
    if pair is None:
        return ""
    text, _, alarm = table.cell(pair).partition(" ")
    counts = pair.counts()
    bar = "".join(
        f'<i class="{outcome}" style="flex:{counts[outcome]}"></i>'
        for outcome in _BAR
        if counts[outcome]
    )
    name = escape(f"{pair.producer} {pair.consumer}")
    alarm = f' <span class="alarm">{escape(alarm)}</span>' if alarm else ""
    kind = "" if pair.results else ' class="none"'
    return (
        f'<button type="button" aria-pressed="false" data-pair="{name}"{kind}>{escape(text)}{alarm}'
        f'<span class="bar">{bar}</span></button>'
    )


def _data(survey: Survey) -> dict[str, Any]:
    """What is behind the cells; each reason is there once."""
    reasons: dict[str, int] = {}
    pairs = {}
    for pair in survey.pairs:
        cells: dict[str, dict[str, list[str | int | None]]] = {}
        for result in pair.results:
            verdict = result.verdict
            reason = verdict.reason
            if reason is not None:
                pass
            elif verdict.warned:
                reason = (
                    "it is read-only, and a warning says that the consumer must not write to it"
                )
            elif verdict.writes_readonly:
                reason = "the consumer writes to it, and the producer holds it to be read-only"
            number = None if reason is None else reasons.setdefault(reason, len(reasons))
            cells.setdefault(result.dtype, {})[result.layout] = [verdict.outcome, number]
        there = {
            kind: row
            for kind, row in cells.items()
            if any(cell[0] != "absent" for cell in row.values())
        }
        key = f"{pair.producer} {pair.consumer} {pair.route}"
        pairs[key] = {"untried": pair.untried, "at_exit": pair.at_exit, "cells": there}
    titles = {route: table.route_title(route) for route in survey.routes}
    return {
        "routes": survey.routes,
        "titles": titles,
        "layouts": survey.layouts,
        "reasons": list(reasons),
        "pairs": pairs,
    }
