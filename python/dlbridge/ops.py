"""Ops, as functions of tensors of any framework.

An op takes and gives tensors: `add(a, b)` of two PyTorch tensors is a PyTorch tensor, of two NumPy
arrays an array. Of several frameworks the first argument's counts, unless `like=` is given
something else's. `out=` is written in place. A number may stand for an input. `label=` asks for
another kernel than usual, and `memory="caller"` for results in memory from the framework's own
allocator.

`help(add)` says what an op does, `add.__self__.kernels()` what it is done by.
"""

from __future__ import annotations

from ._catalog import (
    adopt as _adopt,  # noqa: F401 (extensions publish their ops by it)
    find as _find,
    kernels as kernels,
    names_after as _names_after,
)

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._ops import (
        add as add,
        axpy as axpy,
        cast as cast,
        copy as copy,
        div as div,
        image_to_tensor as image_to_tensor,
        matmul as matmul,
        max as max,
        mean as mean,
        mul as mul,
        rms_norm as rms_norm,
        softmax as softmax,
        sub as sub,
        sum as sum,
    )

# What ops are called may be what a built-in function is called, as of `max`: what happens here
# needs none.
_found = globals()


def __getattr__(name: str) -> Any:
    _found[name] = found = _find(name)
    return found


def __dir__() -> list[str]:
    return _names_after("")
