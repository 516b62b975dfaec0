"""Recording which kernels are called."""

from __future__ import annotations

from ._catalog import recorders as _recorders, table as _table

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import overload

    from ._core import _Recorder


class Call:
    """A call of a kernel."""

    __slots__ = ("addresses", "bytes", "dtypes", "failed", "kernel", "op", "seconds", "shapes")

    def __init__(
        self,
        op: str,
        kernel: str,
        shapes: list[list[int]],
        dtypes: list[str],
        addresses: list[int],
        bytes: int,
        seconds: float,
        failed: bool,
    ) -> None:
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

    def _calls(self) -> list[Call]:
        rows = [row for recorder in self._recorders for row in recorder.rows()]
        return [Call(*row[1:]) for row in sorted(rows, key=lambda row: row[0])]

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


class record:
    """Records all calls of ops that are known when it begins, of any thread, while the block runs.

    with dlbridge.record() as calls:
        dlbridge.ops.add(a, b)
    print(calls)
    """

    def __init__(self) -> None:
        # Of each block that runs, so that one object can be used again, and in itself.
        self._blocks: list[list[_Recorder]] = []

    def __enter__(self) -> Calls:
        recorders = [recorder() for recorder in _recorders]
        self._blocks.append(recorders)
        for recorder in recorders:
            recorder.start()
        return Calls(recorders)

    def __exit__(self, *_: object) -> None:
        for recorder in self._blocks.pop():
            recorder.stop()
