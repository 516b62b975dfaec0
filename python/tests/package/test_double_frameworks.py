"""Tensors on a GPU from each framework and to each: the same memory, given back once."""

import dlbridge
import double
import double_driver as driver
import pytest
from double_capsules import Numba
from double_frameworks import KINDS, given, torch
from double_settle import settle
from made import CUDA, content_of
from support import refused

pytestmark = pytest.mark.usefixtures("settled")
names = pytest.mark.parametrize("name", KINDS)
HAVE_DLPACK = ["cupy", "jax"]


@names
def test_import_from_framework_shares_memory(name):
    x = KINDS[name]().fill(7)
    tensor = dlbridge.from_dlpack(x)
    assert (tensor.data_ptr, tensor.device, tensor.shape, tensor.dtype) == (
        x.address,
        "cuda:0",
        (16,),
        "uint8",
    )
    assert tensor.tolist() == [7] * 16
    # Whatever is written later is seen, as it is one memory.
    x.fill(8)
    assert tensor.tolist() == [8] * 16
    assert tensor.readonly == (name == "jax")
    assert sum(x.deleted) == 0
    part = tensor[4:]
    del tensor
    settle()
    assert sum(x.deleted) == 0, "a part of it is in use"
    del part
    settle(lambda: x.deleted or name == "numba")
    assert x.deleted == ([] if name == "numba" else [1])


@names
def test_export_to_framework_shares_memory(name):
    tensor = dlbridge.full(16, 3, "uint8", device="cuda")
    address = tensor.data_ptr
    y = given(name, tensor)
    assert y.address == address
    assert y.values() == [3] * 16
    y.fill(9)
    assert tensor.tolist() == [9] * 16
    del tensor
    settle()
    assert double.live("memory") == 1, "the framework has it"
    assert y.fill(2).values() == [2] * 16
    del y
    settle(lambda: double.live("memory") == 0)
    assert double.live("memory") == 0


@names
def test_round_trip_shares_memory(name):
    tensor = dlbridge.full(16, 3, "uint8", device="cuda")
    y = given(name, tensor)
    again = dlbridge.from_dlpack(y)
    assert again.data_ptr == tensor.data_ptr
    del tensor, y
    settle()
    assert again.tolist() == [3] * 16


@names
def test_empty_tensor_needs_no_driver_calls(name):
    tensor = dlbridge.empty((0, 3), "uint8", device="cuda")
    before = double.calls("cuMemsetD8Async"), double.calls("cuMemcpyAsync")
    assert tensor.tolist() == []
    assert (double.calls("cuMemsetD8Async"), double.calls("cuMemcpyAsync")) == before
    if name in ("torch", "cupy", "jax"):
        assert given(name, tensor).count == 0


@names
def test_tensor_of_second_gpu_keeps_its_device(name):
    x = KINDS[name](device=1).fill(5)
    tensor = dlbridge.from_dlpack(x)
    assert tensor.device == "cuda:1"
    assert tensor.tolist() == [5] * 16
    there = dlbridge.full(16, 4, "uint8", device="cuda:1")
    if name not in ("numba", "strange"):
        y = given(name, there)
        assert (y.device_id, y.values()) == (1, [4] * 16)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("name", HAVE_DLPACK)
def test_both_capsule_kinds_are_accepted(name, versioned):
    x = KINDS[name]().fill(6)
    capsule = x.__dlpack__(stream=driver.DEFAULT, max_version=(1, 0) if versioned else None)
    tensor = dlbridge.from_dlpack(capsule)
    assert tensor.tolist() == [6] * 16
    del tensor, capsule
    settle(lambda: x.deleted)
    assert x.deleted == [1]


def test_exported_capsule_describes_gpu_memory():
    tensor = dlbridge.zeros((2, 3), device="cuda")
    capsule = tensor.__dlpack__(max_version=(1, 3))
    descriptor = content_of(capsule).dl_tensor
    assert (descriptor.device.device_type, descriptor.device.device_id) == (CUDA, 0)
    assert (descriptor.data, descriptor.byte_offset) == (tensor.data_ptr, 0)
    assert list(descriptor.strides[:2]) == [3, 1]
    assert tensor.__dlpack_device__() == (CUDA, 0)


