"""Ops of another extension: each kind of attribute, several results, fixed types, and kernels that
go wrong.
"""

import inspect

import dlbridge
import dlbridge_testing
import pytest
from support import framework, refused

np = framework("numpy")
if not hasattr(dlbridge.ops, "testing"):
    dlbridge_testing.publish_ops()
ops = dlbridge.ops.testing


def kinds(**attributes):
    numbers, typed = ops.kinds(np.zeros(3), **attributes)
    return numbers.tolist(), typed.dtype


def test_attributes_of_each_kind_are_accepted():
    assert kinds(flag=True) == ([1, -3, np.inf, 7], "uint8")
    assert kinds(flag=np.False_, count=np.int8(7), factor=0.25, text="", dtype="float16") == (
        [0, 7, 0.25, 0],
        "f2",
    )
    assert kinds(flag=False, count=None, factor=2, dtype=np.dtype("i4")) == ([0, -3, 2, 7], "i4")
    assert (
        kinds(
            flag=False, factor=np.float32(0.5), text="é\N{SNOWMAN}", dtype=dlbridge.zeros(1).dtype
        )[0][3]
        == 2
    )
    assert kinds(flag=False, factor=-(2**53))[0][2] == -(2**53)
    with refused(TypeError, 'testing.kinds: argument "flag" is missing'):
        kinds()
    with refused(TypeError, 'testing.kinds: argument "flag" is missing'):
        kinds(flag=None)


@pytest.mark.parametrize(
    "name, kind, values",
    [
        ("flag", "bool", [1, 0.0, "True", [], np.ones(2, bool)]),
        ("count", "int", [1.0, "1", True, 1 << 63, -(1 << 63) - 1, [1], 1j]),
        ("factor", "float", ["1", True, 1j, [1.0], (1 << 53) + 1, 1 << 1100]),
        ("text", "str", [1, b"text", ["text"], "\udc80"]),
        ("dtype", "dtype", ["float31", 1, 2.5, object()]),
    ],
)
def test_attributes_of_other_kinds_are_refused(name, kind, values):
    for value in values:
        with refused(
            TypeError, f'testing.kinds: attribute "{name}" is of kind {kind}, not {value!r}'
        ):
            kinds(**{"flag": True, name: value})


def test_signature_shows_attributes_of_every_kind():
    parameters = inspect.signature(ops.kinds).parameters
    assert list(parameters)[:6] == ["x", "flag", "count", "factor", "text", "dtype"]
    defaults = [parameters[name].default for name in ("flag", "count", "factor", "text", "dtype")]
    # Infinity has no literal.
    assert defaults == [inspect.Parameter.empty, -3, ..., "it's \u0301\n", "uint8"]
    assert ops.kinds.__name__ == "testing.kinds" and "Gives back" in ops.kinds.__doc__
    assert dlbridge.kernels("testing.kinds")[0]["origin"] == "dlbridge_testing::ops"


def test_op_with_two_results_returns_or_writes_both():
    x, numbers, typed = np.zeros(3), np.zeros(4), np.zeros(2, "u1")
    for out in ((numbers, typed), (numbers, None), (None, typed), (None, None), None):
        results = ops.kinds(x, flag=True, out=out)
        assert type(results) is tuple and len(results) == 2 and results[0][1] == -3
        assert [a is b for a, b in zip(results, out or ())] == [b is not None for b in out or ()]
    assert ops.kinds(x, numbers=numbers, typed=typed, flag=True)[1] is typed
    with refused(TypeError, 'argument "typed" has elements of uint8, and the result is int8'):
        ops.kinds(x, flag=True, typed=typed, dtype="int8")
    with refused(TypeError, "testing.kinds: expected a tuple of 2 tensors for out, got"):
        ops.kinds(x, flag=True, out=numbers)
    with refused(TypeError, 'argument "numbers" was given twice'):
        ops.kinds(x, flag=True, numbers=numbers, out=(numbers, None))
    with refused(
        TypeError,
        'there is no argument "other"; there are x, numbers, typed, flag',
        "dtype, out, like",
    ):
        ops.kinds(x, other=1)


@pytest.mark.parametrize("size", [3, 1000])
def test_panicking_kernel_raises_and_releases_arguments(size, capfd):
    x = np.ones(size, "f4")
    assert ops.panics(x, out=x) is x
    x[-1] = -2
    for _ in range(3):
        with pytest.raises(BaseException) as caught:
            ops.panics(x, out=x)
        assert (
            type(caught.value).__name__ == "PanicException"
            and str(caught.value) == "-2 is negative"
        )
    assert "-2 is negative" in capfd.readouterr().err
    # Nothing is held after it.
    x[:] = 3
    assert ops.panics(x, out=x) is x and dlbridge.ops.add(x, 1, out=x) is x and (x == 4).all()


def test_panic_while_a_framework_is_asked_is_raised(monkeypatch):
    """PyO3 lets a panic go on where its exception arrives, which no function of C may do."""
    retry = lambda *_: ops.panics(np.full(3, -2, "f4"))  # noqa: E731
    monkeypatch.setattr(dlbridge._hosts, "retry", retry)
    for _ in range(3):
        with pytest.raises(BaseException, match="-2 is negative") as caught:
            dlbridge.ops.add(object(), 1)
        assert type(caught.value).__name__ == "PanicException"


@pytest.mark.parametrize("size", [3, 1000])
def test_raising_kernel_passes_on_the_exception(size):
    x, y = np.ones(size, "f2"), np.zeros(size, bool)
    assert ops.raises(x, y) is y and y.all()
    x[0] = 2.5
    for _ in range(3):
        with refused(KeyError, "2.5"):
            ops.raises(x, y)
    assert not y.any()


def test_failing_kernel_raises_runtime_error():
    with refused(RuntimeError, "testing.fails: testing.fails (cpu) failed: 3 are too many"):
        ops.fails(np.ones(3, "f4"))


def test_fixed_dtypes_are_checked():
    y = np.zeros((), bool)
    assert ops.raises(1, y) is y and y
    with refused(TypeError, 'argument "x" has elements of float32, and float16 is needed'):
        ops.raises(np.ones((), "f4"), y)
    with refused(ValueError, 'testing.raises: argument "x": 70000 can\'t be stored as float16'):
        ops.raises(70000, y)
    wrong = np.array([0, 1, 2], "u1").view(bool)
    with refused(
        ValueError, 'testing.raises: argument "y" has a byte 0x02, which is not a valid bool'
    ):
        ops.raises(np.ones(3, "f2"), wrong)
    assert wrong.view("u1").tolist() == [0, 1, 2]


def test_second_publication_of_ops_is_refused():
    names = ", ".join(f"testing.{name}" for name in dir(ops))
    with refused(ValueError, f"there are ops of these names already: {names}"):
        dlbridge_testing.publish_ops()
    assert len(dlbridge.kernels("testing.kinds")) == 1
