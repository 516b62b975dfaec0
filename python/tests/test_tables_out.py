"""The exchange table of our own class, through ctypes, as a framework calls it."""

import ctypes
from ctypes import POINTER, byref, c_int, c_int32, c_uint32, c_void_p, py_object

import dlbridge_testing as ext
import pytest
from made import (
    BOOL,
    CPU,
    CUDA,
    CUDA_HOST,
    FLOAT32,
    FLOAT64,
    READ_ONLY,
    Deleter,
    DLDataType,
    DLDevice,
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    DLTensor,
    Made,
    SetError,
    api,
    name_of,
    numbers,
)
from support import refused

NO_CUDA = (
    "there is no CUDA driver here"
    if ext.HAS_PACKAGE_FEATURES
    else "dlbridge makes no tensors on cuda:1"
)
capsule = ext.Tensor.__dlpack_c_exchange_api__
table = DLPackExchangeAPI.from_address(api.PyCapsule_GetPointer(capsule, b"dlpack_exchange_api"))

# These raise what the function left behind.
own = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(c_void_p))(
    table.managed_tensor_from_py_object_no_sync
)
make = ctypes.PYFUNCTYPE(c_int, c_void_p, POINTER(py_object))(
    table.managed_tensor_to_py_object_no_sync
)
borrow = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(DLTensor))(
    table.dltensor_from_py_object_no_sync
)
stream = ctypes.PYFUNCTYPE(c_int, c_uint32, c_int32, POINTER(c_void_p))(table.current_work_stream)
# Without the GIL, which it doesn't need.
allocate = ctypes.CFUNCTYPE(c_int, POINTER(DLTensor), POINTER(c_void_p), c_void_p, c_void_p)(
    table.managed_tensor_allocator
)


def release(managed):
    Deleter(managed.deleter)(ctypes.addressof(managed))


def owned(tensor):
    out = c_void_p()
    assert own(tensor, byref(out)) == 0
    return DLManagedTensorVersioned.from_address(out.value)


def test_table_has_version_and_all_functions():
    assert name_of(capsule) == "dlpack_exchange_api"
    assert (table.header.version.major, table.header.version.minor, table.header.prev_api) == (
        1,
        3,
        None,
    )
    assert all(getattr(table, field) for field, _ in DLPackExchangeAPI._fields_[1:])
    # It stays where it is.
    again = api.PyCapsule_GetPointer(ext.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    assert again == ctypes.addressof(table)


def test_owned_export_shares_memory(counted):
    tensor = ext.counted_mut(3)
    first, second = owned(tensor), owned(tensor)
    del tensor
    for managed in (first, second):
        assert (managed.version.major, managed.version.minor, managed.flags) == (1, 3, 0)
        assert managed.manager_ctx and managed.deleter
        seen = managed.dl_tensor
        assert (seen.shape[:1], seen.strides[:1], seen.byte_offset) == ([3], [1], 0)
        assert (ctypes.c_float * 3).from_address(seen.data)[:] == [0, 1, 2]
        assert counted() == 1
        release(managed)
    assert counted() == 0


def test_owned_export_flags_read_only_memory(counted):
    managed = owned(ext.counted(3))
    assert managed.flags == READ_ONLY
    release(managed)


def test_owned_export_of_copied_tensor_has_no_copied_flag():
    tensor = ext.import_(Made().capsule(), copy=True)
    managed = owned(tensor)
    # Its consumer isn't alone: the object has the memory, too.
    assert ext.describe_owned(tensor)["copied"] and managed.flags == 0
    release(managed)


def test_borrowed_export_describes_the_tensor():
    for tensor in (
        ext.zeros([2, 3], "bool"),
        ext.transposed(ext.from_list([1, 2], [1, 2])),
        ext.zeros([1] * 9, "int4"),
    ):
        seen = DLTensor()
        assert borrow(tensor, byref(seen)) == 0
        rank = tensor.ndim
        assert (seen.data, seen.ndim, seen.byte_offset) == (tensor.data_ptr, rank, 0)
        assert (
            tuple(seen.shape[:rank]) == tensor.shape
            and tuple(seen.strides[:rank]) == tensor.strides
        )
        assert (seen.dtype.bits, seen.dtype.lanes) == (tensor.dtype.bits, tensor.dtype.lanes)
        assert (seen.device.device_type, seen.device.device_id) == (CPU, 0)


@pytest.mark.parametrize("wrong", [3, None, "text", object(), ext.Tensor, [1]])
def test_export_of_another_type_is_refused(wrong):
    out, seen = c_void_p(7), DLTensor(ndim=7)
    with refused(TypeError, "is not an instance of 'Tensor'"):
        own(wrong, byref(out))
    with refused(TypeError, "is not an instance of 'Tensor'"):
        borrow(wrong, byref(seen))
    # Nothing was written.
    assert out.value == 7 and seen.ndim == 7


def test_object_with_borrowed_table_is_refused():
    # Our own calls look at the status.
    class Other:
        __dlpack_c_exchange_api__ = capsule

    for look in (ext.describe, ext.describe_out, ext.identity):
        with refused(TypeError, "Other"):
            look(Other())


def test_export_of_null_is_refused():
    of_null = ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p)
    out = DLTensor()
    for address in (
        table.managed_tensor_from_py_object_no_sync,
        table.dltensor_from_py_object_no_sync,
    ):
        with refused(RuntimeError, "expected an object, got NULL"):
            of_null(address)(None, ctypes.addressof(out))


