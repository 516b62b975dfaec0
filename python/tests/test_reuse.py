"""Arguments of ever changing shapes and kinds: what was found out for the last one is never used
for the next.
"""

import math
import random

import dlbridge_testing as ext
import pytest
from made import Producer
from support import framework, refused

np = framework("numpy")
torch = framework("torch")

READ = {
    "float32": ext.read_f32,
    "float64": ext.read_f64,
    "int8": ext.read_i8,
    "int32": ext.read_i32,
    "int64": ext.read_i64,
    "uint8": ext.read_u8,
    "bool": ext.read_bool,
}
# Those of one size, of nearly the same, and with sizes that say nothing; and of more dimensions
# than are kept inline.
SHAPES = [
    (),
    (0,),
    (1,),
    (2,),
    (3,),
    (6,),
    (2, 3),
    (3, 2),
    (6, 1),
    (1, 6),
    (2, 2),
    (3, 3),
    (0, 3),
    (3, 0),
    (1, 1),
]
SHAPES += [
    (2, 3, 1),
    (1, 2, 3),
    (2, 1, 3),
    (2, 2, 2),
    (1,) * 8,
    (2,) * 8,
    (1,) * 9,
    (2,) * 9,
    (1, 2) * 5,
    (1,) * 64,
]


def contiguous(x):
    return x.copy()


def column_major(x):
    return np.asfortranarray(x)


def with_gaps(x):
    room = np.zeros([*x.shape[:-2], *(2 * size for size in x.shape[-2:])], x.dtype)
    view = room[(..., *[slice(None, None, 2)] * min(x.ndim, 2))]
    view[...] = x
    return view


def backwards(x):
    back = (..., *[slice(None, None, -1)] * x.ndim)
    return x[back].copy()[back]


def spread(x):
    """All elements at one place."""
    return np.broadcast_to(x.ravel()[:1].reshape((1,) * x.ndim), x.shape) if x.size else x


def with_odd_strides(x):
    """Row-major, where strides don't say anything; there they are something else."""
    x = np.ascontiguousarray(x)
    strides = [stride if size > 1 else -3 * x.itemsize for size, stride in zip(x.shape, x.strides)]
    return np.lib.stride_tricks.as_strided(x, x.shape, strides)


def misaligned(x):
    room = bytearray(x.nbytes + 1)
    view = np.frombuffer(room, "u1", x.nbytes, 1).view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


LAYOUTS = [
    contiguous,
    contiguous,
    column_major,
    with_gaps,
    backwards,
    spread,
    with_odd_strides,
    misaligned,
]


