"""Objects that a GPU is done with are dropped when no call uses addresses: their `__del__` may give
an argument other memory."""

import ctypes
import gc
from ctypes import POINTER, c_size_t, c_void_p

import dlbridge
import double
import double_driver as driver
import pytest
from double_frameworks import jax, torch
from double_kernels import Callback

pytestmark = pytest.mark.usefixtures("settled")
# Each block has its part of the sum of this many, in memory that the call allocates.
MANY = 1 << 20
read = []
# What the object's `__del__` gives other memory.
repointed = []


@Callback
def note_address(launch, _):
    arguments = ctypes.cast(launch.contents.arguments, POINTER(c_void_p))
    read.append(ctypes.cast(arguments[0], POINTER(c_size_t)).contents.value)
    return 0


class Repoints(jax.Array):
    def __del__(self):
        while repointed:
            repointed.pop().memory = torch.Tensor.allocate(MANY, 0)


Repoints.__module__ = "jaxlib._jax"


@pytest.mark.parametrize("has_out", [True, False])
def test_del_that_repoints_an_argument_runs_after_the_call(has_out):
    name, takes = b"sum_rows_u8_u64_rows", b"r rw rw v200 v4 v8 v4 v8"
    assert double.library.cudaDoubleRegisterKernel(name, takes, note_address, None) == 0
    x = torch.Tensor(MANY).fill(1)
    out = dlbridge.zeros((), "uint64", device="cuda")
    ones = dlbridge.full(16, 1, "uint8", device="cuda")
    to = dlbridge.empty(16, "uint8", device="cuda")
    dlbridge.ops.sum(x, out=out)  # Compiled here.
    dlbridge.cuda.synchronize()
    before = x.address
    repointed.append(x)
    kept = Repoints().fill(7)
    dlbridge.ops.add(kept, ones, out=to)
    del kept
    gc.collect()
    driver.synchronize()
    assert repointed == [x], "the GPU is done, and nothing has looked yet"
    read.clear()
    dlbridge.ops.sum(x, **({"out": out} if has_out else {}))
    assert repointed == [], "it is dropped as the call ends"
    dlbridge.cuda.synchronize()
    assert x.address != before
    assert read == [before]
