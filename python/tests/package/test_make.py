"""Making tensors: of numbers, lists, buffers and arrays, and of nothing, in every element type."""

import array
import ctypes
import math
import random

import dlbridge
import pytest
from support import framework, refused

np = framework("numpy")

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
SMALL = """bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
    float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int1 int2 int4 uint1 uint2 uint4
    complex32""".split()


def assert_like(t, x):
    assert (t.shape, str(t.dtype), t.tolist(), t.readonly) == (
        x.shape,
        x.dtype.name,
        x.tolist(),
        False,
    )
    assert t.is_contiguous and t.device == "cpu" and (t.data_ptr % 64 == 0 or t.size == 0)


NUMBERS = [0, -1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 1.5, math.inf, 1 - 2j, True, False]


@pytest.mark.parametrize("number", NUMBERS)
def test_asarray_of_number_equals_numpy(number):
    for made in (number, [number], (number, number), [[number]], [(number,), (number,)]):
        assert_like(dlbridge.asarray(made), np.asarray(made))
    assert_like(dlbridge.full((2, 3), number), np.full((2, 3), number))
    assert_like(dlbridge.full((), number), np.asarray(number))


def test_asarray_of_too_large_integers_is_refused():
    # Python has no digits of the last one.
    for number in (2**64, -(2**63) - 1, 2**127, 2**200, -(2**200), 10**400, 10**5000):
        for make in (
            dlbridge.asarray,
            lambda n: dlbridge.asarray([n]),
            lambda n: dlbridge.full(2, n),
        ):
            with refused(ValueError, "can't be stored"):
                make(number)
    # NumPy has floats here, which aren't these numbers.
    with refused(ValueError, "-1 can't be stored as uint64"):
        dlbridge.asarray([2**63, -1])


def some_lists(choose, shape, kinds):
    if not shape:
        return choose.choice(kinds)(choose.randint(0, 1))
    return choose.choice([list, tuple])(
        some_lists(choose, shape[1:], kinds) for _ in range(shape[0])
    )


@pytest.mark.parametrize("seed", range(20))
def test_asarray_of_lists_equals_numpy(seed):
    choose = random.Random(seed)
    for _ in range(30):
        shape = [
            choose.randint(0 if choose.random() < 0.2 else 1, 3)
            for _ in range(choose.randint(1, 5))
        ]
        lists = some_lists(
            choose, shape, choose.sample([bool, int, float, complex], choose.randint(1, 4))
        )
        assert_like(dlbridge.asarray(lists), np.asarray(lists))
        name = choose.choice(["bool", "complex64", "complex128"])
        assert_like(dlbridge.asarray(lists, name), np.asarray(lists, name))


@pytest.mark.parametrize(
    "lists",
    [
        [[1], [2, 3]],
        [1, [2]],
        [[1], 2],
        [[], [1]],
        [[1], []],
        [[[]], [[1]]],
        [[[]], []],
        [[], [[]]],
        [[1, 2], [3]],
    ],
)
def test_asarray_of_ragged_list_is_refused(lists):
    with refused(ValueError, "not all of one length"):
        dlbridge.asarray(lists)
    with pytest.raises(ValueError):
        np.asarray(lists)


def test_asarray_of_endless_list_is_refused():
    endless, deep = [], 1
    endless.append(endless)
    for _ in range(70):
        deep = [deep]
    for lists in (endless, deep):
        with refused(ValueError, "the lists are in more than 64 others"):
            dlbridge.asarray(lists)


@pytest.mark.parametrize("thing", ["1", None, {}, {1}, range(3), object(), int, iter([1])])
def test_object_that_is_not_a_tensor_is_refused(thing):
    for make in (dlbridge.asarray, dlbridge.from_dlpack):
        with refused(TypeError, "expected a tensor, got", type(thing).__name__):
            make(thing)
    for lists in ([thing], [1, thing], [[thing]]):
        with refused(TypeError, "expected numbers in the list, got", type(thing).__name__):
            dlbridge.asarray(lists)
    with refused(TypeError):
        dlbridge.full(2, thing)


