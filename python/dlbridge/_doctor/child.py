"""The process of one pair: it tries the cases that it is given, and says before each step what it
is.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import sys
from typing import Any, TextIO

from .adapters.base import Adapter
from .frameworks import adapter_class
from .layouts import LAYOUTS
from .process import is_from_outside
from .results import Verdict
from .trial import attempt

Pair = tuple[Adapter, Adapter]


def main() -> None:
    run(json.loads(sys.stdin.read()), may_watch=True)


def run(task: dict[str, Any], may_watch: bool) -> None:
    """Tries the cases of a pair, and reports on the standard output. `may_watch` allows a process
    for the work alone.
    """
    # The frameworks write to the standard output as they please, so that it is moved away from
    # them.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        pair = adapter_class(task["producer"])(), adapter_class(task["consumer"])()
    except Exception as error:
        _say(answers, unusable=f"{type(error).__name__}: {error}".splitlines()[0])
        return
    versions = {adapter.name: str(getattr(adapter.lib, "__version__", "")) for adapter in pair}
    _say(answers, ready=versions)
    gc.collect()
    gc.freeze()  # What they loaded isn't looked through again behind each case.
    if may_watch and sys.platform == "linux" and all(adapter.may_fork for adapter in pair):
        _watch(pair, task["cases"], answers)
    else:
        _work(pair, task["cases"], 0, answers, None)


def _watch(pair: Pair, cases: list[list[str]], answers: TextIO) -> None:
    """Has a process of its own do the work, and another one go on where that ends too soon.

    They begin as this one is when it has imported the frameworks and used nothing of them, since an
    import can take half a minute. A process with threads can't fork like that, so that nothing else is
    done here.
    """
    place = mmap.mmap(-1, 8)
    first, again = 0, False
    while True:
        child = os.fork()
        if child == 0:
            _work(pair, cases, first, answers, place)
            return
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        reached = int.from_bytes(place[:], "little")
        if reached == len(cases):
            _say(answers, end=status)
            # What the frameworks do when they end has been seen of the other process.
            answers.close()
            os._exit(0)
        again = is_from_outside(status) and not again  # Once more, and then it is what it is.
        if again:
            first = reached
            continue
        _say(answers, died=status, case=reached)
        first = reached + 1


def _work(
    pair: Pair, cases: list[list[str]], first: int, answers: TextIO, place: mmap.mmap | None
) -> None:
    for index, (route, dtype, layout) in list(enumerate(cases))[first:]:
        _reach(place, index)

        def stage(name: str, index: int = index) -> None:
            _say(answers, stage=name, case=index)

        try:
            verdict, objects = attempt(*pair, route, dtype, LAYOUTS[layout], stage)
        except Exception as error:
            verdict, objects = (
                Verdict("wrong", f"the check itself failed: {type(error).__name__}: {error}"),
                None,
            )
        stage("release")
        del objects
        gc.collect()
        _say(answers, verdict=vars(verdict), case=index)
    _reach(place, len(cases))
    if place is None:
        _say(answers, end=0)


def _reach(place: mmap.mmap | None, index: int) -> None:
    if place is not None:
        place[:] = index.to_bytes(8, "little")


def _say(answers: TextIO, **what: Any) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
