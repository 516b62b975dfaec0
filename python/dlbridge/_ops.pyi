# The ops that come with the package. Those of other extensions are found when the program runs.

from collections.abc import Sequence
from typing import Literal, Protocol, SupportsIndex, TypeAlias, TypeVar, overload

from typing_extensions import Buffer

from ._core import Tensor
from .typing import DTypeLike, SupportsDLPack, TensorLike

_X = TypeVar("_X", bound=SupportsDLPack)
_Out = TypeVar("_Out", bound=SupportsDLPack | Buffer)
_Like = TypeVar("_Like", bound=SupportsDLPack)
# Numbers may stand for tensors.
_Input: TypeAlias = TensorLike | float
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
        like: TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
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
        threads: int | None = ...,
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
        threads: int | None = ...,
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
        threads: int | None = ...,
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
        threads: int | None = ...,
    ) -> Tensor: ...

class _MatMul(Protocol):
    @overload
    def __call__(
        self,
        a: _Input,
        b: _Input,
        *,
        out: _Out,
        dtype: DTypeLike | None = ...,
        like: TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Input,
        b: _Input,
        *,
        out: None = None,
        dtype: DTypeLike | None = ...,
        like: _Like,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Like: ...
    @overload
    def __call__(
        self,
        a: _X,
        b: _Input,
        *,
        out: None = None,
        dtype: DTypeLike | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        a: float,
        b: _X,
        *,
        out: None = None,
        dtype: DTypeLike | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        a: Buffer | float,
        b: _Input,
        *,
        out: None = None,
        dtype: DTypeLike | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> Tensor: ...

class _OfOne(Protocol):
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: _Out,
        like: TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: None = None,
        like: _Like,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Like: ...
    @overload
    def __call__(
        self,
        x: _X,
        *,
        out: None = None,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        x: Buffer | float,
        *,
        out: None = None,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> Tensor: ...

class _Gelu(Protocol):
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: _Out,
        approximate: Literal["none", "tanh"] = ...,
        like: TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: None = None,
        approximate: Literal["none", "tanh"] = ...,
        like: _Like,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Like: ...
    @overload
    def __call__(
        self,
        x: _X,
        *,
        out: None = None,
        approximate: Literal["none", "tanh"] = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        x: Buffer | float,
        *,
        out: None = None,
        approximate: Literal["none", "tanh"] = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
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
        like: TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
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
        threads: int | None = ...,
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
        threads: int | None = ...,
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
        threads: int | None = ...,
    ) -> Tensor: ...

class _Sum(Protocol):
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: _Out,
        axis: _Axes = ...,
        keepdims: bool | None = ...,
        dtype: DTypeLike | None = ...,
        like: TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: None = None,
        axis: _Axes = ...,
        keepdims: bool | None = ...,
        dtype: DTypeLike | None = ...,
        like: _Like,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Like: ...
    @overload
    def __call__(
        self,
        x: _X,
        *,
        out: None = None,
        axis: _Axes = ...,
        keepdims: bool | None = ...,
        dtype: DTypeLike | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        x: Buffer | float,
        *,
        out: None = None,
        axis: _Axes = ...,
        keepdims: bool | None = ...,
        dtype: DTypeLike | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> Tensor: ...

class _IndexAlongAxis(Protocol):
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: _Out,
        axis: SupportsIndex | None = ...,
        keepdims: bool | None = ...,
        like: TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: None = None,
        axis: SupportsIndex | None = ...,
        keepdims: bool | None = ...,
        like: _Like,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Like: ...
    @overload
    def __call__(
        self,
        x: _X,
        *,
        out: None = None,
        axis: SupportsIndex | None = ...,
        keepdims: bool | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        x: Buffer | float,
        *,
        out: None = None,
        axis: SupportsIndex | None = ...,
        keepdims: bool | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> Tensor: ...

class _Deviation(Protocol):
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: _Out,
        axis: _Axes = ...,
        correction: float = ...,
        keepdims: bool | None = ...,
        like: TensorLike | None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Input,
        *,
        out: None = None,
        axis: _Axes = ...,
        correction: float = ...,
        keepdims: bool | None = ...,
        like: _Like,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _Like: ...
    @overload
    def __call__(
        self,
        x: _X,
        *,
        out: None = None,
        axis: _Axes = ...,
        correction: float = ...,
        keepdims: bool | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> _X: ...
    @overload
    def __call__(
        self,
        x: Buffer | float,
        *,
        out: None = None,
        axis: _Axes = ...,
        correction: float = ...,
        keepdims: bool | None = ...,
        like: None = None,
        label: str = ...,
        memory: _Memory = ...,
        threads: int | None = ...,
    ) -> Tensor: ...

add: _OfTwo
"""The sum of two tensors, by element: out = a + b. Sums of integers wrap around.

add(a: T, b: T) -> out: T
"""
subtract: _OfTwo
"""The difference of two tensors, by element: out = a - b. Differences of integers wrap around.

subtract(a: T, b: T) -> out: T
"""
multiply: _OfTwo
"""The product of two tensors, by element: out = a * b. Products of integers wrap around.

multiply(a: T, b: T) -> out: T
"""
divide: _OfTwo
"""The quotient of two tensors of floats, by element: out = a / b.

divide(a: T, b: T) -> out: T
"""
maximum: _OfTwo
"""The larger element of two tensors, or NaN where either is NaN.

maximum(a: T, b: T) -> out: T
"""
minimum: _OfTwo
"""The smaller element of two tensors, or NaN where either is NaN.

minimum(a: T, b: T) -> out: T
"""
equal: _OfTwo
"""Whether elements are equal: out = a == b. NaN equals nothing.

equal(a: T, b: T) -> out: bool
"""
not_equal: _OfTwo
"""Whether elements differ: out = a != b. NaN differs from all.

not_equal(a: T, b: T) -> out: bool
"""
less: _OfTwo
"""Whether elements are less: out = a < b. NaN never is.

less(a: T, b: T) -> out: bool
"""
less_equal: _OfTwo
"""Whether elements are less or equal: out = a <= b. NaN never is.

less_equal(a: T, b: T) -> out: bool
"""
greater: _OfTwo
"""Whether elements are greater: out = a > b. NaN never is.

greater(a: T, b: T) -> out: bool
"""
greater_equal: _OfTwo
"""Whether elements are greater or equal: out = a >= b. NaN never is.

greater_equal(a: T, b: T) -> out: bool
"""
negative: _OfOne
"""Numbers with the other sign, by element: out = -x. Integers wrap around.

negative(x: T) -> out: T
"""
abs: _OfOne
"""Absolute values, by element: out = |x|. The least signed integer stays as it is.

abs(x: T) -> out: T
"""
relu: _OfOne
"""Numbers, or 0 where they are less, by element: out = max(x, 0). NaN stays NaN.

relu(x: T) -> out: T
"""
sqrt: _OfOne
"""Square roots, by element, rounded once. Of numbers below 0 they are NaN.

sqrt(x: T) -> out: T
"""
rsqrt: _OfOne
"""1 over square roots, by element, within 1.5 ulp: out = 1 / sqrt(x).

rsqrt(x: T) -> out: T
"""
exp: _OfOne
"""Exponentials, by element, within 2 ulp: out = e^x.

exp(x: T) -> out: T
"""
log: _OfOne
"""Natural logarithms, by element, within 1 ulp. Of 0 they are -inf, of numbers below 0 NaN.

log(x: T) -> out: T
"""
tanh: _OfOne
"""Hyperbolic tangents, by element, within 4 ulp.

tanh(x: T) -> out: T
"""
sigmoid: _OfOne
"""The logistic function, by element, within 3 ulp: out = 1 / (1 + exp(-x)).

sigmoid(x: T) -> out: T
"""
silu: _OfOne
"""The sigmoid linear unit, by element, within 4 ulp: out = x / (1 + exp(-x)).

silu(x: T) -> out: T
"""
gelu: _Gelu
"""The Gaussian error linear unit, by element, within 6 ulp: out = x * P(X < x) of a normally
distributed X. approximate="tanh" has its approximation by a hyperbolic tangent instead.

gelu(x: T, *, approximate: str = "none") -> out: T
"""
matmul: _MatMul
"""The product of matrices: out[..., i, j] = the sum over k of a[..., i, k] * b[..., k, j]. A vector
is one row of `a` or one column of `b`, which the result is without; all dimensions before the
last two are broadcast. Products of integers wrap around; those of int8 and uint8 are exact for
`dtype="int32"`. Sums of 16-bit floats are float32, and rounded once, or not for
`dtype="float32"`.

matmul(a: T, b: T, *, dtype: dtype | None = None) -> out: dtype | T
"""
sum: _Sum
"""The sum of the elements along some axes: all of them without `axis`, none of them for `axis=()`.
Sums of signed integers are int64 and those of unsigned ones uint64, unless `dtype` says
otherwise; they wrap around. On the CPU floats of up to 32 bits are added up in lanes of float32,
which a float64 adds up; float32 with `dtype=float64` in float64 throughout.

sum(x: T, *, axis: ints | None = None, keepdims: bool = False, dtype: dtype | None = None) ->
out: dtype | sum of T
"""
var: _Deviation
"""The variance of floats along some axes: all of them without `axis`, none of them for `axis=()`.
The sum of the squared distances from the mean, over the number of elements less the correction.

var(x: T, *, axis: ints | None = None, correction: float = 0.0, keepdims: bool = False) -> out: T
"""
std: _Deviation
"""The standard deviation of floats along some axes: all of them without `axis`, none of them for
`axis=()`. The square root of the variance.

std(x: T, *, axis: ints | None = None, correction: float = 0.0, keepdims: bool = False) -> out: T
"""
argmax: _IndexAlongAxis
"""The index of the largest element along an axis, of equal ones the first; without `axis` the index
in the flattened tensor, in row-major order. NaN counts as the largest.

argmax(x: T, *, axis: int | None = None, keepdims: bool = False) -> out: int64
"""
argmin: _IndexAlongAxis
"""The index of the smallest element along an axis, of equal ones the first; without `axis` the
index in the flattened tensor, in row-major order. NaN counts as the smallest.

argmin(x: T, *, axis: int | None = None, keepdims: bool = False) -> out: int64
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
min: _AlongAxes
"""The smallest element along some axes: all of them without `axis`, none of them for `axis=()`. NaN
counts as the smallest.

min(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T
"""

def axpy(
    alpha: _Input,
    x: _Input,
    y: _Out,
    *,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Adds a multiple of one tensor to another one, in place: y += alpha * x.

    axpy(alpha: T, x: T, y: T) -> y
    """

@overload
def copy(
    x: _Input,
    *,
    out: _Out,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The same elements somewhere else: row-major without gaps, where nothing is given to hold
    them.

    copy(x: T) -> out: T
    """

@overload
def copy(
    x: _Input,
    *,
    out: None = None,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def copy(
    x: _X,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def copy(
    x: Buffer | float,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def cast(
    x: _Input,
    *,
    out: _Out,
    dtype: DTypeLike,
    saturate: bool = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The numbers as elements of another type. Floats are rounded once, to the nearest number, of
    two to the even one. Floats become integers towards zero, of which the least and the largest
    stand for those beyond; NaN becomes 0. Integers wrap around. What isn't 0 is true. What is
    too large for a float of 8 bits becomes infinity, or NaN if there is none, and with saturate
    the largest number; for a float of fewer bits always that. Complex numbers become complex or
    bool.

    cast(x: S, *, dtype: dtype, saturate: bool = False) -> out: dtype
    """

@overload
def cast(
    x: _Input,
    *,
    out: None = None,
    dtype: DTypeLike,
    saturate: bool = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def cast(
    x: _X,
    *,
    out: None = None,
    dtype: DTypeLike,
    saturate: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def cast(
    x: Buffer | float,
    *,
    out: None = None,
    dtype: DTypeLike,
    saturate: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def where(
    condition: _Input,
    a: _Input,
    b: _Input,
    *,
    out: _Out,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The elements of a where the condition is true, and those of b elsewhere.

    where(condition: bool, a: T, b: T) -> out: T
    """

@overload
def where(
    condition: _Input,
    a: _Input,
    b: _Input,
    *,
    out: None = None,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def where(
    condition: _X,
    a: _Input,
    b: _Input,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def where(
    condition: Buffer | float,
    a: _Input,
    b: _Input,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def fma(
    a: _Input,
    b: _Input,
    c: _Input,
    *,
    out: _Out,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The product of two tensors of floats and a third one, rounded once: out = a * b + c.

    fma(a: T, b: T, c: T) -> out: T
    """

@overload
def fma(
    a: _Input,
    b: _Input,
    c: _Input,
    *,
    out: None = None,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def fma(
    a: _X,
    b: _Input,
    c: _Input,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def fma(
    a: Buffer | float,
    b: _Input,
    c: _Input,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def softmax(
    x: TensorLike,
    *,
    out: _Out,
    axis: SupportsIndex | None = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The exponentials of floats along an axis, over their sum: exp(x) / the sum of exp(x).

    softmax(x: T, *, axis: int = -1) -> out: T
    """

@overload
def softmax(
    x: TensorLike,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
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
    threads: int | None = ...,
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
    threads: int | None = ...,
) -> Tensor: ...
@overload
def log_softmax(
    x: TensorLike,
    *,
    out: _Out,
    axis: SupportsIndex | None = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The logarithm of softmax of floats along an axis: x - log(the sum of exp(x)), without
    overflow.

    log_softmax(x: T, *, axis: int = -1) -> out: T
    """

@overload
def log_softmax(
    x: TensorLike,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def log_softmax(
    x: _X,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def log_softmax(
    x: Buffer,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def rms_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    *,
    out: _Out,
    eps: float | None = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Floats over the root of the mean of their squares along the last axis, times a weight for
    each place along it, if there are weights: out = x / sqrt(mean(x * x) + eps) * weight.

    rms_norm(x: T, weight: T | None = None, *, eps: float = 1e-6) -> out: T
    """

@overload
def rms_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    *,
    out: None = None,
    eps: float | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def rms_norm(
    x: _X,
    weight: TensorLike | None = None,
    *,
    out: None = None,
    eps: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def rms_norm(
    x: Buffer,
    weight: TensorLike | None = None,
    *,
    out: None = None,
    eps: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def layer_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    out: _Out,
    axis: SupportsIndex | None = ...,
    eps: float | None = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Floats less their mean along an axis, over their standard deviation along it, times a weight
    for each place along the axis and plus a bias for each, if there are such: out = (x -
    mean(x)) / sqrt(var(x) + eps) * weight + bias. The variance is that of the whole population.

    layer_norm(x: T, weight: T | None = None, bias: T | None = None, *, axis: int = -1, eps:
    float = 1e-5) -> out: T
    """

@overload
def layer_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    eps: float | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def layer_norm(
    x: _X,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    eps: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def layer_norm(
    x: Buffer,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    out: None = None,
    axis: SupportsIndex | None = ...,
    eps: float | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def concat(
    *xs: _Input | Sequence[_Input],
    out: _Out,
    axis: SupportsIndex | None = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Tensors one after another, along an axis that all of them have; all other axes are of the
    same size. They are positional arguments, or the items of one list or tuple.

    concat(*xs: T, axis: int = 0) -> out: T
    """

@overload
def concat(
    *xs: _Input | Sequence[_Input],
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def concat(
    *xs: _X | Sequence[_X],
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def concat(
    *xs: Buffer | Sequence[Buffer],
    out: None = None,
    axis: SupportsIndex | None = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def image_to_tensor(
    image: TensorLike,
    mean: TensorLike,
    std: TensorLike,
    *,
    out: _Out,
    dtype: DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    crop: Sequence[SupportsIndex] | None = ...,
    flip: bool = ...,
    resize: Literal["bilinear", "area"] = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Images of bytes, [..., height, width, channels], as floats, [..., channels, height, width]:
    the rectangle crop=(top, left, height, width) if it is given, resized to a height or a width
    that is given, mirrored if flip is true; out = (scale * value - mean) / std, with a mean and
    a deviation for each channel. resize is "bilinear", between four pixels, or "area", the mean
    of the pixels that a pixel of the result covers, wholly or in part.

    image_to_tensor(image: uint8, mean: float32, std: float32, *, dtype: dtype = "float32",
    height: int = 0, width: int = 0, scale: float = 0.00392156862745098, crop: ints | None =
    None, flip: bool = False, resize: str = "bilinear") -> out: dtype
    """

@overload
def image_to_tensor(
    image: TensorLike,
    mean: TensorLike,
    std: TensorLike,
    *,
    out: None = None,
    dtype: DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    crop: Sequence[SupportsIndex] | None = ...,
    flip: bool = ...,
    resize: Literal["bilinear", "area"] = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def image_to_tensor(
    image: _X,
    mean: TensorLike,
    std: TensorLike,
    *,
    out: None = None,
    dtype: DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    crop: Sequence[SupportsIndex] | None = ...,
    flip: bool = ...,
    resize: Literal["bilinear", "area"] = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def image_to_tensor(
    image: Buffer,
    mean: TensorLike,
    std: TensorLike,
    *,
    out: None = None,
    dtype: DTypeLike | None = ...,
    height: SupportsIndex | None = ...,
    width: SupportsIndex | None = ...,
    scale: float | None = ...,
    crop: Sequence[SupportsIndex] | None = ...,
    flip: bool = ...,
    resize: Literal["bilinear", "area"] = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def nv12_to_rgb(
    y: TensorLike,
    uv: TensorLike,
    *,
    out: _Out,
    standard: Literal["bt601", "bt709"] = ...,
    full_range: bool = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Frames in NV12, as video decoders write them, as pixels of red, green and blue, [..., height,
    width, 3]. y is [..., height, width]; uv has the colours of each two by two pixels, [...,
    height / 2, width / 2, 2] or [..., height / 2, width], so that of one buffer it is what
    follows the first height rows. standard is "bt601" or "bt709"; full_range says that y and uv
    go from 0 to 255, and not from 16 to 235 and 240. Coefficients are rounded to multiples of
    2**-16, results to the nearest integer, halves up.

    nv12_to_rgb(y: uint8, uv: uint8, *, standard: str = "bt601", full_range: bool = False) ->
    out: uint8
    """

@overload
def nv12_to_rgb(
    y: TensorLike,
    uv: TensorLike,
    *,
    out: None = None,
    standard: Literal["bt601", "bt709"] = ...,
    full_range: bool = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def nv12_to_rgb(
    y: _X,
    uv: TensorLike,
    *,
    out: None = None,
    standard: Literal["bt601", "bt709"] = ...,
    full_range: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def nv12_to_rgb(
    y: Buffer,
    uv: TensorLike,
    *,
    out: None = None,
    standard: Literal["bt601", "bt709"] = ...,
    full_range: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def quantize(
    x: TensorLike,
    scale: _Input,
    zero_point: _Input | None = None,
    *,
    out: _Out,
    dtype: DTypeLike = ...,
    axis: SupportsIndex = ...,
    group: SupportsIndex = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Floats as integers of 8 or 4 bits: saturate(round(x * (1 / scale)) + zero_point), calculated
    in float32, halves rounded to the even integer. NaN becomes zero_point. scale has shape [],
    or [n] for each index of an axis, or with group the shape of x with a scale for each group of
    elements along the axis, whose size is a multiple of group. zero_point has the same shape, or
    [], or is 0 where it is left out.

    quantize(x: F, scale: float32, zero_point: int32 | None = None, *, dtype: dtype = "int8",
    axis: int = -1, group: int = 0) -> out: dtype
    """

@overload
def quantize(
    x: TensorLike,
    scale: _Input,
    zero_point: _Input | None = None,
    *,
    out: None = None,
    dtype: DTypeLike = ...,
    axis: SupportsIndex = ...,
    group: SupportsIndex = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def quantize(
    x: _X,
    scale: _Input,
    zero_point: _Input | None = None,
    *,
    out: None = None,
    dtype: DTypeLike = ...,
    axis: SupportsIndex = ...,
    group: SupportsIndex = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def quantize(
    x: Buffer,
    scale: _Input,
    zero_point: _Input | None = None,
    *,
    out: None = None,
    dtype: DTypeLike = ...,
    axis: SupportsIndex = ...,
    group: SupportsIndex = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def dequantize(
    q: TensorLike,
    scale: _Input,
    zero_point: _Input | None = None,
    *,
    out: _Out,
    dtype: DTypeLike = ...,
    axis: SupportsIndex = ...,
    group: SupportsIndex = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Quantised integers as floats: (q - zero_point) * scale, calculated in float32. scale and
    zero_point have the shapes that quantize has them in.

    dequantize(q: Q, scale: float32, zero_point: int32 | None = None, *, dtype: dtype =
    "float32", axis: int = -1, group: int = 0) -> out: dtype
    """

@overload
def dequantize(
    q: TensorLike,
    scale: _Input,
    zero_point: _Input | None = None,
    *,
    out: None = None,
    dtype: DTypeLike = ...,
    axis: SupportsIndex = ...,
    group: SupportsIndex = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def dequantize(
    q: _X,
    scale: _Input,
    zero_point: _Input | None = None,
    *,
    out: None = None,
    dtype: DTypeLike = ...,
    axis: SupportsIndex = ...,
    group: SupportsIndex = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def dequantize(
    q: Buffer,
    scale: _Input,
    zero_point: _Input | None = None,
    *,
    out: None = None,
    dtype: DTypeLike = ...,
    axis: SupportsIndex = ...,
    group: SupportsIndex = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
def index_add(
    x: _Out,
    indices: _Input,
    source: _Input,
    *,
    axis: SupportsIndex = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Adds rows to those of a tensor that indices name, along an axis, in place. Negative indices
    count from the end. Rows of the same index are added one after another in their order, each
    sum rounded to the tensor's type. An index that is out of bounds is an error, and nothing is
    added.

    index_add(x: T, indices: I, source: T, *, axis: int = 0) -> x
    """

@overload
def take(
    x: TensorLike,
    indices: _Input,
    *,
    out: _Out,
    axis: SupportsIndex = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The rows of a tensor that indices name, along an axis: the shape of the indices takes the
    place of the axis. Negative indices count from the end. An index that is out of bounds is an
    error.

    take(x: T, indices: I, *, axis: int = 0) -> out: T
    """

@overload
def take(
    x: TensorLike,
    indices: _Input,
    *,
    out: None = None,
    axis: SupportsIndex = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def take(
    x: _X,
    indices: _Input,
    *,
    out: None = None,
    axis: SupportsIndex = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def take(
    x: Buffer,
    indices: _Input,
    *,
    out: None = None,
    axis: SupportsIndex = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def topk(
    x: TensorLike,
    *,
    k: SupportsIndex,
    out: tuple[_Out, _Out],
    axis: SupportsIndex = ...,
    largest: bool = ...,
    sorted: bool = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> tuple[_Out, _Out]:
    """The k largest elements along an axis, or the smallest, and their indices: the best first, or
    in any order unless sorted. Of equal elements those of lower indices come first. NaN counts
    as larger than all numbers.

    topk(x: T, *, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> values:
    T, indices: int64
    """

@overload
def topk(
    x: TensorLike,
    *,
    k: SupportsIndex,
    out: None = None,
    axis: SupportsIndex = ...,
    largest: bool = ...,
    sorted: bool = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> tuple[_Like, _Like]: ...
@overload
def topk(
    x: _X,
    *,
    k: SupportsIndex,
    out: None = None,
    axis: SupportsIndex = ...,
    largest: bool = ...,
    sorted: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> tuple[_X, _X]: ...
@overload
def topk(
    x: Buffer,
    *,
    k: SupportsIndex,
    out: None = None,
    axis: SupportsIndex = ...,
    largest: bool = ...,
    sorted: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> tuple[Tensor, Tensor]: ...

sub = subtract
mul = multiply
div = divide

@overload
def sum_to_like(
    x: _Input,
    other: _Input,
    *,
    out: _Out,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Sums of floats along the axes along which a tensor like the other one is broadcast to the
    shape of x: the gradient of broadcasting. Numbers are added up as by sum.

    sum_to_like(x: T, other: T) -> out: T
    """

@overload
def sum_to_like(
    x: _Input,
    other: _Input,
    *,
    out: None = None,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def sum_to_like(
    x: _X,
    other: _Input,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def sum_to_like(
    x: Buffer | float,
    other: _Input,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def broadcast_like(
    x: _Input,
    other: _Input,
    *,
    out: _Out,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The elements of a tensor, broadcast to the shape of another one.

    broadcast_like(x: T, other: T) -> out: T
    """

@overload
def broadcast_like(
    x: _Input,
    other: _Input,
    *,
    out: None = None,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def broadcast_like(
    x: _X,
    other: _Input,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def broadcast_like(
    x: Buffer | float,
    other: _Input,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def sum_backward(
    grad: _Input,
    other: _Input,
    *,
    out: _Out,
    axis: _Axes = ...,
    keepdims: bool = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The gradient of sum: that of its result, broadcast along the axes that were summed, in the
    shape of other.

    sum_backward(grad: T, other: T, *, axis: ints | None = None, keepdims: bool = False) -> out:
    T
    """

@overload
def sum_backward(
    grad: _Input,
    other: _Input,
    *,
    out: None = None,
    axis: _Axes = ...,
    keepdims: bool = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def sum_backward(
    grad: _X,
    other: _Input,
    *,
    out: None = None,
    axis: _Axes = ...,
    keepdims: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def sum_backward(
    grad: Buffer | float,
    other: _Input,
    *,
    out: None = None,
    axis: _Axes = ...,
    keepdims: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def mean_backward(
    grad: _Input,
    other: _Input,
    *,
    out: _Out,
    axis: _Axes = ...,
    keepdims: bool = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The gradient of mean: that of its result, over the number of elements of each mean, broadcast
    along the axes of the means, in the shape of other.

    mean_backward(grad: T, other: T, *, axis: ints | None = None, keepdims: bool = False) -> out:
    T
    """

@overload
def mean_backward(
    grad: _Input,
    other: _Input,
    *,
    out: None = None,
    axis: _Axes = ...,
    keepdims: bool = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def mean_backward(
    grad: _X,
    other: _Input,
    *,
    out: None = None,
    axis: _Axes = ...,
    keepdims: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def mean_backward(
    grad: Buffer | float,
    other: _Input,
    *,
    out: None = None,
    axis: _Axes = ...,
    keepdims: bool = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def matrix_transpose(
    x: _Input,
    *,
    out: _Out,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """Matrices with rows and columns exchanged, along the last two axes, as a copy.

    matrix_transpose(x: T) -> out: T
    """

@overload
def matrix_transpose(
    x: _Input,
    *,
    out: None = None,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def matrix_transpose(
    x: _X,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def matrix_transpose(
    x: Buffer | float,
    *,
    out: None = None,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def expand_dims(
    x: _Input,
    *,
    out: _Out,
    axis: SupportsIndex = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The same elements with one more axis, of size 1, as a copy. Negative axes count from the end
    of the result's.

    expand_dims(x: T, *, axis: int = 0) -> out: T
    """

@overload
def expand_dims(
    x: _Input,
    *,
    out: None = None,
    axis: SupportsIndex = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def expand_dims(
    x: _X,
    *,
    out: None = None,
    axis: SupportsIndex = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def expand_dims(
    x: Buffer | float,
    *,
    out: None = None,
    axis: SupportsIndex = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def rms_norm_backward(
    grad: _Input,
    x: _Input,
    weight: _Input | None = None,
    *,
    out: _Out,
    eps: float = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """The gradient of rms_norm by its x, of that of its result: with r = 1 / sqrt(mean(x * x) +
    eps) and g = grad * weight, out = r * g - r**3 * x * mean(g * x), along the last axis.

    rms_norm_backward(grad: T, x: T, weight: T | None = None, *, eps: float = 1e-6) -> out: T
    """

@overload
def rms_norm_backward(
    grad: _Input,
    x: _Input,
    weight: _Input | None = None,
    *,
    out: None = None,
    eps: float = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def rms_norm_backward(
    grad: _X,
    x: _Input,
    weight: _Input | None = None,
    *,
    out: None = None,
    eps: float = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def rms_norm_backward(
    grad: Buffer | float,
    x: _Input,
    weight: _Input | None = None,
    *,
    out: None = None,
    eps: float = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
@overload
def rms_norm_factor(
    x: TensorLike,
    *,
    out: _Out,
    eps: float = ...,
    like: TensorLike | None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Out:
    """What rms_norm multiplies by: out = 1 / sqrt(mean(x * x) + eps) along the last axis, which is
    of size 1.

    rms_norm_factor(x: T, *, eps: float = 1e-6) -> out: T
    """

@overload
def rms_norm_factor(
    x: TensorLike,
    *,
    out: None = None,
    eps: float = ...,
    like: _Like,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _Like: ...
@overload
def rms_norm_factor(
    x: _X,
    *,
    out: None = None,
    eps: float = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> _X: ...
@overload
def rms_norm_factor(
    x: Buffer,
    *,
    out: None = None,
    eps: float = ...,
    like: None = None,
    label: str = ...,
    memory: _Memory = ...,
    threads: int | None = ...,
) -> Tensor: ...
