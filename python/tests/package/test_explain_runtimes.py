"""Tests that `explain` agrees with `convert`: to TVM and ONNX Runtime."""

import importlib.util

import dlbridge
import pytest
from support import REQUIRE_ALL
from verdicts import DTYPES, check_all


def place(y):
    return (
        y.data_ptr() if callable(getattr(y, "data_ptr", None)) else dlbridge.from_dlpack(y).data_ptr
    )


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("to", ["tvm_ffi", "tvm", "onnxruntime"])
def test_explain_of_every_layout_and_dtype_agrees_with_convert(to, name):
    if importlib.util.find_spec(to) is None:
        assert not REQUIRE_ALL, f"{to} isn't installed"
        pytest.skip(f"{to} isn't installed")
    # Truth values leave ONNX Runtime as bytes, but as an array.
    is_bool = to == "onnxruntime" and name == "bool"
    read = (lambda y: dlbridge.from_dlpack(y.numpy())) if is_bool else dlbridge.from_dlpack
    verdicts = check_all(name, to, place=place, read=read)
    assert set(verdicts) in ({"shared"}, {"shared", "copied"}, {"refused"})
