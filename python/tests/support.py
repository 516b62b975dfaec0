"""Helpers of several test files."""

import gc
import importlib
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fork_parent
import pytest

# Set where everything is installed, so that nothing may be skipped.
REQUIRE_ALL = os.environ.get("DLBRIDGE_REQUIRE_ALL") == "1"
#: Set by `./dev test --full`.
IS_LONG = os.environ.get("DLBRIDGE_LONG_TESTS") == "1"


def framework(name):
    """A module, or a skipped file that says that it isn't there."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if REQUIRE_ALL:
            raise
        pytest.skip(f"{name} can't be imported: {error}", allow_module_level=True)


def extension():
    """The extension of the tests, or `None` in python/compat, which has none."""
    try:
        return importlib.import_module("dlbridge_testing")
    except ImportError:
        if REQUIRE_ALL:
            raise
        return None


def repeats(count):
    """How often a test for leaks repeats what it tests: all times in `./dev test --full` alone."""
    return count if IS_LONG else count // 20


def check_resident(repeat, count):
    """Checks that memory stays flat: over `repeat(count)`, or a twentieth of it in short runs.
    Threads of frameworks and the allocator's caches may grow meanwhile, once; a leak grows each
    time.
    """
    count = repeats(count)
    repeat(count // 5)
    check_growth(lambda: repeat(count), {resident_kilobytes: 8000}, repeat)


def check_growth(repeat, limits, name):
    """Checks that a repetition leaves less behind than the limits, by functions that measure."""
    grown = []
    while not grown or any(more >= most for more, most in zip(grown[-1], limits.values())):
        assert len(grown) < 3, f"{name} grows by {grown}"
        gc.collect()
        before = [measure() for measure in limits]
        repeat()
        gc.collect()
        grown.append([measure() - known for measure, known in zip(limits, before)])


def check_released(use):
    """Checks that nothing keeps what `use(fails)` returns a weak reference to, and had in calls
    that fail or don't.
    """
    for fails in (False, True):
        references = [use(fails) for _ in range(20)]
        gc.collect()
        assert [reference() for reference in references] == [None] * 20


def resident_kilobytes():
    """Returns how much memory of this process is in use, not what it once was: a leak below an
    earlier peak would not be seen.
    """
    try:
        return (
            int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") >> 10
        )
    except FileNotFoundError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak >> 10 if sys.platform == "darwin" else peak


def in_threads(function, count=8):
    """Calls a function on several threads at once, and raises what it raises on any."""
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(function) for _ in range(count)]:
            future.result()


def modules_path():
    """Where new processes find this folder's modules, and the extension where there is one."""
    files = [__file__, *filter(None, [getattr(extension(), "__file__", None)])]
    return os.pathsep.join(str(Path(file).parent) for file in files)


def in_new_process(code, status=0, timeout=300, **variables):
    """Runs code in a Python of its own, and returns its output. A signal is told apart from a
    failure.
    """
    environment = {**os.environ, "PYTHONPATH": modules_path(), **variables}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=timeout,
    )
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def in_fork(imports, code, status=0, timeout=300, **variables):
    """Runs code in a fork of a process that has imported modules, "torch" or "torch,numpy", and
    returns its output. This saves the time of the imports; all else is as in a new process.
    """
    if not hasattr(os, "fork"):
        return in_new_process(code, status, timeout, **variables)
    assert not any(name.startswith("PYTHON") for name in variables), "read as Python starts"
    if imports not in _PARENTS:
        environment = {**os.environ, "PYTHONPATH": modules_path()}
        _PARENTS[imports] = fork_parent.Parent(imports, environment)
    found, output = _PARENTS[imports].run(textwrap.dedent(code), timeout, variables)
    assert found == status, f"status {found}\n{output}"
    return output


#: The parents of forks, by what they have imported. They end with the process of the tests.
_PARENTS = {}


def refused(kind, *parts):
    """Expects exactly this exception, whose text has all the parts."""
    return _Refused(kind, parts)


class _Refused:
    def __init__(self, kind, parts):
        self.kind, self.parts, self.value = kind, parts, None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        assert kind is self.kind, (
            f"expected {self.kind.__name__}, got {kind and kind.__name__}: {value}"
        )
        for part in self.parts:
            assert part in str(value), f"{part!r} is not in {value}"
        self.value = value
        return True