class Argument:
    """The values that are expected, and an object that has them."""

    def __init__(self, choose):
        shape = choose.choice(SHAPES)
        dtype = choose.choice(list(READ))
        numbers = np.arange(choose.randrange(50), 50 + math.prod(shape))[: math.prod(shape)]
        self.array = choose.choice(LAYOUTS)((numbers % 100).reshape(shape).astype(dtype))
        if choose.random() < 0.2:
            self.array.flags.writeable = False
        kinds = [self.by_numpy, self.by_numpy, self.by_us, self.by_protocol]
        if all(stride >= 0 for stride in self.array.strides) and self.array.flags.writeable:
            kinds += [self.by_torch, self.by_torch]
        if self.array.ndim and self.array.ndim < 64:
            kinds.append(self.by_buffer)
        self.object = choose.choice(kinds)()

    def by_numpy(self):
        return self.array

    def by_us(self):
        return ext.identity(self.array)

    def by_torch(self):
        return torch.from_numpy(self.array)

    def by_buffer(self):
        return memoryview(self.array)

    def by_protocol(self):
        ours = ext.identity(self.array)
        return Producer(lambda **keywords: ours.__dlpack__(**keywords))

    def check(self):
        """Every function sees it as NumPy does, or refuses what it has to refuse."""
        x = self.array
        for look in (ext.describe, ext.describe_owned):
            self.compare(look(self.object))
        if x.flags.writeable:
            self.compare(ext.describe_out(self.object))
        else:
            with refused(BufferError, "read-only"):
                ext.describe_out(self.object)
        self.check_reading()
        ext.has_shape(self.object, list(x.shape))
        with refused(ValueError, str(list(x.shape))):
            ext.has_shape(self.object, [*x.shape, 1])
        self.check_what_is_asked_for()

    def compare(self, seen):
        x = self.array
        assert (seen["shape"], seen["dtype"], seen["device"]) == (
            list(x.shape),
            x.dtype.name,
            "cpu",
        )
        assert (seen["readonly"], seen["padded"]) == (not x.flags.writeable, False)
        assert len(seen["strides"]) == x.ndim
        if x.size:
            steps = zip(seen["strides"], x.strides, x.shape)
            assert all(ours * x.itemsize == theirs for ours, theirs, size in steps if size > 1)
            assert seen["ptr"] == x.ctypes.data

    def check_reading(self):
        x = self.array
        for dtype, read in READ.items():
            if dtype != x.dtype.name:
                with refused(TypeError, f"a tensor of {dtype}", f"of {x.dtype.name}"):
                    read(self.object)
            elif x.flags.aligned or not x.size:
                assert read(self.object) == x.ravel().tolist()
            else:
                with refused(BufferError, f"a tensor of {dtype}", "not aligned"):
                    read(self.object)

    def check_what_is_asked_for(self):
        """Of one type: a rank, and an arrangement."""
        x = self.array
        if x.dtype != np.float32 or not x.flags.aligned:
            return
        asked = [
            (ext.row_major, x.flags.c_contiguous, lambda: x.ravel().tolist()),
            (ext.column_major, x.ndim == 2 and x.flags.f_contiguous, lambda: x.ravel().tolist()),
            (ext.rank_0, x.ndim == 0, lambda: x[()]),
            (ext.rank_1, x.ndim == 1, lambda: x.size),
            (ext.rank_2, x.ndim == 2, lambda: np.trace(x)),
        ]
        for function, fits, expected in asked:
            if fits:
                assert function(self.object) == expected()
            else:
                with refused(ValueError, "a tensor of float32"):
                    function(self.object)


@pytest.mark.parametrize("seed", range(4))
def test_entry_is_reused_by_the_next_call(seed):
    choose = random.Random(seed)
    for _ in range(400):
        Argument(choose).check()


@pytest.mark.parametrize("seed", range(2))
def test_entries_in_use_are_not_reused(seed):
    choose = random.Random(seed)

    def check_inside(depth):
        outer = Argument(choose)
        if depth:
            ext.reading(outer.object, lambda: check_inside(depth - 1))
        outer.check()

    for _ in range(20):
        check_inside(6)


@pytest.mark.parametrize("seed", range(2))
def test_call_with_many_arguments_reads_each(seed):
    choose = random.Random(seed)
    arguments = [Argument(choose) for _ in range(1500)]
    arguments = [x for x in arguments if x.array.dtype == np.float32 and x.array.flags.aligned]
    assert len(arguments) > 50
    for _ in range(30):
        some = choose.sample(arguments, choose.randrange(1, 20))
        assert ext.many([x.object for x in some]) == [x.array.sum() for x in some]


def test_reused_entry_of_another_shape_reads_the_new_shape():
    """Each call finds the entry of the one before it."""
    pairs = [
        ((2, 3), (3, 2)),
        ((6,), (6, 1)),
        ((0, 3), (3,)),
        ((), (1,)),
        ((1,) * 8, (1,) * 9),
        ((2, 2), (2, 2, 1)),
    ]
    for make in (np.zeros, torch.zeros):
        for pair in pairs:
            for shape in pair * 10:
                x = make(shape)
                seen = ext.describe(x)
                assert seen["shape"] == list(shape)
                assert (
                    seen["strides"]
                    == [math.prod(shape[axis + 1 :]) or 0 for axis in range(len(shape))]
                    or not x.size
                )


def test_reused_entry_of_other_strides_reads_the_new_strides():
    for x in (np.arange(9, dtype="f4").reshape(3, 3), torch.arange(9.0).reshape(3, 3)):
        for _ in range(10):
            for view in (x, x.T, x, x[:, ::3], x[:, :1], x, x[::2, ::2], x[:2, :2], x.T, x):
                assert ext.read_f32(view) == view.flatten().tolist()
            with refused(ValueError, "row-major without gaps"):
                ext.row_major(x.T)
            assert ext.row_major(x) == list(range(9))


