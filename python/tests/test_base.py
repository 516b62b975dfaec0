"""Tests of the base of NumPy arrays: an object inside the tensor, or a separate one."""

import copy
import gc
import itertools
import pickle
import sys
import threading

import dlbridge_testing as ext
import pytest
from support import framework, in_new_process, refused

np = framework("numpy")

INSIDE, APART = "Memory", "MemoryApart"


def array_of(tensor):
    return ext.to(tensor, "numpy")


def place_of(array):
    kind = type(array.base)
    assert kind.__module__ == "dlbridge"
    return kind.__name__


def bases():
    """One of each kind, and the arrays that they are of."""
    tensor = ext.counted_mut(4)
    return [array_of(tensor), array_of(tensor)]


def test_array_outlives_its_tensor(counted):
    tensor = ext.counted_mut(8)
    array = array_of(tensor)
    del tensor
    gc.collect()
    assert counted() == 1 and array.tolist() == list(range(8))
    array[2] = 7
    views = [array[2:], array.reshape(2, 4).T, array.view("u4"), np.asarray(memoryview(array))]
    assert views[0].base is array
    del array
    assert (
        counted() == 1
        and views[0][0] == 7
        and views[1].tolist() == [[0, 4], [1, 5], [7, 6], [3, 7]]
    )
    del views
    assert counted() == 0


def test_base_alone_keeps_the_memory(counted):
    for number in (0, 1):
        base = bases()[number].base
        assert counted() == 1
        del base
        assert counted() == 0


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_arrays_and_tensor_are_released_in_any_order(counted, order):
    tensor = ext.counted_mut(5)
    things = [tensor, *(array_of(tensor) for _ in range(3))]
    assert [place_of(array) for array in things[1:]] == [INSIDE, APART, APART]
    del tensor
    for number in order:
        assert counted() == 1
        assert all(
            array_of(thing).tolist() == list(range(5)) for thing in things if thing is not None
        )
        things[number] = None
    assert counted() == 0


def test_slot_is_reused_after_release(counted):
    tensor = ext.counted_mut(5)
    for _ in range(100):
        first = array_of(tensor)
        second = array_of(tensor)
        assert (place_of(first), place_of(second)) == (INSIDE, APART)
        del first
        assert place_of(array_of(tensor)) == INSIDE
        assert second.tolist() == [0, 1, 2, 3, 4] and counted() == 1


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_array_and_export_coexist(counted, order, versioned):
    keywords = {"max_version": (1, 3)} if versioned else {}
    for is_capsule_first in (True, False):
        things = [ext.counted_mut(3)]
        makers = [lambda x: x.__dlpack__(**keywords), array_of]
        for make in makers if is_capsule_first else reversed(makers):
            things.append(make(things[0]))
        capsule, array = things[1:] if is_capsule_first else things[:0:-1]
        # The second one finds the slot taken.
        assert place_of(array) == (APART if is_capsule_first else INSIDE)
        del capsule, array
        for number in order:
            assert counted() == 1
            things[number] = None
        assert counted() == 0


def test_array_and_numpys_own_import_coexist(counted):
    tensor = ext.counted_mut(3)
    theirs, ours = np.from_dlpack(tensor), array_of(tensor)
    others = [np.asarray(tensor), array_of(ext.identity(ours)), np.from_dlpack(tensor)]
    ours[1] = 9
    assert all(array.tolist() == [0, 9, 2] for array in (theirs, ours, *others))
    del tensor, theirs
    assert ours.tolist() == [0, 9, 2] == others[1].tolist() and counted() == 1
    del ours, others
    assert counted() == 0


def test_each_base_object_refers_to_its_type():
    for number, place in enumerate((INSIDE, APART)):
        kind = type(bases()[number].base)
        assert kind.__name__ == place
        before = sys.getrefcount(kind)
        for _ in range(100):
            bases()
        assert sys.getrefcount(kind) == before
        kept = [bases()[number].base for _ in range(100)]
        assert sys.getrefcount(kind) == before + 100
        del kept
        assert sys.getrefcount(kind) == before


@pytest.mark.parametrize("name", ["bool", "int8", "uint64", "float16", "float32", "complex128"])
def test_dtype_references_are_balanced(name):
    tensor = ext.zeros([2], name)
    array_of(tensor)
    dtype = np.dtype(name)
    before = sys.getrefcount(dtype)
    kept = [array_of(tensor) for _ in range(100)]
    assert all(array.dtype is dtype for array in kept)
    assert sys.getrefcount(dtype) >= before
    del kept
    assert sys.getrefcount(dtype) == before


