from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, Protocol, SupportsIndex, TypeAlias, final, overload

from typing_extensions import Buffer, CapsuleType

from .typing import DeviceLike, DTypeLike, Policy, TensorLike

__all__ = [
    "CudaError",
    "DType",
    "Device",
    "Kernel",
    "Module",
    "Op",
    "Stream",
    "Tensor",
    "TensorFile",
    "_Recorder",
    "_cuda_add_search_path",
    "_cuda_check",
    "_cuda_compile",
    "_cuda_current_stream",
    "_cuda_device_count",
    "_cuda_is_available",
    "_cuda_load",
    "_cuda_properties",
    "_cuda_synchronize",
    "_cuda_trim",
    "_kernels",
    "_nearest_name",
    "_op",
    "_op_aliases",
    "_op_names",
    "_open_bytes",
    "_open_file",
    "_outlook",
    "_restore",
    "_save_bytes",
    "_save_file",
    "_set_num_threads",
    "arange",
    "asarray",
    "convert",
    "empty",
    "from_dlpack",
    "full",
    "num_threads",
    "ones",
    "zeros",
]

class _SupportsArray(Protocol):
    def __array__(self) -> Any: ...

class _SupportsArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_ArrayLike: TypeAlias = (
    TensorLike | _SupportsArray | _SupportsArrayInterface | complex | list[Any] | tuple[Any, ...]
)
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Item: TypeAlias = SupportsIndex | slice | ellipsis | None
_Outcome: TypeAlias = Literal["shared", "copied", "refused", "unknown"]

class CudaError(RuntimeError):
    """A failure of a GPU or of its driver, or something that can't be done now, as while a graph is
    captured.
    """

@final
class DType:
    """An element type. Its str is the name, and it equals the name."""

    def __new__(cls, value: DTypeLike) -> DType: ...
    @property
    def name(self) -> str:
        """Returns the name, as in "float32"."""
    @property
    def bits(self) -> int:
        """Returns how many bits each number has."""
    @property
    def lanes(self) -> int:
        """Returns how many numbers make one element."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __copy__(self) -> DType: ...
    def __deepcopy__(self, _memo: Any) -> DType: ...
    def __reduce__(self) -> tuple[type[DType], tuple[str]]: ...
    def __hash__(self) -> int: ...

@final
class Device:
    """A device. Its str is the name, and it equals the name."""

    def __new__(cls, value: DeviceLike) -> Device: ...
    @property
    def kind(self) -> str:
        """Returns the kind of device, as in "cuda"."""
    @property
    def id(self) -> int:
        """Returns the number among devices of its kind."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Device: ...
    def __deepcopy__(self, _memo: Any) -> Device: ...
    def __reduce__(self) -> tuple[type[Device], tuple[str]]: ...
    def __hash__(self) -> int: ...

