"""Recording which kernels are called."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, overload

from . import _core
from .ops import _table


class Call(NamedTuple):
    """A call of a kernel."""

    op: str
    kernel: str
    shapes: list[list[int]]
    """The arguments' shapes, inputs first, as the kernel saw them."""
    dtypes: list[str]
    bytes: int
    """How many the arguments' elements take in all."""
    seconds: float
    """How long the kernel took."""
    failed: bool


class Calls(Sequence[Call]):
    """The calls that were recorded until now. Printed, they are a table."""

    def __init__(self, recorder: _core._Recorder) -> None:
        self._recorder = recorder

    def _calls(self) -> list[Call]:
        return [Call(*row) for row in self._recorder.rows()]

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> list[Call]: ...
    def __getitem__(self, index: int | slice) -> Call | list[Call]:
        return self._calls()[index]

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls())

    def __len__(self) -> int:
        return len(self._recorder)

    def __str__(self) -> str:
        rows = [("op", "kernel", "shapes", "bytes", "time")]
        for call in self._calls():
            shapes = " ".join("x".join(map(str, shape)) or "()" for shape in call.shapes)
            time = "failed" if call.failed else f"{call.seconds * 1e6:.1f} us"
            rows.append((call.op, call.kernel, shapes, str(call.bytes), time))
        return _table(rows)

    def __repr__(self) -> str:
        return f"<{len(self)} calls>"


@contextmanager
def record() -> Iterator[Calls]:
    """Records all calls of ops, of any thread, while the block runs.

    with dlbridge.record() as calls:
        dlbridge.ops.add(a, b)
    print(calls)
    """
    recorder = _core._Recorder()
    recorder.start()
    try:
        yield Calls(recorder)
    finally:
        recorder.stop()
