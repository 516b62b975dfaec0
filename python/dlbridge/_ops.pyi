# The ops that come with the package. Those of other extensions are found when the program runs.

from collections.abc import Sequence
from typing import Literal, SupportsIndex, TypeAlias, TypeVar, overload

from typing_extensions import Buffer

from ._core import Tensor, _SupportsDLPack, _TensorLike

_X = TypeVar("_X", bound=_SupportsDLPack)
_Out = TypeVar("_Out", bound=_SupportsDLPack | Buffer)
_Like = TypeVar("_Like", bound=_SupportsDLPack)
# Numbers may stand for tensors.
_Input: TypeAlias = _TensorLike | float
_Memory: TypeAlias = Literal["own", "caller"]
_Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None

@overload
def add(
    a: _Input, b: _Input, out: _Out, *, like: _TensorLike | None = None, label: str = ..., memory: _Memory = ...
) -> _Out: ...
@overload
def add(a: _Input, b: _Input, out: None = None, *, like: _Like, label: str = ..., memory: _Memory = ...) -> _Like: ...
@overload
def add(a: _X, b: _Input, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...) -> _X: ...
@overload
def add(a: float, b: _X, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...) -> _X: ...
@overload
def add(
    a: Buffer | float, b: _Input, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...
) -> Tensor: ...
def axpy(
    alpha: _Input, x: _Input, y: _Out, *, like: _TensorLike | None = None, label: str = ..., memory: _Memory = ...
) -> _Out: ...
@overload
def matmul(
    a: _Input, b: _Input, out: _Out, *, like: _TensorLike | None = None, label: str = ..., memory: _Memory = ...
) -> _Out: ...
@overload
def matmul(
    a: _Input, b: _Input, out: None = None, *, like: _Like, label: str = ..., memory: _Memory = ...
) -> _Like: ...
@overload
def matmul(
    a: _X, b: _Input, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...
) -> _X: ...
@overload
def matmul(a: float, b: _X, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...) -> _X: ...
@overload
def matmul(
    a: Buffer | float, b: _Input, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...
) -> Tensor: ...
@overload
def sum(
    x: _Input,
    out: _Out,
    *,
    axis: _Axes = ...,
    keepdims: bool | None = ...,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out: ...
@overload
def sum(
    x: _Input,
    out: None = None,
    *,
    axis: _Axes = ...,
    keepdims: bool | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
) -> _Like: ...
@overload
def sum(
    x: _X,
    out: None = None,
    *,
    axis: _Axes = ...,
    keepdims: bool | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _X: ...
@overload
def sum(
    x: Buffer | float,
    out: None = None,
    *,
    axis: _Axes = ...,
    keepdims: bool | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
