"""safetensors against its own package, with NumPy's arrays."""

import dlbridge
import numpy as np
import pytest
from files_cases import NATIVE, SHAPES, array, same
from support import framework, refused

theirs = framework("safetensors.numpy")
NAMES = [name for name in NATIVE if name != "complex128"]


@pytest.mark.parametrize("name", NAMES)
def test_files_equal_safetensors_when_read_and_written(name, tmp_path):
    named = {f'{i}é"\n': array(name, shape) for i, shape in enumerate(SHAPES)}
    path = tmp_path / "x.safetensors"
    for metadata in (None, {}, {"made by": 'a "test"\n'}):
        expected = theirs.save(named, metadata)
        assert dlbridge.dumps(named, "safetensors", metadata=metadata) == expected
        dlbridge.save(path, named, metadata=metadata)
        assert path.read_bytes() == expected
        loaded = dlbridge.load(path, "numpy")
        assert loaded.metadata == metadata and loaded.copied == {}
        assert loaded.keys() == named.keys()
        assert all(same(loaded[key], named[key]) for key in named)


def test_dtypes_are_ordered_like_safetensors():
    named = {name: array(name, (2, 4)) for name in NAMES}
    assert dlbridge.dumps(named, "safetensors") == theirs.save(named)
    assert same(theirs.load(dlbridge.dumps(named, "safetensors"))["uint16"], named["uint16"])


def test_strided_arrays_are_written_in_row_major_order():
    x = array("float32", (4, 6)).T
    back = theirs.load(dlbridge.dumps({"x": x}, "safetensors"))["x"]
    assert np.array_equal(back, x)


def test_aligned_files_are_read_by_the_package(tmp_path):
    path = tmp_path / "x.safetensors"
    named = {"a": array("float32", (5,)), "b": array("int64", (16,)), "c": array("int8", (64,))}
    assert dlbridge.save(path, named, align=64) == []
    back = theirs.load_file(path)
    assert all(same(back[key], named[key]) for key in named)
    file = dlbridge.open_file(path)
    assert all(x.data_ptr % 64 == 0 for x in file.load()[0].values())
    named["d"] = array("int8", (5,))
    assert dlbridge.save(path, named, align=64) == ["d"]


def test_unsupported_dtype_is_refused():
    with refused(TypeError, "safetensors has no complex128 elements"):
        dlbridge.dumps({"x": array("complex128", (2,))}, "safetensors")
    with refused(ValueError, "truncated safetensors: the header needs 18 bytes"):
        dlbridge.loads(b"\x0a\0\0\0\0\0\0\0{}")


def test_no_tensors_with_empty_metadata_are_a_valid_file():
    loaded = dlbridge.loads(dlbridge.dumps({}, "safetensors", metadata={}))
    assert loaded == {} and loaded.metadata == {}


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e2m3fn"])
def test_sub_byte_elements_that_end_within_a_byte_are_refused(name):
    x = dlbridge.zeros(3, dtype=name)
    bits = 12 if name == "float4_e2m1fn" else 18
    text = f'safetensors: expected whole bytes of {name} in "x", got {bits} bits'
    with refused(ValueError, text) as caught:
        dlbridge.dumps({"x": x}, "safetensors")
    assert (caught.value.kind, caught.value.remedy) == ("value", "append elements")


@pytest.mark.parametrize("format", ["safetensors", "npy", "npz", "onnx_proto", "tf_proto"])
def test_save_of_more_bytes_than_memory_is_refused(format, tmp_path):
    x = np.broadcast_to(np.uint8(1), (2**62,))
    with pytest.raises((MemoryError, ValueError)):
        dlbridge.save(tmp_path / "x", {"x": x}, format=format)
    assert list(tmp_path.iterdir()) == []
