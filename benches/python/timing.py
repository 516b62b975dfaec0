"""Times calls in interleaved rounds and prints them as a table.

Every call of a table is timed in turns with the others in one process; of each, the least round
counts. Nothing is subtracted: the loop itself is in all numbers alike.
"""

import timeit
from dataclasses import dataclass
from typing import Any, Callable

# A round is long enough for the clock, and short enough to end before something disturbs it.
ROUND_SECONDS = 0.001


@dataclass
class Case:
    """One line of a table: a call, and what tells from its result whether it did its work."""

    name: str
    call: Callable
    args: tuple
    check: Callable[[Any], None]
    # Whether the last argument is passed as `out=`.
    out_by_name: bool = False
    # What the result is handed to, within the timed statement.
    then: Callable | None = None

    def statement(self):
        """The call as a program would write it, and a setup that makes its names local."""
        names = [f"x{i}" for i in range(len(self.args))]
        setup = "call = CALL\n" + "".join(f"{x} = ARGS[{i}]\n" for i, x in enumerate(names))
        if self.out_by_name:
            names[-1] = f"out={names[-1]}"
        statement = f"call({', '.join(names)})"
        if self.then is not None:
            setup += "then = THEN\n"
            statement = f"then({statement})"
        return statement, setup

    def scope(self):
        return {"CALL": self.call, "ARGS": self.args, "THEN": self.then}

    def timer(self):
        return timeit.Timer(*self.statement(), globals=self.scope())

    def once(self):
        statement, setup = self.statement()
        scope = self.scope()
        exec(setup, scope)
        return eval(statement, scope)


def equals(expected):
    """A check that a result has these numbers."""

    def check(result):
        assert numbers(result) == expected, f"{numbers(result)} instead of {expected}"

    return check


def writes(out, expected):
    """A check that `out` has these numbers after the call."""
    return lambda result: equals(expected)(out)


def numbers(array):
    if not hasattr(array, "tolist"):
        import numpy

        # A tensor of tvm-ffi has no other way out; the others have __array__.
        exchanged = not hasattr(array, "__array__")
        array = numpy.from_dlpack(array) if exchanged else numpy.asarray(array)
    return array.tolist()


def refusal(case):
    """Calls it once. Returns why it was refused, or None; a wrong result ends the program."""
    try:
        result = case.once()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90]}"
    try:
        case.check(result)
    except AssertionError as error:
        raise SystemExit(f"{case.name}: wrong result: {error}") from error
    return None


def calls_per_round(timer):
    number = 16
    while (seconds := timer.timeit(number)) < ROUND_SECONDS / 2:
        number *= 2
    return max(1, round(number * ROUND_SECONDS / seconds))


def measure(cases, rounds):
    """Nanoseconds of one call of each, from the round in which it was least disturbed."""
    timers = [case.timer() for case in cases]
    numbers_of_calls = [calls_per_round(timer) for timer in timers]
    least = [float("inf")] * len(cases)
    turns = list(enumerate(zip(timers, numbers_of_calls)))
    for turn in range(rounds):
        # Back and forth, so that no function always follows the same neighbour.
        for i, (timer, calls) in turns if turn % 2 == 0 else reversed(turns):
            least[i] = min(least[i], timer.timeit(calls) / calls * 1e9)
    return least


def table(title, cases, rounds):
    """Prints nanoseconds and the ratio to the first line. Those that refuse are listed below.

    Cases of the same name are one line: that of the fastest.
    """
    if not cases:
        return
    refusals = [(case, refusal(case)) for case in cases]
    taken = [case for case, reason in refusals if reason is None]
    print(f"\n### {title}\n")
    if taken:
        least = {}
        for case, nanoseconds in zip(taken, measure(taken, rounds)):
            least[case.name] = min(nanoseconds, least.get(case.name, nanoseconds))
        first = least[taken[0].name]
        print("| call | ns | ratio |\n|---|---:|---:|")
        for name, nanoseconds in least.items():
            print(f"| {name} | {nanoseconds:.0f} | {nanoseconds / first:.2f} |")
    # Once for each module: its variants give the same reason.
    refused = {}
    for case, reason in refusals:
        if reason is not None:
            refused.setdefault(case.name.split(",")[0], reason)
    if refused:
        print("\n" + "\n".join(f"- {name} refuses: {why}" for name, why in refused.items()))
    print(end="", flush=True)
