"""Tests that `explain` agrees with `convert`: NumPy's arrays to the lighter frameworks."""

import importlib.util
import pickle
import sys

import dlbridge
import pytest
from support import REQUIRE_ALL, framework, refused
from verdicts import DTYPES, arrays, check, check_all

np = framework("numpy")

LIGHT = ["dlbridge", "numpy", "mlx", "pyarrow"]


def skip_without(to):
    if importlib.util.find_spec(to) is None:
        assert not REQUIRE_ALL, f"{to} isn't installed"
        pytest.skip(f"{to} isn't installed")


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("to", LIGHT)
def test_explain_of_every_layout_and_dtype_agrees_with_convert(to, name):
    skip_without(to)
    verdicts = check_all(name, to)
    if to in ("dlbridge", "numpy"):
        assert set(verdicts) == {"shared"}
    if to == "mlx":
        assert set(verdicts) in ({"copied"}, {"refused"})


@pytest.mark.parametrize("name", ["int4", "float6_e2m3fn", "handle", "float32x2", "int1"])
def test_explain_of_unsupported_dtype_is_refused(name):
    t = dlbridge.empty((2, 4), name)
    for to in LIGHT[1:]:
        skip_without(to)
        assert check(t, to) == "refused"
    assert check(t, "dlbridge") == "shared"


def test_explain_beyond_maximum_rank_is_refused():
    for rank in (32, 33, 64, 65):
        t = dlbridge.zeros((1,) * rank)
        assert check(t, "numpy") == ("shared" if rank <= 64 else "refused")
        assert check(t, "dlbridge") == "shared"


def test_explain_of_an_array_says_shared():
    explanation = dlbridge.explain(np.zeros(3), "numpy")
    assert (
        explanation.to,
        explanation.outcome,
        explanation.reason,
        explanation.remedy,
    ) == ("numpy", "shared", None, None)
    assert explanation and explanation.shares and str(explanation) == "numpy would share the memory"


def test_explain_of_a_copy_names_the_reason():
    # None of these is imported by being asked about.
    explanation = dlbridge.explain(np.zeros(4)[::-1], "paddle")
    assert (explanation.outcome, explanation.reason) == (
        "copied",
        "Paddle has no negative strides, as in [-1]",
    )
    assert not explanation and explanation.remedy == "pass copy=None to have it copied"
    assert (
        str(explanation) == f"paddle would need a copy: {explanation.reason}; {explanation.remedy}"
    )
    explanation = dlbridge.explain(
        next(x for x in arrays("float32") if x.ctypes.data % 64), "tensorflow"
    )
    assert explanation.outcome == "copied" and "aligned to 64 bytes" in explanation.reason
    assert "dlbridge.empty" in explanation.remedy
    assert (explanation.kind, explanation.wanted) == ("alignment", "a multiple of 64")


def test_explain_of_a_refusal_names_the_remedy():
    explanation = dlbridge.explain(dlbridge.zeros(4, "complex32"), "tensorflow")
    assert (explanation.outcome, explanation.reason, explanation.remedy) == (
        "refused",
        "TensorFlow has no complex32",
        None,
    )
    assert str(explanation) == "tensorflow can't have the tensor: TensorFlow has no complex32"
    assert (explanation.kind, explanation.found) == ("dtype", "complex32")


class NoLonger:
    """A producer that refuses with a way out."""

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        error = BufferError("it was donated; make another")
        error.remedy = "make another"
        raise error


@pytest.mark.parametrize(
    "x, reason, remedy",
    [
        (3, "expected a tensor, got int", None),
        ("text", "expected a tensor, got str", None),
        ([1, 2], "expected a tensor, got list", None),
        (np.array(["a"]), "has no DLPack equivalent", None),
        (
            np.zeros(2, ">f4"),
            "has no DLPack equivalent",
            'pass x.astype(x.dtype.newbyteorder("="))',
        ),
        (NoLonger(), "it was donated", "make another"),
    ],
)
def test_explain_of_a_non_tensor_names_the_error(x, reason, remedy):
    for to in ("numpy", "torch", "jax"):
        explanation = dlbridge.explain(x, to)
        assert (
            explanation.outcome == "refused"
            and reason in explanation.reason
            and explanation.remedy == remedy
        )
        for copy in (False, None):
            with pytest.raises((TypeError, BufferError), match=reason):
                dlbridge.convert(x, "numpy", copy=copy)


@pytest.mark.parametrize("x", [np.zeros(2), dlbridge.zeros(2), 3, "x", np.array(["a"])], ids=repr)
def test_explain_to_unknown_framework_raises_lookup_error(x):
    with refused(LookupError, "no framework is called", "nothing", "numpy, torch, jax"):
        dlbridge.explain(x, "nothing")
    for to in ("", "NumPy", "numpy ", "torch.Tensor"):
        with refused(LookupError, "no framework is called"):
            dlbridge.explain(x, to)
    with refused(TypeError):
        dlbridge.explain(x, None)


def test_explanations_compare_by_value():
    x = np.zeros(4)
    first, again = dlbridge.explain(x[::-1], "torch"), dlbridge.explain(x[::-1], "torch")
    assert first == again and not first != again and first != "copied"
    assert first != dlbridge.explain(x[::-1], "paddle") and first != dlbridge.explain(
        x[::-2], "torch"
    )
    made = dlbridge.Explanation(
        "torch",
        "copied",
        first.reason,
        first.remedy,
        kind=first.kind,
        found=first.found,
        wanted=first.wanted,
    )
    assert made == first and eval(repr(first), {"Explanation": dlbridge.Explanation}) == first
    assert pickle.loads(pickle.dumps(first)) == first
    with refused(TypeError, "unhashable"):
        hash(first)
    with refused(AttributeError):
        first.other = 1
    with refused(AttributeError):
        first.shares = True
    assert not hasattr(first, "__dict__")


def test_explain_leaves_a_capsule_as_it_was():
    for version in (None, (1, 0)):
        x = np.arange(3.0)
        capsule = x.__dlpack__(max_version=version)
        assert dlbridge.explain(capsule, "torch").outcome == "shared"
        assert dlbridge.explain(capsule, "numpy").outcome == "shared"
        made = dlbridge.convert(capsule, "numpy")
        assert made.ctypes.data == x.ctypes.data
        assert dlbridge.explain(capsule, "numpy").outcome == "refused"
        holders = sys.getrefcount(x)
        del made, capsule
        assert sys.getrefcount(x) == holders - 1


def test_explain_keeps_no_reference():
    owner = bytearray(8)
    assert dlbridge.explain(owner, "numpy")
    owner.append(1)  # which it can't while its buffer is lent
