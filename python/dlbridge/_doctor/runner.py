"""Runs the pairs, each in a process of its own, and in another one where the first crashes.

With `shares_imports`, these are forks of processes that have imported all frameworks
(`nursery.py`). Whatever goes wrong in one of them is tried again in a process that imports the pair
alone, whose answer counts.
"""

from __future__ import annotations

import itertools
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from . import elements, frameworks
from .layouts import LAYOUTS
from .nursery import Nursery
from .process import Process, Running, status_name, without_paths
from .results import BAD, PairResult, Result, Survey, Verdict

#: A route, an element type and a layout.
Case = tuple[str, str, str]
Progress = Callable[[str], None]
ROUTES = ("dlbridge", "direct")
#: Said of a producer that ends the process before there is a tensor.
ENDS = "ends the process as it makes it"


class Limits(NamedTuple):
    """How many seconds a process may be silent."""

    #: While it imports the frameworks.
    start: float = 300
    #: For one step with a tensor.
    step: float = 60


class Runner:
    def __init__(
        self, adapters: dict[str, str], limits: Limits = Limits(), shares_imports: bool = False
    ) -> None:
        self._adapters, self._limits = adapters, limits
        self._shares_imports = shares_imports and sys.platform == "linux"
        #: By the framework that others can't be imported with, and the one of all pairs without
        #: such.
        self._nurseries: dict[str | None, Nursery] = {}
        self._running: set[Running] = set()
        self._lock = threading.Lock()
        self._is_stopped = False

    def survey(
        self,
        routes: Sequence[str] = ROUTES,
        dtypes: Iterable[str] = tuple(elements.BITS),
        layouts: Sequence[str] = tuple(LAYOUTS),
        only: tuple[str, str] | None = None,
        progress: Progress = lambda line: None,
    ) -> Survey:
        """Tries everything, between each two of the frameworks that can be used, or from one to
        another alone.
        """
        machine = f"Python {platform.python_version()}, {platform.system()}, {platform.machine()}"
        survey = Survey({}, {}, list(routes), list(layouts), machine)
        # Our own route first, so that what happens in it has no other cause.
        cases = list(itertools.product(sorted(routes, key=ROUTES.index), dtypes, layouts))
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            if self._shares_imports:
                self._start_nurseries()
            self._find_usable(survey, pool, progress)
            tasks = [(producer, consumer) for producer in survey.names for consumer in survey.names]
            tasks = [task for task in tasks if only in (None, task)]
            futures = [pool.submit(self._pair, *task, cases) for task in tasks]
            for number, future in enumerate(as_completed(futures), 1):
                for pair in future.result():
                    progress(f"[{number}/{len(tasks)}] {_line(pair)}")
            survey.pairs = [pair for future in futures for pair in future.result()]
        except BaseException:
            self._stop()
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            for nursery in self._nurseries.values():
                nursery.close()
            self._nurseries.clear()
        pool.shutdown()
        return survey

    def _start_nurseries(self) -> None:
        """Imports the frameworks: in one process, and in forks of it those that another can't be
        with.
        """
        enemies = [
            name for name in self._adapters if any(name in pair for pair in frameworks.ENEMIES)
        ]
        paths = [path for name, path in self._adapters.items() if name not in enemies]
        paths = [path for path in paths if frameworks.adapter_class(path).may_fork]
        if nursery := Nursery.start(paths, self._limits.start):
            self._nurseries[None] = nursery
            for name in enemies:
                if frameworks.adapter_class(self._adapters[name]).may_fork:
                    if grown := nursery.grow(self._adapters[name], self._limits.start):
                        self._nurseries[name] = grown

    def _find_usable(self, survey: Survey, pool: ThreadPoolExecutor, progress: Progress) -> None:
        """Imports each framework alone, so that one that can't be used is known as such."""
        for name, answer in zip(self._adapters, pool.map(self._import, self._adapters)):
            if isinstance(answer, str):
                survey.unusable[name] = answer
                progress(f"{name} can't be used: {answer}")
            else:
                survey.versions.update(answer)

    def _import(self, name: str) -> dict[str, str] | str:
        """The framework's version, or why it can't be used."""
        process = self._start(name, name, [], may_share=True)
        answer: dict[str, str] | str | None = None
        try:
            for message in process.messages(self._limits.start, self._limits.step):
                if "unusable" in message:
                    answer = without_paths(message["unusable"])
                elif "ready" in message:
                    answer = message["ready"]
        except TimeoutError as error:
            answer = answer or str(error)
        ending = self._end(process)
        return answer or f"its import ends the process: {ending or status_name(0)}"

    def _pair(self, producer: str, consumer: str, cases: list[Case]) -> list[PairResult]:
        """What became of a pair, on each route. Where its imports are shared, whatever is wrong is
        tried again without.
        """
        if self._nurseries:
            pairs = self._pair_once(producer, consumer, cases, may_share=True)
            verdicts = [result.verdict for pair in pairs for result in pair.results]
            is_bad = any(
                verdict.outcome in BAD or ENDS in (verdict.reason or "") for verdict in verdicts
            )
            is_cut = any(pair.at_exit or pair.untried for pair in pairs) and not frameworks.enmity(
                producer, consumer
            )
            if not is_bad and not is_cut:
                return pairs
        return self._pair_once(producer, consumer, cases, may_share=False)

    def _pair_once(
        self, producer: str, consumer: str, cases: list[Case], may_share: bool
    ) -> list[PairResult]:
        untried = frameworks.enmity(producer, consumer)
        routes = list(dict.fromkeys(route for route, _, _ in cases))
        pairs = {route: PairResult(producer, consumer, route, untried=untried) for route in routes}
        left = [] if untried else cases
        while left:
            left = self._part(pairs, left, may_share)
        ends = [pair for pair in pairs.values() if pair.at_exit]
        if ends and len(routes) > 1 and not may_share:
            # Which route it comes from is seen where each is alone.
            for route in routes:
                alone = {route: PairResult(producer, consumer, route)}
                left = [case for case in cases if case[0] == route]
                while left:
                    left = self._part(alone, left, may_share)
                pairs[route].at_exit = alone[route].at_exit
        return list(pairs.values())

    def _part(
        self,
        pairs: dict[str, PairResult],
        cases: list[Case],
        may_share: bool,
        is_again: bool = False,
    ) -> list[Case]:
        """Tries cases in one process, and returns those that are left when it ends.

        If an external signal ended it, it is tried once more.
        """
        producer, consumer = next((pair.producer, pair.consumer) for pair in pairs.values())
        process = self._start(producer, consumer, cases, may_share)
        step, case, done, untried, problem, is_ended, at_exit = (
            "import",
            -1,
            0,
            None,
            None,
            False,
            None,
        )

        def record(verdict: Verdict) -> None:
            route, dtype, layout = cases[done]
            verdict.reason = verdict.reason and without_paths(verdict.reason)
            pairs[route].results.append(Result(producer, consumer, route, dtype, layout, verdict))

        def ended(how: str | None) -> Verdict:
            if step == "make":  # No exchange yet.
                return Verdict("absent", f"{producer} {ENDS}: {how}")
            return Verdict("crashed", f"{how} ({step})")

        try:
            for message in process.messages(self._limits.start, self._limits.step):
                if "unusable" in message:
                    untried = without_paths(message["unusable"])
                elif "stage" in message:
                    step, case = message["stage"], message["case"]
                elif "verdict" in message:
                    record(Verdict(**message["verdict"]))
                    done += 1
                elif "died" in message:
                    record(ended(process.status_in_words(message["died"])))
                    done += 1
                elif "end" in message:
                    is_ended = True
                    at_exit = process.status_in_words(message["end"]) if message["end"] else None
        except TimeoutError as error:
            problem = Verdict("timeout", f"{error} ({step})")
        ending = self._end(process)
        if is_ended or done == len(cases):
            for route in {route for route, _, _ in cases}:
                pairs[route].at_exit = str(problem.reason) if problem else at_exit or ending
            return []
        if process.was_ended_from_outside and not is_again:
            return self._part(pairs, cases[done:], may_share, is_again=True)
        if case < done and not untried:
            untried = f"the process ends before it tries anything ({step}): {problem.reason if problem else ending}"
        if untried:
            for route in {route for route, _, _ in cases[done:]}:
                pairs[route].untried = untried
            return []
        record(problem or ended(ending or status_name(0)))
        return cases[done + 1 :]

    def _start(self, producer: str, consumer: str, cases: list[Case], may_share: bool) -> Running:
        with self._lock:
            if self._is_stopped:
                raise InterruptedError
            paths = {"producer": self._adapters[producer], "consumer": self._adapters[consumer]}
            process = (
                self._shared({**paths, "cases": cases}, producer, consumer) if may_share else None
            )
            process = process or Process({**paths, "cases": cases})
            self._running.add(process)
        return process

    def _shared(self, task: dict[str, Any], producer: str, consumer: str) -> Running | None:
        """Starts a task in a fork of the nursery for these two; None where there is no such."""
        name = next(
            (
                name
                for name in (producer, consumer)
                if any(name in pair for pair in frameworks.ENEMIES)
            ),
            None,
        )
        nursery = self._nurseries.get(name)
        try:
            return nursery.run(task) if nursery else None
        except OSError:  # It has ended.
            return None

    def _end(self, process: Running) -> str | None:
        ending = process.ending()
        with self._lock:
            self._running.discard(process)
        return ending

    def _stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                process.stop()


def _line(pair: PairResult) -> str:
    counts = ", ".join(
        f"{count} {outcome}"
        for outcome, count in pair.counts().most_common()
        if outcome != "absent"
    )
    return f"{pair.producer} to {pair.consumer}, {pair.route}: {pair.untried or counts or 'no tensors'}"
