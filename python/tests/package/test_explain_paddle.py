"""Tests that `explain` agrees with `convert`: from and to Paddle."""

import gc

import dlbridge
import pytest
from support import framework, refused
from verdicts import DTYPES, check, check_all

paddle = framework("paddle")
np = framework("numpy")


def here(y):
    return y.data_ptr()


@pytest.mark.parametrize("name", DTYPES)
def test_explain_of_every_layout_and_dtype_agrees_with_convert(name):
    verdicts = check_all(name, "paddle", place=here)
    # Some have more dimensions than its tensors.
    assert set(verdicts) in ({"shared", "copied", "refused"}, {"refused"})


def test_explain_beyond_maximum_rank_is_refused():
    x = np.zeros((1,) * 9, "float32")
    assert check(x, "paddle", place=here) == "shared"
    assert check(x[None], "paddle", place=here) == "refused"
    assert "at most 9 dimensions" in dlbridge.explain(x[None], "paddle").reason


def test_explain_of_paddle_tensor_agrees_with_convert():
    for name in ("float32", "int8", "bool", "bfloat16", "complex64", "int64"):
        x = paddle.ones([4, 16]).astype(name)
        for view in (x, x.T, x[:, ::2]):
            for to, place in [
                ("paddle", here),
                ("numpy", lambda y: y.ctypes.data),
                ("dlbridge", lambda y: y.data_ptr),
            ]:
                assert check(view, to, place=place) == "shared"
        assert (
            dlbridge.zeros(2, x.dtype).dtype
            == dlbridge.zeros(2, getattr(paddle, name)).dtype
            == name
        )


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_second_export_of_unsigned_tensor_is_copied(dtype):
    tensor = dlbridge.zeros(64, dtype)
    first = tensor.to("paddle")
    explained = dlbridge.explain(tensor, "paddle")
    assert (explained.outcome, explained.reason) == (
        "copied",
        f"Paddle has this memory of {dtype} already, and can't have it twice",
    )
    with refused(BufferError, "can't have it twice; copy it first"):
        tensor.to("paddle")
    copy = tensor.to("paddle", copy=None)
    assert copy.data_ptr() != first.data_ptr() == tensor.data_ptr
    del first
    gc.collect()
    assert tensor.to("paddle").data_ptr() == tensor.data_ptr


@pytest.mark.parametrize("name", ["uint32", "uint64", "float32", "bool"])
def test_empty_tensors_come_any_number_of_times(name):
    for make in (lambda: dlbridge.zeros((0, 3), name), lambda: np.zeros((0, 3), name)):
        all_of = [dlbridge.convert(make(), "paddle", copy=copy) for copy in (False, True, None)]
        assert dlbridge.explain(make(), "paddle").outcome == "shared"
        assert {tuple(one.shape) for one in all_of} == {(0, 3)}
        assert len({one.data_ptr() for one in all_of}) == 3
