"""NVIDIA's GPUs: which there are, and the streams on which they work.

An op with tensors of a framework runs on that framework's current stream, and waits for nothing
else. Inside of `with dlbridge.cuda.stream(s):` it runs on `s`, and so does whatever else this
package does on that GPU.

    >>> if dlbridge.cuda.is_available():
    ...     with dlbridge.cuda.stream(torch.cuda.Stream()):
    ...         c = dlbridge.ops.add(a, b)
"""

from __future__ import annotations

import os
import sys

from . import _core

Kernel = _core.Kernel
Module = _core.Module
Stream = _core.Stream

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = [
    "Kernel",
    "Module",
    "Properties",
    "Stream",
    "check",
    "compile",
    "current_stream",
    "device_count",
    "is_available",
    "load",
    "properties",
    "stream",
    "synchronize",
    "trim",
]


# Where pip puts NVIDIA's compiler and headers.
for _folder in sys.path:
    if os.path.isdir(os.path.join(_folder, "nvidia")):
        _core._cuda_add_search_path(_folder)


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
        return (
            f"Properties({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"
        )


def is_available() -> bool:
    """Whether there is a GPU that can be used; `check` says why not."""
    return _core._cuda_is_available()


def check() -> None:
    """Raises an error that says why no GPU can be used, where that is so: a BufferError if there is
    no driver or no GPU, a CudaError if the driver doesn't work.
    """
    _core._cuda_check()


def device_count() -> int:
    """How many GPUs there are."""
    return _core._cuda_device_count()


def properties(device: Any = None) -> Properties:
    """What a GPU is, the first one unless another is named: by its number, as "cuda:1", or as an
    object.
    """
    return Properties(*_core._cuda_properties(device))


def current_stream(device: Any = None) -> Stream:
    """The stream on which this thread works on a GPU: the default one, outside of `with
    stream(...)`.
    """
    return _core._cuda_current_stream(device)


def stream(stream: Any, *, device: Any = None) -> Stream:
    """A stream to be made current by `with`: one of this package, of PyTorch, CuPy or Numba, of
    anyone who has `__cuda_stream__`, or a handle. What it is made of is kept as long as work on it
    needs it."""
    return (
        stream if isinstance(stream, Stream) and device is None else Stream(stream, device=device)
    )


def compile(
    source: str,
    *,
    name: str = "kernel.cu",
    options: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    kernels: Sequence[str] = (),
    device: Any = None,
) -> Module:
    """Compiles CUDA C++, and keeps what comes of it on disk.

    A kernel is found by its name if it is `extern "C"`; of others, such as `"fill<float>"`,
    `kernels` tells the names. `options` are NVRTC's. `headers` are texts to be included, by their
    names; CUDA's own are found. An error of the compiler is a ValueError that shows the lines it is
    about.

        >>> module = dlbridge.cuda.compile('''
        ...     extern "C" __global__ void axpy(float a, const float* x, float* y, int count) {
        ...       int i = blockIdx.x * blockDim.x + threadIdx.x;
        ...       if (i < count) y[i] += a * x[i];
        ...     }''')
        >>> axpy = module.kernel("axpy")
        >>> axpy(4, 256, 2.0, x, y, 1000)  # 4 blocks of 256 threads; x and y are tensors of any framework
    """
    return _core._cuda_compile(
        source, name, list(options), list((headers or {}).items()), list(kernels), device
    )


def load(image: bytes, *, device: Any = None) -> Module:
    """Loads kernels that were compiled before: a cubin, a fat binary, or PTX."""
    return _core._cuda_load(image, device)


def synchronize(device: Any = None) -> None:
    """Waits for all work on a GPU. Other threads run meanwhile."""
    _core._cuda_synchronize(device)


def trim(device: Any = None) -> None:
    """Gives memory back to the driver that was released, and kept to be used again."""
    _core._cuda_trim(device)
