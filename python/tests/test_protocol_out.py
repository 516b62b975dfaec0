"""Our class as a producer: `__dlpack__` and `__dlpack_device__`, and what is in the capsules."""

import ctypes
import gc
import itertools
import warnings

import dlbridge_testing as ext
import pytest
from made import (
    BOOL,
    CPU,
    CUDA,
    CUDA_HOST,
    FLOAT32,
    INT4,
    IS_COPIED,
    IS_SUBBYTE_TYPE_PADDED,
    READ_ONLY,
    Deleter,
    DLManagedTensor,
    DLManagedTensorVersioned,
    Made,
    api,
    content_of,
    name_of,
)
from support import in_new_process, refused

# With the package's features, there is a way to GPUs, and no driver where these tests run.
NO_COPY = "there is no CUDA driver here"
if not ext.HAS_PACKAGE_FEATURES:
    NO_COPY = "a tensor on {} can't be copied to {}"
UNSET = object()
# Each with the errors that it may cause by itself.
STREAMS = {
    UNSET: [],
    None: [],
    0: [BufferError],
    1: [BufferError],
    -1: [BufferError],
    2**70: [BufferError],
}
STREAMS |= {"1": [TypeError], 1.5: [TypeError], (): [TypeError]}
VERSIONS = {
    UNSET: [],
    None: [],
    (0, 0): [],
    (0, 8): [],
    (1, 0): [],
    (1, 3): [],
    (2, 0): [],
    (2**32 - 1, 99): [],
}
VERSIONS |= {
    "1.0": [TypeError],
    1: [TypeError],
    (1,): [TypeError],
    (1, 0, 0): [TypeError],
    (1.5, 0): [TypeError],
}
VERSIONS |= {
    (-1, 0): [ValueError],
    (1, -1): [ValueError],
    (2**40, 0): [ValueError],
    (2**70, 0): [ValueError],
}
DEVICES = {
    UNSET: [],
    None: [],
    (CPU, 0): [],
    (CPU, 1): [BufferError],
    (CUDA, 0): [BufferError],
    (99, 0): [BufferError],
}
DEVICES |= {
    "cpu": [TypeError],
    1: [TypeError],
    (1, "0"): [TypeError],
    (-1, 0): [ValueError],
    (1, 2**70): [ValueError],
}
COPIES = {
    UNSET: [],
    None: [],
    True: [],
    False: [],
    "yes": [TypeError],
    2: [TypeError],
    b"": [TypeError],
}


@pytest.mark.parametrize(
    "version", VERSIONS, ids=lambda version: "unset" if version is UNSET else str(version)
)
def test_every_request_returns_or_raises_as_specified(version):
    tensor = ext.from_list([1, 2, 3], [3])
    for stream, device, copy in itertools.product(STREAMS, DEVICES, COPIES):
        request = {"stream": stream, "max_version": version, "dl_device": device, "copy": copy}
        request = {name: value for name, value in request.items() if value is not UNSET}
        errors = STREAMS[stream] + VERSIONS[version] + DEVICES[device] + COPIES[copy]
        # What is no request at all is told first.
        errors = [error for error in errors if error is not BufferError] or errors
        try:
            capsule = tensor.__dlpack__(**request)
        except (TypeError, ValueError, BufferError) as error:
            assert type(error) in errors, (request, error)
            continue
        assert errors == [], request
        managed = content_of(capsule)
        is_versioned = isinstance(version, tuple) and version[0] >= 1
        assert type(managed) is (DLManagedTensorVersioned if is_versioned else DLManagedTensor)
        assert (managed.dl_tensor.data == tensor.data_ptr) is (copy is not True)
        if is_versioned:
            assert (managed.version.major, managed.version.minor) == (1, 3)
            assert managed.flags == (IS_COPIED if copy is True else 0)
        assert (ctypes.c_float * 3).from_address(managed.dl_tensor.data)[:] == [1, 2, 3]


def test_arguments_are_keyword_only():
    tensor = ext.from_list([1], [1])
    with refused(TypeError, "positional"):
        tensor.__dlpack__(None)
    with refused(TypeError, "versions"):
        tensor.__dlpack__(versions=(1, 0))
    with refused(TypeError, "stream", "True", "bool"):
        tensor.__dlpack__(stream=True)


def test_error_names_the_request():
    tensor = ext.from_list([1], [1])
    for request, parts in [
        ({"stream": 7}, ["memory on cpu is used on no stream", "stream 7"]),
        (
            {"copy": False, "dl_device": (2, 1)},
            ["device (1, 0)", "(2, 1)", "which copy=False forbids"],
        ),
        ({"dl_device": (2, 1)}, [NO_COPY.format("cpu", "cuda:1")]),
        ({"dl_device": (99, 0)}, ["DLPack 1.3 has no device type 99"]),
    ]:
        with refused(BufferError, *parts):
            tensor.__dlpack__(**request)


