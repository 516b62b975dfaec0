"""Results and their file format."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

#: What can become of a tensor, in the order in which it is shown.
OUTCOMES = {
    "shared": "the memory is the same: what is written on one side is seen on the other",
    "copied": "the values arrive in memory of their own",
    "empty": "it is accepted, and has no elements that could be shared",
    "refused": "there is an exception",
    "wrong": "other values, another type or another shape arrive, or a promise is broken",
    "crashed": "the process ends",
    "timeout": "it doesn't come to an end",
    "absent": "the producer has no such tensor",
}
BAD = ("wrong", "crashed", "timeout")


@dataclasses.dataclass
class Verdict:
    outcome: str
    reason: str | None = None
    #: Whether both sides name the same address.
    same_pointer: bool | None = None
    #: Whether the producer sees what the consumer writes in its own way.
    writes_back: bool = False
    #: Whether the producer's own export is at fault, for every consumer.
    by_producer: bool = False
    #: Whether it may then write to what the producer holds to be read-only.
    writes_readonly: bool = False
    #: Whether a warning said that the memory is read-only, and writing through the result
    #: forbidden.
    warned: bool = False


@dataclasses.dataclass
class Result:
    producer: str
    consumer: str
    route: str
    dtype: str
    layout: str
    verdict: Verdict

    def to_json(self) -> dict[str, Any]:
        fields = dataclasses.asdict(self)
        verdict = fields.pop("verdict")
        return {**fields, **verdict}


@dataclasses.dataclass
class PairResult:
    """What became of a pair on one route."""

    producer: str
    consumer: str
    route: str
    results: list[Result] = dataclasses.field(default_factory=list)
    #: Why it was not tried, in part or at all.
    untried: str | None = None
    #: How the process ended when all was done, if that wasn't well.
    at_exit: str | None = None

    def counts(self) -> collections.Counter[str]:
        return collections.Counter(result.verdict.outcome for result in self.results)


@dataclasses.dataclass
class Survey:
    #: The version of each framework that took part.
    versions: dict[str, str]
    #: Why others that are here didn't.
    unusable: dict[str, str]
    routes: list[str]
    layouts: list[str]
    #: The machine and its Python.
    platform: str
    pairs: list[PairResult] = dataclasses.field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return list(self.versions)

    def results(self) -> list[Result]:
        return [result for pair in self.pairs for result in pair.results]

    def pair(self, producer: str, consumer: str, route: str) -> PairResult | None:
        wanted = (producer, consumer, route)
        return next(
            (pair for pair in self.pairs if (pair.producer, pair.consumer, pair.route) == wanted),
            None,
        )

    def is_well(self) -> bool:
        """Whether nothing crashed and nothing was wrong on dlbridge's own route."""
        ours = [pair for pair in self.pairs if pair.route == "dlbridge"]
        verdicts = [result.verdict for pair in ours for result in pair.results]
        is_bad = any(verdict.outcome in BAD and not verdict.by_producer for verdict in verdicts)
        return not is_bad and not any(pair.at_exit for pair in ours)

    def to_json(self) -> dict[str, Any]:
        return {
            "versions": self.versions,
            "unusable": self.unusable,
            "platform": self.platform,
            "routes": self.routes,
            "layouts": self.layouts,
            "outcomes": OUTCOMES,
            "pairs": [
                {
                    "producer": pair.producer,
                    "consumer": pair.consumer,
                    "route": pair.route,
                    "counts": dict(pair.counts()),
                    "untried": pair.untried,
                    "at_exit": pair.at_exit,
                }
                for pair in self.pairs
            ],
            "results": [result.to_json() for result in self.results()],
        }
