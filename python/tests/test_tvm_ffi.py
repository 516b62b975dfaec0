"""TVM FFI's tensors, as arguments, and ours in its functions. It makes none itself, but wraps
foreign ones.
"""

import gc

import dlbridge_testing as ext
import pytest
from support import framework, refused

tvm_ffi = framework("tvm_ffi")
import numpy as np  # noqa: E402

# Complex numbers it passes on, without a name for them.
NAMED = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 float8_e3m4
    float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint1 float32x4 float4_e2m1fnx2""".split()
NAMES = [*NAMED, "complex32", "complex64", "complex128"]
LOOKS = [ext.describe, ext.describe_out, ext.describe_owned]
OURS = type(ext.zeros([1], "uint8"))


def wrapped(ours):
    return tvm_ffi.from_dlpack(ours)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (8,), (2, 4), (0, 4), (1,) * 7 + (2,), (1,) * 12])
def test_import_keeps_dtype_and_values(name, shape):
    ours = ext.zeros(list(shape), name)
    x = wrapped(ours)
    assert type(x) is tvm_ffi.Tensor and tuple(x.shape) == shape
    assert name not in NAMED or str(x.dtype) == name
    for look in LOOKS:
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(shape), name, "cpu")
        assert 0 in shape or seen["ptr"] == x.data_ptr() == ours.data_ptr
        assert (seen["readonly"], seen["padded"]) == (False, False)


@pytest.mark.parametrize("name", ["float32", "int64", "bool", "float16", "bfloat16", "complex64"])
def test_round_trip_shares_memory(name):
    ours = ext.ones([2, 3], name)
    again = ext.identity(wrapped(wrapped(ours)))
    assert again.data_ptr == ours.data_ptr and type(again) is OURS
    ext.to(again, "numpy")[1, 2] = 0
    assert ext.to(ours, "numpy")[1, 2] == 0


def test_tensor_of_numpy_memory_shares_memory():
    memory = np.zeros((3, 4), "f4")
    x = tvm_ffi.from_dlpack(memory)
    for look in LOOKS:
        assert look(x)["ptr"] == memory.ctypes.data
    assert np.from_dlpack(x).ctypes.data == memory.ctypes.data


def test_writes_are_visible_to_the_framework():
    memory = np.zeros((3, 4), "f4")
    x = tvm_ffi.from_dlpack(memory)
    ext.write_f32(x, 7)
    assert (memory == 7).all()
    ext.write_f32(tvm_ffi.from_dlpack(memory[1:, ::2]), 5)
    assert memory.tolist() == [[7] * 4, [5, 7, 5, 7], [5, 7, 5, 7]]
    ours = ext.zeros([3], "bfloat16")
    ext.write_bf16(wrapped(ours), 1.5)
    assert ext.read_bf16(ours) == [1.5] * 3


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[1:, 1:],
        lambda x: x[::-1],
        lambda x: x[:, ::-2],
        lambda x: x[:, :0],
        lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (4, 4)),
    ],
)
def test_views_are_imported_without_copy(view):
    memory = view(np.arange(12, dtype="f4").reshape(3, 4))
    x = tvm_ffi.from_dlpack(memory)
    for look in (ext.describe, ext.describe_owned):
        seen = look(x)
        assert seen["shape"] == list(memory.shape)
        assert not memory.size or seen["ptr"] == memory.ctypes.data
        assert not memory.size or seen["strides"] == [step // 4 for step in memory.strides]
    assert ext.read_f32(x) == memory.ravel().tolist() == ext.own_f32(x)


def test_written_argument_refuses_overlapping_elements():
    x = tvm_ffi.from_dlpack(np.lib.stride_tricks.as_strided(np.zeros(4, "f4"), (2, 2), (4, 4)))
    with refused(BufferError, "at one place", "pass a copy"):
        ext.write_f32(x, 1)


def test_read_only_memory_is_refused_or_loses_its_flag():
    # Through the exchange table, read-only tensors get in. It has no flag to remember that by.
    x = wrapped(ext.read_only(ext.from_list([1, 2], [2])))
    assert ext.describe(x)["readonly"] is False
    memory = np.zeros(2, "f4")
    memory.flags.writeable = False
    with pytest.raises(BufferError):
        tvm_ffi.from_dlpack(
            memory
        )  # NumPy refuses, since the request is for an unversioned capsule.


def test_requested_alignment_and_contiguity_are_checked():
    ours = ext.transposed(ext.from_list([1, 2, 3, 4], [2, 2]))
    x = tvm_ffi.from_dlpack(ours)
    assert tuple(x.strides) == (1, 2) and x.data_ptr() == ours.data_ptr
    unaligned = ext.from_bytes([0] * 16, [4], "float32", 4)
    assert tvm_ffi.from_dlpack(unaligned).data_ptr() == unaligned.data_ptr
    aligned = ext.zeros([4], "float32")
    assert tvm_ffi.from_dlpack(aligned, require_alignment=64).data_ptr() == aligned.data_ptr
    with pytest.raises((RuntimeError, ValueError), match="not aligned to 64 bytes"):
        tvm_ffi.from_dlpack(unaligned, require_alignment=64)


def test_memory_is_released_with_the_last_tensor(counted):
    x = wrapped(ext.counted_mut(1024))
    y = ext.identity(x)
    del x
    gc.collect()
    assert counted() == 1 and ext.read_f32(y)[-1] == 1023
    z = wrapped(y)
    del y
    assert counted() == 1 and ext.sum_detached(z) == sum(range(1024))
    del z
    gc.collect()
    assert counted() == 0


def test_functions_accept_and_return_dlbridge_tensors(counted):
    seen = []
    function = tvm_ffi.convert(lambda x, y: (seen.append(ext.describe(x)["ptr"]), y)[1])
    first, second = ext.counted_mut(4), ext.counted_mut(3)
    result = function(first, second)
    assert seen == [first.data_ptr]
    # It returns tensors as objects of its arguments' class, by the exchange table.
    assert type(result) is OURS and result.data_ptr == second.data_ptr
    memory = np.zeros(4, "f4")
    result = function(memory, tvm_ffi.from_dlpack(memory))
    assert (
        type(result) is tvm_ffi.Tensor
        and ext.describe(result)["ptr"] == memory.ctypes.data == seen[-1]
    )
    del first, second
    gc.collect()
    assert counted() == 0


def test_results_are_tensors_of_tvm():
    x = tvm_ffi.from_dlpack(np.arange(6, dtype="f4").reshape(2, 3))
    where, y = ext.doubled(x)
    assert (
        type(y) is tvm_ffi.Tensor
        and y.data_ptr() == where
        and ext.read_f32(y) == [0, 2, 4, 6, 8, 10]
    )
    where, zeros = ext.zeros_like(x, [2, 5], "bfloat16")
    assert type(zeros) is tvm_ffi.Tensor and zeros.data_ptr() == where and where % 64 == 0
    assert ext.like(x, y).data_ptr() == y.data_ptr()
    with refused(BufferError, "TVM FFI has no complex64"):
        ext.to(ext.zeros([2], "complex64"), "tvm_ffi")
    with refused(BufferError, "read-only, and TVM FFI writes", "copy it first"):
        ext.to(ext.read_only(ext.zeros([2], "float32")), "tvm_ffi", readonly="refuse")
    ours = ext.read_only(ext.zeros([2], "float32"))
    assert ext.to(ours, "tvm_ffi", readonly="share").data_ptr() == ours.data_ptr


def test_object_that_is_not_a_tensor_is_refused():
    for x in (
        tvm_ffi.Shape((1, 2)),
        tvm_ffi.dtype("float32"),
        tvm_ffi.convert([1, 2]),
        tvm_ffi.device("cpu:0"),
    ):
        for look in LOOKS:
            with refused(TypeError, "expected a tensor, got"):
                look(x)


def test_views_are_used_without_the_gil():
    memory, out = np.arange(1000, dtype="f4"), np.zeros(1000, "f4")
    x, y = tvm_ffi.from_dlpack(memory), tvm_ffi.from_dlpack(out)
    assert ext.sum_detached(x) == 499500
    ext.double_detached(x, y)
    assert (out == 2 * memory).all()


def test_call_with_numpy_arguments_is_accepted():
    a, b, out = np.arange(3, dtype="f4"), np.ones(3, "f4"), np.zeros(3, "f4")
    ext.add(tvm_ffi.from_dlpack(a), b, out)
    assert out.tolist() == [1, 2, 3]
    ext.add(a, b, tvm_ffi.from_dlpack(out[::-1]))
    assert out.tolist() == [3, 2, 1]


def test_written_argument_refuses_shared_memory():
    memory = np.arange(1000, dtype="f4")
    x = tvm_ffi.from_dlpack(memory)
    part = tvm_ffi.from_dlpack(memory[1:])
    for a, b in (
        (x, memory),
        (memory, x),
        (x, x),
        (x, tvm_ffi.from_dlpack(memory)),
        (part, memory[:-1]),
    ):
        for call in (
            ext.double_detached,
            lambda a, b: ext.add(a, np.ones(ext.identity(a).size, "f4"), b),
        ):
            with refused(ValueError, "in use by another argument"):
                call(a, b)
    ext.double_detached(tvm_ffi.from_dlpack(memory[:500]), memory[500:])
    assert (memory[500:] == 2 * memory[:500]).all()