@final
class TensorFile:
    """A file of tensors, of which only the descriptions were read."""

    @property
    def format(self) -> str:
        """Returns the format's name."""
    @property
    def names(self) -> list[str]:
        """Returns the names of the tensors, in the order of the file."""
    @property
    def metadata(self) -> dict[str, str] | None:
        """Returns the metadata: names and texts; None where the file has none."""
    def describe(self, name: str) -> tuple[str, list[int]]:
        """Returns the dtype and the shape of a tensor, without reading it."""
    def load(
        self,
        names: Iterable[str] | None = None,
        to: str = "dlbridge",
        device: DeviceLike | None = None,
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns tensors of a framework by name, and by name why some were copied."""
    def __len__(self) -> int: ...
    def __contains__(self, name: object, /) -> bool: ...

@final
class Op:
    """An op. The functions in `dlbridge.ops` have it as their `__self__`."""

    @property
    def name(self) -> str:
        """Returns the name."""
    @property
    def signature(self) -> str:
        """Returns what it takes and gives, as in "add(a: T, b: T) -> out: T"."""
    @property
    def doc(self) -> str:
        """Returns what it does."""
    def kernels(self) -> list[dict[str, Any]]:
        """Its kernels: a dict for each device, label, priority and origin."""

@final
class Module:
    """Kernels on a GPU, compiled from source or loaded."""

    @property
    def device(self) -> Device:
        """Returns the GPU that it is on."""
    def kernel(self, name: str, *, writes: Sequence[int] | None = None) -> Kernel:
        """Returns the kernel of a name.

        What its parameters are is read in the source: a pointer to what isn't `const` may be
        written. Where there is no source, or it says it in another way, `writes` tells which
        arguments are written, by their places; without it all tensors count as written.
        """

@final
class Kernel:
    """A kernel. It is called with a grid, a block, and its arguments: tensors of any framework on
    its GPU, and numbers.
    """

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def registers(self) -> int:
        """Returns how many registers each of its threads has."""
    @property
    def max_threads(self) -> int:
        """Returns how many threads a block can have."""
    @property
    def shared_memory(self) -> int:
        """Returns how many bytes of shared memory a block has, without what a launch adds."""
    def __call__(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        *arguments: Any,
        shared: int = 0,
        stream: Any = None,
    ) -> None: ...

@final
class Stream:
    """A stream of a GPU: the order in which it does its work.

    Without an argument it is a new one. With one it is that stream of PyTorch, CuPy, Numba, or
    anyone with `__cuda_stream__`, or of a handle, which its creator must keep.
    """

    __dlbridge_streams__: ClassVar[CapsuleType]
    def __new__(cls, stream: Any = None, /, *, device: DeviceLike | None = None) -> Stream: ...
    @property
    def handle(self) -> int:
        """Returns the handle, as CUDA has it: 0 is the default stream."""
    @property
    def device(self) -> Device:
        """Returns the GPU."""
    def wait(self, other: Stream) -> None:
        """Has the work that comes from now on wait for what the other stream has to do by now."""
    def synchronize(self) -> None:
        """Waits until all work is done."""
    def is_done(self) -> bool:
        """Returns whether all work is done."""
    def is_capturing(self) -> bool:
        """Returns whether work becomes part of a graph at present."""
    def __cuda_stream__(self) -> tuple[int, int]: ...
    def __enter__(self) -> Stream: ...
    def __exit__(self, *_exception: Any) -> None: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class _Recorder:
    def __new__(cls) -> _Recorder: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def rows(
        self, start: int
    ) -> list[tuple[int, str, str, list[list[int]], list[str], list[int], int, float, bool]]: ...
    def __len__(self) -> int: ...

@final
class Tensor:
    """A tensor: memory of any owner, and its layout. It never changes; its elements may."""

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]
    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the sizes."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Returns the steps between elements along each dimension, counted in elements."""
    @property
    def dtype(self) -> DType:
        """Returns the element type; its str is the name."""
    @property
    def device(self) -> Device:
        """Returns where the memory is; its str is the name."""
    @property
    def ndim(self) -> int:
        """Returns how many dimensions there are."""
    @property
    def size(self) -> int:
        """Returns how many elements there are."""
    @property
    def itemsize(self) -> int | float:
        """Returns how many bytes an element takes: a fraction, where it is less than one."""
    @property
    def nbytes(self) -> int:
        """Returns how many bytes the elements would take one after another."""
    @property
    def data_ptr(self) -> int:
        """Returns the address of the first element."""
    @property
    def readonly(self) -> bool:
        """Returns whether the memory must not be written."""
    @property
    def is_contiguous(self) -> bool:
        """Returns whether the elements are row-major without gaps."""
    @property
    def owner(self) -> str:
        """Returns the owner of the memory, in words: the type of the object that it is shared with,
        or what keeps it.
        """
    @property
    def T(self) -> Tensor:
        """Returns the dimensions in reverse order, sharing the memory."""
    @property
    def mT(self) -> Tensor:
        """The last two dimensions swapped, sharing the memory: a stack of matrices, each
        transposed.
        """
    def permute_dims(self, axes: Sequence[SupportsIndex]) -> Tensor:
        """The dimensions in another order, sharing the memory: `transpose` under its array API
        name, with all axes given.
        """
    @overload
    def transpose(self, axes: Sequence[SupportsIndex], /) -> Tensor:
        """The dimensions in another order, or in reverse, sharing the memory."""
    @overload
    def transpose(self, *axes: SupportsIndex) -> Tensor: ...
    @overload
    def reshape(self, shape: Sequence[SupportsIndex], /) -> Tensor:
        """Reshapes without a copy; one size may be -1. Raises an error if it would take a copy."""
    @overload
    def reshape(self, *shape: SupportsIndex) -> Tensor: ...
    @overload
    def broadcast_to(self, shape: Sequence[SupportsIndex], /) -> Tensor:
        """Elements repeated along dimensions of size 1 and new ones, sharing the memory."""
    @overload
    def broadcast_to(self, *shape: SupportsIndex) -> Tensor: ...
    def squeeze(self, axis: SupportsIndex | None = None) -> Tensor:
        """Removes dimensions of size 1, or one of them, without a copy."""
    def unsqueeze(self, axis: SupportsIndex) -> Tensor:
        """Inserts a dimension of size 1, without a copy."""
    def expand_dims(self, axis: SupportsIndex = 0) -> Tensor:
        """With one more dimension of size 1, sharing the memory: `unsqueeze` under its array API
        name.
        """
    def view(self, dtype: DTypeLike) -> Tensor:
        """The same bits as elements of another type, sharing the memory."""
    def copy(self) -> Tensor:
        """Returns the same elements in memory of its own, row-major."""
    def item(self) -> Any:
        """Returns the only element, as a Python number."""
    def tolist(self) -> Any:
        """Returns the elements as lists in lists."""
    def equals(self, other: TensorLike) -> bool:
        """Returns whether another tensor has the same shape, element type and elements."""
    def allclose(self, other: TensorLike, *, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
        """Returns whether each two elements differ by at most `atol + rtol * abs(theirs)`."""
    @overload
    def to(
        self,
        to: Literal["dlbridge", "cpu", "cuda"] | Device,
        *,
        copy: bool | None = False,
        readonly: Policy | None = None,
    ) -> Tensor:
        """This tensor as an object of a framework; or on a device, by its name or as an object.

        `copy` is False for shared memory or an error, True for a copy, and None for shared
        memory where that is possible and a copy where it isn't. On another device there is a
        copy, unless it is forbidden by `copy=False`.

        `readonly` says what happens where the memory is read-only and the framework has no
        read-only tensors: "warn", "share" or "refuse"; without it, the policy of
        `dlbridge.readonly` holds. With `copy=None` it is copied.
        """
    @overload
    def to(self, to: str, *, copy: bool | None = False, readonly: Policy | None = None) -> Any: ...
    def to_device(self, device: DeviceLike, /, *, stream: None = None) -> Tensor:
        """This tensor on a device: itself where it is there already, a copy otherwise. `to` under
        its array API name.

        `stream` must be None: the copy is made on the current stream, which
        `dlbridge.cuda.stream` chooses.
        """
    def to_dlpack(
        self, *, max_version: tuple[int, int] | None = None, readonly: Policy | None = None
    ) -> CapsuleType:
        """A capsule, for those that take no objects: of the older kind, unless a version is given.
        What is on a GPU is ready on its default stream, as of `__dlpack__()`.

        The older kind can't say that memory is read-only: `readonly` says what happens then, as
        of `to`.
        """
    def _repr_html_(self) -> str: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def __getitem__(self, key: _Item | tuple[_Item, ...], /) -> Tensor: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __eq__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
    def __hash__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, _memo: Any) -> Tensor: ...
    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]: ...

