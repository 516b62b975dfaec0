"""Tests of the data loader."""

import gc
import threading
import weakref

import cookbook
import numpy as np
import pytest


def test_loader_returns_each_row_once(framework):
    data = np.arange(30, dtype="float32").reshape(10, 3)
    batches = [framework.array(x) for x in cookbook.Loader(data, 4, 1, framework.name)]
    assert [batch.shape for batch in batches] == [(4, 3), (4, 3), (2, 3)]
    rows = np.concatenate(batches)
    assert sorted(rows[:, 0]) == [*range(0, 30, 3)]
    assert (rows == rows[:, :1] + [0, 1, 2]).all()


def test_order_depends_on_the_seed():
    data = np.arange(50, dtype="float32").reshape(50, 1)
    orders = {
        seed: [row for x in cookbook.Loader(data, 7, seed, "numpy") for row in x[:, 0]]
        for seed in range(4)
    }
    assert len({tuple(order) for order in orders.values()}) == 4
    again = [row for x in cookbook.Loader(data, 7, 2, "numpy") for row in x[:, 0]]
    assert again == orders[2]


def test_data_is_released_by_a_loader_that_is_dropped_early():
    data = np.ones((1000, 2), "float32")
    held = weakref.ref(data)
    loader = cookbook.Loader(data, 1, 0, "numpy")
    next(loader)
    before = threading.active_count()
    del data, loader
    for _ in range(1000):
        gc.collect()
        if held() is None:
            break
        threading.Event().wait(0.01)
    assert held() is None and threading.active_count() <= before


def test_data_is_shared_and_not_written_meanwhile():
    data = np.ones((100, 2), "float32")
    loader = cookbook.Loader(data, 1, 0, "numpy")
    with pytest.raises(ValueError, match="memory"):
        cookbook.add(np.ones((100, 2), "float32"), np.ones((100, 2), "float32"), data)
    assert sum(1 for _ in loader) == 100


def test_loader_refuses_other_data():
    with pytest.raises(TypeError, match="float32"):
        cookbook.Loader(np.ones((3, 2)), 1, 0, "numpy")
    with pytest.raises(ValueError):
        cookbook.Loader(np.ones((3, 2), "float32"), 0, 0, "numpy")
    with pytest.raises(LookupError):
        next(cookbook.Loader(np.ones((3, 2), "float32"), 1, 0, "nothing"))
    assert list(cookbook.Loader(np.ones((0, 2), "float32"), 1, 0, "numpy")) == []