@pytest.mark.parametrize("name", NAMES + SMALL)
def test_zeros_and_ones_of_every_dtype(name):
    one, other = (-1, 0) if name == "int1" else (1, 2 if name == "float8_e8m0fnu" else 0)
    for shape in (0, 3, (), (2,), [2, 0], (2, 3), (1,) * 10):
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        for t in (
            dlbridge.empty(shape, name),
            dlbridge.full(shape, one, name),
            dlbridge.full(shape, other, dtype=name),
        ):
            assert t.shape == sizes and t.dtype == name and not t.readonly and t.is_contiguous
            assert t.data_ptr % 64 == 0 or t.size == 0
        assert (
            dlbridge.empty(shape, name).nbytes
            == (dlbridge.empty(1, name).dtype.bits * math.prod(sizes) + 7) // 8
        )
    assert dlbridge.full((2, 2), one, name).tolist() == [[one] * 2] * 2
    assert dlbridge.full(3, other, name).tolist() == [other] * 3
    assert dlbridge.asarray([one, other], name).tolist() == [one, other]
    assert dlbridge.zeros((2, 0), name).shape == (2, 0)
    if name == "float8_e8m0fnu":
        with refused(ValueError, "0 can't be stored as float8_e8m0fnu"):
            dlbridge.zeros(3, name)
    else:
        assert dlbridge.zeros(3, name).tolist() == [0] * 3
    if name == "int1":
        with refused(ValueError, "1 can't be stored as int1"):
            dlbridge.ones(2, name)
    else:
        assert dlbridge.ones(3, name).tolist() == [1] * 3


@pytest.mark.parametrize("name", ["handle", "handle8", "handle16", "handle32"])
def test_handle_dtypes_hold_only_zero(name):
    t = dlbridge.zeros(2, name)
    assert t.dtype == name and t.tolist() == [0, 0]
    with refused(ValueError, "can't be stored as " + name):
        dlbridge.ones(2, name)


def test_values_without_representation_are_refused():
    for number, name in [
        (1.5, "int32"),
        (300, "uint8"),
        (-1, "uint64"),
        (8, "int4"),
        (1j, "float64"),
        (math.nan, "float4_e2m1fn"),
    ]:
        for make in (
            dlbridge.asarray,
            lambda n, d: dlbridge.asarray([n], d),
            lambda n, d: dlbridge.full(2, n, d),
        ):
            with refused(ValueError, "can't be stored as " + name):
                make(number, name)
    with refused(ValueError, "can't be stored as int64"):
        dlbridge.asarray(np.array([1.5]), "int64")
    with refused(ValueError, "0 can't be stored as float8_e8m0fnu"):
        dlbridge.full(2, 0, "float8_e8m0fnu")


def test_default_dtypes_equal_the_array_api():
    for make, numpy_s in [
        (dlbridge.empty, np.empty),
        (dlbridge.zeros, np.zeros),
        (dlbridge.ones, np.ones),
    ]:
        assert (
            make(2).dtype
            == make(2, None).dtype
            == make(2, dtype=None).dtype
            == numpy_s(2).dtype.name
            == "float64"
        )
    assert (
        dlbridge.asarray([]).dtype
        == dlbridge.asarray(1.0).dtype
        == dlbridge.arange(1.0).dtype
        == "float64"
    )
    for number, dtype in [
        (True, "bool"),
        (3, "int64"),
        (2**63, "uint64"),
        (1.5, "float64"),
        (1j, "complex128"),
    ]:
        for made in (
            dlbridge.full(2, number),
            dlbridge.full(2, fill_value=number),
            dlbridge.asarray([number]),
        ):
            assert made.dtype == dtype == np.full(2, number).dtype.name
    assert dlbridge.arange(3).dtype == dlbridge.arange(0, 3, 1).dtype == "int64"
    assert dlbridge.arange(0, 3, 0.5).dtype == "float64"


@pytest.mark.parametrize(
    "make", [dlbridge.empty, dlbridge.zeros, dlbridge.ones, lambda shape: dlbridge.full(shape, 1)]
)
def test_shape_arguments_are_checked(make):
    assert make(np.int64(2)).shape == make(np.array([2])).shape == make(range(2, 3)).shape == (2,)
    for shape in (2.0, "3", None, (2.0,), ("3",), [[2]]):
        with refused(TypeError):
            make(shape)
    with refused(ValueError, "more elements than memory has addresses"):
        make((2**40, 2**40))
    with refused(ValueError, "dimensions"):
        make((1,) * 1000)
    with refused(MemoryError, "can't allocate"):
        make(2**46)


