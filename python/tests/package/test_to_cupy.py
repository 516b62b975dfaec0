"""CuPy's arrays, to and from the package: without a GPU, clear errors; with one, the same
memory.
"""

import dlbridge
import numpy as np
import pytest
from round_trips import ALL, COMMON, COMPLEX, LAYOUTS, WIDE_UNSIGNED, aligned, broadcast
from support import framework, refused

cupy = framework("cupy")
NAMES = [*COMMON, *WIDE_UNSIGNED, *COMPLEX]


def gpus():
    try:
        return cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


needs_gpu = pytest.mark.skipif(gpus() == 0, reason="there is no GPU that CuPy can use")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_host_memory_is_refused(layout):
    ours = LAYOUTS[layout](dlbridge.from_dlpack(aligned("float32")))
    # Where there is a GPU, it gets a copy if that is allowed.
    for copy in (False, None, True) if gpus() == 0 else (False,):
        with refused(BufferError, "CuPy can't reach memory on cpu"):
            ours.to("cupy", copy=copy)
    with refused(BufferError, "CuPy can't reach memory on cpu"):
        dlbridge.convert(LAYOUTS[layout](aligned("float32")), "cupy")
    explained = dlbridge.explain(ours, "cupy")
    outcome = "refused" if gpus() == 0 else "copied"
    assert (explained.outcome, explained.reason) == (outcome, "CuPy can't reach memory on cpu")


@pytest.mark.parametrize("name", [name for name in ALL if name not in [*NAMES, "bfloat16"]])
def test_unsupported_dtype_is_refused(name):
    with refused(BufferError, f"CuPy has no {name}"):
        dlbridge.empty(3, name).to("cupy")


@pytest.mark.skipif(gpus() > 0, reason="there is a GPU")
def test_cupy_array_without_gpu_is_refused():
    # It makes no arrays at all, and says so.
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        cupy.zeros(3)
    # An array of memory that isn't there; nothing is asked of the device.
    pointer = cupy.cuda.MemoryPointer(
        cupy.cuda.UnownedMemory(0x1000, 64, owner=None, device_id=0), 0
    )
    try:
        x = cupy.ndarray((4,), "f4", memptr=pointer)
    except cupy.cuda.runtime.CUDARuntimeError:
        return
    for copy in (None, False, True):
        with pytest.raises((BufferError, cupy.cuda.runtime.CUDARuntimeError)) as caught:
            dlbridge.from_dlpack(x, device="cpu", copy=copy)
        assert str(caught.value)


def test_missing_device_is_refused():
    ours = dlbridge.from_dlpack(aligned("float32"))
    id = dlbridge.cuda.device_count()
    why = f"there is no device cuda:{id}" if id else "there is no CUDA driver"
    with refused(BufferError, why):
        dlbridge.from_dlpack(ours, device=f"cuda:{id}")
    with refused(BufferError, why):
        ours.__dlpack__(dl_device=(2, id))


@needs_gpu
@pytest.mark.parametrize(
    "layout", LAYOUTS if gpus() else ["every"]
)  # One line says that it is left out.
@pytest.mark.parametrize("name", NAMES if gpus() else ["every"])
def test_round_trip_shares_memory(name, layout):
    array = aligned(name)
    x = cupy.asarray(array)
    x = cupy.broadcast_to(x[:1], (5, 6)) if layout == "broadcast" else LAYOUTS[layout](x)
    expected = (
        np.broadcast_to(array[:1], (5, 6)) if layout == "broadcast" else LAYOUTS[layout](array)
    )
    ours = dlbridge.from_dlpack(x)
    assert (ours.shape, ours.dtype, ours.device.kind) == (x.shape, name, "cuda")
    assert x.size == 0 or ours.data_ptr == x.data.ptr
    again = ours.to("cupy")
    assert x.size == 0 or again.data.ptr == x.data.ptr
    assert cupy.asnumpy(again).tolist() == expected.tolist()
    if x.size and layout != "broadcast":
        again[...] = 0
        assert not x.any()


@needs_gpu
def test_host_access_to_gpu_memory_is_refused():
    ours = dlbridge.from_dlpack(cupy.zeros((2, 3)))
    for reach in (
        ours.tolist,
        ours.copy,
        lambda: memoryview(ours),
        lambda: ours.to("numpy"),
        lambda: np.asarray(ours),
    ):
        with pytest.raises(BufferError):
            reach()
    assert broadcast(ours[:1, :1]).to("cupy").tolist() == [[0] * 6] * 5


@needs_gpu
def test_torch_and_cupy_share_memory():
    torch = framework("torch")
    x = torch.zeros(3, device="cuda")
    y = dlbridge.convert(x, "cupy")
    y[1] = 5
    assert y.data.ptr == x.data_ptr() and x.tolist() == [0, 5, 0]
    assert dlbridge.convert(y, "torch").data_ptr() == x.data_ptr()
