"""The attributes of exceptions: `kind`, `found`, `wanted`, `remedy`, of each kind that an
extension's arguments raise.
"""

import dlbridge_testing as ext
import pytest
from support import framework

np = framework("numpy")

f32 = lambda *shape: np.ones(shape, "f4")


def fields(exception, function, *arguments):
    """What an exception's attributes say, whose text ends with the remedy."""
    with pytest.raises(exception) as caught:
        function(*arguments)
    error = caught.value
    assert type(error) is exception
    if error.remedy is not None:
        assert str(error).endswith("; " + error.remedy)
    return error.kind, error.found, error.wanted, error.remedy


def read_only():
    x = f32(2)
    x.flags.writeable = False
    return x


def test_non_tensor_error_has_fields():
    assert fields(TypeError, ext.read_f32, [1.0]) == ("type", "list", "a tensor", None)


def test_dtype_error_has_fields():
    assert fields(TypeError, ext.read_f32, np.ones(3)) == (
        "dtype",
        "float64",
        "float32",
        'cast it with x.astype("float32")',
    )


def test_dtype_remedy_is_the_frameworks_cast():
    torch = framework("torch")
    x = torch.ones(3, dtype=torch.float64)
    remedy = fields(TypeError, ext.read_f32, x)[3]
    assert remedy == "cast it with x.to(torch.float32)"
    cast = eval(remedy.removeprefix("cast it with "), {"torch": torch, "x": x})
    assert ext.read_f32(cast) == ext.read_f32(np.ones(3, "f4"))


def test_dtype_comes_before_rank():
    assert fields(TypeError, ext.rank_2, np.ones(3))[0] == "dtype"


def test_rank_error_has_fields():
    assert fields(ValueError, ext.rank_2, f32(3)) == ("rank", "1", "2", None)


def test_shape_error_has_fields():
    assert fields(ValueError, ext.has_shape, f32(2, 3), [6]) == ("shape", "[2, 3]", "[6]", None)


def test_layout_error_has_fields():
    wanted = "row-major without gaps"
    assert fields(ValueError, ext.row_major, f32(2, 3).T) == (
        "layout",
        "shape [3, 2], strides [1, 3]",
        wanted,
        None,
    )


def test_alignment_error_has_fields():
    base = np.zeros(12, "u1")
    start = next(at for at in range(1, 5) if (base.ctypes.data + at) % 4 == 1)
    x = base[start : start + 4].view("f4")
    expected = ("alignment", hex(x.ctypes.data), "a multiple of 4", "pass a copy")
    assert fields(BufferError, ext.read_f32, x) == expected


def test_readonly_error_has_fields():
    kind, found, wanted, remedy = fields(BufferError, ext.write_f32, read_only(), 1)
    assert (kind, found, wanted) == ("readonly", "read-only", "writable") and "copy=True" in remedy


def test_overlap_error_has_fields():
    x = np.lib.stride_tricks.as_strided(f32(1), (3,), (0,), writeable=True)
    kind, found, _, remedy = fields(BufferError, ext.write_f32, x, 1)
    assert (kind, found, remedy) == ("overlap", "shape [3], strides [0]", "pass a copy of it")


def test_alias_error_has_fields():
    x = f32(3)
    assert fields(ValueError, ext.add, x, x, x)[::3] == ("alias", "pass a copy")


def test_value_error_has_fields():
    assert fields(ValueError, ext.number_i8, 300) == ("value", "300", "int8", None)


def test_error_of_dtype_without_dlpack_equivalent_has_fields():
    assert fields(BufferError, ext.read_f32, np.array(["a"]))[0] == "dtype"
    assert (
        fields(BufferError, ext.read_f32, np.zeros(2, ">f4"))[3]
        == 'pass x.astype(x.dtype.newbyteorder("="))'
    )
