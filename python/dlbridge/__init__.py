"""Moves tensors between frameworks with zero copies, and says why where that can't be."""

from ._core import (
    CudaError,
    Device,
    DType,
    Op,
    Tensor,
    TensorFile,
    _restore,  # noqa: F401 (pickles call it by this name)
    arange,
    asarray,
    convert,
    empty,
    from_dlpack,
    full,
    num_threads,
    ones,
    zeros,
)
from . import cuda, ops
from ._catalog import set_num_threads
from ._explain import Explanation, explain
from ._hosts import publish, ufunc
from ._files import Loaded, dumps, load, loads, open_file, save
from ._readonly import ReadOnlyWarning, readonly
from ._record import Call, Calls, record
from ._views import expand_dims, permute_dims
from ._wrap import to_mxnet_func, to_pytorch_func, wrap
from .ops import kernels

__all__ = [
    "Call",
    "Calls",
    "CudaError",
    "DType",
    "Device",
    "Explanation",
    "Loaded",
    "Op",
    "ReadOnlyWarning",
    "Tensor",
    "TensorFile",
    "arange",
    "asarray",
    "convert",
    "cuda",
    "dumps",
    "empty",
    "expand_dims",
    "explain",
    "from_dlpack",
    "full",
    "kernels",
    "load",
    "loads",
    "num_threads",
    "ones",
    "open_file",
    "ops",
    "permute_dims",
    "publish",
    "readonly",
    "record",
    "save",
    "set_num_threads",
    "to_mxnet_func",
    "to_pytorch_func",
    "ufunc",
    "wrap",
    "zeros",
]
__version__ = "0.1.0"