def made_object(made):
    out = py_object()
    assert make(made.address, byref(out)) == 0
    thing = out.value
    # The reference that the function gave away is the second one.
    ctypes.PYFUNCTYPE(None, py_object)(("Py_DecRef", api))(thing)
    return thing


def test_managed_tensor_becomes_our_object():
    made = Made((2, 2), (1, 2), flags=READ_ONLY)
    thing = made_object(made)
    assert type(thing) is ext.Tensor and made.deleted == 0
    assert (thing.data_ptr, thing.shape, thing.strides, thing.readonly) == (
        made.data,
        (2, 2),
        (1, 2),
        True,
    )
    assert ext.read_f32(thing) == [0, 2, 1, 3]
    del thing
    assert made.deleted == 1


def test_reimported_object_is_the_original():
    tensor = ext.from_list([1, 2, 3], [3])
    managed, out = owned(tensor), py_object()
    assert make(ctypes.addressof(managed), byref(out)) == 0
    ext.write_f32(out.value, 5)
    assert ext.read_f32(tensor) == [5, 5, 5] and out.value.data_ptr == tensor.data_ptr


@pytest.mark.parametrize(
    "fields, message",
    [
        (dict(version=(2, 0)), "speaks DLPack 2.0"),
        (dict(version=(0, 8)), "speaks DLPack 0.8"),
        (dict(shape=None, ndim=1), "the shape is NULL"),
        (dict(shape=(-1,)), "negative size"),
        (dict(data=0), "the data pointer is NULL"),
        (dict(dtype=(99, 8, 1)), "code 99"),
        (dict(device=(99, 0)), "device type 99"),
    ],
    ids=str,
)
def test_invalid_tensor_makes_no_object(fields, message):
    made, out = Made(**fields), c_void_p(7)
    of_address = ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p)(
        table.managed_tensor_to_py_object_no_sync
    )
    with refused(BufferError, message):
        of_address(made.address, ctypes.addressof(out))
    # It was given away, so it is released.
    assert made.deleted == 1 and out.value == 7
    with refused(BufferError, "NULL"):
        of_address(None, ctypes.addressof(out))


