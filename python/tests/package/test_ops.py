"""Ops as Python functions, with NumPy and without a framework: how arguments are bound, results,
and errors.
"""

import array

import dlbridge
import pytest
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
as_strided = np.lib.stride_tricks.as_strided
ALL = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()


def f32(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


def test_arguments_are_positional_or_named():
    a, b = f32(3), f32(3) + 1
    expected = [1, 3, 5]
    assert (
        ops.add(a, b).tolist() == ops.add(a, b=b).tolist() == ops.add(b=b, a=a).tolist() == expected
    )
    for call in (
        lambda out: ops.add(a, b, out=out),
        lambda out: ops.add(out=out, b=b, a=a),
    ):
        out = np.empty(3, "f4")
        assert call(out) is out and out.tolist() == expected
    assert ops.add(a, b, out=None, like=None).tolist() == expected
    # A name that isn't the one string which Python keeps for it.
    assert ops.add(a, **{"".join(["b"]): b, "".join(["o", "ut"]): None}).tolist() == expected


def test_wrong_arguments_raise_type_error():
    a = f32(3)
    with refused(TypeError, 'add: argument "a" is missing'):
        ops.add()
    with refused(TypeError, 'add: argument "b" is missing'):
        ops.add(a)
    with refused(TypeError, 'add: argument "a" is missing'):
        ops.add(b=a, out=a)
    for more in (a.copy(), None):
        with refused(TypeError, "add: takes 2 tensors but 3 were given"):
            ops.add(a, a, more)
    with refused(TypeError, 'add: argument "b" was given twice'):
        ops.add(a, a, b=a)
    with refused(
        TypeError,
        'add: there is no argument "c"; there are a, b, out, like, label, memory, threads',
    ):
        ops.add(a, a, c=a)
    with refused(
        TypeError,
        'axpy: there is no argument "z"; there are alpha, x, y, like, label, memory, threads',
    ):
        ops.axpy(1, a, a, z=a)
    with refused(TypeError, "axpy: expected no out, as there is no result, got"):
        ops.axpy(1, a, a, out=a)
    with refused(TypeError, "sum: takes 1 tensor but 2 were given"):
        ops.sum(a, 0)
    with refused(TypeError, "add: expected a str for label, got"):
        ops.add(a, a, label=1)
    for memory in ("mine", None, 1):
        with refused(ValueError, 'add: expected "own" or "caller" for memory, got'):
            ops.add(a, a, memory=memory)
    with refused(TypeError, 'add: argument "like": expected a tensor, got str'):
        ops.add(a, a, like="torch")
    assert a.tolist() == [0, 1, 2]


def test_attributes_are_converted_and_checked():
    x = f32(2, 3)
    for axis in (1, -1, (1,), [1], np.int64(1), np.array([1]), (np.int8(-1),)):
        assert ops.sum(x, axis=axis).tolist() == [3, 12]
    assert (
        ops.sum(x).tolist()
        == ops.sum(x, axis=None).tolist()
        == ops.sum(x, axis=(0, 1)).tolist()
        == 15
    )
    for reduce, wanted in [(ops.sum, np.sum), (ops.mean, np.mean), (ops.max, np.max)]:
        for axis in ((), []):
            assert np.array_equal(reduce(x, axis=axis), wanted(x, axis=())) and reduce(
                x, axis=axis
            ).shape == (2, 3)
        assert (
            reduce(x, axis=(), keepdims=True).shape == (2, 3)
            and reduce(x[0, 0], axis=()).shape == ()
        )
    assert ops.max(x[:0], axis=()).shape == (0, 3)
    assert (
        ops.sum(x, axis=0, keepdims=True).shape
        == ops.sum(x, axis=0, keepdims=np.True_).shape
        == (1, 3)
    )
    assert ops.sum(x, keepdims=None).shape == ()
    for axis in (1.0, "0", "", True, 1 << 64, [1 << 64], [0.5], {0: 1}, x):
        with refused(TypeError, f'sum: attribute "axis" is of kind ints | None, not {axis!r}'):
            ops.sum(x, axis=axis)
    for keepdims in (1, 0.0, "True", [True]):
        with refused(TypeError, f'sum: attribute "keepdims" is of kind bool, not {keepdims!r}'):
            ops.sum(x, keepdims=keepdims)
    with refused(IndexError, "sum: axis 2 is out of bounds for a tensor of rank 2"):
        ops.sum(x, axis=2)
    with refused(ValueError, "sum: axis -2 is given twice"):
        ops.sum(x, axis=(0, -2))
    # Each value is told from the others, also where very many have been seen.
    big = np.ones((1,) * 40 + (2,), "f4")
    for axis in [*range(40)] * 3:
        assert ops.sum(big, axis=axis, keepdims=axis % 2 == 0).ndim == 40 + (axis % 2 == 0)
    assert ops.sum(big, axis=40).shape == (1,) * 40


def test_numbers_are_accepted_for_tensors():
    for name in ALL:
        x, out = dlbridge.asarray([1, 2], name), dlbridge.asarray([0, 0], name)
        for y in (ops.add(x, 2), ops.add(2, x), ops.add(a=x, b=2)):
            assert y.dtype == name and y.tolist() == [3, 4]
        assert ops.add(x, True, out=out) is out and out.tolist() == [2, 3]
    assert ops.add(f32(2), 0.5).tolist() == [0.5, 1.5]
    assert ops.add(np.zeros(2), 0.1).tolist() == [0.1, 0.1]
    assert np.isinf(ops.add(f32(2), float("inf"))).all()
    for numbers, expected, dtype in [
        ((1, 2), 3, "int64"),
        ((1, 2.5), 3.5, "float64"),
        ((2.5, True), 3.5, "float64"),
        ((True, 1), 2, "int64"),
    ]:
        y = ops.add(*numbers)
        assert isinstance(y, dlbridge.Tensor) and (y.item(), y.dtype, y.shape) == (
            expected,
            dtype,
            (),
        )
    out = np.empty((), "f4")
    assert ops.add(1, 2, out=out) is out and out == 3
    assert isinstance(ops.add(1, 2, like=f32(1)), np.ndarray)
    for x, number, name in [
        (np.arange(3), 1.5, "int64"),
        (np.zeros(3, "i1"), 128, "int8"),
        (np.zeros(3, "u4"), -1, "uint32"),
        (np.zeros(3, "f2"), 1e6, "float16"),
        (np.zeros(3, "i8"), 1 << 63, "int64"),
    ]:
        with refused(ValueError, f'add: argument "b": {number!r} can\'t be stored as {name}'):
            ops.add(x, number)
    with refused(TypeError, 'add: argument "b": expected a tensor, got complex'):
        ops.add(f32(3), 1j)
    with refused(TypeError, 'axpy: argument "y": expected a tensor, got float'):
        ops.axpy(1, f32(3), 1.0)
    with refused(TypeError, 'add: argument "out": expected a tensor, got int'):
        ops.add(f32(3), 1, out=3)
    # An array's number is a tensor, with a type.
    with refused(TypeError, 'add: argument "a" has elements of float32, and "b" has float64'):
        ops.add(f32(3), np.float64(1))
    assert ops.add(f32(3), np.float32(1)).tolist() == [1, 2, 3]


def test_results_are_of_the_first_arguments_framework():
    x, ours = f32(2), dlbridge.asarray([1, 2], "float32")
    for y, kind in [
        (ops.add(x, ours), np.ndarray),
        (ops.add(ours, x), dlbridge.Tensor),
        (ops.add(b=ours, a=x), np.ndarray),
        (ops.add(1, x), np.ndarray),
        (ops.add(x, x, like=ours), dlbridge.Tensor),
        (ops.add(ours, ours, like=x), np.ndarray),
        (ops.add(ours, ours, like=np.float16(0)), np.ndarray),
        (ops.add(memoryview(x), x), dlbridge.Tensor),
        (ops.add(array.array("f", [1, 2]), 1), dlbridge.Tensor),
        (ops.add(x, x, memory="caller"), np.ndarray),
        (ops.add(x, x, memory="own"), np.ndarray),
        (ops.sum(x), np.ndarray),
    ]:
        assert type(y) is kind
    y = ops.add(x, x)
    assert y.flags.writeable and y.flags.c_contiguous and y.ctypes.data % 64 == 0
    y[0] = 7
    assert ops.add(x, x).tolist() == [0, 2]  # Results don't share memory.
    out = ours.copy()
    assert ops.add(x, x, out=out, like=x) is out and out.tolist() == [0, 2]


def test_out_is_written_in_any_layout():
    a = f32(3, 4)
    base = np.zeros((6, 8), "f4")
    for out in (
        base[::2, ::2],
        base[:3, 4:],
        base.T[:8:2, :3].T,
        base[2::-1, 3::-1],
        np.zeros((4, 3), "f4").T,
    ):
        base[...] = -1
        assert ops.add(a, a, out=out) is out
        assert (out == 2 * a).all() and (out.base is not base or (base == -1).sum() == 36)
    with refused(ValueError, 'add: argument "out" has shape [4]; the result has [3, 4]'):
        ops.add(a, a, out=base[0, :4])
    with refused(ValueError, 'add: argument "out" has shape [3, 4]; the result has [2, 3, 4]'):
        ops.add(a, np.ones((2, 1, 1), "f4"), out=base[:3, :4])
    with refused(
        TypeError, 'add: argument "out" has elements of float64, and the result is float32'
    ):
        ops.add(a, a, out=np.zeros((3, 4)))
    with refused(ValueError, 'matmul: argument "out" has shape [3, 4]; the result has [3, 3]'):
        ops.matmul(a, a.T, out=base[:3, :4])


def test_out_that_is_not_writable_is_refused():
    a = f32(3)
    fixed = a.copy()
    fixed.flags.writeable = False
    with refused(
        BufferError, 'add: argument "out" is to be written, and is read-only; pass a copy'
    ):
        ops.add(a, a, out=fixed)
    with refused(BufferError, 'axpy: argument "y" is to be written, and is read-only; pass a copy'):
        ops.axpy(1, a, fixed)
    with refused(BufferError, 'add: argument "out" is to be written, and is read-only'):
        ops.add(b"abc", b"abc", out=b"abc")
    with refused(
        BufferError,
        'add: argument "out" is to be written, and elements of it are at one place; pass a copy',
    ):
        ops.add(a, a, out=as_strided(np.zeros(3, "f4"), (3,), (0,)))
    with refused(
        BufferError, 'axpy: argument "y" is to be written, and elements of it are at one place'
    ):
        ops.axpy(1, f32(3, 2), as_strided(np.zeros(9, "f4"), (3, 2), (4, 4)))
    ops.axpy(1, fixed, a)
    assert a.tolist() == [0, 2, 4] and fixed.tolist() == [0, 1, 2]


def test_mismatched_tensors_are_refused():
    a = f32(3)
    misaligned = np.frombuffer(bytearray(13), "u1")[1:].view("f4")
    with refused(
        BufferError, 'add: argument "b" begins at 0x', "is not aligned to 4 bytes; pass a copy"
    ):
        ops.add(a, misaligned)
    with refused(
        BufferError, 'add: argument "out" begins at 0x', "is not aligned to 4 bytes; pass a copy"
    ):
        ops.add(a, a, out=misaligned)
    with refused(BufferError, "add: argument \"a\": NumPy's dtype('>f4') has no DLPack equivalent"):
        ops.add(a.astype(">f4"), a)
    for other in ([1, 2], "a", {}, object()):
        with refused(
            TypeError, f'add: argument "b": expected a tensor, got {type(other).__name__}'
        ):
            ops.add(a, other)
    with refused(ValueError, 'add: argument "b" has shape [2]; it can\'t be broadcast with [[3]]'):
        ops.add(a, f32(2))
    with refused(ValueError, "matmul: matrices of shapes [2, 3] and [2, 3] can't be multiplied"):
        ops.matmul(f32(2, 3), f32(2, 3))
    with refused(ValueError, "matmul: matrices of shapes [3] and [] can't be multiplied"):
        ops.matmul(a, 1)
    with refused(
        ValueError, "matmul: matrices of shapes [2, 2, 3] and [3, 3, 2] can't be multiplied"
    ):
        ops.matmul(f32(2, 2, 3), f32(3, 3, 2))
    with refused(ValueError, 'matmul: argument "out" has shape [1]; the result has []'):
        ops.matmul(a, a, out=f32(1))
    with refused(ValueError, "axpy: x has shape [3], and y [1, 3]"):
        ops.axpy(1, a, a[None])
    y = f32(3)
    with refused(ValueError, "axpy: alpha is one number, and has shape [1]"):
        ops.axpy(f32(1), a, y)
    assert y.tolist() == [0, 1, 2]
    with refused(MemoryError, 'add: the result "out" can\'t be made: ', "can't allocate"):
        ops.add(np.broadcast_to(f32(1), (1 << 25, 1)), np.broadcast_to(f32(1), (1 << 25,)))
    with refused(ValueError, "add: argument", "more elements than memory has addresses"):
        ops.add(np.broadcast_to(f32(1), (1 << 40, 1)), np.broadcast_to(f32(1), (1 << 40,)))


class Raising:
    """An array whose `__dlpack__` raises something."""

    def __init__(self, error):
        self.error = error

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        raise self.error


class Own(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


@pytest.mark.parametrize(
    "error",
    [Own(1, 2), KeyboardInterrupt(), KeyError("k"), UnicodeDecodeError("x", b"", 0, 1, "y")],
)
def test_exception_of_a_framework_is_passed_on(error):
    with pytest.raises(type(error)) as caught:
        ops.add(f32(1), Raising(error))
    assert caught.value is error and error.__notes__ == ['add: argument "b"']


def test_refused_argument_error_names_the_argument():
    error = BufferError("not now")
    with refused(BufferError, 'add: argument "b": not now') as caught:
        ops.add(f32(1), Raising(error))
    assert caught.value.__cause__ is error


def test_call_without_kernel_raises_lookup_error():
    for call, wanted in [
        (
            lambda x: ops.add(x.astype(bool), x.astype(bool)),
            "a: bool of rank 1 on cpu; b: bool of rank 1 on cpu",
        ),
        (lambda x: ops.max(x.astype("c8")), "x: complex64 of rank 1 on cpu"),
        (lambda x: ops.add(True, False), "a: bool of rank 0 on cpu"),
    ]:
        with refused(
            LookupError,
            "no kernel for (" + wanted,
            "there are:",
            *(f"(cpu, T={name})" for name in ALL),
        ):
            call(f32(3))
    with refused(
        LookupError,
        "a: float32 of rank 1 on cpu, strided",
        'label "fast"; there are:',
        'its label is ""',
    ):
        ops.add(f32(4)[::2], 1, label="fast")