@pytest.mark.parametrize("shape", [-1, (2, -1)])
def test_negative_size_is_refused(shape):
    for make in (
        dlbridge.empty,
        dlbridge.zeros,
        dlbridge.ones,
        lambda shape: dlbridge.full(shape, 1),
    ):
        with refused(ValueError, "negative"):
            make(shape)


RANGES = [
    (5,),
    (0,),
    (-3,),
    (2, 5),
    (5, 2),
    (2, 9, 3),
    (9, 2, -3),
    (2, 9, -1),
    (0, 1, 0.25),
    (1.0, 0, -0.375),
    (-5, -1),
    (0.0, 10, math.inf),
    (0.0, 1e-320, 1e300),
    (0.0, -1e-320, 1e300),
]


@pytest.mark.parametrize("given", RANGES)
def test_arange_equals_numpy(given):
    t, x = dlbridge.arange(*given), np.arange(*given)
    assert (t.shape, str(t.dtype), t.tolist()) == (x.shape, x.dtype.name, x.tolist())
    for name in ("float64", "complex64", "float16"):
        assert (
            dlbridge.arange(*given, dtype=name).tolist() == np.arange(*given).astype(name).tolist()
        )
    assert (
        dlbridge.arange(0, 6, None, "int4").tolist()
        == dlbridge.arange(6, dtype="int4").tolist()
        == list(range(6))
    )


def test_arange_with_invalid_step_is_refused():
    for step in (0, 0.0):
        with refused(ValueError, "steps of 0"):
            dlbridge.arange(0, 5, step)
    with refused(TypeError, "real numbers"):
        dlbridge.arange(1j)
    with refused(TypeError, "expected a number, got"):
        dlbridge.arange("3")
    with refused(ValueError, "64 bits"):
        dlbridge.arange(2**64)
    with refused(ValueError, "8 can't be stored as int4"):
        dlbridge.arange(9, dtype="int4")
    with refused(MemoryError):
        dlbridge.arange(2**60)
    assert dlbridge.arange(2**63 - 2, 2**63 - 1).tolist() == [2**63 - 2]


@pytest.mark.parametrize(
    "buffer, name, readonly",
    [
        (b"ab", "uint8", True),
        (bytearray(b"ab"), "uint8", False),
        (memoryview(b"abcd")[::2], "uint8", True),
        (memoryview(bytearray(8)).cast("f"), "float32", False),
        (array.array("d", [1, 2]), "float64", False),
        (array.array("q", [1, -2]), "int64", False),
        ((ctypes.c_int16 * 2)(1, 2), "int16", False),
        ((ctypes.c_float * 2 * 2)(), "float32", False),
    ],
)
def test_asarray_of_buffer_shares_memory(buffer, name, readonly):
    view = memoryview(buffer)
    shared = np.asarray(view)
    for t in (
        dlbridge.asarray(buffer),
        dlbridge.from_dlpack(buffer),
        dlbridge.asarray(buffer, copy=False),
    ):
        assert (t.dtype, t.shape, t.readonly, t.tolist()) == (
            name,
            view.shape,
            readonly,
            shared.tolist(),
        )
        assert t.data_ptr == shared.ctypes.data and t.owner.split(".")[-1] == type(buffer).__name__
    copy = dlbridge.asarray(buffer, copy=True)
    assert (
        copy.data_ptr != shared.ctypes.data
        and not copy.readonly
        and copy.tolist() == shared.tolist()
    )


class Interface:
    """What has NumPy's older protocol alone."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class Lends:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array.astype(dtype) if dtype else self.array


class Makes:
    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("made anew")
        return np.arange(3.0)


class Described:
    """An interface of the object's alone."""

    def __init__(self, x):
        self.__array_interface__ = x.__array_interface__


