"""Recording which kernels are called."""

from __future__ import annotations

from contextvars import ContextVar

from ._catalog import recorders as _recorders, table as _table
from ._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import overload

    from ._core import _Recorder


class Call:
    """A call of a kernel."""

    __slots__ = (
        "_end",
        "addresses",
        "bytes",
        "dtypes",
        "failed",
        "kernel",
        "op",
        "seconds",
        "shapes",
    )

    def __init__(
        self,
        end: int,
        op: str,
        kernel: str,
        shapes: list[list[int]],
        dtypes: list[str],
        addresses: list[int],
        bytes: int,
        seconds: float,
        failed: bool,
    ) -> None:
        #: When it was over, by a clock that the extensions share.
        self._end = end
        self.op = op
        #: As it is listed.
        self.kernel = kernel
        #: The arguments' shapes, inputs first, as the kernel saw them.
        self.shapes = shapes
        self.dtypes = dtypes
        #: Where their first elements are, in memory of their devices.
        self.addresses = addresses
        #: How many the arguments' elements take in all.
        self.bytes = bytes
        #: How long the kernel took.
        self.seconds = seconds
        #: Whether it gave up.
        self.failed = failed

    def __repr__(self) -> str:
        return f"<call of {self.kernel}>"


class Calls:
    """The calls that were recorded until now, as a sequence. Printed, they are a table."""

    def __init__(self, recorders: list[_Recorder]) -> None:
        self._recorders = recorders
        #: What was read of them, and how many of each recorder are among that.
        self._known: tuple[list[Call], list[int]] = [], [0] * len(recorders)

    def _calls(self) -> list[Call]:
        """All calls, of which those that are known aren't read again. It isn't changed later."""
        known, numbers = self._known
        news = [recorder.rows(number) for recorder, number in zip(self._recorders, numbers)]
        if any(news):
            known = [*known, *(Call(*row) for rows in news for row in rows)]
            known.sort(key=lambda call: call._end)
            # At once, as other threads read too.
            self._known = known, [number + len(rows) for number, rows in zip(numbers, news)]
        return known

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> Call: ...
        @overload
        def __getitem__(self, index: slice) -> list[Call]: ...

    def __getitem__(self, index: int | slice) -> Call | list[Call]:
        return self._calls()[index]

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls())

    def __len__(self) -> int:
        return sum(len(recorder) for recorder in self._recorders)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("op", "kernel", "shapes", "bytes", "time")]
        for call in self._calls():
            shapes = " ".join("x".join(map(str, shape)) or "()" for shape in call.shapes)
            time = "failed" if call.failed else f"{call.seconds * 1e6:.1f} us"
            rows.append((call.op, call.kernel, shapes, str(call.bytes), time))
        return _table(rows)

    def __repr__(self) -> str:
        return f"<{len(self)} calls>"


#: The blocks that the running thread or task has entered: another one ends its own. What was
#: recorded isn't among them, as contexts live long.
_entered: ContextVar[tuple[object, ...]] = ContextVar("entered", default=())


class record:
    """Records all calls of ops that are known when it begins, of any thread, while the block runs.

    with dlbridge.record() as calls:
        dlbridge.ops.add(a, b)
    print(calls)
    """

    def __init__(self) -> None:
        # Of each block that runs, so that one object can be used again, and in itself.
        self._blocks: dict[object, list[_Recorder]] = {}

    def __enter__(self) -> Calls:
        block, recorders = object(), [recorder() for recorder in _recorders]
        self._blocks[block] = recorders
        _entered.set((*_entered.get(), block))
        for recorder in recorders:
            recorder.start()
        return Calls(recorders)

    def __exit__(self, *_: object) -> None:
        if not self._blocks:
            error = RuntimeError("the block of this record isn't running")
            raise with_fields(error, "argument", remedy="enter it before")
        here = [block for block in _entered.get() if block in self._blocks]
        # Where a generator is ended elsewhere, its block is the last one.
        block = (here or [*self._blocks])[-1]
        _entered.set(tuple(other for other in _entered.get() if other is not block))
        for recorder in self._blocks.pop(block):
            recorder.stop()