def test_refused_request_leaks_nothing(counted):
    tensor = ext.counted(3)
    for request in [{"stream": 1}, {"dl_device": (2, 0)}, {"copy": 1}, {"max_version": "1"}]:
        with pytest.raises((BufferError, TypeError)):
            tensor.__dlpack__(**request)
    with pytest.raises(BufferError):
        tensor.to_dlpack(readonly="refuse")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="read-only"):
            tensor.__dlpack__()
    del tensor
    assert counted() == 0


@pytest.mark.parametrize(
    "device", [(CPU, 0), (CPU, 1), (CUDA, 3), (CUDA_HOST, 0), (8, 2), (18, 2**31 - 1)]
)
def test_exported_device_equals_the_imported(device):
    tensor = ext.identity(Made(device=device).capsule())
    assert tensor.__dlpack_device__() == device
    managed = content_of(tensor.__dlpack__(max_version=(1, 0), dl_device=device, copy=False))
    assert (managed.dl_tensor.device.device_type, managed.dl_tensor.device.device_id) == device
    assert managed.dl_tensor.data == tensor.data_ptr


def test_pinned_memory_is_copied_to_the_host():
    pinned = ext.identity(Made(device=(CUDA_HOST, 0)).capsule())
    capsule = pinned.__dlpack__(max_version=(1, 0), dl_device=(CPU, 0))
    managed = content_of(capsule)
    assert managed.flags == IS_COPIED and managed.dl_tensor.device.device_type == CPU
    assert managed.dl_tensor.data != pinned.data_ptr and managed.dl_tensor.data % 64 == 0
    assert ext.read_f32(capsule) == [0, 1, 2, 3, 4, 5]
    with refused(BufferError, "copy=False forbids"):
        pinned.__dlpack__(dl_device=(CPU, 0), copy=False)
    # A copy is on the same device, unless another one is requested.
    with refused(BufferError, NO_COPY.format("cuda_host:0", "cuda_host:0")):
        pinned.__dlpack__(copy=True)
    far = ext.identity(Made(device=(CUDA, 0)).capsule())
    with refused(BufferError, "can't reach memory on cuda:0"):
        far.__dlpack__(dl_device=(CPU, 0))


def tensors():
    """Tensors of every nature, each with shape, strides, type and flags."""
    yield ext.zeros([], "float32"), [], [], FLOAT32, 0
    yield ext.zeros([2, 3], "bool"), [2, 3], [3, 1], BOOL, 0
    yield ext.zeros([1] * 9, "float32"), [1] * 9, [1] * 9, FLOAT32, 0
    yield ext.zeros([0, 3], "float32"), [0, 3], [3, 1], FLOAT32, 0
    yield ext.zeros([3], "float32x4"), [3], [1], (2, 32, 4), 0
    yield ext.zeros([3], "int4"), [3], [1], INT4, 0
    yield ext.transposed(ext.zeros([2, 3], "float32")), [3, 2], [1, 3], FLOAT32, 0
    yield ext.counted(3), [3], [1], FLOAT32, READ_ONLY
    yield ext.counted_mut(3), [3], [1], FLOAT32, 0
    yield ext.identity(Made((2, 2), (-2, 3), byte_offset=8).capsule()), [2, 2], [-2, 3], FLOAT32, 0
    yield ext.identity(Made((3,), None, versioned=False).capsule()), [3], [1], FLOAT32, 0
    yield (
        ext.identity(Made((3,), flags=READ_ONLY | IS_COPIED).capsule()),
        [3],
        [1],
        FLOAT32,
        READ_ONLY,
    )
    # Shared memory isn't exclusive to a consumer, even after a copy.
    yield ext.import_(Made((3,)).capsule(), copy=True), [3], [1], FLOAT32, 0
    padded = Made((3,), dtype=INT4, flags=IS_SUBBYTE_TYPE_PADDED).capsule()
    yield ext.identity(padded), [3], [1], INT4, IS_SUBBYTE_TYPE_PADDED


