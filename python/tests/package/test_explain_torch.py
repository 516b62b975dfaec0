"""Tests that `explain` agrees with `convert`: from and to PyTorch."""

import dlbridge
import pytest
from support import framework
from verdicts import DTYPES, arrays, check, check_all

torch = framework("torch")
np = framework("numpy")

HERE = torch.Tensor.data_ptr
# PyTorch's elements of less than a byte are others.
PADDED = "int2 int4 uint2 uint4 float6_e2m3fn float6_e3m2fn float4_e2m1fn".split()
SHARED = [name for name in DTYPES if hasattr(torch, name) and name not in PADDED]


@pytest.mark.parametrize("name", DTYPES)
def test_explain_of_every_layout_and_dtype_agrees_with_convert(name):
    verdicts = check_all(name, "torch", place=HERE)
    assert set(verdicts) == ({"shared", "copied"} if name in SHARED else {"refused"})


@pytest.mark.parametrize("name", SHARED)
def test_explain_of_every_torch_view_agrees_with_convert(name):
    places = {"torch": HERE, "numpy": lambda y: y.ctypes.data, "dlbridge": lambda y: y.data_ptr}
    for x in arrays(name):
        if any(stride < 0 for stride in x.strides) or not x.flags.writeable:
            continue  # PyTorch has no such tensors.
        t = dlbridge.from_dlpack(x).to("torch")
        for to, place in places.items():
            assert check(t, to, place=place) == "shared"


@pytest.mark.parametrize(
    "make, remedy",
    [
        (lambda: torch.ones(3, requires_grad=True), "tensor.detach()"),
        (lambda: torch.ones(3, dtype=torch.complex64).conj(), "resolve_conj"),
        (lambda: torch.ones(3, dtype=torch.complex64).conj().imag, "resolve_neg"),
        (lambda: torch.ones(3).to_sparse(), None),
        (lambda: torch.ones(3, device="meta"), None),
    ],
)
def test_explain_of_special_tensor_is_refused_with_remedy(make, remedy):
    x = make()
    for to in ("numpy", "torch", "jax"):
        explanation = dlbridge.explain(x, to)
        assert explanation.outcome == "refused" and (remedy or "") in str(explanation)
        for copy in (False, None):
            with pytest.raises((BufferError, TypeError, ValueError)) as error:
                dlbridge.convert(x, to, copy=copy)
            assert explanation.reason in str(error.value)


def test_explain_of_read_only_array_warns_of_writes():
    x = np.ones(3, "f4")
    x.flags.writeable = False
    explanation = dlbridge.explain(x, "torch")
    assert (
        explanation.shares and "read-only" in explanation.remark and "forbidden" in str(explanation)
    )
    with dlbridge.readonly("refuse"):
        explanation = dlbridge.explain(x, "torch")
    assert (
        explanation.outcome == "copied"
        and "read-only" in explanation.reason
        and explanation.remark is None
    )
    y = dlbridge.convert(x, "torch", copy=None)
    y[0] = 5
    assert x.tolist() == [1, 1, 1]


def test_torch_dtypes_are_accepted_as_dtypes():
    for name in [name for name in DTYPES if hasattr(torch, name)]:
        assert dlbridge.full(2, 1, getattr(torch, name)).dtype == name
        assert dlbridge.zeros(16, "uint8").view(getattr(torch, name)).dtype == name
    for alias, name in [
        ("float", "float32"),
        ("half", "float16"),
        ("long", "int64"),
        ("cfloat", "complex64"),
        ("bool", "bool"),
    ]:
        assert dlbridge.zeros(2, getattr(torch, alias)).dtype == name
    assert dlbridge.zeros(2, device=torch.device("cpu")).device == "cpu"
    with pytest.raises(
        BufferError, match="there is no CUDA driver here|finds no GPU|there is no device cuda:77"
    ):
        dlbridge.zeros(2, device=torch.device("cuda", 77))
    with pytest.raises(LookupError, match="no element type is called"):
        dlbridge.zeros(2, torch.qint8)


def test_torch_scalars_are_indices_and_other_tensors_are_refused():
    t = dlbridge.arange(5)
    assert t[torch.tensor(2)].item() == 2
    # These gather, or are a mask.
    for key in (
        torch.tensor([2]),
        torch.tensor([1, 2]),
        torch.tensor(True),
        torch.tensor([True] * 5),
        torch.tensor(1.0),
    ):
        with pytest.raises(TypeError, match="indexed by integers"):
            t[key]


def test_comparison_with_torch_tensors_equals_numpy():
    t = dlbridge.asarray([1.0, 2.0, 3.0])
    x = torch.tensor([1.0, 5.0, 3.0], dtype=torch.float64)
    assert (
        (t == x).tolist() == [True, False, True]
        and not t.equals(x)
        and t.equals(x.new_tensor([1.0, 2.0, 3.0]))
    )
    assert t.allclose(torch.tensor([1.0, 2.0, 3.0]))
