"""Functions that know one kind of tensors, called with another kind: the bridge that TVM's article
on DLPack shows.

    python examples/bridge.py

A product of matrices is written to an array that the caller gives, as in `torch.mm(a, b, out=c)`.
There are two of it: `dlbridge.ops.matmul`, which is a kernel in Rust, and one that TVM compiles
here. Wrapped, each takes the tensors of PyTorch and of NumPy, and of MXNet where that is installed,
and fills the caller's own memory, which is looked at from both sides. Each product is compared with
the framework's.

MXNet and TVM are found where they are installed. No environment has both: the last MXNet is for
Python 3.10 with a NumPy before 1.24, and TVM of today is for newer ones. What isn't there is named
and left out.
"""

import importlib
import sys
from functools import partial

import dlbridge
import numpy as np

ROWS, INNER, COLUMNS = 20, 30, 40


def main():
    functions = {"dlbridge.ops.matmul": (dlbridge.ops.matmul, "dlbridge")}
    compiled = matmul_of_tvm()
    if compiled is not None:
        functions["a function of TVM's"] = (compiled, "tvm")
    callers = {name: caller for name, caller in CALLERS.items() if is_there(name)}
    missing = [name for name in [*CALLERS, "tvm"] if not is_there(name)]
    for title, (function, over) in functions.items():
        print(f"{title}:")
        for name, caller in callers.items():
            largest = check(function, over, *caller())
            print(
                f"  over {name:6} shares a, b and out; its products differ from {name}'s by {largest:.1e} at most"
            )
    if missing:
        print(f"Not installed: {', '.join(missing)}")
    return 0


def check(function, over, wrap, make, product, read, address):
    """Calls a wrapped function with matrices of a framework. Returns by how much it is off."""
    wrapped = wrap(seeing(function, seen := []), over=over)
    a, b, out = make(ROWS, INNER), make(INNER, COLUMNS), make(ROWS, COLUMNS)
    wrapped(a, b, out=out)
    assert seen == [address(x) for x in (a, b, out)], "it was copied"
    largest = float(np.abs(read(out) - read(product(a, b))).max())
    assert largest < 1e-4, largest
    # What is computed next is in the same memory.
    before = read(out).copy()
    wrapped(make(ROWS, INNER), b, out=out)
    assert not np.array_equal(before, read(out))
    return largest


def seeing(function, seen):
    """The function, which notes where its arguments are when it is called first."""

    def noting(*args, out):
        if not seen:
            seen.extend(dlbridge.from_dlpack(x).data_ptr for x in (*args, out))
        return function(*args, out=out)

    return noting


def of_torch():
    import torch

    return dlbridge.to_pytorch_func, torch.rand, torch.mm, torch.Tensor.numpy, torch.Tensor.data_ptr


def of_numpy():
    numbers = np.random.default_rng(5)

    def rand(*shape):
        # TVM asks for memory that begins at a multiple of 64 bytes, as ours does.
        x = dlbridge.empty(shape, "float32").to("numpy")
        x[...] = numbers.random(shape)
        return x

    return (
        partial(dlbridge.wrap, framework="numpy"),
        rand,
        np.dot,
        np.asarray,
        lambda x: x.ctypes.data,
    )


def of_mxnet():
    import mxnet as mx

    def rand(*shape):
        return mx.nd.random.uniform(shape=shape)

    def address(x):
        return dlbridge.from_dlpack(x).data_ptr

    return dlbridge.to_mxnet_func, rand, mx.nd.dot, mx.nd.NDArray.asnumpy, address


CALLERS = {"torch": of_torch, "numpy": of_numpy, "mxnet": of_mxnet}


def matmul_of_tvm():
    """A product that TVM compiles for this processor. It returns nothing: TVM's functions write to
    an argument.
    """
    if not is_there("tvm"):
        return None
    import tvm
    from tvm import te

    a = te.placeholder((ROWS, INNER), name="a")
    b = te.placeholder((INNER, COLUMNS), name="b")
    k = te.reduce_axis((0, INNER), name="k")
    out = te.compute((ROWS, COLUMNS), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="out")
    compiled = tvm.compile(te.create_prim_func([a, b, out]), target="llvm")

    def matmul(a, b, out):
        compiled(a, b, out)

    return matmul


def is_there(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
