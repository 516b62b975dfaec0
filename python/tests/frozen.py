"""Hooks of pytest for a conftest.py: collections in tests skip what the imports of frameworks made.

With PyTorch imported a collection takes a tenth of a second, and many tests collect.
"""

import gc


def pytest_collection_finish():
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Lets go of it again: frameworks check at the exit what is left."""
    gc.unfreeze()
