"""ONNX's messages, and their external data."""

import dlbridge
import ml_dtypes
import numpy as np
import pytest
from files_cases import NATIVE, SHAPES, array, dtype_of, same
from support import framework, refused

onnx = framework("onnx")
from onnx import external_data_helper, numpy_helper  # noqa: E402

FORMAT = "onnx_proto"
EXTENSIONS = """bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    uint4 int4 float4_e2m1fn uint2 int2 float6_e2m3fn float6_e3m2fn""".split()


@pytest.mark.parametrize("name", NATIVE + EXTENSIONS)
def test_messages_equal_onnx_when_read_and_written(name):
    if not hasattr(ml_dtypes, name) and name not in NATIVE:
        pytest.skip(f"ml_dtypes has no {name}")
    for shape in SHAPES:
        # A scale has no 0.
        x = np.ones(shape, dtype_of(name)) if "e8m0" in name else array(name, shape)
        message = numpy_helper.from_array(x, "weights").SerializeToString()
        assert dlbridge.dumps({"weights": x}, FORMAT) == message, shape
        loaded = dlbridge.loads(message, format=FORMAT)
        assert list(loaded) == ["weights"] and loaded.only.dtype == name
        assert dlbridge.dumps(loaded, FORMAT) == message
        unnamed = numpy_helper.from_array(x).SerializeToString()
        assert dlbridge.dumps(x, FORMAT) == unnamed
        theirs = onnx.TensorProto()
        theirs.ParseFromString(dlbridge.dumps(loaded, FORMAT))
        assert same(numpy_helper.to_array(theirs), x)


def test_raw_data_is_shared():
    data = np.frombuffer(dlbridge.dumps(np.arange(100, dtype="u1"), FORMAT), "u1").copy()
    loaded = dlbridge.loads(data, "numpy", format=FORMAT)
    assert 0 < loaded.only.ctypes.data - data.ctypes.data < data.nbytes and not loaded.copied


def test_lists_of_values_are_read():
    for dtype, values in [
        ("FLOAT", [1.5, -2.0]),
        ("DOUBLE", [0.1, 3.0]),
        ("INT8", [-128, 127]),
        ("UINT16", [0, 65535]),
        ("INT64", [-1, 2**62]),
        ("UINT32", [0, 2**32 - 1]),
        ("UINT64", [0, 2**64 - 1]),
        ("BOOL", [True, False]),
        ("COMPLEX64", [1 + 2j, 3 - 1j]),
        ("FLOAT16", [1.0, -2.0]),
    ]:
        number = onnx.TensorProto.DataType.Value(dtype)
        message = onnx.helper.make_tensor("x", number, [2], values)
        loaded = dlbridge.loads(message.SerializeToString(), "numpy", format=FORMAT)
        assert same(loaded.only, numpy_helper.to_array(message)), dtype
        assert loaded.copied == {"x": "a list of values in the message"}


def test_external_data_is_read(tmp_path):
    x = np.arange(6, dtype="f4").reshape(2, 3)
    message = numpy_helper.from_array(x, "weights")
    external_data_helper.set_external_data(message, "data.bin", offset=8, length=24)
    (tmp_path / "data.bin").write_bytes(bytes(8) + x.tobytes())
    external_data_helper.set_external_data(message, "data.bin", offset=8, length=24)
    message.ClearField("raw_data")
    path = tmp_path / "x.pb"
    path.write_bytes(message.SerializeToString())
    loaded = dlbridge.load(path, "numpy", format=FORMAT)
    assert same(loaded["weights"], x) and loaded.copied == {}
    message.external_data[0].value = "../data.bin"
    path.write_bytes(message.SerializeToString())
    with refused(ValueError, "is outside of the folder of the message"):
        dlbridge.load(path, format=FORMAT)


@pytest.mark.parametrize("name", ["float32", "int8", "bool", "bfloat16", "int4"])
def test_external_data_is_written_as_onnx_writes_it(tmp_path, name):
    for shape in SHAPES:
        x = array(name, shape)
        path, data = tmp_path / "x.pb", tmp_path / "x.bin"
        assert dlbridge.save(path, {"x": x}, format=FORMAT, external="x.bin") == []
        message = numpy_helper.from_array(x, "x")
        assert data.read_bytes() == message.raw_data
        external_data_helper.set_external_data(message, "x.bin", 0, len(message.raw_data))
        message.ClearField("raw_data")
        assert path.read_bytes() == message.SerializeToString()
        theirs = onnx.TensorProto.FromString(path.read_bytes())
        external_data_helper.load_external_data_for_tensor(theirs, str(tmp_path))
        assert same(numpy_helper.to_array(theirs), x)
        loaded = dlbridge.load(path, format=FORMAT)
        assert same(numpy_helper.to_array(theirs), x) and loaded.copied == {}
        assert loaded["x"].shape == shape


def test_external_data_is_aligned_for_jax(tmp_path):
    pytest.importorskip("jax")
    x = np.arange(6, dtype="f4")
    dlbridge.save(tmp_path / "x.pb", {"x": x}, format=FORMAT, align=64, external="x.bin")
    loaded = dlbridge.load(tmp_path / "x.pb", "jax", format=FORMAT)
    assert loaded.copied == {} and loaded["x"].tolist() == x.tolist()


def test_external_data_is_not_written_outside_of_the_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for location in ("../x.bin", str(tmp_path / "x.bin")):
        with refused(ValueError, "is outside of the folder of the message"):
            dlbridge.save(folder / "x.pb", np.ones(2), format=FORMAT, external=location)
    assert list(folder.iterdir()) == [] and list(tmp_path.iterdir()) == [folder]


def test_loads_of_strings_is_refused():
    message = numpy_helper.from_array(np.array(["a"], object)).SerializeToString()
    with refused(TypeError, "elements of type STRING of onnx_proto have no DLPack equivalent"):
        dlbridge.loads(message, format=FORMAT)
