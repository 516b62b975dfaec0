"""Deleters of C's that leave an exception set: it is reported, and disturbs neither the caller nor
another exception.
"""

import ctypes
import sys

import dlbridge_testing as ext
import pytest
from made import Made, Producer, api
from support import framework

# Called as a deleter, it sets a `MemoryError` and returns, as C code does that checks nothing.
LEAVES_MEMORY_ERROR = ctypes.cast(api.PyErr_NoMemory, ctypes.c_void_p).value


def leaving(versioned=True):
    made = Made(versioned=versioned)
    made.struct.deleter = LEAVES_MEMORY_ERROR
    return made


@pytest.fixture
def unraisable(monkeypatch):
    found = []
    monkeypatch.setattr(sys, "unraisablehook", lambda it: found.append(it.exc_type))
    return found


def our_object(made):
    return ext.identity(made.capsule())


def our_capsule(made):
    return ext.identity(made.capsule()).__dlpack__(max_version=(1, 3))


def our_old_capsule(made):
    return ext.identity(made.capsule()).__dlpack__()


def a_part(made):
    return ext.transposed(made.capsule())


def an_array(made):
    framework("numpy")
    return ext.to(made.capsule(), "numpy")


def a_memoryview(made):
    return memoryview(ext.identity(made.capsule()))


HOLDERS = [our_object, our_capsule, our_old_capsule, a_part, an_array, a_memoryview]


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("hold", HOLDERS)
def test_exception_of_deleter_in_python_is_unraisable(unraisable, hold, versioned):
    held = hold(leaving(versioned))
    assert unraisable == []
    del held
    assert unraisable == [MemoryError]


@pytest.mark.parametrize("hold", HOLDERS)
def test_exception_of_deleter_keeps_a_pending_exception(unraisable, hold):
    def two(*values): ...

    things = [hold(leaving())]
    with pytest.raises(ZeroDivisionError):
        two(things.pop(), 1 / 0)
    assert unraisable == [MemoryError]


@pytest.mark.parametrize("release", [ext.release, ext.release_detached, ext.release_on_thread])
def test_exception_of_deleter_in_rust_is_unraisable(unraisable, release):
    key = ext.keep(leaving().capsule())
    assert release(key) is True
    assert unraisable == [MemoryError]


def test_exception_of_deleter_in_rust_keeps_a_raised_exception(unraisable):
    ext.entrust(leaving().capsule())
    error = ValueError("the first one")
    assert ext.release_while_raised(error) is error
    assert unraisable == [MemoryError]


def capsule_that_leaves(made):
    """A capsule whose destructor does the same, whatever became of what is in it."""
    capsule = made.capsule()
    api.PyCapsule_SetDestructor(capsule, LEAVES_MEMORY_ERROR)
    return capsule


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("call", [ext.read_f32, ext.describe, ext.own_f32, ext.sum_detached])
def test_exception_of_arguments_deleter_is_unraisable(unraisable, call, versioned):
    made = Made(versioned=versioned)
    capsules = []
    assert (
        call(Producer(lambda **_: (capsules.append(1), capsule_that_leaves(made))[1])) is not None
    )
    assert unraisable == [MemoryError] * len(capsules)


@pytest.mark.parametrize("call", [ext.read_i64, ext.own_f32])
def test_exception_of_refused_arguments_deleter_is_unraisable(unraisable, call):
    made = Made(dtype=(2, 16, 1))
    with pytest.raises(TypeError):
        call(Producer(lambda **_: capsule_that_leaves(made)))
    assert unraisable == [MemoryError]
