"""The interface of adapters: the questions that the doctor asks of a framework."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

from .. import elements
from ..layouts import Layout
from ..memory import Look


class AbsentError(Exception):
    """The framework has no such tensor."""


class Adapter:
    """A framework, of which a subclass says how it is used."""

    #: What `dlbridge.convert` calls it.
    name: ClassVar[str]
    #: The module to import.
    module: ClassVar[str]
    #: Whether its documentation says that its tensors never change.
    immutable: ClassVar[bool] = False
    #: Whether a process may be forked when the framework is imported and not used yet.
    may_fork: ClassVar[bool] = True

    def __init__(self) -> None:
        self.lib: Any = importlib.import_module(self.module)

    def make(self, dtype: str, layout: Layout) -> Any:
        """A tensor of the numbers that `elements.base` tells, in its own memory; or
        `AbsentError`.
        """
        raise NotImplementedError

    def look(self, x: Any) -> Look:
        """How it says that the tensor lies in memory."""
        raise NotImplementedError

    def own_read(self, x: Any, dtype: str) -> list[int]:
        """The elements as the framework sees them."""
        raise NotImplementedError

    def own_write(self, x: Any, dtype: str, patterns: list[int]) -> None:
        """Writes them as users of the framework do; an error where they can't."""
        raise NotImplementedError

    def is_readonly(self, x: Any) -> bool:
        """Whether it is read-only."""
        return self.immutable

    def compute(self, x: Any) -> None:
        """Has it used by an operation. Some accept what they crash with later."""

    def offer(self, x: Any) -> Any:
        """What is given to others: the tensor, if it speaks the protocol."""
        return x

    def take(self, x: Any) -> Any:
        """Its own import, as its documentation advises."""
        return self.lib.from_dlpack(x)

    def read(self, x: Any, dtype: str) -> list[int]:
        """The elements as the framework sees them, or else as they are where it says that
        they are.
        """
        try:
            return self.own_read(x, dtype)
        except Exception:
            return self.look(x).read(elements.BITS[dtype])


def refuse(layout: Layout, *names: str, why: str) -> None:
    """For layouts that a framework hasn't."""
    if layout.name in names:
        raise AbsentError(why)


def only_plain(layout: Layout, title: str) -> None:
    """For frameworks whose tensors have no strides."""
    if not layout.is_row_major:
        raise AbsentError(f"{title} has only plain layouts")
