"""Shared tests of all frameworks: each element type and layout, in, out and through."""

import ctypes
import gc
import weakref

import dlbridge
import numpy as np
from support import in_new_process, refused, repeats
from test_memory import START

try:
    import ml_dtypes
except ImportError:  # Where NumPy is too old for it.
    ml_dtypes = None

COMMON = "bool uint8 int8 int16 int32 int64 float16 float32 float64".split()
WIDE_UNSIGNED = "uint16 uint32 uint64".split()
COMPLEX = "complex64 complex128".split()
FLOAT8 = """float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
    float8_e8m0fnu""".split()
# Of elements that NumPy's arrays can have.
OF_ARRAYS = COMMON + WIDE_UNSIGNED + COMPLEX + (["bfloat16", *FLOAT8] if ml_dtypes else [])
# All the others, with some of more than one lane.
OTHERS = """complex32 int1 int2 int4 uint1 uint2 uint4 float6_e2m3fn float6_e3m2fn float4_e2m1fn float4_e2m1fnx2
    float32x4 uint8x4""".split()
ALL = [*COMMON, *WIDE_UNSIGNED, *COMPLEX, "bfloat16", *FLOAT8, *OTHERS]

SHAPE = (4, 6)
# Of what has NumPy's way of indexing. "rows", "columns", "rank 0" and "offset" don't begin where
# memory is aligned.
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.T,
    "rows": lambda x: x[1:3],
    "columns": lambda x: x[:, 1:3],
    "strided": lambda x: x[:, ::2],
    "negative": lambda x: x[::-1],
    "broadcast": lambda x: broadcast(x[:1]),
    "empty": lambda x: x[:0],
    "rank 0": lambda x: x[1, 3, ...],
    "offset": lambda x: x.reshape((24,))[1:],
    "rank 8": lambda x: x.reshape((1, 2, 1, 2, 1, 2, 3, 1)),
}
# Why a framework needs a copy, by layout.
NO_NEGATIVE_STRIDES = {"negative": "has no negative strides, as in [-6, 1]"}
NO_GAPS = dict.fromkeys(
    ("columns", "strided", "negative", "broadcast"), "needs elements without gaps"
)
ROW_MAJOR = dict.fromkeys(
    (*NO_GAPS, "transposed"), "needs elements that are row-major without gaps"
)
ALIGNED = dict.fromkeys(
    ("rows", "rank 0", "offset"),
    "needs memory that is aligned to 64 bytes, and the tensor is at 0x",
)


def broadcast(x):
    """Five times the only row, which may be written."""
    if isinstance(x, np.ndarray):
        return np.ndarray((5, 6), x.dtype, x.view("u1"), 0, (0, x.itemsize))
    return x.broadcast_to((5, 6))


def numbers_at(address, shape, strides, dtype):
    """The elements at an address, in lists. The strides are in elements."""
    dtype = element_type(dtype)
    ends = [(size - 1) * stride for size, stride in zip(shape, strides)]
    low, high = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0) + 1
    if 0 in shape:
        return np.zeros(shape, dtype).tolist()
    room = (ctypes.c_uint8 * ((high - low) * dtype.itemsize)).from_address(
        address + low * dtype.itemsize
    )
    steps = [stride * dtype.itemsize for stride in strides]
    return np.ndarray(shape, dtype, room, -low * dtype.itemsize, steps).tolist()


def row_major(shape):
    return [int(np.prod(shape[i + 1 :], dtype=int)) for i in range(len(shape))]


