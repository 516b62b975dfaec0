"""safetensors with PyTorch's tensors, against its own package."""

import warnings

import dlbridge
import pytest
from support import framework

torch = framework("torch")
theirs = framework("safetensors.torch")

DTYPES = """bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64
    complex64 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu
    float4_e2m1fn_x2""".split()
SHAPES = [(), (0,), (3,), (2, 3, 4)]


def tensor(name, shape):
    dtype = getattr(torch, name)
    count = torch.Size(shape).numel() * dtype.itemsize
    numbers = torch.arange(count, dtype=torch.int64) % (2 if name == "bool" else 120)
    return numbers.to(torch.uint8).view(dtype).reshape(shape)


def bits(x):
    return x.contiguous().reshape(-1).view(torch.uint8).tolist()


@pytest.mark.parametrize("name", DTYPES)
def test_files_equal_safetensors_when_read_and_written(name, tmp_path):
    shapes = SHAPES[1:] if name == "float4_e2m1fn_x2" else SHAPES
    named = {f"x{i}": tensor(name, shape) for i, shape in enumerate(shapes)}
    path = tmp_path / "x.safetensors"
    theirs.save_file(named, path, {"format": "pt"})
    assert dlbridge.dumps(named, "safetensors", metadata={"format": "pt"}) == path.read_bytes()
    loaded, expected = dlbridge.load(path, "torch"), theirs.load_file(path)
    assert loaded.keys() == expected.keys() and loaded.copied == {}
    for key, x in expected.items():
        ours = loaded[key]
        assert (ours.dtype, ours.shape, bits(ours)) == (x.dtype, x.shape, bits(x))


def test_loaded_tensors_share_the_mapped_file_and_are_writable(tmp_path, recwarn):
    path = tmp_path / "x.safetensors"
    theirs.save_file({"x": torch.arange(1000)}, path)
    before = path.read_bytes()
    file = dlbridge.open_file(path, to="torch")
    first, second = (file.load(None, "torch")[0]["x"] for _ in range(2))
    assert first.data_ptr() == second.data_ptr() and not recwarn.list
    first[5] = 77
    assert second[5] == 77 and path.read_bytes() == before
    del file, second
    assert first[6] == 6


def test_dumps_of_tensor_that_requires_grad_is_refused():
    with pytest.raises(BufferError, match="detach"):
        dlbridge.dumps({"x": torch.ones(2, requires_grad=True)}, "safetensors")


@pytest.fixture
def shown():
    """Counts a warning each time, also one that was shown before."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always", dlbridge.ReadOnlyWarning)
        yield shown


def check_policy(load, shared, shown):
    """Expects tensors over read-only memory by the policy in force."""
    x = load()
    assert x.data_ptr() == shared and len(shown) == 1 and "PyTorch" in str(shown[0].message)
    with dlbridge.readonly("share"):
        assert load().data_ptr() == shared and len(shown) == 1


def test_loads_of_immutable_bytes_follows_the_policy(shown):
    data = dlbridge.dumps({"x": torch.arange(4)}, "safetensors")
    before = bytes(data)
    shared = dlbridge.loads(data)["x"].data_ptr
    check_policy(lambda: dlbridge.loads(data, "torch")["x"], shared, shown)
    with dlbridge.readonly("refuse"):
        loaded = dlbridge.loads(data, "torch")
    assert loaded["x"].data_ptr() != shared and len(shown) == 1
    assert "read-only" in loaded.copied["x"]
    loaded["x"][0] = 77
    assert data == before


def test_loads_of_bytes_that_may_be_written_shares_them(shown):
    data = bytearray(dlbridge.dumps({"x": torch.arange(4)}, "safetensors"))
    with dlbridge.readonly("refuse"):
        loaded = dlbridge.loads(data, "torch")
    assert not shown and not loaded.copied
    loaded["x"][0] = 77
    assert dlbridge.loads(data)["x"].tolist() == [77, 1, 2, 3]
    assert dlbridge.loads(data)["x"].readonly


def test_read_only_mapping_follows_the_policy(tmp_path, shown):
    path = tmp_path / "x.safetensors"
    dlbridge.save(path, {"x": torch.arange(4)})
    for options in ({"writable": False}, {"to": "numpy"}, {"to": "torch", "writable": False}):
        file = dlbridge.open_file(path, **options)
        shared = file.load()[0]["x"].data_ptr
        shown.clear()
        check_policy(lambda: file.load(None, "torch")[0]["x"], shared, shown)  # noqa: B023
        with dlbridge.readonly("refuse"):
            tensors, copied = file.load(None, "torch")
        assert tensors["x"].data_ptr() != shared and "read-only" in copied["x"]
        tensors["x"][0] = 77
    assert dlbridge.load(path, "torch")["x"].tolist() == [0, 1, 2, 3]


def test_open_file_maps_memory_that_torch_may_write(tmp_path, shown):
    path = tmp_path / "x.safetensors"
    dlbridge.save(path, {"x": torch.arange(4)})
    before = path.read_bytes()
    file = dlbridge.open_file(path)
    ours, theirs = (file.load(None, to)[0]["x"] for to in ("dlbridge", "numpy"))
    assert ours.readonly and not theirs.flags.writeable
    tensors, copied = file.load(None, "torch")
    assert tensors["x"].data_ptr() == ours.data_ptr and copied == {} and not shown
    tensors["x"][1] = 77
    assert ours[1].item() == theirs[1] == 77 and path.read_bytes() == before