def test_capsule_has_the_tensors_descriptor(counted):
    for tensor, shape, strides, dtype, flags in tensors():
        # The second export at a time is made in another way than the first.
        capsules = [tensor.__dlpack__(max_version=(1, 3)) for _ in range(3)]
        if not flags:
            capsules += [tensor.__dlpack__() for _ in range(3)]
        places = set()
        for capsule in capsules:
            managed = content_of(capsule)
            places.add(ctypes.addressof(managed))
            assert managed.manager_ctx and managed.deleter
            if name_of(capsule) == "dltensor_versioned":
                assert (managed.version.major, managed.version.minor, managed.flags) == (
                    1,
                    3,
                    flags,
                )
            seen = managed.dl_tensor
            # Neither is NULL, at no rank.
            assert bool(seen.shape) and bool(seen.strides)
            assert (seen.ndim, seen.shape[: len(shape)], seen.strides[: len(shape)]) == (
                len(shape),
                shape,
                strides,
            )
            assert (seen.dtype.code, seen.dtype.bits, seen.dtype.lanes) == dtype
            assert (seen.data or 0, seen.byte_offset) == (tensor.data_ptr, 0)
        assert len(places) == len(capsules)
        del capsule, capsules, managed, seen, tensor
    assert counted() == 0


def test_handles_keep_their_offset():
    # Memory without addresses has no pointer arithmetic.
    made = Made((3,), device=(8, 0), byte_offset=8)
    managed = content_of(ext.identity(made.capsule()).__dlpack__(max_version=(1, 0)))
    assert (managed.dl_tensor.data, managed.dl_tensor.byte_offset) == (made.data, 8)


def test_legacy_capsule_refuses_read_only_and_padded_tensors():
    tensor = ext.counted(3)
    with refused(BufferError, "read-only", "legacy", "copy it first", 'readonly="share"'):
        tensor.to_dlpack(readonly="refuse")
    with refused(BufferError, "read-only", "legacy"):
        tensor.to_dlpack(max_version=(0, 8), readonly="refuse")
    for ask in (tensor.__dlpack__, tensor.to_dlpack, lambda: tensor.__dlpack__(max_version=(0, 8))):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            capsule = ask()
        assert [warning.category.__name__ for warning in shown] == ["ReadOnlyWarning"]
        assert "dlbridge -> a consumer of legacy DLPack capsules" in str(shown[0].message)
        assert content_of(capsule).dl_tensor.data == tensor.data_ptr
    # A copy may be written.
    assert ext.read_f32(tensor.__dlpack__(copy=True)) == [0, 1, 2]
    padded = ext.identity(Made((3,), dtype=INT4, flags=IS_SUBBYTE_TYPE_PADDED).capsule())
    with refused(BufferError, "padded int4", "legacy"):
        padded.__dlpack__()


@pytest.mark.parametrize(
    "request_", [{}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": True}]
)
def test_unconsumed_capsule_releases_its_tensor(counted, request_):
    tensor = ext.counted_mut(3)
    capsules = [tensor.__dlpack__(**request_) for _ in range(3)]
    del tensor
    gc.collect()
    assert counted() == (0 if request_.get("copy") else 1)
    while capsules:
        assert ext.read_f32(capsules[-1]) == [0, 1, 2]
        capsules.pop()
    assert counted() == 0


@pytest.mark.parametrize("request_", [{}, {"max_version": (1, 0)}])
def test_consumed_capsule_is_released_once(counted, request_):
    tensor = ext.counted_mut(3)
    capsules = [tensor.__dlpack__(**request_) for _ in range(2)]
    del tensor
    managed = [content_of(capsule) for capsule in capsules]
    for capsule in capsules:
        name = name_of(capsule)
        api.PyCapsule_SetName(
            capsule, {"dltensor": b"used_dltensor"}.get(name, b"used_dltensor_versioned")
        )
    del capsule, capsules
    assert counted() == 1
    for each in managed:
        assert counted() == 1
        Deleter(each.deleter)(ctypes.addressof(each))
    assert counted() == 0


def test_capsule_destructor_keeps_a_pending_exception():
    # The memory's owner runs Python, which no exception may be on its way through.
    output = in_new_process("""
        import dlbridge_testing as ext
        from made import Made

        def two(*values): ...

        for request in ({}, {"max_version": (1, 3)}):
            made = Made()
            tensor = ext.identity(made.capsule())
            capsules = [tensor.__dlpack__(**request)]
            del tensor
            try:
                two(capsules.pop(), 1 / 0)
            except ZeroDivisionError as error:
                print(error, made.deleted)
    """)
    assert output.splitlines() == ["division by zero 1"] * 2


def test_reimported_export_is_the_original_tensor(counted):
    tensor = ext.counted_mut(3)
    back = ext.identity(tensor.__dlpack__(max_version=(1, 0)))
    assert ext.describe_owned(back)["owner"] == ext.describe_owned(tensor)["owner"]
    ext.write_f32(back, 5)
    assert ext.read_f32(tensor) == [5, 5, 5]
    assert ext.describe_owned(ext.import_(tensor, copy=True))["copied"]
