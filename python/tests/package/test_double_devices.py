"""Tensors made on devices and moved between them, and which device is current meanwhile."""

import dlbridge
import double
import double_driver as driver
import numpy as np
import pytest
from double_frameworks import KINDS, given, torch
from support import refused

pytestmark = pytest.mark.usefixtures("settled")
DEVICES = ["cuda:0", "cuda:1", "cuda_host:0", "cuda_managed:0", "cuda_managed:1"]
HOST = ["cpu", "cuda_host:0", "cuda_managed:0"]
GRID = [[0, 1, 2], [3, 4, 5]]
KIND_OF_MEMORY = {
    "cuda": "device memory",
    "cuda_host": "pinned memory",
    "cuda_managed": "managed memory",
}


@pytest.mark.parametrize("device", DEVICES)
def test_creation_on_device_has_expected_values(device):
    makers = {
        "zeros": (lambda: dlbridge.zeros((2, 3), "int32", device=device), [[0] * 3] * 2),
        "ones": (lambda: dlbridge.ones((2, 3), "float64", device=device), [[1.0] * 3] * 2),
        "full": (lambda: dlbridge.full((2, 3), 7, device=device), [[7] * 3] * 2),
        "arange": (lambda: dlbridge.arange(4, device=device), [0, 1, 2, 3]),
        "asarray": (lambda: dlbridge.asarray(GRID, "int16", device=device), GRID),
        "a number": (lambda: dlbridge.asarray(2.5, device=device), 2.5),
        "an array": (lambda: dlbridge.asarray(np.array(GRID), device=device), GRID),
    }
    for name, (make, expected) in makers.items():
        tensor = make()
        assert (tensor.device, tensor.tolist()) == (device, expected), name
        kind = KIND_OF_MEMORY[device.split(":")[0]]
        assert double.live(kind) == 1, name
        del tensor
    empty = dlbridge.empty((2, 3), "uint8", device=device)
    assert (empty.device, empty.shape, empty.dtype) == (device, (2, 3), "uint8")
    with refused(ValueError, "more elements than memory has addresses"):
        dlbridge.zeros((1 << 62, 1 << 62), device=device)


def test_zeros_writes_new_memory_once():
    before = double.calls("cuMemsetD8Async")
    dlbridge.zeros((4, 4), device="cuda")
    assert double.calls("cuMemsetD8Async") == before + 1


@pytest.mark.parametrize("to", ["cpu", *DEVICES])
@pytest.mark.parametrize("source", ["cpu", *DEVICES])
def test_to_device_from_every_device_keeps_values(source, to):
    tensor = dlbridge.asarray(GRID, "int32", device=source)
    for view, expected in (
        (tensor, GRID),
        (tensor.T, [[0, 3], [1, 4], [2, 5]]),
        (tensor[:, 1:], [[1, 2], [4, 5]]),
    ):
        for moved in (
            view.to(to),
            view.to(dlbridge.empty(0, device=to).device),
            dlbridge.from_dlpack(view, device=to),
            dlbridge.asarray(view, device=to),
        ):
            assert (moved.device, moved.tolist()) == (to, expected)
            assert (moved.data_ptr == view.data_ptr) == (source == to)
        # A copy is one also where it isn't needed.
        copied = dlbridge.from_dlpack(view, device=to, copy=True)
        assert (copied.device, copied.tolist(), copied.data_ptr != view.data_ptr) == (
            to,
            expected,
            True,
        )
        if source != to:
            with refused(
                BufferError,
                f"the tensor is on {source}",
                f"to {to} needs a copy",
                "copy=False forbids",
            ):
                dlbridge.from_dlpack(view, device=to, copy=False)
            with refused(BufferError, "copy=False forbids"):
                view.to(to, copy=False)
        else:
            assert dlbridge.from_dlpack(view, device=to, copy=False).data_ptr == view.data_ptr


@pytest.mark.parametrize("device", DEVICES[:2])
def test_dlpack_with_cpu_device_copies_to_host(device):
    tensor = dlbridge.asarray(GRID, "int32", device=device)
    array = np.from_dlpack(tensor, device="cpu")
    assert array.tolist() == GRID
    kind, number = tensor.__dlpack_device__()
    assert kind == 2
    host = dlbridge.from_dlpack(tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))
    assert (host.device, host.tolist(), host.readonly) == ("cpu", GRID, False)
    same = dlbridge.from_dlpack(tensor.__dlpack__(dl_device=(kind, number), max_version=(1, 3)))
    assert same.data_ptr == tensor.data_ptr
    other = dlbridge.from_dlpack(tensor.__dlpack__(dl_device=(2, 1 - number), max_version=(1, 3)))
    assert (other.device, other.tolist()) == (f"cuda:{1 - number}", GRID)
    copied = dlbridge.from_dlpack(tensor.__dlpack__(copy=True, max_version=(1, 3)))
    assert (copied.device, copied.tolist(), copied.data_ptr != tensor.data_ptr) == (
        device,
        GRID,
        True,
    )
    with refused(BufferError, "copy"):
        tensor.__dlpack__(dl_device=(1, 0), copy=False)
    with refused(BufferError, "there is no device cuda:5"):
        tensor.__dlpack__(dl_device=(2, 5))


@pytest.mark.parametrize("name", KINDS)
def test_framework_tensor_to_every_device_keeps_values(name):
    x = KINDS[name]().fill(3)
    for to in ("cpu", "cuda:1", "cuda_host:0", "cuda_managed:0"):
        moved = dlbridge.from_dlpack(x, device=to)
        assert (moved.device, moved.tolist()) == (to, [3] * 16)
        with refused(BufferError):
            dlbridge.from_dlpack(x, device=to, copy=False)
    assert dlbridge.from_dlpack(x, device="cuda:0", copy=False).data_ptr == x.address
    copy = dlbridge.from_dlpack(x, copy=True)
    assert (copy.device, copy.tolist(), copy.readonly) == ("cuda:0", [3] * 16, False)
    assert copy.data_ptr != x.address


