# The ops that come with the package. Those of other extensions are found when the program runs.

from collections.abc import Sequence
from typing import Literal, Protocol, SupportsIndex, TypeAlias, TypeVar, overload

from typing_extensions import Buffer

from ._core import Tensor, _DTypeLike, _SupportsDLPack, _TensorLike

_X = TypeVar("_X", bound=_SupportsDLPack)
_Out = TypeVar("_Out", bound=_SupportsDLPack | Buffer)
_Like = TypeVar("_Like", bound=_SupportsDLPack)
# Numbers may stand for tensors.
_Input: TypeAlias = _TensorLike | float
_Memory: TypeAlias = Literal["own", "caller"]
_Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None

class _OfTwo(Protocol):
    @overload
    def __call__(
        self,
        a: _Input,
        b: _Input,
        out: _Out,
        *,
        like: _TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
    ) -> _Out: ...
    @overload
    def __call__(
        self, a: _Input, b: _Input, out: None = None, *, like: _Like, label: str = ..., memory: _Memory = ...
    ) -> _Like: ...
    @overload
    def __call__(
        self, a: _X, b: _Input, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...
    ) -> _X: ...
    @overload
    def __call__(
        self, a: float, b: _X, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...
    ) -> _X: ...
    @overload
    def __call__(
        self,
        a: Buffer | float,
        b: _Input,
        out: None = None,
        *,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
    ) -> Tensor: ...

class _AlongAxes(Protocol):
    @overload
    def __call__(
        self,
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
    def __call__(
        self,
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
    def __call__(
        self,
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
    def __call__(
        self,
        x: Buffer | float,
        out: None = None,
        *,
        axis: _Axes = ...,
        keepdims: bool | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
    ) -> Tensor: ...

add: _OfTwo
sub: _OfTwo
mul: _OfTwo
div: _OfTwo
matmul: _OfTwo
sum: _AlongAxes
mean: _AlongAxes
max: _AlongAxes

def axpy(
    alpha: _Input, x: _Input, y: _Out, *, like: _TensorLike | None = None, label: str = ..., memory: _Memory = ...
) -> _Out: ...
@overload
def copy(x: _Input, out: _Out, *, like: _TensorLike | None = None, label: str = ..., memory: _Memory = ...) -> _Out: ...
@overload
def copy(x: _Input, out: None = None, *, like: _Like, label: str = ..., memory: _Memory = ...) -> _Like: ...
@overload
def copy(x: _X, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...) -> _X: ...
@overload
def copy(
    x: Buffer | float, out: None = None, *, like: None = None, label: str = ..., memory: _Memory = ...
) -> Tensor: ...
@overload
def cast(
    x: _Input, out: _Out, *, dtype: _DTypeLike, like: _TensorLike | None = None, label: str = ..., memory: _Memory = ...
) -> _Out: ...
@overload
def cast(
    x: _Input, out: None = None, *, dtype: _DTypeLike, like: _Like, label: str = ..., memory: _Memory = ...
) -> _Like: ...
@overload
def cast(
    x: _X, out: None = None, *, dtype: _DTypeLike, like: None = None, label: str = ..., memory: _Memory = ...
) -> _X: ...
@overload
def cast(
    x: Buffer | float,
    out: None = None,
    *,
    dtype: _DTypeLike,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
@overload
def softmax(
    x: _TensorLike,
    out: _Out,
    *,
    axis: SupportsIndex | None = ...,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out: ...
@overload
def softmax(
    x: _TensorLike,
    out: None = None,
    *,
    axis: SupportsIndex | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
) -> _Like: ...
@overload
def softmax(
    x: _X,
    out: None = None,
    *,
    axis: SupportsIndex | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _X: ...
@overload
def softmax(
    x: Buffer,
    out: None = None,
    *,
    axis: SupportsIndex | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
@overload
def rms_norm(
    x: _TensorLike,
    weight: _TensorLike,
    out: _Out,
    *,
    eps: float | None = ...,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out: ...
@overload
def rms_norm(
    x: _TensorLike,
    weight: _TensorLike,
    out: None = None,
    *,
    eps: float | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
) -> _Like: ...
@overload
def rms_norm(
    x: _X,
    weight: _TensorLike,
    out: None = None,
    *,
    eps: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _X: ...
@overload
def rms_norm(
    x: Buffer,
    weight: _TensorLike,
    out: None = None,
    *,
    eps: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
@overload
def image_to_tensor(
    image: _TensorLike,
    mean: _TensorLike,
    std: _TensorLike,
    out: _Out,
    *,
    dtype: _DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out: ...
@overload
def image_to_tensor(
    image: _TensorLike,
    mean: _TensorLike,
    std: _TensorLike,
    out: None = None,
    *,
    dtype: _DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
) -> _Like: ...
@overload
def image_to_tensor(
    image: _X,
    mean: _TensorLike,
    std: _TensorLike,
    out: None = None,
    *,
    dtype: _DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _X: ...
@overload
def image_to_tensor(
    image: Buffer,
    mean: _TensorLike,
    std: _TensorLike,
    out: None = None,
    *,
    dtype: _DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
