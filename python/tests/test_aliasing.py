"""Arguments that share memory, in one call or in calls inside others."""

import itertools
import random

import dlbridge_testing as ext
import pytest
from made import CUDA, CUDA_HOST, INT4, IS_SUBBYTE_TYPE_PADDED, Made
from made_tables import table, type_of
from support import framework, refused

np = framework("numpy")
from numpy.lib.stride_tricks import as_strided  # noqa: E402

WRITTEN = (
    "memory that is to be written is also in use by another argument, or another call; pass a copy"
)
READ = (
    "memory that is to be read is being written by another argument, or another call; pass a copy"
)


def f32(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


class text:
    """Expects a ValueError of exactly this text."""

    def __init__(self, message):
        self.message, self.inner = message, refused(ValueError)

    def __enter__(self):
        return self.inner

    def __exit__(self, *outcome):
        done = self.inner.__exit__(*outcome)
        assert str(outcome[1]) == self.message
        return done


def test_read_arguments_that_share_memory_are_accepted():
    x, out = f32(3), f32(3)
    ext.add(x, x, out)
    assert out.tolist() == [0, 2, 4]
    assert ext.many([x, x[1:], x[::-1], x]) == [3, 3, 3, 3]
    assert ext.reading(x, lambda: ext.reading(x, lambda: ext.read_f32(x))) == [0, 1, 2]


def test_written_argument_refuses_aliases():
    x, y = f32(4), f32(4)
    with text(WRITTEN):
        ext.add(x, y, x)
    with text(WRITTEN):
        ext.add(y, x, x)
    with text(WRITTEN):
        ext.sum_into([y, y, x], x[:])
    with text(WRITTEN):
        ext.fill_all([x, y, x], 1)
    with text(WRITTEN):
        ext.fill_all([x[:3], x[2:]], 1)
    with text(WRITTEN):
        ext.double_detached(x, x)
    with text(WRITTEN):
        ext.copy_pairs_detached(f32(4), y, x, y)
    with text(WRITTEN):
        ext.pair((x, x[::-1]))
    # Nothing was written, and everything can be used again.
    assert x.tolist() == y.tolist() == [0, 1, 2, 3]
    ext.double(x)
    ext.add(y, y, x)
    assert x.tolist() == [0, 2, 4, 6]


def test_disjoint_parts_are_accepted():
    x = f32(4, 4)
    ext.add(x[:, 0], x[:, 1], x[:, 2])
    assert x[:, 2].tolist() == [1, 9, 17, 25]
    ext.double_detached(x[::2], x[1::2])
    ext.fill_all([x[:, 0], x[:, 1], x[0, 2:], x[1:, 2:]], 1)
    assert (x == 1).all()
    with text(WRITTEN):
        ext.add(x[:, 0], x[:, 1], x[3])
    ext.add(x[:0, 0], x[:0, 0], x[:0, 0])
    ext.fill_all([x[:, :0], x, x[2:2]], 2)
    assert (x == 2).all()


def test_nested_call_sees_borrows_of_the_outer_call():
    x = f32(4)
    with text(WRITTEN):
        ext.reading(x, lambda: ext.double(x))
    with text(READ):
        ext.writing(x, lambda: ext.read_f32(x))
    with text(WRITTEN):
        ext.writing(x, lambda: ext.double(x))
    with text(READ):
        ext.writing(x[1:2], lambda: ext.own_f32(x))
    # Two calls further in.
    with text(WRITTEN):
        ext.reading(
            x, lambda: ext.writing(f32(2), lambda: ext.reading(f32(2), lambda: ext.double(x[:1])))
        )
    assert x.tolist() == [0, 1, 2, 3]
    ext.reading(x[:2], lambda: ext.double(x[2:]))
    ext.writing(x[:2], lambda: ext.double(x[2:]))
    assert x.tolist() == [0, 1, 8, 12] and ext.read_f32(x) == [0, 1, 8, 12]


def test_error_in_a_nested_call_releases_its_borrows():
    x = f32(2)
    for enter in (ext.reading, ext.writing, ext.owning, ext.keep_in_two_ways):
        with refused(ZeroDivisionError):
            enter(x, lambda: 1 / 0)
        ext.double(x)


def test_call_releases_only_its_own_borrows():
    x, y, z = f32(2), f32(2), f32(2)
    with text(READ):
        ext.writing(
            x, lambda: (ext.writing(y, lambda: ext.double(z)), ext.double(y), ext.read_f32(x))
        )
    with text(WRITTEN):
        ext.reading(x, lambda: (ext.reading(x, lambda: None), ext.double(x)))
    assert x.tolist() == [0, 1] and y.tolist() == z.tolist() == [0, 2]


def ways(x):
    """The memory of an array in objects of other kinds."""
    fields = dict(data=x.ctypes.data, shape=x.shape)
    kind = type_of(table())
    return {
        "array": x,
        "view": x[:],
        "ours": ext.identity(x),
        "memoryview": memoryview(x),
        "capsule": Made(**fields).capsule(),
        "legacy capsule": Made(versioned=False, **fields).capsule(),
        "table": kind(**fields),
        "pinned": Made(device=(CUDA_HOST, 0), **fields).capsule(),
        "unsigned": x.view("u4"),
    }


WAYS = list(ways(f32(4)))


@pytest.mark.parametrize("first, second", list(itertools.product(WAYS, WAYS)))
def test_alias_is_found_across_frameworks(first, second):
    x = f32(4)
    # Each of its own, since a capsule is lent once at a time.
    first, second = ways(x)[first], ways(x)[second]
    with text(WRITTEN):
        ext.reading(first, lambda: ext.describe_out(second))
    with text(READ):
        ext.writing(first, lambda: ext.describe(second))
    with text(WRITTEN):
        ext.writing(first, lambda: ext.describe_out(second))
    assert ext.reading(first, lambda: ext.describe(second))["ptr"] == x.ctypes.data
    assert ext.describe_out(first)["ptr"] == ext.describe_out(second)["ptr"] == x.ctypes.data


@pytest.mark.parametrize("kind", ["capsule", "legacy capsule", "pinned"])
def test_capsule_is_borrowed_once_at_a_time(kind):
    x = f32(4)
    capsule = ways(x)[kind]
    for use in (ext.describe, ext.describe_out, ext.own_f32, ext.import_):
        with refused(BufferError, "already taken"):
            ext.reading(capsule, lambda: use(capsule))
        with refused(BufferError, "already taken"):
            ext.writing(capsule, lambda: use(capsule))
    with pytest.raises(ValueError, match="incorrect name"):  # as NumPy says it
        ext.reading(capsule, lambda: np.from_dlpack(capsule_holder(capsule)))
    assert ext.describe(capsule)["ptr"] == x.ctypes.data


def capsule_holder(capsule):
    class Holder:
        def __dlpack__(self, **keywords):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    return Holder()


def test_equal_addresses_on_different_devices_are_accepted():
    x = f32(4)
    fields = dict(data=x.ctypes.data, shape=x.shape)
    first = Made(device=(CUDA, 0), **fields).capsule()
    second = Made(device=(CUDA, 1), **fields).capsule()
    same = Made(device=(CUDA, 0), **fields).capsule()
    for one, other in itertools.permutations([x, first, second], 2):
        ext.writing(one, lambda: ext.describe_out(other))
    with text(WRITTEN):
        ext.writing(first, lambda: ext.describe_out(same))
    # The address behind a handle is unknown.
    handle = Made(device=(8, 0), **fields).capsule()
    same = Made((1,), device=(8, 0), data=x.ctypes.data).capsule()
    with text(WRITTEN):
        ext.writing(handle, lambda: ext.describe_out(same))
    ext.writing(x, lambda: ext.describe_out(handle))


def test_packed_elements_of_one_byte_are_aliases():
    made = Made((8,), dtype=INT4)

    def nibbles(byte, shape, strides, flags=0):
        return Made(shape, strides, dtype=INT4, data=made.data + byte, flags=flags).capsule()

    def excluded(first, second):
        with text(WRITTEN):
            ext.writing(first, lambda: ext.describe_out(second))
        with text(READ):
            ext.writing(second, lambda: ext.describe(first))

    ext.writing(nibbles(0, (2,), (1,)), lambda: ext.describe_out(nibbles(1, (2,), (1,))))
    excluded(nibbles(0, (3,), (1,)), nibbles(1, (2,), (1,)))
    # The first has the upper half of the second byte, and the second the lower one.
    excluded(nibbles(0, (2,), (3,)), nibbles(1, (1,), (1,)))
    padded = nibbles(0, (2,), (1,), IS_SUBBYTE_TYPE_PADDED)
    excluded(padded, nibbles(1, (1,), (1,)))
    ext.writing(padded, lambda: ext.describe_out(nibbles(2, (1,), (1,))))


def test_written_argument_refuses_overlapping_elements():
    x = f32(16)
    for shape, strides in [
        ((3,), (0,)),
        ((3, 2), (4, 4)),
        ((2, 3), (0, 4)),
        ((3, 3), (8, 4)),
        ((2, 2, 2), (12, 8, 4)),
    ]:
        view = as_strided(x, shape, strides)
        for write in (
            lambda view: ext.write_f32(view, 1),
            ext.describe_out,
            lambda view: ext.writing(view, list),
        ):
            with refused(
                BufferError,
                "elements of the tensor are at one place",
                "pass a copy",
                str(list(shape)),
            ):
                write(view)
        assert ext.read_f32(view) == view.ravel().tolist()
    assert x.tolist() == list(range(16))
    for shape, strides in [
        ((1, 3), (0, 4)),
        ((0, 3), (0, 0)),
        ((2, 2), (4, 8)),
        ((2, 3), (4, 8)),
        ((2, 2), (-8, 4)),
    ]:
        ext.write_f32(as_strided(x[4:], shape, strides), 1)


def random_view(rng, memory):
    """Any view of bytes, of any type that NumPy has: also misaligned, reversed, overlapping, or
    empty.
    """
    size = np.dtype(kind := rng.choice(["u1", "u2", "f4", "f8"])).itemsize
    while True:
        shape = [rng.choice([0, 1, 2, 2, 3, 3, 4]) for _ in range(rng.randrange(4))]
        steps = [size * rng.randint(-9, 9) for _ in shape]
        reach = [step * (number - 1) for number, step in zip(shape, steps)] if all(shape) else [0]
        low, high = -sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + size
        if low + high <= len(memory):
            begin = rng.randint(low, len(memory) - high)
            return np.ndarray(shape, kind, memory, begin, steps), begin


def bytes_of(view, begin):
    """Where each of the elements is, in bytes: one list for each."""
    places = [
        begin + sum(i * step for i, step in zip(index, view.strides))
        for index in np.ndindex(view.shape)
    ]
    return [set(range(place, place + view.itemsize)) for place in places]


@pytest.mark.parametrize("seed", range(8))
def test_overlap_of_random_views_agrees_with_brute_force(seed):
    rng = random.Random(seed)
    memory = np.zeros(rng.choice([40, 80, 200]), "u1")
    meetings = 0
    for _ in range(150):
        (a, a_begin), (b, b_begin) = random_view(rng, memory), random_view(rng, memory)
        a_bytes, b_bytes = bytes_of(a, a_begin), bytes_of(b, b_begin)
        ours, theirs = set().union(*a_bytes), set().union(*b_bytes)
        assert ext.describe(a)["shape"] == list(a.shape)
        if sum(map(len, b_bytes)) > len(theirs):
            with refused(BufferError, "at one place"):
                ext.describe_out(b)
            continue
        meets = not ours.isdisjoint(theirs)
        meetings += meets
        for check, message in [
            (lambda: ext.reading(a, lambda: ext.describe_out(b)), WRITTEN),
            (lambda: ext.writing(b, lambda: ext.describe(a)), READ),
            (lambda: ext.writing(b, lambda: ext.describe_out(a)), WRITTEN),
        ][: 2 if sum(map(len, a_bytes)) > len(ours) else 3]:
            if meets:
                with text(message):
                    check()
            else:
                check()
        ext.describe_out(b), ext.describe(a)
    assert 10 < meetings < 140
