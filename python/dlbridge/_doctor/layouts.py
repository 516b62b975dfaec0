"""The ways in which elements lie in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple


class Layout(NamedTuple):
    name: str
    title: str
    shape: tuple[int, ...]
    #: Counted in elements.
    strides: tuple[int, ...]
    #: Where the first one is, counted in elements from memory that is aligned to 64 bytes.
    offset: int
    #: How many elements the memory has.
    span: int

    def indices(self) -> Iterator[int]:
        """Where in memory the elements are, in row-major order."""
        for position in itertools.product(*map(range, self.shape)):
            yield self.offset + sum(i * stride for i, stride in zip(position, self.strides))

    @property
    def is_row_major(self) -> bool:
        """Whether it is the plain order, in memory of its own."""
        return self.name in ("contiguous", "empty", "rank0", "rank8")


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("contiguous", "contiguous", (3, 4), (4, 1), 0, 12),
        Layout("transposed", "transposed", (3, 4), (1, 3), 0, 12),
        Layout("sliced", "a cut of some columns", (3, 4), (6, 1), 1, 18),
        Layout("negative", "rows backwards", (3, 4), (-4, 1), 8, 12),
        Layout("broadcast", "one row, three times", (3, 4), (0, 1), 0, 4),
        Layout("empty", "no elements", (0, 4), (4, 1), 0, 0),
        Layout("rank0", "a single number", (), (), 0, 1),
        Layout("offset", "one element behind aligned memory", (3, 4), (4, 1), 1, 13),
        Layout(
            "rank8", "eight dimensions", (1, 2, 1, 3, 1, 2, 1, 1), (12, 6, 6, 2, 2, 1, 1, 1), 0, 12
        ),
    )
}
QUICK = ("contiguous", "transposed", "offset")