def element_type(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def aligned(dtype, first=1):
    """An array of small numbers, in memory that is aligned as strictly as any framework
    wants it.
    """
    dtype = element_type(dtype)
    room = np.zeros(np.prod(SHAPE) * dtype.itemsize + 64, "u1")
    array = (
        room[-room.ctypes.data % 64 :][: np.prod(SHAPE) * dtype.itemsize].view(dtype).reshape(SHAPE)
    )
    numbers = np.arange(first, first + array.size)
    if dtype.kind == "c":
        numbers = numbers - 2j * numbers
    array[...] = (numbers % 2 if dtype == bool else numbers).reshape(SHAPE).astype(dtype)
    return array


class RoundTrips:
    """A test file derives from it what it says of its framework."""

    name = None  # as `to` knows it
    title = None  # as messages have it
    dtypes = COMMON  # that it has, both ways
    types_in = None  # that come from it, where these are others
    layouts_in = tuple(LAYOUTS)  # that its own tensors can have
    copied = {}  # why it needs a copy, by layout
    owner = None  # how the types of its tensors are called
    has_views = True  # as NumPy has them
    copies = False  # all that it takes
    readonly = False  # what comes from it

    def of(self, array):
        """Its tensor with an array's elements."""
        raise NotImplementedError

    def pointer(self, x):
        raise NotImplementedError

    def values(self, x):
        """The elements in lists, read by the framework itself."""
        raise NotImplementedError

    def tensor(self, array, layout):
        view = LAYOUTS[layout]
        return view(self.of(array)) if self.has_views else self.of(view(array))

    def pytest_generate_tests(self, metafunc):
        if "lacking" in metafunc.fixturenames:
            metafunc.parametrize("lacking", [name for name in ALL if name not in self.dtypes])
        if "layout" in metafunc.fixturenames:
            goes_in = (
                metafunc.function.__name__
                == "test_import_of_every_dtype_and_layout_shares_or_copies"
            )
            metafunc.parametrize("layout", self.layouts_in if goes_in else LAYOUTS)
            names = self.types_in if goes_in and self.types_in else self.dtypes
            metafunc.parametrize("dtype", [name for name in names if name in OF_ARRAYS])

    def test_export_of_every_dtype_and_layout_shares_or_copies(self, dtype, layout):
        copies = f"{self.title} copies all that it takes" if self.copies else None
        reason = self.copied.get(layout) or copies
        for is_ours in (True, False):
            base, other = aligned(dtype), aligned(dtype, first=3)
            array = LAYOUTS[layout](base)
            object = LAYOUTS[layout](dlbridge.from_dlpack(base)) if is_ours else array
            ways = [lambda **copy: dlbridge.convert(object, self.name, **copy)]
            if is_ours:
                ways.append(lambda **copy: object.to(self.name, **copy))
            explained = dlbridge.explain(object, self.name)
            assert explained.outcome == ("copied" if reason else "shared")
            assert (self.copied.get(layout) or copies or "") in (explained.reason or "")
            for give in ways:
                base[...] = aligned(dtype)
                if reason:
                    with refused(BufferError, reason):
                        give()
                    with refused(BufferError, reason):
                        give(copy=False)
                else:
                    self.check_shared(give(), array)
                    self.check_shared(give(copy=False), array)
                free = give(copy=None)
                copy = give(copy=True)
                if not reason:
                    self.check_shared(free, array)
                expected = array.tolist()
                base[...] = other
                assert self.values(copy) == expected
                assert self.values(free) == (expected if reason else array.tolist())
                del free, copy  # Paddle can't have memory of all element types twice.

    def check_shared(self, theirs, array):
        assert array.size == 0 or self.pointer(theirs) == array.ctypes.data

    def test_import_of_every_dtype_and_layout_shares_or_copies(self, dtype, layout):
        array = LAYOUTS[layout](aligned(dtype))
        x = self.tensor(aligned(dtype), layout)
        for copy in (None, False, True):
            ours = dlbridge.from_dlpack(x, copy=copy)
            assert (ours.shape, ours.dtype, ours.tolist()) == (array.shape, dtype, array.tolist())
            assert ours.device == "cpu"
            if copy:
                assert (ours.owner, ours.readonly) == ("dlbridge, by a copy", False)
                assert ours.size == 0 or ours.data_ptr != self.pointer(x)
            else:
                assert (ours.owner, ours.readonly) == (self.owner, self.readonly)
                assert ours.size == 0 or ours.data_ptr == self.pointer(x)

    def test_export_of_unsupported_dtype_is_refused(self, lacking):
        ours = dlbridge.empty(SHAPE, lacking)
        for copy in (False, None, True):
            with refused(BufferError, f"{self.title} has no {lacking}"):
                ours.to(self.name, copy=copy)
        explained = dlbridge.explain(ours, self.name)
        assert (explained.outcome, explained.reason) == (
            "refused",
            f"{self.title} has no {lacking}",
        )

    def test_producer_memory_after_consumer_is_dropped_is_released_once(self):
        from made import Made, Producer

        array = aligned("float32")
        made = Made(SHAPE, data=array.ctypes.data)
        copy = None if self.copies else False
        theirs = dlbridge.from_dlpack(Producer(lambda **keywords: made.capsule())).to(
            self.name, copy=copy
        )
        gc.collect()
        assert made.deleted == (1 if self.copies else 0)
        assert self.values(theirs) == array.tolist()
        del theirs
        gc.collect()
        assert made.deleted == 1

    def test_shared_array_lives_as_long_as_its_consumer(self):
        array = aligned("float32")
        gone, expected = weakref.ref(array), array.tolist()
        theirs = dlbridge.convert(array, self.name, copy=None)
        del array
        gc.collect()
        assert (gone() is None) == self.copies and self.values(theirs) == expected
        again = dlbridge.from_dlpack(theirs)
        del theirs
        gc.collect()
        assert (gone() is None) == self.copies and again.tolist() == expected
        del again
        gc.collect()
        assert gone() is None

    def test_imported_tensor_after_source_is_dropped_keeps_memory(self):
        ours = dlbridge.from_dlpack(self.of(aligned("float32")))
        gc.collect()
        again = [
            self.of(aligned("float32", first=9)) for _ in range(9)
        ]  # Where it would be, if it were free.
        assert ours.tolist() == aligned("float32").tolist() and len(again) == 9


def check_flat(name, make, *, copy=False, lacking="float6_e2m3fn", rounds=100_000):
    """100,000 round trips in a process of their own, or a twentieth of it. `make` is code that
    defines a function of that name.
    """
    rounds = repeats(rounds)
    code = f"""
import dlbridge
{make}
x, numbers, name, copy = make(), dlbridge.zeros(16, "float32"), {name!r}, {copy}
check("in", lambda: dlbridge.from_dlpack(x), {rounds} // 4)
check("out", lambda: numbers.to(name, copy=copy), {rounds} // 4)
check("there and back", lambda: dlbridge.from_dlpack(make()).to(name, copy=copy), {rounds})
check("out and back", lambda: dlbridge.from_dlpack(dlbridge.zeros(16, "float32").to(name, copy=copy)), {rounds} // 4)
check("copied", lambda: (dlbridge.from_dlpack(x, copy=True), numbers.to(name, copy=True)), {rounds} // 4)
check_refused("refused", lambda: dlbridge.empty(16, {lacking!r}).to(name), {rounds} // 4)
check_refused("a device", lambda: dlbridge.from_dlpack(x, device="cuda"), {rounds} // 4)
print("flat")
"""
    assert "flat\n" in in_new_process(START + code)
