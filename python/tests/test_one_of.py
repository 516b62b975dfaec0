"""Arguments of several element types: what they accept, and one error for the others."""

import dlbridge_testing as ext
import pytest
from support import framework, refused

np = framework("numpy")
torch = framework("torch")


def test_each_listed_dtype_is_accepted_and_result_keeps_it():
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.tensor([[-1.5, 2.0], [0.25, -4.0]], dtype=dtype)
        for tensor in (x, x.T, x[:, :1], x[0, 0], x[:0]):
            y = ext.relu_either(tensor)
            assert type(y) is torch.Tensor and y.dtype == dtype
            assert torch.equal(y, tensor.relu())
    x = np.float32([-1, 2])
    assert ext.relu_either(x).tolist() == [0, 2] and ext.relu_either(x).dtype == "float32"


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_numbers_of_every_listed_dtype_are_read(dtype):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    for array in (x, x.T, x[::-1], x[:, 1:], x[:, :0]):
        assert ext.sum_either(array) == array.sum()


def test_other_dtype_is_one_type_error_that_lists_the_accepted_ones():
    with refused(TypeError) as error:
        ext.sum_either(np.zeros(3, "i4"))
    wanted = "float64, float32, bfloat16, int64 or uint8"
    assert str(error.value) == (
        f"expected a tensor of {wanted}, in memory that the CPU reaches; "
        "got numpy.ndarray of int32, shape [3], strides [1], on cpu; "
        'cast it with x.astype("float64")'
    )
    assert error.value.kind == "dtype" and error.value.found == "int32"
    assert error.value.wanted == wanted and error.value.remedy.startswith("cast it with")
    assert error.value.__notes__ == ["while processing 'x'"]
    with refused(TypeError, "expected a tensor of float32 or bfloat16, in memory") as error:
        ext.relu_either(torch.zeros(2, dtype=torch.float64))
    assert error.value.remedy == "cast it with x.to(torch.float32)"


def test_other_requirements_are_checked_for_each_dtype():
    x = np.zeros((2, 3), "f8")
    assert ext.row_major_either(x) == ext.row_major_either(x.astype("f4")) == 6
    with refused(ValueError, "float32 or float64, of rank 2, row-major without gaps"):
        ext.row_major_either(x.T)
    with refused(ValueError, "of rank 2"):
        ext.row_major_either(x[0])
    # Aligned for the one, and not for the other.
    raw = np.zeros(36, "u1")
    start = 4 if raw.ctypes.data % 8 == 0 else 0
    four = raw[start : start + 32].view("f4")
    assert four.ctypes.data % 8 == 4 and ext.sum_either(four) == 0
    with refused(BufferError, "not aligned to 8 bytes"):
        ext.sum_either(raw[start : start + 32].view("f8"))


def test_only_bools_are_checked_to_be_bools():
    bits = np.array([0, 1, 7], "u1")
    assert ext.count_set(bits) == 2 and ext.count_set(bits[:2].view("?")) == 1
    with refused(ValueError, "0x07 is not a valid bool"):
        ext.count_set(bits.view("?"))


def test_several_arguments_must_have_one_dtype():
    for dtype in ("f4", "f8"):
        x, out = np.arange(3, dtype=dtype), np.zeros(3, dtype)
        ext.scale_either(x, out, 2.5)
        assert out.tolist() == [0, 2.5, 5]
    with refused(TypeError) as error:
        ext.scale_either(np.zeros(3, "f4"), out, 1)
    assert str(error.value).startswith(
        'expected "out" of the same dtype as "x", float32; '
        "got numpy.ndarray of float64, shape [3], strides [1], on cpu"
    )
    assert (error.value.kind, error.value.found, error.value.wanted) == (
        "dtype",
        "float64",
        "float32",
    )


def test_collections_must_have_the_dtype_too():
    f4, f8 = np.ones(2, "f4"), np.ones(2)
    assert ext.joined(f4, [f4, f4], f4) == 8 and ext.joined(f8, [f8]) == 4
    assert ext.joined(f8, []) == 2
    for arguments, name in [((f4, [f4, f8]), "others[1]"), ((f8, [f8], f4), "bias")]:
        with refused(TypeError) as error:
            ext.joined(*arguments)
        assert str(error.value).startswith(f'expected "{name}" of the same dtype as "x"')
    assert ext.weighted([], {}) == 0 and ext.weighted([f8], {"a": f8}) == 4
    with refused(TypeError, 'expected "weights["a"]" of the same dtype as "tensors[0]"'):
        ext.weighted([f8], {"a": f4})


def test_detached_and_kept_arguments_of_either_dtype():
    for dtype in ("f4", "i8"):
        x = np.arange(4, dtype=dtype)
        assert ext.sum_either_detached(x) == 6 and ext.sum_either_detached(x[:0]) == 0
        assert ext.kept_either(x[::2]) == [0, 2]
    assert ext.sum_either_detached(torch.arange(5)) == 10
    with refused(TypeError, "expected a tensor of float32 or int64, of rank 1"):
        ext.kept_either(np.zeros(2))
