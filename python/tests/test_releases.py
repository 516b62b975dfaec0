"""Cycles, weak references, exceptions on their way, objects that come back, and counts of
references.
"""

import array
import gc
import sys
import weakref

import dlbridge_testing as ext
import pytest
from support import framework

np = framework("numpy")
torch = framework("torch")


class Watched(np.ndarray):
    """An array that can be watched, and that takes attributes."""


def watched():
    x = np.arange(4, dtype="float32").view(Watched)
    return x, weakref.ref(x)


def test_cycles_around_our_object_are_collected(counted):
    class Holder:
        pass

    holder = Holder()
    holder.me, holder.ours = holder, ext.counted(4)
    everything = [ext.counted(4)]
    everything.append(everything)
    alive = weakref.ref(holder.ours)
    del holder, everything
    assert counted() == 2 and alive() is not None
    gc.collect()
    assert counted() == 0 and alive() is None


def test_cycles_around_an_array_of_our_memory_are_collected(counted):
    ours = ext.counted_mut(4)
    x = ext.to(ours, "numpy").view(Watched)
    x.ours, x.me = ours, x
    del x, ours
    assert counted() == 1
    gc.collect()
    assert counted() == 0


def test_cycles_through_our_object_are_not_collected():
    # What a tensor keeps, it keeps for Rust code too, which Python can't ask to let go: such a
    # cycle has to be broken by hand.
    x, alive = watched()
    x.ours = ext.identity(x)
    del x
    gc.collect()
    assert alive() is not None
    assert ext.own_f32(alive().ours) == [0, 1, 2, 3]
    del alive().ours
    assert alive() is None


def test_weak_reference_is_cleared_with_the_tensor(counted):
    ours, told = ext.counted(4), []
    alive = weakref.ref(ours, told.append)
    by_name = weakref.WeakValueDictionary(ours=ours)
    x = np.from_dlpack(ours)
    assert alive() is ours and by_name["ours"] is ours
    # A consumer keeps the memory, and not the object.
    del ours
    assert alive() is None and told == [alive] and "ours" not in by_name
    assert counted() == 1 and x.tolist() == [0, 1, 2, 3]
    del x
    assert counted() == 0


def test_unconsumed_capsule_releases_its_tensor(counted):
    ours = ext.counted_mut(4)
    capsules = [
        ours.__dlpack__(),
        ours.__dlpack__(max_version=(1, 3)),
        ours.__dlpack__(max_version=(1, 0), copy=True),
    ]
    # The first export lies inside the tensor itself, and the others don't.
    capsules.append(ours.__dlpack__())
    del ours
    while capsules:
        assert counted() == 1
        ext.read_f32(capsules[0])
        capsules.pop(0)
    assert counted() == 0


class Deleting(np.ndarray):
    """Says when it goes, and does what it is told then."""

    then = None

    def __del__(self):
        if self.then:  # Views have none.
            self.then()


def deleting(then):
    x = np.arange(4, dtype="float32").view(Deleting)
    x.then = then
    return x


def test_release_that_runs_python_code_succeeds():
    happened = []
    for release in (ext.release, ext.release_detached, ext.release_on_thread):
        key = ext.keep(deleting(lambda: happened.append(ext.own_f32(ext.from_list([1], [1])))))
        assert happened == []
        assert release(key)
        assert happened.pop() == [1]


def test_release_keeps_a_pending_exception(counted):
    happened = []

    def fail():
        happened.append(sys.exception())
        raise RuntimeError("not seen by any caller")

    hook, sys.unraisablehook = sys.unraisablehook, lambda what: happened.append(what.exc_value)
    try:
        error = KeyError("on its way")
        ext.entrust(deleting(fail))
        ext.entrust(torch.from_numpy(np.arange(3.0)))
        ext.entrust(bytearray(4))
        ext.entrust(ext.counted(4))
        assert counted() == 1
        assert ext.release_while_raised(error) is error
        assert counted() == 0
    finally:
        sys.unraisablehook = hook
    assert len(happened) == 2 and type(happened[1]) is RuntimeError


def test_exception_drops_its_tensors(counted):
    # Python empties its stack with the exception set.
    happened = []

    def ours(number):
        return ext.identity(deleting(lambda: happened.append(number)))

    for version in (None, (1, 0)):
        with pytest.raises(ZeroDivisionError):
            [ext.counted_mut(4).__dlpack__(max_version=version), ours(1), 1 / 0]
        with pytest.raises(ZeroDivisionError):
            [ours(2).__dlpack__(max_version=version), 1 / 0]
        assert counted() == 0 and happened == [1, 2]
        happened.clear()


