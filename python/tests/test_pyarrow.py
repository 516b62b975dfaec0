"""PyArrow's arrays, tensors and buffers, as arguments. It takes nothing in by DLPack: results are
our objects.
"""

import ctypes
import gc
import warnings

import dlbridge_testing as ext
import pytest
from support import framework, refused

pa = framework("pyarrow")
import numpy as np  # noqa: E402

NAMES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
LOOKS = [ext.describe, ext.describe_owned]
ALL_LOOKS = [*LOOKS, ext.describe_out]


def array(dtype="float32", size=6):
    return pa.array(np.arange(size).astype(dtype))


def address(x):
    """Where the first element of an array is."""
    width = x.type.bit_width // 8
    return x.buffers()[1].address + x.offset * width


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 6, 1000])
def test_import_keeps_dtype_and_values(name, size):
    x = array(name, size)
    for look in LOOKS:
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == ([size], name, "cpu")
        assert (seen["ptr"], seen["strides"]) == (address(x), [1])
        assert (seen["readonly"], seen["padded"]) == (True, False)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_shares_memory(name):
    x = array(name)
    ours = ext.identity(x)
    y = ext.to(ours, "numpy")
    assert ours.readonly and not y.flags.writeable
    assert y.ctypes.data == ours.data_ptr == address(x) and y.tolist() == x.to_pylist()
    # NumPy's way is PyArrow's way in.
    z = pa.array(y)
    assert address(z) == address(x) and z.equals(x)


@pytest.mark.parametrize("name", NAMES)
def test_immutable_tensor_refuses_to_be_written(name):
    for x in (array(name), array(name)[2:4], array(name, 1)):
        with refused(BufferError, "read-only", "pass a copy"):
            ext.describe_out(x)
    with refused(BufferError, "read-only"):
        ext.write_f32(ext.identity(array()), 1)


def test_slices_share_memory():
    x = array()
    for part in (x[1:3], x[5:], x.slice(2), x[1:][1:][:2]):
        for look in LOOKS:
            assert look(part)["ptr"] == address(part) and look(part)["shape"] == [len(part)]
        assert ext.read_f32(part) == part.to_pylist() == ext.own_f32(part)
    turned = x[::-1]  # A copy of PyArrow's.
    assert ext.read_f32(turned) == [5, 4, 3, 2, 1, 0]


def test_array_without_elements_is_accepted():
    for x in (pa.array([], pa.float32()), array()[3:3], array()[6:]):
        for look in LOOKS:
            assert look(x)["shape"] == [0]
        assert ext.read_f32(x) == []


def test_memory_outlives_the_array():
    key = ext.keep(array(size=1000))
    gc.collect()
    assert ext.read_f32(ext.take_out(key))[-1] == 999


def test_array_with_nulls_is_refused():
    x = pa.array([1, None, 3, 4], pa.float32())
    for y in (x, x[:2], pa.nulls(3, pa.float32()), pa.nulls(3)):
        for look in ALL_LOOKS:
            with refused(BufferError, "no nulls"):
                look(y)
    assert ext.read_f32(x[2:]) == [3, 4]
    assert ext.read_f32(x.fill_null(2)) == [1, 2, 3, 4]


def test_bit_packed_bools_are_refused():
    for x in (pa.array([True, False]), pa.array([True] * 100)[8:16]):
        for look in ALL_LOOKS:
            with refused(BufferError, "Bit-packed boolean"):
                look(x)


@pytest.mark.parametrize(
    "x",
    [
        pa.array(["a"]),
        pa.array([b"a"]),
        pa.array([1], pa.timestamp("s")),
        pa.array([1], pa.date32()),
        pa.array([1], pa.decimal128(10)),
        pa.array([[1], [2]]),
        pa.array([[1, 2]], pa.list_(pa.int64(), 2)),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array([{"a": 1}]),
    ],
    ids=lambda x: str(x.type),
)
def test_array_without_dlpack_equivalent_is_refused(x):
    for look in ALL_LOOKS:
        with refused(BufferError, "not compatible with DLPack"):
            look(x)


def test_refusal_issues_no_warning():
    # Asking for the older kind of capsule, too, would only bring a warning without a remedy.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ext.read_f32(array()) == [0, 1, 2, 3, 4, 5]
        for look in ALL_LOOKS:
            with refused(BufferError, "no nulls"):
                look(pa.array([1, None]))


def test_object_that_is_not_a_tensor_is_refused():
    column = pa.chunked_array([[1.0, 2.0]])
    for x in (
        column,
        pa.table({"a": column}),
        pa.record_batch({"a": [1.0]}),
        pa.scalar(1.0),
        pa.float32(),
    ):
        for look in ALL_LOOKS:
            with refused(TypeError, "expected a tensor, got"):
                look(x)
    assert ext.read_f64(column.chunk(0)) == [1, 2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 8])
def test_tensors_of_every_shape_share_memory(name, shape):
    memory = np.arange(int(np.prod(shape))).reshape(shape).astype(name)
    x = pa.Tensor.from_numpy(memory)
    for look in ALL_LOOKS:
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(shape), name, "cpu")
        assert seen["ptr"] == memory.ctypes.data or 0 in shape
        assert not seen["readonly"] and x.is_mutable


