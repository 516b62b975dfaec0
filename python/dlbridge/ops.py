"""Ops, as functions of tensors of any framework.

An op takes and gives tensors: `add(a, b)` of two PyTorch tensors is a PyTorch tensor, of two NumPy
arrays an array. Of several frameworks the first argument's counts, unless `like=` is given
something else's. `out=` is written in place. A number may stand for an input. `label=` asks for
another kernel than usual, and `memory="caller"` for results in memory from the framework's own
allocator. `threads=` limits a call's threads, which are otherwise `dlbridge.num_threads()` many.

`help(add)` says what an op does, `add.__self__.kernels()` what it is done by.
"""

from __future__ import annotations

from ._catalog import (
    adopt as _adopt_ops,
    find as _find,
    kernels as kernels,
    names_after as _names_after,
)

from ._hosts import publish_more as _publish_more, publish_to_tracers as _publish_to_tracers

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._ops import (
        abs as abs,
        add as add,
        argmax as argmax,
        argmin as argmin,
        axpy as axpy,
        broadcast_like as broadcast_like,
        cast as cast,
        concat as concat,
        copy as copy,
        dequantize as dequantize,
        div as div,
        divide as divide,
        equal as equal,
        exp as exp,
        expand_dims as expand_dims,
        fma as fma,
        gelu as gelu,
        greater as greater,
        greater_equal as greater_equal,
        image_to_tensor as image_to_tensor,
        index_add as index_add,
        layer_norm as layer_norm,
        less as less,
        less_equal as less_equal,
        log as log,
        log_softmax as log_softmax,
        matmul as matmul,
        matrix_transpose as matrix_transpose,
        max as max,
        maximum as maximum,
        mean as mean,
        mean_backward as mean_backward,
        min as min,
        minimum as minimum,
        mul as mul,
        multiply as multiply,
        negative as negative,
        not_equal as not_equal,
        nv12_to_rgb as nv12_to_rgb,
        quantize as quantize,
        relu as relu,
        rms_norm as rms_norm,
        rms_norm_backward as rms_norm_backward,
        rms_norm_factor as rms_norm_factor,
        rsqrt as rsqrt,
        sigmoid as sigmoid,
        silu as silu,
        softmax as softmax,
        sqrt as sqrt,
        std as std,
        sub as sub,
        subtract as subtract,
        sum as sum,
        sum_backward as sum_backward,
        sum_to_like as sum_to_like,
        take as take,
        tanh as tanh,
        topk as topk,
        var as var,
        where as where,
    )

# What ops are called may be what a built-in function is called, as of `max`: what happens here
# needs none.
_found = globals()


def __getattr__(name: str) -> Any:
    _publish_to_tracers()
    _found[name] = found = _find(name)
    return found


def _adopt(functions: dict[str, Any], *rest: Any) -> None:
    """Takes the ops of another extension, which calls this."""
    _adopt_ops(functions, *rest)
    _publish_more([*functions])


def __dir__() -> list[str]:
    return _names_after("")