def test_conjugated_torch_tensor_is_refused():
    x = torch.Tensor().fill(1)
    x.is_conjugated = True
    with refused(BufferError, "conjugated", "resolve_conj"):
        dlbridge.from_dlpack(x)
    assert x.deleted == []


class Interface(Numba):
    """Whatever it is told to say."""

    says = {}

    @property
    def __cuda_array_interface__(self):
        interface = {**super().__cuda_array_interface__, **self.says}
        return {key: value for key, value in interface.items() if value != "left out"}


def test_cuda_array_interface_of_version_2_or_3_is_accepted():
    for version in (2, 3):
        x = Interface().fill(7)
        x.version = version
        assert dlbridge.from_dlpack(x).tolist() == [7] * 16
    x.says = {"version": 1}
    with refused(BufferError, "of version 1, and 2 is the oldest"):
        dlbridge.from_dlpack(x)


def test_cuda_array_interface_with_strides_is_accepted():
    x = Interface().fill(0)
    driver.fill(x.address + 8, 1, 8)
    x.says = {"shape": (2, 2), "typestr": "<i2", "strides": (8, 2)}
    tensor = dlbridge.from_dlpack(x)
    assert (tensor.shape, tensor.strides, tensor.dtype) == ((2, 2), (4, 1), "int16")
    assert tensor.tolist() == [[0, 0], [257, 257]]
    assert tensor.__cuda_array_interface__["strides"] == (8, 2)


@pytest.mark.parametrize(
    "says, parts",
    [
        ({"typestr": ">f4"}, ['">f4" has no DLPack equivalent']),
        ({"typestr": "|O"}, ["has no DLPack equivalent"]),
        ({"mask": 1}, ["a mask"]),
        ({"data": "left out"}, ['lacks "data"']),
        ({"shape": "left out"}, ['lacks "shape"']),
        ({"typestr": "left out"}, ['lacks "typestr"']),
        ({"version": "left out"}, ['lacks "version"']),
        (
            {"shape": (2, 2), "typestr": "<i2", "strides": (8, 1)},
            ["a stride of 1 bytes isn't a multiple"],
        ),
        ({"shape": (2, 2), "strides": (1,)}, ["has 1 strides for 2 dimensions"]),
        ({"shape": (-1,)}, ["-1"]),
        ({"data": (0x10, False)}, ["in no memory that CUDA knows"]),
    ],
)
def test_invalid_cuda_array_interface_is_refused(says, parts):
    x = Interface()
    x.says = says
    with refused(BufferError, *parts):
        dlbridge.from_dlpack(x)


def test_read_only_cuda_array_interface_stays_read_only():
    x = Interface().fill(1)
    x.read_only = True
    tensor = dlbridge.from_dlpack(x)
    assert tensor.readonly
    assert tensor.__cuda_array_interface__["data"] == (x.address, True)


def test_cuda_array_interface_of_tensor_has_all_fields():
    tensor = dlbridge.zeros((2, 3), "int16", device="cuda")
    stream = dlbridge.cuda.Stream()
    assert tensor.__cuda_array_interface__ == {
        "shape": (2, 3),
        "typestr": "<i2",
        "data": (tensor.data_ptr, False),
        "version": 3,
        "strides": None,
        "stream": 1,
    }
    with dlbridge.cuda.stream(stream):
        other = dlbridge.zeros(3, "uint8", device="cuda")
    assert other.__cuda_array_interface__["stream"] == stream.handle
    assert not hasattr(dlbridge.zeros(3), "__cuda_array_interface__")
    assert not hasattr(dlbridge.zeros(3, "bfloat16", device="cuda"), "__cuda_array_interface__")
    empty = dlbridge.zeros((0, 3), device="cuda").__cuda_array_interface__
    assert (empty["shape"], empty["data"][0]) == ((0, 3), 0)
