"""NVIDIA's GPUs: which there are, and the streams on which they work.

An op with tensors of a framework runs on that framework's current stream, and waits for nothing else. Inside
of `with dlbridge.cuda.stream(s):` it runs on `s`, and so does whatever else this package does on that GPU.

    >>> if dlbridge.cuda.is_available():
    ...     with dlbridge.cuda.stream(torch.cuda.Stream()):
    ...         c = dlbridge.ops.add(a, b)
"""

from __future__ import annotations

from . import _core

Stream = _core.Stream

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Properties",
    "Stream",
    "check",
    "current_stream",
    "device_count",
    "is_available",
    "properties",
    "stream",
    "synchronize",
    "trim",
]


class Properties:
    """What a GPU is."""

    __slots__ = ("name", "compute_capability", "multiprocessors", "free_memory", "memory")

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    free_memory: int
    memory: int

    def __init__(self, *values: Any) -> None:
        for name, value in zip(self.__slots__, values):
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"Properties({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def is_available() -> bool:
    """Whether there is a GPU that can be used; `check` says why not."""
    return _core._cuda_is_available()


def check() -> None:
    """Raises a BufferError that says why no GPU can be used, where that is so."""
    _core._cuda_check()


def device_count() -> int:
    """How many GPUs there are."""
    return _core._cuda_device_count()


def properties(device: Any = None) -> Properties:
    """What a GPU is, the first one unless another is named: by its number, as "cuda:1", or as an object."""
    return Properties(*_core._cuda_properties(device))


def current_stream(device: Any = None) -> Stream:
    """The stream on which this thread works on a GPU: the default one, outside of `with stream(...)`."""
    return _core._cuda_current_stream(device)


def stream(stream: Any, *, device: Any = None) -> Stream:
    """A stream to be made current by `with`: one of this package, of PyTorch, CuPy or Numba, of anyone who has
    `__cuda_stream__`, or a handle. What it is made of is kept as long as work on it needs it."""
    return stream if isinstance(stream, Stream) and device is None else Stream(stream, device=device)


def synchronize(device: Any = None) -> None:
    """Waits for all work on a GPU. Other threads run meanwhile."""
    _core._cuda_synchronize(device)


def trim(device: Any = None) -> None:
    """Gives memory back to the driver that was released, and kept to be used again."""
    _core._cuda_trim(device)
