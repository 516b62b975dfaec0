"""Has the tests of the package find what they share with the others."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from frozen import pytest_collection_finish, pytest_sessionfinish  # noqa: E402, F401


@pytest.fixture
def settled():
    """Checks on the double of NVIDIA's driver that a test made no mistake, and left neither memory
    nor work.
    """
    import double
    import double_driver as driver
    from double_settle import settle

    context = driver.current_context()
    yield
    settle(lambda: double.live("memory") == 0)
    mistakes = double.mistakes()
    double.forget_mistakes()
    assert mistakes == ""
    assert (double.live("memory"), double.live("pending")) == (0, 0), double.allocations()
    assert driver.current_context() == context, "another context is current"
