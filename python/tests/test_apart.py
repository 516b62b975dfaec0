"""Two extensions that were built apart, each with a class, a table and a list of borrows of its
own, in one process.
"""

import ctypes
import gc
import importlib
import threading
import time
import weakref

import dlbridge_testing as ext
import pytest
from support import framework, in_new_process, refused

np = framework("numpy")


@pytest.fixture(scope="module")
def other():
    return importlib.import_module("dlbridge_apart")


def matrix():
    return ext.from_list([1, -2, 3, -4], [2, 2])


def theirs_of(other, x):
    """The other extension's own object around a tensor: a row of a table that it keeps."""
    return other.Lookup(x).row(0)


def test_extensions_have_separate_classes(other):
    ours, theirs = matrix(), theirs_of(other, matrix())
    assert type(ours) is not type(theirs)
    assert type(ours).__name__ == type(theirs).__name__ == "Tensor"
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tables = [
        pointer(type(x).__dlpack_c_exchange_api__, b"dlpack_exchange_api") for x in (ours, theirs)
    ]
    assert None not in tables and tables[0] != tables[1]


def test_extension_accepts_tensors_of_another_extension(other):
    ours = matrix()
    assert other.address(ours) == ours.data_ptr
    assert other.mean(ours) == -0.5
    theirs = theirs_of(other, ours)
    assert theirs.data_ptr == ours.data_ptr and theirs.shape == (2,)
    for look in (ext.describe, ext.describe_out, ext.describe_owned):
        seen = look(theirs)
        assert (seen["ptr"], seen["shape"], seen["dtype"]) == (ours.data_ptr, [2], "float32")
    assert ext.read_f32(theirs) == [1, -2] == ext.own_f32(theirs)
    back = ext.identity(theirs)
    assert type(back) is type(ours) and back.data_ptr == ours.data_ptr


@pytest.mark.parametrize("way", ["__dlpack__", "__dlpack_c_exchange_api__"])
def test_tensor_with_table_or_dlpack_alone_is_accepted(other, way):
    # With the other one taken away before a type is seen first. With a table, `__dlpack__` is never
    # called.
    code = """
        import dlbridge_testing as ext, dlbridge_apart as other
        ours = ext.from_list([1, 2], [1, 2])
        theirs = other.Lookup(ext.to(ours, "numpy")).row(0)
        def never(*arguments, **keywords):
            raise AssertionError("__dlpack__ was called")
        for kind in (type(ours), type(theirs)):
            if WAY == "__dlpack__":
                kind.__dlpack_c_exchange_api__ = None
            else:
                kind.__dlpack__ = never
        assert ext.own_f32(theirs) == [1, 2] == ext.read_f32(theirs)
        assert other.address(ours) == ours.data_ptr
        ext.write_f32(theirs, 3)
        other.scale_(ours, 2.0)
        assert ext.own_f32(theirs) == [6, 6] == ext.read_f32(ours)
        print("done")
    """
    assert in_new_process(code.replace("WAY", repr(way))) == "done\n"


def test_writes_are_visible_to_the_framework(other):
    ours = matrix()
    other.scale_(ours, 2.0)
    assert ext.read_f32(ours) == [2, -4, 6, -8]
    theirs = theirs_of(other, ours)
    ext.write_f32(theirs, 5)
    assert ext.read_f32(ours) == [5, 5, 6, -8]
    other.add_(theirs, theirs_of(other, matrix()))
    assert ext.read_f32(ours) == [6, 3, 6, -8]


def test_result_is_of_the_arguments_class(other):
    ours = matrix()
    y = other.relu(ours)
    assert type(y) is type(ours) and ext.read_f32(y) == [1, 0, 3, 0]
    assert y.data_ptr != ours.data_ptr
    theirs = theirs_of(other, ours)
    where, doubled = ext.doubled(theirs)
    assert (
        type(doubled) is type(theirs)
        and doubled.data_ptr == where
        and ext.read_f32(doubled) == [2, -4]
    )
    where, zeros = ext.zeros_like(theirs, [3], "float64")
    assert (
        type(zeros) is type(theirs) and zeros.data_ptr == where and ext.read_f64(zeros) == [0, 0, 0]
    )
    assert type(ext.like(theirs, np.ones(2))) is type(theirs)
    sums = other.sum_rows(ours)
    assert type(sums) is type(ours) and ext.read_f32(sums) == [-1, -1]