def test_base_class_cannot_be_created_or_changed_by_python():
    class Plain:
        __slots__ = ()

    for array in bases():
        base, kind = array.base, type(array.base)
        for make in (
            kind,
            lambda: object.__new__(kind),
            lambda: kind.__new__(kind),
            lambda: type("Sub", (kind,), {}),
        ):
            with pytest.raises(TypeError):
                make()
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError):
                duplicate(base)
        # The object isn't one that another class could free.
        with pytest.raises(TypeError):
            base.__class__ = Plain
        with pytest.raises(TypeError):
            Plain().__class__ = kind
        with pytest.raises(TypeError):
            kind.__del__ = print
        with pytest.raises(AttributeError):
            base.name = 1
        assert not gc.is_tracked(base)
        assert array.tolist() == [0, 1, 2, 3] and copy.copy(array).base is None


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3), (1,) * 9, (1,) * 64])
def test_array_of_every_shape_outlives_its_tensor(shape):
    tensor = ext.ones(list(shape), "float64")
    first, second = array_of(tensor), array_of(tensor)
    del tensor
    for array in (first, second):
        np.testing.assert_array_equal(array, np.ones(shape))
        assert (
            array.flags.c_contiguous
            and array.flags.aligned
            and array.flags.writeable
            and not array.flags.owndata
        )
    assert (place_of(first), place_of(second)) == (INSIDE, APART)


def test_read_only_array_stays_read_only(counted):
    array = array_of(ext.counted(3))
    assert not array.flags.writeable
    with refused(ValueError, "cannot set WRITEABLE flag"):
        array.flags.writeable = True
    with refused(ValueError, "does not own its data"):
        array.resize(10)
    del array


def test_release_keeps_a_pending_exception(counted):
    for number in (0, 1):
        ext.entrust(bases()[number])
        assert counted() == 1
        error = KeyError("on its way")
        assert ext.release_while_raised(error) is error
        assert counted() == 0


def test_release_that_runs_python_code_succeeds():
    released = []

    class Telling(np.ndarray):
        def __del__(self):
            if self.base is None:
                released.append(len(self))
                # What runs here uses arguments and arrays of its own.
                assert ext.read_f32(array_of(ext.counted(2))) == [0, 1]

    for number in (0, 1):
        tensor = ext.identity(Telling((3,), "f4"))
        array = [array_of(tensor), array_of(tensor)][number]
        del tensor
        ext.entrust(array)
        del array
        gc.collect()
        assert released == [3] * number
        error = KeyError("on its way")
        assert ext.release_while_raised(error) is error
        assert released == [3] * (number + 1)


def test_release_by_other_threads_succeeds(counted):
    tensors = [ext.counted_mut(4) for _ in range(50)]
    arrays = [array_of(tensor) for tensor in tensors for _ in range(4)]
    del tensors

    def release():
        while True:
            try:
                array = arrays.pop()
            except IndexError:
                return
            assert array.tolist() == [0, 1, 2, 3]
            del array

    threads = [threading.Thread(target=release) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted() == 0


def test_arrays_of_one_tensor_by_many_threads_are_correct(counted):
    """The room is taken by one of them at a time."""
    tensor = ext.counted_mut(4)

    def work():
        for _ in range(2000):
            array = array_of(tensor)
            assert place_of(array) in (INSIDE, APART) and array[3] == 3
            assert ext.read_f32(array) == [0, 1, 2, 3]

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert place_of(array_of(tensor)) == INSIDE
    del tensor, work, threads, thread
    assert counted() == 0


@pytest.mark.parametrize(
    "variables", [{}, {"PYTHONMALLOC": "debug"}, {"PYTHONTRACEMALLOC": "5"}, {"PYTHONDEVMODE": "1"}]
)
def test_exit_of_python_with_live_objects_succeeds(variables):
    said = in_new_process(
        """
        import atexit, sys, threading
        import dlbridge_testing as ext, numpy as np

        tensor = ext.counted_mut(4)
        arrays = [ext.to(tensor, "numpy") for _ in range(3)]
        bases = [array.base for array in arrays]
        cycle = [ext.to(ext.counted_mut(4), "numpy")]
        cycle.append(cycle)
        of_theirs = ext.to(ext.identity(np.arange(3.0)), "numpy")
        sys.kept = [ext.to(ext.identity(np.arange(3.0)), "numpy"), ext.to(tensor, "numpy")]
        np.kept = ext.to(tensor, "numpy")

        class Late:
            array = ext.to(tensor, "numpy")

            def __del__(self):
                assert self.array.tolist() == [0, 1, 2, 3]

        late = Late()
        atexit.register(lambda array=ext.to(tensor, "numpy"): print(array.tolist()))
        threading.Thread(target=threading.Event().wait, args=(0.1,), daemon=True).start()
        for _ in range(1000):
            ext.to(ext.counted(4), "numpy")
            ext.to(tensor, "numpy")
        """,
        **variables,
    )
    assert said.splitlines() == ["[0.0, 1.0, 2.0, 3.0]"]