def test_missing_device_is_refused():
    host = dlbridge.zeros(3)
    for device in ("cuda:2", "cuda:9", "cuda_managed:2"):
        number = device.split(":")[1]
        for act in (
            lambda: dlbridge.zeros(3, device=device),
            lambda: dlbridge.empty(3, device=device),
            lambda: dlbridge.ones(3, device=device),
            lambda: dlbridge.arange(3, device=device),
            lambda: dlbridge.asarray([1], device=device),
            lambda: host.to(device),
            lambda: dlbridge.from_dlpack(host, device=device),
        ):
            with refused(BufferError, f"there is no device cuda:{number}; there are 2 here"):
                act()
    for act in (
        dlbridge.cuda.properties,
        dlbridge.cuda.synchronize,
        dlbridge.cuda.current_stream,
        dlbridge.cuda.trim,
    ):
        with refused(BufferError, "there is no device cuda:2; there are 2 here"):
            act(2)
        with refused(BufferError, "there is no device cuda:-1"):
            act(-1)
    with refused(BufferError, "there is no device cuda:2"):
        dlbridge.cuda.Stream(device="cuda:2")
    with refused(BufferError, "expected a CUDA device, got cpu"):
        dlbridge.cuda.properties("cpu")
    with refused(BufferError, "makes no tensors on rocm:0"):
        dlbridge.zeros(3, device="rocm")
    with refused(LookupError, "no device"):
        dlbridge.zeros(3, device="gpu")


def test_tensor_on_missing_gpu_is_refused_and_released():
    x = torch.Tensor()
    x.device_id = 5
    with refused(BufferError, "there is no device cuda:5; there are 2 here"):
        dlbridge.from_dlpack(x)
    assert x.deleted == [1], "it was given back"


def test_cuda_properties_describe_each_gpu():
    assert (dlbridge.cuda.is_available(), dlbridge.cuda.device_count()) == (True, 2)
    assert dlbridge.cuda.check() is None
    properties = dlbridge.cuda.properties("cuda:1")
    assert (
        properties.name
        and properties.multiprocessors > 0
        and len(properties.compute_capability) == 2
    )
    taken = dlbridge.zeros(1 << 20, "uint8", device="cuda:1")
    assert dlbridge.cuda.properties(1).free_memory <= properties.memory - taken.nbytes
    assert repr(properties).startswith("Properties(name=")


@pytest.mark.parametrize("current", [None, 0, 1])
@pytest.mark.parametrize("name", KINDS)
def test_current_context_is_unchanged_by_every_call(name, current):
    def all_ways():
        x = KINDS[name]().fill(1)
        tensor = dlbridge.from_dlpack(x)
        moved = tensor.to("cuda:1").to("cpu").to("cuda_host:0").to("cuda_managed:1")
        with dlbridge.cuda.stream(dlbridge.cuda.Stream(device="cuda:1")):
            made = dlbridge.full(16, 2, "uint8", device="cuda:1")
        y = given(name, dlbridge.full(16, 3, "uint8", device="cuda"))
        assert (moved.tolist(), made.tolist(), y.values()) == ([1] * 16, [2] * 16, [3] * 16)
        with refused(BufferError):
            dlbridge.zeros(3, device="cuda:5")
        del x, tensor, moved, made, y
        dlbridge.cuda.synchronize()
        dlbridge.cuda.synchronize(1)

    all_ways()
    if current is None:
        assert driver.current_context() == 0
        return
    with driver.on(current):
        all_ways()
        assert driver.current_context() == driver.context(current)


def test_tensor_on_gpu_is_displayed_indexed_and_compared():
    tensor = dlbridge.asarray([[1.5, 2], [3, 4]], device="cuda")
    assert "cuda:0" in repr(tensor) and "cuda:0" in tensor._repr_html_()
    assert str(tensor)
    assert tensor[0, 1].item() == 2 and float(tensor[1, 0]) == 3 and len(tensor) == 2
    assert tensor.equals(dlbridge.asarray([[1.5, 2], [3, 4]])) and tensor.allclose(tensor.copy())
    assert (tensor == dlbridge.asarray([[1.5, 0], [3, 4]])).tolist() == [
        [True, False],
        [True, True],
    ]
    assert (tensor == 3).tolist() == [[False, False], [True, False]]
    assert [row.tolist() for row in tensor] == [[1.5, 2], [3, 4]]
    assert 4 in tensor.tolist()[1]


def test_asarray_on_gpu_converts_dtype():
    tensor = dlbridge.asarray(dlbridge.asarray(GRID, device="cuda:1"), "float64")
    assert (tensor.device, tensor.dtype, tensor.tolist()) == (
        "cuda:1",
        "float64",
        [[0, 1, 2], [3, 4, 5]],
    )
    with refused(BufferError, "copy=False"):
        dlbridge.asarray(tensor, "int8", copy=False)


@pytest.mark.parametrize("device", HOST)
def test_host_accessible_memory_is_shared_with_numpy(device):
    tensor = dlbridge.asarray(GRID, "int32", device=device)
    array = np.from_dlpack(tensor)
    array[0, 0] = 9
    assert tensor.tolist()[0][0] == 9
    assert np.asarray(tensor).ctypes.data == tensor.data_ptr
