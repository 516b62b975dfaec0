"""Builds the extension, and has what the tests share."""

import gc
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import build_extension  # noqa: E402
from frozen import pytest_collection_finish, pytest_sessionfinish  # noqa: E402, F401

sys.path.insert(0, str(build_extension.build()))


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "own_process: the file runs in a process of its own (see groups.py)"
    )


@pytest.fixture
def counted():
    """Checks that every counted owner that the test made is gone after it, and `made` says how many
    are there.
    """
    import dlbridge_testing

    gc.collect()
    before = dlbridge_testing.alive()
    yield lambda: dlbridge_testing.alive() - before
    gc.collect()
    assert dlbridge_testing.alive() == before, "owners are left"
    assert dlbridge_testing.kept() == 0, "the test left kept tensors"
