"""Read-only memory shared with Paddle, which can't be in one process with TensorFlow."""

import dlbridge
import pytest
from readonly_pairs import SOURCES, check_pair, check_warnings_as_errors, frozen, place, shown_by
from support import framework, refused

paddle = framework("paddle")
jax = framework("jax")

ALL = {
    **SOURCES,
    "jax": (lambda: jax.numpy.full((4, 8), 3.0), "JAX"),
    "dlbridge, of jax": (lambda: dlbridge.from_dlpack(jax.numpy.full((4, 8), 3.0)), "JAX"),
}


@pytest.mark.parametrize("name", ALL)
def test_read_only_memory_of_each_pair_follows_the_policy(name):
    make, source = ALL[name]
    check_pair(make, source, "paddle", "Paddle")


def test_warnings_as_errors_refuse_and_release():
    check_warnings_as_errors("paddle")


def test_paddle_from_dlpack_follows_the_policy():
    x = dlbridge.from_dlpack(frozen())
    t, texts = shown_by(lambda: paddle.utils.dlpack.from_dlpack(x))
    assert place(t) == x.data_ptr and len(texts) == 1 and texts[0].startswith("NumPy -> Paddle: ")
    with dlbridge.readonly("refuse"), refused(BufferError, "read-only, and Paddle writes"):
        paddle.utils.dlpack.from_dlpack(x)
