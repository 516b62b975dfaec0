"""Runs the pairs, each in a process of its own, and in another one where the first crashes."""

from __future__ import annotations

import itertools
import os
import platform
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

from . import elements, frameworks
from .layouts import LAYOUTS
from .process import Process, without_paths
from .results import PairResult, Result, Survey, Verdict

#: A route, an element type and a layout.
Case = tuple[str, str, str]
Progress = Callable[[str], None]
ROUTES = ("dlbridge", "direct")


class Limits(NamedTuple):
    """How many seconds a process may be silent."""

    #: While it imports the frameworks.
    start: float = 300
    #: For one step with a tensor.
    step: float = 60


class Runner:
    def __init__(self, adapters: dict[str, str], limits: Limits = Limits()) -> None:
        self._adapters, self._limits = adapters, limits
        self._running: set[Process] = set()
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
        """Tries everything, between each two of the frameworks that can be used, or from one to another alone."""
        machine = f"Python {platform.python_version()}, {platform.system()}, {platform.machine()}"
        survey = Survey({}, {}, list(routes), list(layouts), machine)
        # Our own route first, so that what happens in it has no other cause.
        cases = list(itertools.product(sorted(routes, key=ROUTES.index), dtypes, layouts))
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
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
        pool.shutdown()
        return survey

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
        process = self._start(name, name, [])
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
        return answer or f"its import ends the process: {ending}"

    def _pair(self, producer: str, consumer: str, cases: list[Case]) -> list[PairResult]:
        """What became of a pair, on each route."""
        untried = frameworks.enmity(producer, consumer)
        routes = list(dict.fromkeys(route for route, _, _ in cases))
        pairs = {route: PairResult(producer, consumer, route, untried=untried) for route in routes}
        left = [] if untried else cases
        while left:
            left = self._part(pairs, left)
        ends = [pair for pair in pairs.values() if pair.at_exit]
        if ends and len(routes) > 1:
            # Which route it comes from is seen where each is alone.
            for route in routes:
                alone = {route: PairResult(producer, consumer, route)}
                left = [case for case in cases if case[0] == route]
                while left:
                    left = self._part(alone, left)
                pairs[route].at_exit = alone[route].at_exit
        return list(pairs.values())

    def _part(self, pairs: dict[str, PairResult], cases: list[Case], is_again: bool = False) -> list[Case]:
        """Tries cases in one process, and returns those that are left when it ends.

        If an external signal ended it, it is tried once more.
        """
        producer, consumer = next((pair.producer, pair.consumer) for pair in pairs.values())
        process = self._start(producer, consumer, cases)
        step, case, done, untried, problem, is_ended, at_exit = "import", -1, 0, None, None, False, None

        def record(verdict: Verdict) -> None:
            route, dtype, layout = cases[done]
            verdict.reason = verdict.reason and without_paths(verdict.reason)
            pairs[route].results.append(Result(producer, consumer, route, dtype, layout, verdict))

        def ended(how: str | None) -> Verdict:
            if step == "make":  # No exchange yet.
                return Verdict("absent", f"{producer} ends the process as it makes it: {how}")
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
            return self._part(pairs, cases[done:], is_again=True)
        if case < done and not untried:
            untried = f"the process ends before it tries anything ({step}): {problem.reason if problem else ending}"
        if untried:
            for route in {route for route, _, _ in cases[done:]}:
                pairs[route].untried = untried
            return []
        record(problem or ended(ending))
        return cases[done + 1 :]

    def _start(self, producer: str, consumer: str, cases: list[Case]) -> Process:
        with self._lock:
            if self._is_stopped:
                raise InterruptedError
            paths = {"producer": self._adapters[producer], "consumer": self._adapters[consumer]}
            process = Process({**paths, "cases": cases})
            self._running.add(process)
        return process

    def _end(self, process: Process) -> str | None:
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
    counts = ", ".join(f"{count} {outcome}" for outcome, count in pair.counts().most_common() if outcome != "absent")
    return f"{pair.producer} to {pair.consumer}, {pair.route}: {pair.untried or counts or 'no tensors'}"
