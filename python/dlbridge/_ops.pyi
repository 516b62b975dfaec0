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
        *,
        out: _Out,
        like: _TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Input,
        b: _Input,
        *,
        out: None = None,
        like: _Like,
        label: str = ...,
        memory: _Memory = ...,
    ) -> _Like: ...
    @overload
    def __call__(
        self,
        a: _X,
        b: _Input,
        *,
        out: None = None,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        a: float,
        b: _X,
        *,
        out: None = None,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        a: Buffer | float,
        b: _Input,
        *,
        out: None = None,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
    ) -> Tensor: ...

class _AlongAxes(Protocol):
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: _Out,
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
        *,
        out: None = None,
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
        *,
        out: None = None,
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
        *,
        out: None = None,
        axis: _Axes = ...,
        keepdims: bool | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
    ) -> Tensor: ...

add: _OfTwo
"""The sum of two tensors, by element: out = a + b. Sums of integers wrap around.

add(a: T, b: T) -> out: T
"""
sub: _OfTwo
"""The difference of two tensors, by element: out = a - b. Differences of integers wrap around.

sub(a: T, b: T) -> out: T
"""
mul: _OfTwo
"""The product of two tensors, by element: out = a * b. Products of integers wrap around.

mul(a: T, b: T) -> out: T
"""
div: _OfTwo
"""The quotient of two tensors of floats, by element: out = a / b.

div(a: T, b: T) -> out: T
"""
matmul: _OfTwo
"""The product of two matrices: out[i, j] = the sum over k of a[i, k] * b[k, j].

matmul(a: T, b: T) -> out: T
"""
sum: _AlongAxes
"""The sum of the elements along some axes: all of them without `axis`, none of them for `axis=()`.

sum(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T
"""
mean: _AlongAxes
"""The mean of floats along some axes: all of them without `axis`, none of them for `axis=()`. The
mean of nothing is NaN.

mean(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T
"""
max: _AlongAxes
"""The largest element along some axes: all of them without `axis`, none of them for `axis=()`. NaN
counts as the largest.

max(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T
"""

def axpy(
    alpha: _Input,
    x: _Input,
    y: _Out,
    *,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out:
    """Adds a multiple of one tensor to another one, in place: y += alpha * x.

    axpy(alpha: T, x: T, y: T) -> y
    """

@overload
def copy(
    x: _Input,
    *,
    out: _Out,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out:
    """The same elements somewhere else: row-major without gaps, where nothing is given to hold
    them.

    copy(x: T) -> out: T
    """

@overload
def copy(
    x: _Input, *, out: None = None, like: _Like, label: str = ..., memory: _Memory = ...
) -> _Like: ...
@overload
def copy(
    x: _X, *, out: None = None, like: None = None, label: str = ..., memory: _Memory = ...
) -> _X: ...
@overload
def copy(
    x: Buffer | float,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
@overload
def cast(
    x: _Input,
    *,
    out: _Out,
    dtype: _DTypeLike,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out:
    """The numbers as elements of another type. Floats are rounded to the nearest float, and towards
    zero to an integer, of which the least and the largest stand for those beyond; NaN becomes 0.
    Integers wrap around. What isn't 0 is true.

    cast(x: S, *, dtype: dtype) -> out: dtype
    """

@overload
def cast(
    x: _Input,
    *,
    out: None = None,
    dtype: _DTypeLike,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
) -> _Like: ...
@overload
def cast(
    x: _X,
    *,
    out: None = None,
    dtype: _DTypeLike,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _X: ...
@overload
def cast(
    x: Buffer | float,
    *,
    out: None = None,
    dtype: _DTypeLike,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
@overload
def softmax(
    x: _TensorLike,
    *,
    out: _Out,
    axis: SupportsIndex | None = ...,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out:
    """The exponentials of floats along an axis, over their sum: exp(x) / the sum of exp(x).

    softmax(x: T, *, axis: int = -1) -> out: T
    """

@overload
def softmax(
    x: _TensorLike,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
) -> _Like: ...
@overload
def softmax(
    x: _X,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _X: ...
@overload
def softmax(
    x: Buffer,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
@overload
def rms_norm(
    x: _TensorLike,
    weight: _TensorLike,
    *,
    out: _Out,
    eps: float | None = ...,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out:
    """Floats over the root of the mean of their squares along the last axis, times a weight for
    each place along it: out = x / sqrt(mean(x * x) + eps) * weight.

    rms_norm(x: T, weight: T, *, eps: float = 1e-6) -> out: T
    """

@overload
def rms_norm(
    x: _TensorLike,
    weight: _TensorLike,
    *,
    out: None = None,
    eps: float | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
) -> _Like: ...
@overload
def rms_norm(
    x: _X,
    weight: _TensorLike,
    *,
    out: None = None,
    eps: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _X: ...
@overload
def rms_norm(
    x: Buffer,
    weight: _TensorLike,
    *,
    out: None = None,
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
    *,
    out: _Out,
    dtype: _DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    like: _TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> _Out:
    """Images of bytes, [..., height, width, channels], as floats, [..., channels, height, width]:
    resized bilinearly where a height or a width is given, out = (scale * value - mean) / std,
    with a mean and a deviation for each channel.

    image_to_tensor(image: uint8, mean: float32, std: float32, *, dtype: dtype = "float32",
    height: int = 0, width: int = 0, scale: float = 0.00392156862745098) -> out: dtype
    """

@overload
def image_to_tensor(
    image: _TensorLike,
    mean: _TensorLike,
    std: _TensorLike,
    *,
    out: None = None,
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
    *,
    out: None = None,
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
    *,
    out: None = None,
    dtype: _DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
) -> Tensor: ...
