"""safetensors with PyTorch's tensors, against its own package."""

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