def test_read_only_tensor_stays_read_only(other):
    x = np.ones((2, 2), "float32")
    x.flags.writeable = False
    ours = ext.identity(x)
    with refused(
        BufferError,
        "the tensor is read-only, and the function writes it",
        "dlbridge.Tensor of float32",
    ):
        other.scale_(ours, 2.0)
    theirs = theirs_of(other, ours)
    assert theirs.readonly
    with refused(BufferError, "read-only", "dlbridge.Tensor of float32"):
        ext.write_f32(theirs, 1)
    assert ext.identity(theirs).readonly and not ext.to(theirs, "numpy").flags.writeable
    with refused(BufferError, "read-only"):
        other.add_(theirs, np.ones(2, "float32"))
    assert other.mean(ours) == 1 and (x == 1).all()
    # To be read, it is borrowed, and that call carries no flags.
    assert ext.describe_owned(theirs)["readonly"]


def test_error_names_the_other_extensions_class(other):
    ours, theirs = ext.zeros([2, 3], "int8"), theirs_of(other, matrix())
    with refused(
        TypeError, "expected a tensor of float32", "dlbridge.Tensor of int8, shape [2, 3]"
    ):
        other.scale_(ours, 2.0)
    with refused(
        TypeError, "expected a tensor of float64", "dlbridge.Tensor of float32, shape [2]"
    ):
        ext.read_f64(theirs)
    with refused(ValueError, "rank 2", "shape [2]"):
        other.Lookup(theirs)


@pytest.mark.parametrize("first", ["ours", "theirs", "the one that keeps"])
def test_owner_is_released_once_across_extensions(other, counted, first):
    ours = np.from_dlpack(ext.counted_mut(4)).reshape(2, 2)
    everything = {"ours": ext.identity(ours), "the one that keeps": other.Lookup(ours)}
    del ours
    everything["theirs"] = everything["the one that keeps"].row(1)
    everything["ours again"] = ext.identity(everything["theirs"])
    del everything[first]
    for name in list(everything):
        gc.collect()
        assert counted() == 1
        x = everything.pop(name)
        assert first == name or not hasattr(x, "shape") or ext.own_f32(x)[-2:] == [2, 3]
        del x
    assert counted() == 0


def test_round_trips_between_extensions(other, counted):
    x = ext.transposed(ext.identity(ext.counted_mut(6)))
    where = x.data_ptr
    for _ in range(20):
        x = ext.identity(theirs_of(other, np.from_dlpack(x).reshape(1, 6)))
        assert x.data_ptr == where
    assert counted() == 1 and ext.own_f32(x) == [0, 1, 2, 3, 4, 5]
    del x
    assert counted() == 0


@pytest.mark.parametrize("release", [ext.release, ext.release_detached, ext.release_on_thread])
def test_extension_releases_tensor_of_another_extension(other, release):
    class Watched(np.ndarray):
        pass

    x = np.ones((2, 2), "float32").view(Watched)
    alive = weakref.ref(x)
    key = ext.keep(theirs_of(other, x))
    del x
    gc.collect()
    assert alive() is not None
    assert release(key)
    assert alive() is None


def test_extensions_have_separate_lists_of_borrows(other):
    # What one of them is writing the other one can't know of: see docs/soundness.md.
    x = np.ones(4, "float32")
    thread = threading.Thread(target=ext.write_until_let_go, args=(x, 7))
    thread.start()
    end = time.monotonic() + 30
    while not ext.waiting() and time.monotonic() < end:
        time.sleep(0.001)
    with refused(ValueError, "being written"):
        ext.read_f32(x)
    assert other.address(x) == x.ctypes.data
    ext.let_go()
    thread.join()
    assert other.mean(x) == 7


def test_exit_with_tensors_of_both_extensions_succeeds(other):
    code = """
        import sys, dlbridge_testing as ext, dlbridge_apart as other, numpy as np
        x = np.ones((2, 2), "f4")
        sys.kept = [other.Lookup(ext.identity(x)), other.Lookup(x).row(0)]
        ext.keep(sys.kept[1])
        ext.keep_until_exit(other.Lookup(x).row(1))
        ext.keep_until_exit(ext.counted(4))
    """
    assert in_new_process(code) == "released at exit\n"