@pytest.mark.parametrize("kind", [Interface, Lends, Described])
def test_asarray_of_array_interface_shares_memory(kind):
    x = np.arange(6.0).reshape(2, 3)[:, ::-1]
    thing = kind(x)
    for keywords in ({}, {"copy": False}, {"copy": None, "device": "cpu"}, {"dtype": "float64"}):
        t = dlbridge.asarray(thing, **keywords)
        assert t.data_ptr == x.ctypes.data and t.tolist() == x.tolist()
    assert dlbridge.asarray(thing, copy=True).data_ptr != x.ctypes.data
    assert dlbridge.asarray(thing, "float32").dtype == "float32"
    with refused(TypeError, kind.__name__, "expected a tensor, got"):
        dlbridge.from_dlpack(thing)


def test_asarray_of_array_method_copies():
    assert dlbridge.asarray(Makes()).tolist() == [0, 1, 2]
    # What was made to be seen is a copy.
    with pytest.raises((BufferError, ValueError)):
        dlbridge.asarray(Makes(), copy=False)
    Makes.__array__ = property(lambda self: 1 / 0)
    with refused(ZeroDivisionError):
        dlbridge.asarray(Makes())


def test_asarray_of_array_shares_or_converts():
    x = np.arange(4.0)
    for t in (
        dlbridge.asarray(x),
        dlbridge.asarray(x, "float64", copy=False),
        dlbridge.asarray(x, device="cpu"),
    ):
        assert t.data_ptr == x.ctypes.data and t.owner == "numpy.ndarray"
    assert dlbridge.asarray(x, np.dtype("f4")).tolist() == x.tolist()
    for name in ("float32", "int4", "bfloat16", "float8_e4m3fn", "complex128", "bool"):
        t = dlbridge.asarray(x[:2], name)
        assert (t.dtype, t.tolist(), t.readonly) == (name, [0, 1], False)
    ours = dlbridge.asarray(x)
    assert (
        dlbridge.asarray(ours).data_ptr
        == dlbridge.from_dlpack(ours, copy=False).data_ptr
        == x.ctypes.data
    )
    for copy in (
        dlbridge.asarray(x, copy=True),
        dlbridge.from_dlpack(ours, copy=True),
        dlbridge.asarray(ours, copy=True),
    ):
        assert (
            copy.data_ptr != x.ctypes.data
            and copy.tolist() == x.tolist()
            and copy.owner == "dlbridge, by a copy"
        )
    x.flags.writeable = False
    assert dlbridge.asarray(x).readonly and not dlbridge.asarray(x, copy=True).readonly


def test_asarray_with_copy_false_refuses_a_copy():
    for x, dtype in [
        (1, None),
        ([1], None),
        ((), None),
        (np.zeros(2), "float32"),
        (b"a", "int8"),
        (Interface(np.zeros(2)), "int8"),
    ]:
        with refused(BufferError, "pass copy=None"):
            dlbridge.asarray(x, dtype, copy=False)
    for copy in (1, 0, "yes"):
        for make in (dlbridge.asarray, dlbridge.from_dlpack):
            with refused(TypeError, "bool"):
                make(np.zeros(2), copy=copy)


class Sized:
    """A sequence with another length than it says."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, at):
        return [2, 3][at]


@pytest.mark.parametrize("length", [0, 1, 2**40, 2**62, -1])
def test_lengths_of_sequences_are_not_believed(length):
    sizes, axes = Sized(length), Sized(length)
    axes.__class__ = type("Axes", (Sized,), {"__getitem__": lambda self, at: [1, 0][at]})
    t = dlbridge.asarray(np.arange(6.0))
    assert t.reshape(sizes).shape == dlbridge.zeros(sizes).shape == (2, 3)
    assert t.reshape(2, 3).permute_dims(axes).shape == (3, 2)
    assert dlbridge.ones((1, 3)).broadcast_to(sizes).shape == (2, 3)
    assert dlbridge.ops.sum(np.ones((2, 3)), axis=axes).shape == ()


def test_texts_and_sets_are_no_sizes():
    t = dlbridge.zeros(1)
    for sizes in ("", "6", {1}, {1: 1}, None, 1.0):
        for call in (t.reshape, t.broadcast_to, t.transpose, t.permute_dims, dlbridge.zeros):
            with pytest.raises(TypeError):
                call(sizes)
