"""Requirements of arguments, and the errors for arguments that don't meet them."""

import sys

import dlbridge_testing as ext
import pytest
from made import CUDA, CUDA_HOST, FLOAT64, Made, producer
from support import framework, refused

np = framework("numpy")

HOST = ", in memory that the CPU reaches"


def f32(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


def on_cuda():
    return ext.identity(Made((2, 3), device=(CUDA, 1)).capsule())


def found(dtype, shape, strides, device="cpu", name="numpy.ndarray"):
    return f"got {name} of {dtype}, shape {list(shape)}, strides {list(strides)}, on {device}"


ROW, COLUMN, DENSE = "row-major without gaps", "column-major without gaps", "without gaps"
MISMATCHES = {
    "type": (ext.read_f32, lambda: np.zeros(3), TypeError, "float32", found("float64", [3], [1])),
    "type of a number": (ext.read_i32, lambda: np.zeros(3, "u4"), TypeError, "int32", found("uint32", [3], [1])),
    "wider type": (ext.read_c64, lambda: np.zeros(3, "c16"), TypeError, "complex64", found("complex128", [3], [1])),
    "type to be written": (ext.write_u8, lambda: np.zeros(3, "i1"), TypeError, "uint8", found("int8", [3], [1])),
    "type to be kept": (ext.own_f16, lambda: f32(2, 3), TypeError, "float16", found("float32", [2, 3], [3, 1])),
    "type in place of a number": (ext.number_i8, lambda: f32(1), TypeError, "int8", found("float32", [1], [1])),
    "rank 0": (ext.rank_0, lambda: f32(1), ValueError, "float32, of rank 0", found("float32", [1], [1])),
    "rank 1": (ext.rank_1, lambda: f32(), ValueError, "float32, of rank 1", found("float32", [], [])),
    "rank 2": (ext.rank_2, lambda: f32(1, 2, 3), ValueError, "float32, of rank 2", found("float32", [1, 2, 3], [6, 3, 1])),
    "rank to be kept": (ext.owned_vector, lambda: f32(2, 2), ValueError, "float32, of rank 1", found("float32", [2, 2], [2, 1])),
    "row-major": (ext.row_major, lambda: f32(2, 3).T, ValueError, f"float32, {ROW}", found("float32", [3, 2], [1, 3])),
    "reversed": (ext.row_major, lambda: f32(3)[::-1], ValueError, f"float32, {ROW}", found("float32", [3], [-1])),
    "with gaps": (ext.row_major_out, lambda: f32(6)[::2], ValueError, f"float32, {ROW}", found("float32", [3], [2])),
    "kept, with gaps": (ext.owned_row_major, lambda: f32(2, 4)[:, :2], ValueError, f"float32, {ROW}", found("float32", [2, 2], [4, 1])),
    "column-major": (ext.column_major, lambda: f32(2, 3), ValueError, f"float32, of rank 2, {COLUMN}", found("float32", [2, 3], [3, 1])),
    "dense": (ext.dense, lambda: f32(2, 3)[:, :2], ValueError, f"float32, {DENSE}", found("float32", [2, 2], [3, 1])),
    "broadcast": (ext.dense, lambda: np.broadcast_to(f32(1), (3,)), ValueError, f"float32, {DENSE}", found("float32", [3], [0])),
    "all at once": (ext.column_major, lambda: np.zeros((1, 2, 3)), TypeError, f"float32, of rank 2, {COLUMN}", found("float64", [1, 2, 3], [6, 3, 1])),
    "our class": (ext.read_f64, lambda: ext.zeros([2], "int4"), TypeError, "float64", found("int4", [2], [1], name="dlbridge.Tensor")),
    "a producer": (ext.read_f32, lambda: producer(dtype=FLOAT64)[0], TypeError, "float32", found("float64", [2, 3], [3, 1], name="made.Producer")),
    "device": (ext.read_f32, on_cuda, BufferError, "float32", found("float32", [2, 3], [3, 1], "cuda:1", "dlbridge.Tensor")),
    "device to be written": (ext.write_f32, on_cuda, BufferError, "float32", found("float32", [2, 3], [3, 1], "cuda:1", "dlbridge.Tensor")),
    "device and type": (ext.read_f64, on_cuda, TypeError, "float64", found("float32", [2, 3], [3, 1], "cuda:1", "dlbridge.Tensor")),
}  # fmt: skip


def call(function, *arguments):
    """Those that write take a value, too."""
    return (
        function(*arguments, 1) if function.__name__.startswith("write_") else function(*arguments)
    )


@pytest.mark.parametrize("case", MISMATCHES)
def test_mismatch_error_names_expected_and_found(case):
    function, make, kind, wanted, got = MISMATCHES[case]
    x = make()
    with refused(kind) as error:
        call(function, x)
    remedy = f"; {error.value.remedy}" if error.value.remedy else ""
    assert str(error.value) == f"expected a tensor of {wanted}{HOST}; {got}{remedy}"
    dtype, package = wanted.split(",")[0], type(x).__module__
    cast = {
        "numpy": f'cast it with x.astype("{dtype}")',
        "dlbridge": f'cast it with dlbridge.asarray(x, dtype="{dtype}")',
    }
    assert error.value.remedy == (cast.get(package) if error.value.kind == "dtype" else None)
    names_argument(
        error.value, "out" if function.__name__.startswith(("write_", "row_major_out")) else "x"
    )


def names_argument(error, name):
    if sys.version_info >= (3, 11):
        assert error.__notes__ == [f"while processing '{name}'"]


def test_device_mismatch_error_names_the_device():
    with refused(BufferError) as error:
        ext.on_cuda(f32(2))
    assert str(error.value) == f"expected a tensor, on a CUDA device; {found('float32', [2], [1])}"
    x = on_cuda()
    with refused(BufferError) as error:
        ext.any_on_host(x)
    assert (
        str(error.value)
        == f"expected a tensor{HOST}; {found('float32', [2, 3], [3, 1], 'cuda:1', 'dlbridge.Tensor')}"
    )
    assert ext.on_cuda(x) == 6 and ext.any_on_host(f32(2)) == 2
    assert (ext.any_device(x), ext.any_device(f32(1)), ext.owned_on_any_device(x)) == (
        "cuda:1",
        "cpu",
        "cuda:1",
    )
    managed = ext.identity(Made(device=(13, 0)).capsule())
    assert ext.on_cuda(managed) == ext.any_on_host(managed) == 6 and ext.read_f32(managed) == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    assert ext.read_f32(ext.identity(Made(device=(CUDA_HOST, 0)).capsule())) == [0, 1, 2, 3, 4, 5]


def test_shape_mismatch_error_names_both_shapes():
    x = f32(2, 3)
    ext.has_shape(x, [2, 3])
    for shape in ([3, 2], [2], [], [2, 3, 1], [6]):
        with refused(ValueError) as error:
            ext.has_shape(x, shape)
        assert str(error.value) == f"expected shape {shape}; {found('float32', [2, 3], [3, 1])}"
    with refused(ValueError, "expected shape [4]; got numpy.ndarray of float32, shape [3]"):
        ext.add(f32(3), f32(4), f32(4))


def test_matching_arguments_are_accepted():
    x = f32(2, 3)
    assert ext.rank_0(f32()) == 0 and ext.rank_1(f32(0)) == 0 and ext.rank_2(f32(2, 2)) == 3
    assert (
        ext.row_major(x)
        == ext.dense(x)
        == ext.column_major(np.asfortranarray(x))
        == [0, 1, 2, 3, 4, 5]
    )
    # In memory's order of dimensions, or none: elements are told in index order.
    assert ext.dense(x.T) == ext.column_major(x.T) == [0, 3, 1, 4, 2, 5]
    # What has one element a row, or none at all, is contiguous in every way.
    for odd in (x[:1].T, x[:, :1][:1], x[:0, ::2], x[:, 1:1].T):
        assert ext.row_major(odd) == ext.column_major(odd) == ext.dense(odd) == odd.ravel().tolist()
    out = f32(2, 3)
    ext.row_major_out(out)
    assert (out == x + 1).all()
    assert ext.debug(x) == f"In({found('float32', [2, 3], [3, 1])[4:]})"
    assert ext.same_object(x, x) and not ext.same_object(x, x[:])


def test_error_names_the_argument():
    a, out = f32(2), f32(2)
    for arguments, name in [((3, a, out), "a"), ((a, None, out), "b"), ((a, a, "out"), "out")]:
        with refused(TypeError, "expected a tensor, got") as error:
            ext.add(*arguments)
        names_argument(error.value, name)
    with refused(TypeError, "float64") as error:
        ext.add(a, out=out, b=np.zeros(2))
    names_argument(error.value, "b")


def test_optional_argument_accepts_none():
    assert ext.optional() is None and ext.optional(None) is None and ext.optional(f32(3)) == 3
    with refused(TypeError, "expected a tensor, got", "int"):
        ext.optional(3)
    with refused(TypeError, "float64"):
        ext.optional(np.zeros(3))


def test_sequence_argument_checks_each_tensor():
    assert (
        ext.many([]) == []
        and ext.many([f32(3), f32(2, 2)]) == [3, 6]
        and ext.many((f32(2),)) == [1]
    )
    x = f32(3)
    assert ext.many([x] * 1000) == [3] * 1000
    for wrong in ([f32(2), 3], [f32(2), None]):
        with refused(TypeError, "expected a tensor, got"):
            ext.many(wrong)
    with refused(TypeError, "float64"):
        ext.many([f32(2), np.zeros(2)])
    for wrong in (3, {}, None):
        with refused(TypeError, "Sequence"):
            ext.many(wrong)


def test_mapping_argument_checks_each_tensor():
    assert ext.named({}) == {} and ext.named({"a": f32(3), "b": f32(2)}) == {"a": 3, "b": 1}
    with refused(TypeError, "expected a tensor, got"):
        ext.named({"a": f32(3), "b": "c"})
    for wrong in ({1: f32(3)}, [f32(3)], 3):
        with refused(TypeError):
            ext.named(wrong)


def test_tuple_argument_checks_each_tensor():
    x, out = f32(3), np.zeros(3, "f4")
    ext.pair((x, out))
    assert (x == out).all()
    with refused(ValueError, "length 2", "length 3"):
        ext.pair((x, x, out))
    for wrong in ([x, out], x, None):
        with refused(TypeError, "tuple"):
            ext.pair(wrong)
    with refused(TypeError, "float64"):
        ext.pair((x, np.zeros(3)))


@pytest.mark.parametrize(
    "wrong, kind",
    [(3, TypeError), (np.zeros(4), TypeError), (f32(3), ValueError), ("x", TypeError)],
    ids=repr,
)
def test_failed_argument_releases_earlier_borrows(wrong, kind):
    # Each of these would be in the way of the calls that follow.
    x, y = f32(4), f32(4)
    for refuse in [
        lambda: ext.sum_into([y, wrong], x),
        lambda: ext.sum_into([wrong, y], x),
        lambda: ext.pair((wrong, x)),
        lambda: ext.pair((x, wrong)),
        lambda: ext.copy_pairs_detached(y, wrong, x, x),
        lambda: ext.double_detached(wrong, x),
        lambda: ext.double_detached(x, wrong),
    ]:
        with refused(kind):
            refuse()
        ext.fill_all([x, y], 2)
        ext.sum_into([y, y], x)
        assert (x == 4).all() and (y == 2).all()