def test_tensors_are_written_unless_read_only():
    memory = np.zeros((3, 4), "f4")
    x = pa.Tensor.from_numpy(memory)
    ext.write_f32(x, 5)
    assert (memory == 5).all() and (x.to_numpy() == 5).all()
    turned = pa.Tensor.from_numpy(memory.T)
    assert ext.describe(turned)["strides"] == [1, 4]
    ext.write_f32(turned, 6)
    assert (memory == 6).all()
    memory.flags.writeable = False
    x = pa.Tensor.from_numpy(memory)
    assert not x.is_mutable
    for look in LOOKS:
        assert look(x)["readonly"]
    with refused(BufferError, "read-only"):
        ext.write_f32(x, 1)
    assert ext.read_f32(x) == [6] * 12


def test_buffers_are_bytes():
    fixed = pa.py_buffer(b"abcd")
    for look in LOOKS:
        seen = look(fixed)
        assert (seen["ptr"], seen["shape"], seen["dtype"], seen["readonly"]) == (
            fixed.address,
            [4],
            "int8",
            True,
        )
    with refused(BufferError, "read-only"):
        ext.write_i8(fixed, 1)
    assert ext.read_i8(fixed) == list(b"abcd") == ext.own_i8(fixed)
    assert ext.read_i8(fixed.slice(1, 2)) == list(b"bc")
    for buffer in (pa.py_buffer(bytearray(4)), pa.allocate_buffer(4)):
        assert ext.describe_out(buffer)["ptr"] == buffer.address
        ext.write_i8(buffer, 7)
        assert buffer.to_pybytes() == b"\7" * 4
    assert ext.describe(pa.py_buffer(b""))["shape"] == [0]


def test_results_are_arrays_and_tensors():
    memory = np.arange(6, dtype="f4").reshape(2, 3)
    for x in (array(), pa.Tensor.from_numpy(memory), pa.py_buffer(b"abcd")):
        y = ext.like(x, memory)
        assert (
            type(y) is pa.Tensor
            and y.shape == (2, 3)
            and y.to_numpy().ctypes.data == memory.ctypes.data
        )
        y = ext.like(x, memory[1])
        assert type(y) is pa.FloatArray and y.to_pylist() == [3, 4, 5]
        assert y.buffers()[1].address == memory[1].ctypes.data and y.buffers()[0] is None
        y = ext.like(x, memory[:, 1])
        assert type(y) is pa.Tensor and y.to_numpy().tolist() == [1, 4]
        with refused(BufferError, "PyArrow has no bfloat16"):
            ext.zeros_like(x, [2, 5], "bfloat16")


@pytest.mark.parametrize(
    "name", "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
)
def test_every_dtype_is_exported_as_array(name):
    memory = np.arange(4).astype(name)
    y = ext.to(memory, "pyarrow")
    assert str(y.type) == {"float16": "halffloat", "float32": "float", "float64": "double"}.get(
        name, name
    )
    assert y.to_pylist() == [0, 1, 2, 3]
    memory[0] = 9
    assert y[0].as_py() == 9
    del memory
    assert y.to_pylist() == [9, 1, 2, 3]


def test_export_of_unsupported_dtype_is_refused():
    for name in ("bool", "complex64", "float8_e4m3fn", "int4", "float32x4"):
        with refused(BufferError, f"PyArrow has no {name}"):
            ext.to(ext.zeros([4], name), "pyarrow")


def test_our_objects_become_arrays_through_numpy():
    ours = ext.from_list([1, 2, 3], [3])
    x = pa.array(np.from_dlpack(ours))
    assert address(x) == ours.data_ptr
    y = pa.Tensor.from_numpy(np.from_dlpack(ours))
    ext.write_f32(y, 5)
    assert ext.read_f32(ours) == x.to_pylist() == [5] * 3
    # And as bytes, by address.
    buffer = pa.foreign_buffer(ours.data_ptr, ours.nbytes, base=ours)
    assert ctypes.string_at(buffer.address, 4) == np.float32(5).tobytes()


def test_views_are_used_without_the_gil():
    x = array(size=1000)
    assert ext.sum_detached(x) == 499500
    out = np.zeros(1000, "f4")
    tensor = pa.Tensor.from_numpy(out)
    ext.double_detached(x, tensor)
    assert (out == 2 * x.to_numpy()).all()
    assert ext.sum_detached(tensor) == 999000
    with refused(BufferError, "read-only"):
        ext.double_detached(out, x)


def test_call_with_numpy_arguments_is_accepted():
    x, y, out = array(size=3), np.arange(3, dtype="f4"), np.zeros(3, "f4")
    ext.add(x, y, out)
    assert out.tolist() == [0, 2, 4]
    ext.add(x, pa.Tensor.from_numpy(out), pa.Tensor.from_numpy(y))
    assert y.tolist() == [0, 3, 6]


def test_written_argument_refuses_shared_memory():
    memory = np.zeros(1000, "f4")
    x, tensor = pa.array(memory), pa.Tensor.from_numpy(memory)
    assert address(x) == memory.ctypes.data
    for a, b in (
        (x, memory),
        (x, tensor),
        (tensor, memory),
        (memory, tensor),
        (x[1:], memory[:-1]),
    ):
        for call in (
            ext.double_detached,
            lambda a, b: ext.add(a, np.ones(ext.identity(a).size, "f4"), b),
        ):
            with refused(ValueError, "in use by another argument"):
                call(a, b)
    ext.double_detached(x[:500], memory[500:])
