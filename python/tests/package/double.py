"""The test double of NVIDIA's driver: its own functions, by which tests inspect it."""

import ctypes
import os
import sys
from ctypes import c_char_p, c_int, c_int64, c_uint64, c_void_p

import pytest

# Answers of the driver's.
INVALID_VALUE, OUT_OF_MEMORY, INVALID_HANDLE = 1, 2, 400


def _load():
    try:
        library = ctypes.CDLL("libcuda.so.1")
        if hasattr(library, "cudaDoubleMistakes"):
            return library
    except OSError:
        pass
    missing = (
        "these tests run on a double of NVIDIA's driver, which python/tests/run.py has them find"
    )
    if os.environ.get("DLBRIDGE_REQUIRE_ALL") == "1" and sys.platform == "linux":
        raise ImportError(missing)
    pytest.skip(missing, allow_module_level=True)


library = _load()


def _function(name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


_free_text = _function("cudaDoubleFreeText", None, c_void_p)
_live = _function("cudaDoubleLive", c_int64, c_char_p)
_calls = _function("cudaDoubleCalls", c_uint64, c_char_p)
_fail = _function("cudaDoubleFail", None, c_char_p, c_uint64, c_int)
_forget_failures = _function("cudaDoubleForgetFailures", None)
_forget_mistakes = _function("cudaDoubleForgetMistakes", None)
_forget_journal = _function("cudaDoubleForgetJournal", None)
_set_stream_late = _function("cudaDoubleSetStreamLate", c_int, c_void_p, c_int)
_peek = _function("cudaDoublePeek", c_int, c_void_p, c_void_p, c_uint64)


def _text(name):
    text = _function(name, c_void_p)()
    try:
        return ctypes.string_at(text).decode()
    finally:
        _free_text(text)


def mistakes():
    """What was wrong, a mistake a line."""
    return _text("cudaDoubleMistakes")


def forget_mistakes():
    """Those that were made on purpose."""
    _forget_mistakes()


def journal():
    """What was called, and what ran, since it was last forgotten."""
    return _text("cudaDoubleJournal").splitlines()


def forget_journal():
    _forget_journal()


def allocations():
    return _text("cudaDoubleAllocations")


def live(what):
    """How many there are of "memory", "streams", "events", "pending" work, and so on."""
    count = _live(what.encode())
    assert count >= 0, f"nothing is called {what}"
    return count


def calls(function=""):
    """How often a function of the driver's was called, or any."""
    return _calls(function.encode())


def fail(nth=1, code=OUT_OF_MEMORY, function=""):
    """Has the n-th call from now on of a function, or of any, answer with a code and do nothing."""
    _fail(function.encode(), nth, code)


def forget_failures():
    _forget_failures()


def run_late(stream, late=True):
    """Whether a stream does its work as late as it may, as all do at first."""
    assert _set_stream_late(stream, late) == 0


def peek(address, count):
    """The bytes that are in memory of the driver's at this moment: nothing is run for it."""
    found = (ctypes.c_uint8 * count)()
    assert _peek(found, address, count) == 0, f"{address:#x} is in no live memory"
    return bytes(found)