def test_resurrected_array_is_usable():
    saved = []

    class Back(np.ndarray):
        def __del__(self):
            saved.append(self)

    x = np.arange(4, dtype="float32").view(Back)
    where = x.ctypes.data
    ours = ext.identity(x)
    del x
    assert saved == []
    del ours
    (back,) = saved
    assert back.ctypes.data == where and back.tolist() == [0, 1, 2, 3]
    ours = ext.identity(back)
    del back
    saved.clear()
    assert ext.own_f32(ours) == [0, 1, 2, 3]
    del ours
    assert saved == []  # Python calls `__del__` once.


@pytest.mark.parametrize("use", [ext.reading, ext.writing, ext.owning])
@pytest.mark.parametrize(
    "wrap", [lambda x: x, torch.from_numpy, ext.identity, memoryview, lambda x: Forwarding(x)]
)
def test_argument_referenced_by_the_call_alone_lives_until_it_returns(use, wrap):
    x, alive = watched()
    things = [wrap(x)]
    del x

    def look():
        assert things == []
        gc.collect()
        return alive().tolist()

    assert use(things.pop(), look) == [0, 1, 2, 3]
    assert alive() is None


def test_argument_that_drops_an_earlier_one_leaves_it_alive(counted):
    class Clearing:
        def __dlpack__(self, **keywords):
            values.clear()
            gc.collect()
            assert counted() == 1
            return np.full(4, 10, "float32").__dlpack__(**keywords)

    for make in (
        ext.counted,
        lambda n: np.from_dlpack(ext.counted(n)),
        lambda n: ext.to(ext.counted_mut(n), "torch"),
    ):
        values, out = [make(4), Clearing()], np.zeros(4, "float32")
        ext.sum_into(values, out)
        assert out.tolist() == [10, 11, 12, 13]
        assert counted() == 0


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_capsule_taken_by_a_callback_stays_alive(counted, version):
    capsule = ext.counted_mut(4).__dlpack__(max_version=version)
    seen = []

    def take():
        try:
            ext.own_f32(capsule)
        except BufferError:
            pass
        seen.append(counted())

    ext.reading(capsule, take)
    assert seen == [1], "the memory went while it was in use"
    del capsule
    assert counted() == 0


def test_buffers_are_held_while_in_use():
    for x in (bytearray(16), array.array("f", range(4))):
        for use in (ext.reading, ext.writing, ext.owning):
            with pytest.raises(BufferError):
                use(x, lambda: x.pop())
            assert len(x) in (4, 16)
        ours = ext.identity(x)
        with pytest.raises(BufferError):
            x.pop()
        del ours
        x.pop()


class Forwarding:
    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self, **keywords):
        return self.inner.__dlpack__(**keywords)


ARGUMENTS = {
    "numpy": lambda: np.arange(4, dtype="float32"),
    "numpy, read-only": lambda: np.broadcast_to(np.float32(1), 4),
    "numpy, another type": lambda: np.arange(4),
    "numpy, no type": lambda: np.array(["a"]),
    "torch": lambda: torch.zeros(4),
    "torch, another type": lambda: torch.zeros(4, dtype=torch.int64),
    "torch, conjugated": lambda: torch.zeros(4, dtype=torch.complex64).conj(),
    "torch, followed": lambda: torch.zeros(4, requires_grad=True),
    "ours": lambda: ext.from_list([1, 2], [2]),
    "ours, another type": lambda: ext.zeros([2], "int8"),
    "array": lambda: array.array("f", [1, 2]),
    "bytes": lambda: b"abcd",
    "a class": lambda: Forwarding(np.zeros(4, "float32")),
    "a class, refused": lambda: Forwarding(np.array(["a"])),
    "a number": lambda: 2.5e100,
    "nothing": object,
}
FUNCTIONS = {
    "read": ext.read_f32,
    "write": lambda x: ext.write_f32(x, 1),
    "own": ext.own_f32,
    "number": ext.number_f32,
    "into torch": lambda x: ext.to(x, "torch"),
    "into numpy": lambda x: ext.to(x, "numpy"),
    "in a list": lambda x: ext.many([x, x]),
    "twice": lambda x: ext.add(x, x, x),
    "detached": ext.sum_detached,
    "zeros": lambda x: ext.zeros_like(x, [2], "float32"),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_calls_leave_reference_counts_unchanged(argument):
    x = ARGUMENTS[argument]()
    parts = [getattr(x, name, None) for name in ("dtype", "inner", "base")]
    watched = [x, type(x), None, np.dtype("float32"), torch.float32, *parts]

    def rounds(function):
        outcomes = set()
        for _ in range(100):
            try:
                function(x)
                outcomes.add("done")
            except (TypeError, ValueError, BufferError) as error:
                outcomes.add(type(error).__name__)
        return outcomes

    for name, function in FUNCTIONS.items():
        rounds(function)  # The first use of a type keeps a reference to it.
        before = [sys.getrefcount(one) for one in watched]
        assert len(rounds(function)) == 1, name
        changes = [sys.getrefcount(one) - count for one, count in zip(watched, before)]
        assert max(map(abs, changes)) < 20, f"{name}: {changes} for {watched}"
