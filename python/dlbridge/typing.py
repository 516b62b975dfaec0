"""Types for annotations: what functions take as a tensor, as a dtype and as a device.

The stubs that extensions in Rust generate name them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from ._core import Device, DType

if TYPE_CHECKING:
    from typing_extensions import Buffer, CapsuleType
else:  # Classes of newer Pythons, and of another package.
    Buffer = CapsuleType = Any

__all__ = [
    "DTypeLike",
    "DeviceLike",
    "Policy",
    "SupportsDLPack",
    "TensorLike",
    "TensorT",
]


class SupportsDLPack(Protocol):
    """A framework's tensor: of NumPy, PyTorch, JAX, TensorFlow, Paddle and others."""

    # Each framework has other keywords here.
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


class _HasItemSize(Protocol):
    @property
    def itemsize(self) -> int: ...


class _HasSize(Protocol):
    @property
    def size(self) -> int: ...


class _HasType(Protocol):
    @property
    def type(self) -> str: ...


TensorLike: TypeAlias = SupportsDLPack | Buffer | CapsuleType
"""A framework's tensor, a buffer, or a capsule of DLPack."""

DTypeLike: TypeAlias = DType | str | type[Any] | _HasName | _HasItemSize | _HasSize
"""A dtype: by name, or any framework's object. Those have a name, or a size as PyTorch's and MLX's."""

DeviceLike: TypeAlias = Device | str | tuple[int, int] | _HasType
"""A device: by name, as DLPack's pair of numbers, or a framework's object."""

Policy: TypeAlias = Literal["warn", "share", "refuse"]
"""What becomes of read-only memory where a framework has no read-only tensors."""

TensorT = TypeVar("TensorT", bound=TensorLike)
"""For functions that return a tensor of an argument's framework. Buffers and capsules have none: they
get a `dlbridge.Tensor`."""
