"""Memory is given back once, after its last user, in whichever order producers and consumers go."""

import gc
import itertools
import weakref

import dlbridge_testing as ext
import pytest
from support import framework, in_new_process

np = framework("numpy")
torch = framework("torch")
jax = framework("jax")


@pytest.fixture(scope="module", autouse=True)
def what_frameworks_have_is_not_looked_at():
    """Collecting takes long with three frameworks loaded."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Watched(np.ndarray):
    """An array that can be watched, and that takes attributes."""


def watched():
    array = np.arange(4, dtype="float32").view(Watched)
    return array, weakref.ref(array)


# How each framework shares what any other one has.
SHARE = {
    "numpy": np.from_dlpack,
    "torch": torch.from_dlpack,
    "jax": lambda x: jax.dlpack.from_dlpack(x, copy=False),
    "ours": ext.identity,
    "ours, as numpy": lambda x: ext.to(x, "numpy"),
    "ours, as torch": lambda x: ext.to(x, "torch"),
    "ours, as jax": lambda x: ext.to(x, "jax"),
    "ours, as itself": lambda x: ext.to(x, "dlbridge"),
}


def address(x):
    if type(x).__module__ == "dlbridge":
        return x.data_ptr
    if isinstance(x, torch.Tensor):
        return x.data_ptr()
    return x.ctypes.data if isinstance(x, np.ndarray) else x.unsafe_buffer_pointer()


def numbers(x):
    return ext.own_f32(x)


@pytest.mark.parametrize("consumer", SHARE)
@pytest.mark.parametrize("first", ["producer", "consumer"])
def test_memory_lives_until_producer_and_consumer_are_dropped(counted, consumer, first):
    ours = ext.counted_mut(4)
    theirs = SHARE[consumer](ours)
    assert address(theirs) == ours.data_ptr and counted() == 1
    if first == "producer":
        del ours
        gc.collect()
        assert counted() == 1 and numbers(theirs) == [0, 1, 2, 3]
        del theirs
    else:
        del theirs
        gc.collect()
        assert counted() == 1 and numbers(ours) == [0, 1, 2, 3]
        del ours
    gc.collect()
    assert counted() == 0


def made_by_torch():
    # The memory is an array's, which says when PyTorch lets go of it.
    array, alive = watched()
    return torch.from_numpy(array), alive


def made_by_jax():
    array = jax.numpy.arange(4, dtype="float32")
    return array, weakref.ref(array)


def made_by_a_memoryview():
    array, alive = watched()
    return memoryview(array), alive


class Forwarding:
    """Something with `__dlpack__` and no more."""

    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self, **keywords):
        return self.inner.__dlpack__(**keywords)


def made_by_a_class():
    array, alive = watched()
    return Forwarding(array), alive


def made_by_a_capsule():
    array, alive = watched()
    return array.__dlpack__(max_version=(1, 0)), alive


def made_by_an_old_capsule():
    array, alive = watched()
    return array.__dlpack__(), alive


PRODUCERS = [
    watched,
    made_by_torch,
    made_by_jax,
    made_by_a_memoryview,
    made_by_a_class,
    made_by_a_capsule,
    made_by_an_old_capsule,
]


@pytest.mark.parametrize("make", PRODUCERS)
def test_producer_is_dropped_first(make):
    theirs, alive = make()
    ours = ext.identity(theirs)
    where = ours.data_ptr
    del theirs
    gc.collect()
    assert alive() is not None
    assert ours.data_ptr == where and numbers(ours) == [0, 1, 2, 3]
    del ours
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("make", PRODUCERS)
def test_producer_is_dropped_last(make):
    theirs, alive = make()
    is_capsule = type(theirs).__name__ == "PyCapsule"
    ours = ext.identity(theirs)
    del ours
    gc.collect()
    # What was in a capsule was taken out of it.
    assert (alive() is None) == is_capsule
    assert is_capsule or numbers(theirs) == [0, 1, 2, 3]
    del theirs
    gc.collect()
    assert alive() is None


RELEASES = [ext.release, ext.release_detached, ext.release_on_thread]


@pytest.mark.parametrize("make", PRODUCERS)
@pytest.mark.parametrize("release", RELEASES)
def test_rust_handle_is_dropped_last(make, release):
    theirs, alive = make()
    key = ext.keep(theirs)
    del theirs
    gc.collect()
    assert alive() is not None
    assert release(key) is True
    gc.collect()
    assert alive() is None
    assert release(key) is False and ext.kept() == 0


@pytest.mark.parametrize("release", RELEASES)
def test_rust_code_shares_with_rust_code(counted, release):
    ours = ext.counted(3)
    keys = [ext.keep(ours) for _ in range(3)]
    keys.append(ext.keep(ext.transposed(ours)))
    before = ext.drops()
    del ours
    for key in keys:
        assert counted() == 1 and ext.drops() == before
        assert release(key) is True
    assert counted() == 0 and ext.drops() == before + 1


def test_kept_tensor_is_returned(counted):
    array, alive = watched()
    key = ext.keep(array)
    back = ext.take_out(key)
    assert ext.take_out(key) is None
    assert back.data_ptr == array.ctypes.data
    del array
    assert numbers(back) == [0, 1, 2, 3] and alive() is not None
    del back
    assert alive() is None


CHAINS = [
    steps
    for length in (2, 3, 4)
    for steps in itertools.permutations(
        ["numpy", "torch", "jax", "ours", "ours, as numpy", "ours, as torch"], length
    )
]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_chain_of_frameworks_releases_memory_once(counted, count):
    chains = [steps for steps in CHAINS if len(steps) == count]
    assert len(chains) > 15
    for steps in chains:
        x = ext.counted_mut(4)
        where = x.data_ptr
        for step in steps:
            x = SHARE[step](x)
            assert address(x) == where, steps
        assert counted() == 1 and numbers(x) == [0, 1, 2, 3], steps
        del x
        if {("jax", "numpy"), ("jax", "torch")} & set(itertools.pairwise(steps)):
            gc.collect()  # JAX's array keeps what its own export made of it, and the other way round.
        assert counted() == 0, steps


def test_pytorch_destroys_tensors_without_the_gil():
    # Below a call that PyO3 counts as attached; so the count can't say whether Python may be used.
    code = """
        import dlbridge_testing as ext, numpy as np, torch
        for _ in range(100):
            ours = ext.identity(ext.to(np.ones(3, "f4"), "torch"))
            del ours
        print("there")
    """
    assert in_new_process(code) == "there\n"


def test_chain_from_numpy_to_numpy_keeps_the_array():
    array, alive = watched()
    where = array.ctypes.data
    last = ext.to(ext.identity(torch.from_dlpack(ext.identity(array))), "numpy")
    del array
    gc.collect()
    assert last.ctypes.data == where and last.tolist() == [0, 1, 2, 3]
    last[0] = 9
    assert alive().tolist() == [9, 1, 2, 3]
    view = last[1:]
    del last
    assert alive() is not None and view.tolist() == [1, 2, 3]
    del view
    gc.collect()
    assert alive() is None


def test_memory_lives_until_the_last_of_many_consumers(counted):
    ours = ext.counted_mut(4)
    theirs = [share(ours) for share in SHARE.values() for _ in range(5)]
    del ours
    while theirs:
        assert counted() == 1
        assert numbers(theirs[0]) == [0, 1, 2, 3]
        # Neither first in, first out nor the other way round.
        theirs.pop(len(theirs) // 2)
    gc.collect()
    assert counted() == 0


def test_framework_result_owns_its_memory(counted):
    for like in (np.zeros(1, "float32"), torch.zeros(1), ext.zeros([1], "float32")):
        y = ext.like(like, ext.counted_mut(4))
        del like
        assert counted() == 1 and numbers(y) == [0, 1, 2, 3]
        part = y[1:] if not type(y).__module__ == "dlbridge" else ext.transposed(y)
        del y
        gc.collect()
        assert counted() == 1 and numbers(part)[-1] == 3
        del part
        assert counted() == 0
