"""Tests that need a GPU: what frameworks really do there. Without one, all are skipped."""

import importlib

import pytest

import dlbridge


def pytest_collection_modifyitems(items):
    if dlbridge.cuda.is_available():
        return
    try:
        dlbridge.cuda.check()
    except BufferError as error:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=str(error)))


def framework(name):
    """A framework that sees the GPU, or a reason to skip."""
    module = pytest.importorskip(name)
    if name == "torch" and not module.cuda.is_available():
        pytest.skip("torch sees no GPU")
    if name == "jax" and not any(device.platform == "gpu" for device in module.devices()):
        pytest.skip("jax sees no GPU")
    return module


@pytest.fixture
def torch():
    return framework("torch")


@pytest.fixture
def cupy():
    return framework("cupy")


@pytest.fixture
def jax():
    module = framework("jax")
    importlib.import_module("jax.numpy")
    return module


@pytest.fixture(autouse=True)
def everything_is_done():
    """A failure of the GPU belongs to the test that caused it."""
    yield
    if dlbridge.cuda.is_available():
        dlbridge.cuda.synchronize()