def from_dlpack(
    x: TensorLike, /, *, device: DeviceLike | None = None, copy: bool | None = None
) -> Tensor:
    """The tensor of any framework's object, of a buffer, or in a capsule.

    `copy` is True for memory of its own, False for shared memory or an error, and None for
    shared memory where that is possible. `device` is where the memory should be.
    """

def asarray(
    x: _ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A tensor of anything: a number, numbers in lists, a framework's tensor, a buffer, or an
    object with `__array_interface__`. Memory is shared where that is possible and `copy` isn't
    True.

    Without `dtype`, Python's numbers become what they do in NumPy: bool, int64, float64 or
    complex128; integers that no such dtype has all of are refused. A tensor keeps its own dtype.
    """

def empty(
    shape: _Shape, dtype: DTypeLike | None = None, *, device: DeviceLike | None = None
) -> Tensor:
    """A tensor without defined values: zeros at present, or ones where the dtype has no zero.

    `dtype` is float64 if not given, as in NumPy; PyTorch's and JAX's default is float32.
    """

def zeros(
    shape: _Shape, dtype: DTypeLike | None = None, *, device: DeviceLike | None = None
) -> Tensor:
    """A tensor of zeros.

    `dtype` is float64 if not given, as in NumPy; PyTorch's and JAX's default is float32.
    """

def num_threads() -> int:
    """Returns how many threads a call of an op may use, if it doesn't say so itself."""

def ones(
    shape: _Shape, dtype: DTypeLike | None = None, *, device: DeviceLike | None = None
) -> Tensor:
    """A tensor of ones.

    `dtype` is float64 if not given, as in NumPy; PyTorch's and JAX's default is float32.
    """

def full(
    shape: _Shape,
    fill_value: complex,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
) -> Tensor:
    """A tensor filled with one number.

    Without `dtype`, the number decides, as in NumPy: bool for a bool, int64 for an int (uint64
    where int64 is too small), float64 for a float, complex128 for a complex number.
    """

def arange(
    start: float,
    stop: float | None = None,
    step: float | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
) -> Tensor:
    """Numbers in equal steps: `arange(stop)`, `arange(start, stop)` or `arange(start, stop, step)`.

    Without `dtype`, int64 where all of them are integers, and float64 otherwise, as in NumPy.
    """

@overload
def convert(
    x: TensorLike,
    to: Literal["dlbridge"],
    *,
    copy: bool | None = False,
    readonly: Policy | None = None,
) -> Tensor:
    """Any framework's tensor as one of another framework, in one hop.

    `copy` is False for shared memory or an error, True for a copy, and None for shared memory
    where that is possible and a copy where it isn't.

    `readonly` says what happens where the memory is read-only and the framework has no read-only
    tensors: "warn" shares it with a `ReadOnlyWarning` for each pair of frameworks, "share"
    without, "refuse" raises BufferError. Without it, the policy of `dlbridge.readonly` holds.
    With `copy=None` it is copied.
    """

@overload
def convert(
    x: TensorLike, to: str, *, copy: bool | None = False, readonly: Policy | None = None
) -> Any: ...
def _cuda_add_search_path(folder: str) -> None: ...
def _cuda_check() -> None: ...
def _cuda_compile(
    source: str,
    name: str,
    options: Sequence[str],
    headers: Sequence[tuple[str, str]],
    kernels: Sequence[str],
    device: DeviceLike | int | None,
) -> Module: ...
def _cuda_load(image: bytes, device: DeviceLike | int | None) -> Module: ...
def _cuda_current_stream(device: DeviceLike | int | None = None) -> Stream: ...
def _cuda_device_count() -> int: ...
def _cuda_is_available() -> bool: ...
def _cuda_properties(
    device: DeviceLike | int | None = None,
) -> tuple[str, tuple[int, int], int, int, int]: ...
def _cuda_synchronize(device: DeviceLike | int | None = None) -> None: ...
def _cuda_trim(device: DeviceLike | int | None = None) -> None: ...
def _outlook(
    x: TensorLike, to: str, readonly: Policy | None = None
) -> tuple[_Outcome, str | None, str | None, str | None, str | None, str | None]: ...
def _open_bytes(data: Buffer, format: str | None) -> TensorFile: ...
def _open_file(
    path: str | PathLike[str], format: str | None, to: str | None, writable: bool | None
) -> TensorFile: ...
def _save_bytes(
    tensors: Sequence[tuple[str, TensorLike]],
    format: str,
    align: int,
    metadata: Sequence[tuple[str, str]] | None,
) -> bytes: ...
def _save_file(
    path: str | PathLike[str],
    tensors: Sequence[tuple[str, TensorLike]],
    format: str | None,
    align: int,
    metadata: Sequence[tuple[str, str]] | None,
    external: str | None,
) -> list[str]: ...
def _restore(elements: Buffer, shape: Sequence[int], dtype: DTypeLike) -> Tensor: ...
def _op(name: str) -> Callable[..., Any]: ...
def _nearest_name(name: str, known: Sequence[str]) -> str | None: ...
def _op_aliases() -> list[str]: ...
def _op_names() -> list[str]: ...
def _kernels() -> list[dict[str, Any]]: ...
def _set_num_threads(threads: int | None, /) -> None: ...