def allocated(shape, dtype, device=(CPU, 0), ndim=None, strides=None):
    """What is allocated, or the error that was reported."""
    prototype = DLTensor(
        None, DLDevice(*device), len(shape or ()) if ndim is None else ndim, DLDataType(*dtype)
    )
    prototype.shape, prototype.strides = numbers(shape), numbers(strides)
    out, errors, context = c_void_p(), [], 1234

    @SetError
    def set_error(context, kind, message):
        errors.append((context, kind.decode(), message.decode()))

    status = allocate(byref(prototype), byref(out), context, ctypes.cast(set_error, c_void_p))
    if status == 0:
        assert errors == []
        return DLManagedTensorVersioned.from_address(out.value)
    assert status == -1 and out.value is None and len(errors) == 1 and errors[0][0] == context
    # Without a callback the error has no receiver.
    assert allocate(byref(prototype), byref(out), None, None) == -1
    return errors[0][1:]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 9])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64, BOOL, (0, 4, 1), (2, 32, 4), (10, 8, 1)])
def test_allocator_returns_memory_of_requested_shape_and_dtype(shape, dtype):
    managed = allocated(shape, dtype)
    seen = managed.dl_tensor
    assert (managed.version.major, managed.version.minor) == (
        1,
        3,
    ) and not managed.flags & READ_ONLY
    assert (
        seen.shape[: len(shape)] == list(shape) and seen.ndim == len(shape) and bool(seen.strides)
    )
    assert (seen.dtype.code, seen.dtype.bits, seen.dtype.lanes) == dtype
    assert (seen.device.device_type, seen.device.device_id, seen.byte_offset) == (CPU, 0, 0)
    elements = 1
    for size in shape:
        elements *= size
    size = (elements * dtype[1] * dtype[2] + 7) // 8
    if size:
        assert seen.data % 64 == 0
        ctypes.memset(seen.data, 0xAB, size)
    release(managed)


def test_allocator_ignores_strides_of_the_prototype():
    managed = allocated((2, 3), FLOAT32, strides=(1, 1000))
    assert managed.dl_tensor.strides[:2] == [3, 1]
    release(managed)


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
        (dict(device=(99, 0)), "BufferError", "DLPack 1.3 has no device type 99"),
        (dict(device=(CUDA, 1)), "BufferError", NO_CUDA),
        (dict(device=(CUDA, -1)), "BufferError", "cuda device -1"),
        (dict(device=(CPU, 1)), "BufferError", "makes no tensors on cpu:1"),
        (dict(dtype=(18, 8, 1)), "BufferError", "no element type of code 18"),
        (dict(dtype=(2, 32, 0)), "BufferError", "at least one lane"),
        (dict(shape=(-1,)), "BufferError", "negative size -1"),
        (dict(shape=None, ndim=1), "BufferError", "the shape is NULL"),
        (dict(ndim=-1), "BufferError", "-1 dimensions"),
        (dict(ndim=256), "BufferError", "256 dimensions"),
        (dict(shape=(2**32, 2**32)), "BufferError", "more elements than memory has addresses"),
        (dict(shape=(2**62,)), "BufferError", "further than memory has addresses"),
        (dict(shape=(2**55,)), "MemoryError", f"can't allocate {2**57} bytes of memory"),
    ],
    ids=str,
)
def test_failed_allocation_reports_the_error(arguments, kind, message):
    found = allocated(**{"shape": (2,), "dtype": FLOAT32, **arguments})
    assert found[0] == kind and message in found[1]


def test_current_stream_of_host_memory_is_null():
    for device in [(CPU, 0), (CUDA_HOST, 0)]:
        out = c_void_p(7)
        assert stream(*device, byref(out)) == 0 and out.value is None
    for device, message in [
        ((CUDA, 0), "no stream of cuda:0 is in use"),
        ((99, 0), "device type 99"),
        ((CUDA, -1), "-1"),
    ]:
        out = c_void_p(7)
        with refused(BufferError, message):
            stream(*device, byref(out))
        assert out.value == 7