def test_reshaped_argument_is_read_with_its_new_shape():
    x = np.arange(6, dtype="f4")
    t = torch.arange(6.0)
    for shape in [(6,), (2, 3), (3, 2), (1, 6), (6, 1), (1,) * 7 + (6,), (1,) * 8 + (6,)] * 3:
        x = x.reshape(shape)
        t.resize_(shape)
        for argument in (x, t):
            assert ext.describe(argument)["shape"] == list(shape)
            assert ext.read_f32(argument) == list(range(6))
    t.t_() if t.ndim == 2 else t.resize_(2, 3).t_()
    assert ext.read_f32(t) == [0, 3, 1, 4, 2, 5]


def test_entry_is_reused_after_a_refusal():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    refusals = [
        (ext.read_f64, x),
        (ext.rank_1, x),
        (ext.row_major, x.T),
        (ext.read_f32, np.zeros((2, 3), ">f4")),
        (ext.describe, np.array(["a", "b"])),
        (ext.describe, torch.zeros(2, 3, requires_grad=True)),
        (ext.describe, torch.zeros(2, 3, dtype=torch.complex64).conj()),
        (ext.describe, Producer(lambda **_: 7)),
        (ext.describe, object()),
        (ext.describe_out, np.broadcast_to(x, (4, 2, 3))),
        (ext.describe_out, np.lib.stride_tricks.as_strided(x, (2, 3), (4, 4))),
        (lambda x: ext.add(x, x, x), x),
    ]
    for function, argument in refusals * 2:
        with pytest.raises((BufferError, TypeError, ValueError)):
            function(argument)
        assert ext.describe(x)["shape"] == [2, 3]
        assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5]
        assert ext.read_f64(np.ones(())) == [1]
        assert ext.number_f32(2.0) == ([], [2.0])
        out = np.empty((2, 3), "f4")
        ext.add(x, x, out)
        assert (out == 2 * x).all()


def test_numbers_between_arrays_leave_entries_correct():
    x = np.arange(4, dtype="f4").reshape(2, 2)
    for _ in range(10):
        assert ext.number_f32(x) == ([2, 2], [0, 1, 2, 3])
        assert ext.number_f32(7.0) == ([], [7])
        assert ext.number_f32(x.T) == ([2, 2], [0, 2, 1, 3])
        assert ext.number_f32(np.float32(3)) == ([], [3])
        assert ext.number_f32(torch.ones(())) == ([], [1])


@pytest.mark.parametrize("strides", [(1, 3), (-1, 3), (2, 6), (0, 1), (1, 0)])
def test_strided_layout_is_repeated_with_other_memory_and_dtypes(strides):
    def strided(dtype, steps=strides, **options):
        start = np.arange(64).astype(dtype)[20:]
        in_bytes = [step * start.itemsize for step in steps]
        return np.lib.stride_tricks.as_strided(start, (3, 4), in_bytes, **options)

    # Each is an argument right after one of the same layout that differs in one thing.
    arguments = [strided(dtype) for dtype in ("f4", "f4", "i4", "f8", "i4", "u1", "f4")]
    arguments += [strided("f4", writeable=False), strided("f4"), strided("f4", strides[::-1])]
    arguments += [strided("f4"), torch.from_numpy(np.arange(12.0)).reshape(4, 3).t(), strided("f8")]
    for x in arguments:
        expected = x if isinstance(x, np.ndarray) else x.numpy()
        seen = ext.describe(x)
        assert (seen["shape"], seen["ptr"]) == ([3, 4], expected.ctypes.data)
        assert [step * expected.itemsize for step in seen["strides"]] == list(expected.strides)
        assert (seen["dtype"], seen["readonly"]) == (
            expected.dtype.name,
            not expected.flags.writeable,
        )
        assert READ[expected.dtype.name](x) == expected.ravel().tolist()


def test_strides_that_are_not_multiples_are_refused_after_a_strided_layout():
    x = np.lib.stride_tricks.as_strided(np.arange(64.0), (3, 4), (8, 24))
    uneven = np.lib.stride_tricks.as_strided(np.arange(64.0), (3, 4), (12, 24))
    for _ in range(3):
        assert ext.describe(x)["strides"] == [1, 3]
        with refused(BufferError, "aren't multiples"):
            ext.describe(uneven)
