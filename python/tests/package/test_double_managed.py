"""Managed memory of other libraries, by DLPack: the streams of GPUs use it in order, and the CPU
looks at it when that work is done."""

import ctypes
import gc
from ctypes import POINTER, c_size_t, c_uint8, c_uint64, c_void_p

import dlbridge
import double
import double_driver as driver
import numpy as np
import pytest
from double_arrays import MANAGED
from double_frameworks import cupy, jax
from double_kernels import Callback
from made import UINT8, Made

pytestmark = pytest.mark.usefixtures("settled")
PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry shift(.param .u8 by, .param .u64 x, .param .u64 y, .param .u64 count) { ret; }
"""


@Callback
def shifted(launch, _):
    arguments = ctypes.cast(launch.contents.arguments, POINTER(c_void_p))

    def value(at, kind):
        return ctypes.cast(arguments[at], POINTER(kind)).contents.value

    by, count = value(0, c_uint8), value(3, c_size_t)
    x, y = ((c_uint8 * count).from_address(value(at, c_size_t)) for at in (1, 2))
    y[:] = [(element + by) % 256 for element in x]
    return 0


@pytest.fixture
def shift():
    assert double.library.cudaDoubleRegisterKernel(b"shift", b"v1 r w v8", shifted, None) == 0
    return dlbridge.cuda.load(PTX).kernel("shift", writes=(2,))


class ManagedMemory:
    def __init__(self, count):
        with driver.on(0):
            self.address = driver._given(c_uint64, "cuMemAllocManaged", count, 1)

    def __del__(self):
        with driver.on(0):
            driver.call("cuMemFree_v2", self.address)


class InManagedMemory:
    @classmethod
    def allocate(cls, count, device):
        return ManagedMemory(count)

    def __dlpack_device__(self):
        return (MANAGED, 0)

    def export(self, *, versioned=True):
        device = (MANAGED, 0)
        made = Made(
            (self.count,), data=self.address, dtype=UINT8, device=device, values=(),
            versioned=versioned,
        )  # fmt: skip
        kept = [self.memory]
        made.when_deleted = kept.clear
        self.exports.append(made)
        return made


class OfCupy(InManagedMemory, cupy.ndarray):
    pass


class OfJax(InManagedMemory, jax.Array):
    pass


OfCupy.__module__, OfJax.__module__ = "cupy", "jaxlib._jax"
kinds = pytest.mark.parametrize("kind", [OfCupy, OfJax])


@kinds
def test_kernel_reads_managed_memory_after_its_framework_wrote_it(kind, shift):
    with kind.work.on(kind.work.new()):
        x = kind().fill(7)
        y = dlbridge.zeros(16, "uint8", device="cuda")
        with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
            shift(1, 16, 1, x, y, 16)
        assert y.tolist() == [8] * 16


def test_framework_reads_managed_memory_after_a_kernel_wrote_it(shift):
    with OfCupy.work.on(OfCupy.work.new()):
        y, x = OfCupy(), dlbridge.full(16, 5, "uint8", device="cuda")
        with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
            shift(1, 16, 1, x, y, 16)
        assert cupy.ndarray().copy_from(y.address).values() == [6] * 16


@kinds
@pytest.mark.parametrize("look", [lambda t: t.tolist(), lambda t: list(np.asarray(t))])
def test_cpu_looks_at_managed_memory_that_its_framework_wrote(kind, look):
    with kind.work.on(kind.work.new()):
        assert look(dlbridge.from_dlpack(kind().fill(7))) == [7] * 16


@kinds
def test_op_reads_managed_memory_that_its_framework_wrote(kind):
    with kind.work.on(kind.work.new()):
        x = dlbridge.from_dlpack(kind().fill(7))
        assert x.copy().tolist() == [7] * 16


@kinds
def test_managed_memory_is_kept_until_a_copy_ends(kind):
    with kind.work.on(kind.work.new()):
        x = kind().fill(7)
        tensor = dlbridge.from_dlpack(x)
        with dlbridge.cuda.stream(dlbridge.cuda.Stream()) as ours:
            there = tensor.to("cuda:0")
        del tensor
        gc.collect()
        assert x.deleted == [0], "the copy is still to be made"
        ours.synchronize()
        assert there.tolist() == [7] * 16
        dlbridge.cuda.synchronize()
        assert x.deleted == [1]
