"""The attributes of exceptions that conversions and ops raise, and the exceptions' classes."""

import dlbridge
import pytest
from support import framework

np = framework("numpy")


def fields(exception, function, *arguments, **keywords):
    """What an exception's attributes say, whose text ends with the remedy."""
    with pytest.raises(exception) as caught:
        function(*arguments, **keywords)
    error = caught.value
    assert type(error) is exception
    if error.remedy is not None:
        assert str(error).endswith("; " + error.remedy)
    return error.kind, error.found, error.wanted, error.remedy


def test_op_dtype():
    a, b = np.ones(3, "f4"), np.ones(3)
    assert fields(TypeError, dlbridge.ops.add, a, b) == ("dtype", "float64", "float32", None)


def test_op_out_dtype():
    a = np.ones(3, "f4")
    assert fields(TypeError, dlbridge.ops.add, a, a, out=np.ones(3)) == (
        "dtype",
        "float64",
        "float32",
        None,
    )


def test_op_shape():
    a = np.ones(3, "f4")
    assert fields(ValueError, dlbridge.ops.add, a, a, out=np.ones(4, "f4")) == (
        "shape",
        "[4]",
        "[3]",
        None,
    )


def test_op_alias():
    x = np.ones(4, "f4")
    kind, found, _, remedy = fields(ValueError, dlbridge.ops.add, x[:3], x[:3], out=x[1:])
    assert (kind, found) == ("alias", "a") and remedy.endswith("pass a copy")


def test_op_read_only():
    x = np.ones(3, "f4")
    x.flags.writeable = False
    assert fields(BufferError, dlbridge.ops.add, x, x, out=x)[0] == "readonly"


def test_op_argument_that_is_no_tensor():
    assert fields(TypeError, dlbridge.ops.add, np.ones(3), "text")[0] == "type"


def test_op_argument_count():
    assert fields(TypeError, dlbridge.ops.add, np.ones(3))[0] == "argument"


def test_op_without_kernel():
    i4 = dlbridge.zeros(4, "int4")
    assert fields(LookupError, dlbridge.ops.add, i4, i4)[0] == "kernel"


def test_unknown_names():
    assert fields(LookupError, dlbridge.zeros, 3, "float33")[:2] == ("name", "float33")
    assert fields(LookupError, dlbridge.zeros, 3, device="gpu")[:2] == ("name", "gpu")


def test_conversion_dtype():
    assert fields(BufferError, dlbridge.convert, dlbridge.zeros(4, "int4"), "numpy")[:2] == (
        "dtype",
        "int4",
    )


def test_conversion_rank():
    x = dlbridge.zeros((1,) * 65)
    assert fields(BufferError, dlbridge.convert, x, "numpy")[:3] == ("rank", "65", "at most 64")


def test_conversion_layout_and_its_remedy():
    framework("torch")
    kind, found, wanted, remedy = fields(
        BufferError, dlbridge.convert, np.ones(4, "f4")[::-1], "torch"
    )
    assert (kind, found) == ("layout", "shape [4], strides [-1]")
    assert (wanted, remedy) == ("no negative strides", "copy it first")


def test_conversion_read_only():
    framework("torch")
    x = np.ones(4, "f4")
    x.flags.writeable = False
    assert fields(BufferError, dlbridge.convert, x, "torch", readonly="refuse")[0] == "readonly"


def test_torch_states():
    torch = framework("torch")
    grad = torch.ones(3, requires_grad=True)
    assert fields(BufferError, dlbridge.from_dlpack, grad)[::3] == (
        "requires_grad",
        "pass tensor.detach()",
    )
    conjugated = torch.ones(3, dtype=torch.complex64).conj()
    assert fields(BufferError, dlbridge.from_dlpack, conjugated)[::3] == (
        "conjugate",
        "pass tensor.resolve_conj()",
    )
    negated = torch.ones(3, dtype=torch.complex64).conj().imag
    assert fields(BufferError, dlbridge.from_dlpack, negated)[::3] == (
        "negative",
        "pass tensor.resolve_neg()",
    )


def test_explanations_have_the_same_fields():
    x = np.ones(4, "f4")[::-1]
    explanation = dlbridge.explain(x, "paddle")
    assert (explanation.kind, explanation.found) == ("layout", "shape [4], strides [-1]")
    assert dlbridge.explain(np.ones(3), "numpy").kind is None
