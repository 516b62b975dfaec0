"""Kernel launches from Python with tensors of each framework, on the driver's test double."""

import ctypes
from ctypes import POINTER, c_size_t, c_uint8, c_void_p

import dlbridge
import double
import double_driver as driver
import numpy as np
import pytest
from double_frameworks import KINDS, handle_of, torch
from double_kernels import Callback
from support import refused

pytestmark = pytest.mark.usefixtures("settled", "no_launches_yet")
names = pytest.mark.parametrize("name", KINDS)

# PTX has no signature in C++, so the parameters that are written are only known from `writes`.
# `shifted` is what it does.
PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry shift(.param .u8 by, .param .u64 x, .param .u64 y, .param .u64 count) { ret; }
.visible .entry sharing() { .shared .align 4 .b8 tile[16384]; ret; }
"""
SOURCE = r"""
extern "C" __global__ void shift(unsigned char by, const unsigned char* x, unsigned char* y, unsigned long long count) {
  for (unsigned long long i = threadIdx.x; i < count; i += blockDim.x) y[i] = x[i] + by;
}
"""
launches = []  # Grid, block and stream of each launch that ran in the present test.


@pytest.fixture
def no_launches_yet():
    launches.clear()


@Callback
def shifted(launch, _):
    launch = launch.contents
    launches.append((tuple(launch.grid), tuple(launch.block), launch.stream or 0))
    arguments = ctypes.cast(launch.arguments, POINTER(c_void_p))
    value = lambda at, kind: ctypes.cast(arguments[at], POINTER(kind)).contents.value  # noqa: E731
    by, count = value(0, c_uint8), value(3, c_size_t)
    x, y = ((c_uint8 * count).from_address(value(at, c_size_t)) for at in (1, 2))
    y[:] = [(element + by) % 256 for element in x]
    return 0


assert double.library.cudaDoubleRegisterKernel(b"shift", b"v1 r w v8", shifted, None) == 0


def loaded(writes=(2,)):
    return dlbridge.cuda.load(PTX).kernel("shift", writes=writes)


def compiled():
    return dlbridge.cuda.compile(SOURCE, name="shift.cu").kernel("shift")


makes = pytest.mark.parametrize("make", [loaded, compiled])


@makes
@names
def test_launch_accepts_tensors_of_every_framework(name, make):
    kernel = make()
    x, y = KINDS[name]().fill(5), torch.Tensor().fill(0)
    driver.synchronize()
    kernel((2, 3), 32, 2, x, y, 16)
    assert y.values() == [7] * 16
    assert launches.pop()[:2] == ((2, 3, 1), (32, 1, 1))
    ours = dlbridge.zeros(16, "uint8", device="cuda")
    kernel(1, 32, 3, y, ours, 16)
    assert ours.tolist() == [10] * 16


@makes
def test_launch_runs_on_its_tensors_stream(make):
    kernel, x, y = make(), torch.Tensor(), torch.Tensor()
    driver.synchronize()
    with torch.Tensor.work.on(driver.stream()):
        x.fill(1)
        kernel(1, 32, 1, x, y, 16)
        assert launches == [] and y.peek() != bytes([2] * 16), "the call is asynchronous"
        assert y.values() == [2] * 16
        assert launches.pop()[2] == torch.Tensor.work.handle()


def test_launch_on_named_stream_waits_for_its_tensors():
    kernel, stream = loaded(), dlbridge.cuda.Stream()
    x, ours = torch.Tensor(), dlbridge.zeros(16, "uint8", device="cuda")
    driver.synchronize()
    for how in ("argument", "with"):
        with torch.Tensor.work.on(driver.stream()):
            x.fill(3)
            if how == "argument":
                kernel(1, 32, 1, x, ours, 16, stream=stream)
            else:
                with dlbridge.cuda.stream(stream):
                    kernel(1, 32, 1, x, ours, 16)
            x.fill(9)  # After the kernel has read it.
        assert ours.tolist() == [4] * 16
        assert launches.pop()[2] == handle_of(stream.handle)
        driver.synchronize()


def test_launch_refuses_to_write_read_only_tensor():
    x, ours = KINDS["jax"]().fill(1), dlbridge.zeros(16, "uint8", device="cuda")
    for kernel in (loaded(), compiled()):
        with refused(BufferError, "shift: argument 2: the tensor is read-only"):
            kernel(1, 32, 1, ours, x, 16)
        kernel(1, 32, 1, x, ours, 16)
    with refused(BufferError, "shift: argument 1: the tensor is read-only"):
        loaded(writes=None)(1, 32, 1, x, ours, 16)
    assert ours.tolist() == [2] * 16


def test_launch_with_mismatched_arguments_is_refused():
    kernel, x = compiled(), dlbridge.zeros(16, "uint8", device="cuda")
    with refused(TypeError, "shift takes 4 arguments but 3 were given"):
        kernel(1, 32, 1, x, x)
    with refused(TypeError, "argument 0", "expected a number, got"):
        kernel(1, 32, x, x, x, 16)
    with refused(TypeError, "argument 1", "expected a tensor, got int"):
        kernel(1, 32, 1, 5, x, 16)
    with refused(ValueError, "argument 0"):
        kernel(1, 32, 256, x, x, 16)
    host = np.zeros(16, "uint8")
    with refused(
        BufferError, "argument 1: the tensor is on cpu, which cuda:0 doesn't reach", '.to("cuda:0")'
    ):
        kernel(1, 32, 1, host, x, 16)
    kernel(1, 32, 1, dlbridge.from_dlpack(host).to("cuda:0"), x, 16)
    with refused(
        BufferError, "argument 2: the tensor is on cpu", "pass a tensor on cuda:0 for the result"
    ):
        kernel(1, 32, 1, x, host, 16)
    dlbridge.cuda.synchronize()
    launches.clear()
    with refused(BufferError, "argument 1: the tensor is on cuda:1"):
        kernel(1, 32, 1, torch.Tensor(device=1), x, 16)
    with refused(ValueError, "shift has 4 parameters, and no place 4"):
        loaded(writes=[4])
    assert launches == []


def test_launch_raises_shared_memory_limit_on_demand():
    module = dlbridge.cuda.load(PTX)
    kernel = module.kernel("sharing")
    assert kernel.shared_memory == 16384
    for shared, changes in [
        (0, 0),
        (32768, 0),
        (32769, 1),
        (49152, 1),
        (60_000, 1),
        (50_000, 0),
        (40_000, 0),
    ]:
        before = double.calls("cuFuncSetAttribute")
        kernel(1, 32, shared=shared)
        assert double.calls("cuFuncSetAttribute") == before + changes, shared
    with refused(
        ValueError,
        "sharing: a block of it has at most 216064 bytes of dynamic shared memory on this GPU",
    ):
        kernel(1, 32, shared=1 << 20)
    kernel(1, 32, shared=216064)


def test_compile_error_shows_the_line():
    with refused(ValueError, "bad.cu(2)", "x[0] = wrong;"):
        dlbridge.cuda.compile(
            'extern "C" __global__ void f(int* x) {\n  x[0] = wrong;\n}\n', name="bad.cu"
        )


def test_launch_keeps_memory_until_the_kernel_ends():
    for name, kind in KINDS.items():
        kernel, y = loaded(), torch.Tensor()
        driver.synchronize()
        kernel(
            1, 32, 1, kind().fill(4), y, 16
        )  # The double reports memory that is released too early.
        assert y.values() == [5] * 16, name


def test_launch_in_graph_is_captured_and_replayed():
    kernel, stream = compiled(), dlbridge.cuda.Stream()
    x, y = (dlbridge.zeros(16, "uint8", device="cuda") for _ in range(2))
    with dlbridge.cuda.stream(stream):
        dlbridge.cuda.synchronize()
        with driver.Graph(stream.handle) as graph:
            kernel(1, 32, 1, x, y, 16)
        for value in (1, 2):
            graph.launch()
            kernel(1, 32, 1, y, x, 16)
            assert (y.tolist(), x.tolist()) == ([2 * value - 1] * 16, [2 * value] * 16)
    graph.destroy()
