"""The attributes of exceptions that conversions and ops raise, and the exceptions' classes."""

import ast
import re
from pathlib import Path

import dlbridge
import pytest
from support import framework, in_new_process

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


def test_mixed_dtypes_of_ops_are_refused_with_the_cast_that_helps():
    ones = {name: np.ones(3, name) for name in "f4 f8 f2 i4 i8 u1 i1 u8 ? c8".split()}

    def of(a, b):
        kind, *rest = fields(TypeError, dlbridge.ops.add, ones[a], ones[b])
        assert kind == "dtype"
        return tuple(rest)

    assert of("f4", "f8") == ("float32", "float64", 'cast "a" to float64')
    assert of("f8", "f4") == ("float32", "float64", 'cast "b" to float64')
    assert of("i4", "f8") == ("int32", "float64", 'cast "a" to float64')
    assert of("f2", "i8") == ("int64", "float16", 'cast "b" to float16')
    assert of("?", "u1") == ("bool", "uint8", 'cast "a" to uint8')
    assert of("u1", "i1") == ("int8", "int16", 'cast "a" and "b" to int16')
    assert of("f8", "c8") == ("complex64", "complex128", 'cast "a" and "b" to complex128')
    assert of("u8", "i4") == (
        "int32",
        "uint64",
        "cast them to one dtype, as no dtype has the numbers of both",
    )
    # Every op has the same rule.
    x, y, where = ones["f4"], ones["f8"], ones["?"]
    for op, arguments in [
        (dlbridge.ops.where, (where, x, y)),
        (dlbridge.ops.fma, (y, x, y)),
        (dlbridge.ops.matmul, (x, y)),
        (dlbridge.ops.concat, (x, y)),
        (dlbridge.ops.layer_norm, (x, y)),
        (dlbridge.ops.equal, (x, y)),
        (dlbridge.ops.maximum, (x, y)),
    ]:
        kind, found, wanted, remedy = fields(TypeError, op, *arguments)
        assert (kind, found, wanted) == ("dtype", "float32", "float64")
        assert remedy.startswith('cast "') and remedy.endswith(" to float64")
    # What is written can't be cast.
    _, found, wanted, remedy = fields(TypeError, dlbridge.ops.axpy, x[0:1].reshape(()), y, x)
    assert (found, wanted, remedy) == ("float64", "float32", 'cast "x" to float32')
    # Python's numbers take the dtype of the tensors.
    assert dlbridge.ops.add(x, 2).dtype == x.dtype and dlbridge.ops.add(True, y).dtype == y.dtype


def test_op_out_dtype_mismatch_has_fields():
    a = np.ones(3, "f4")
    assert fields(TypeError, dlbridge.ops.add, a, a, out=np.ones(3)) == (
        "dtype",
        "float64",
        "float32",
        "pass a tensor of float32",
    )


def test_op_shape_mismatch_has_fields():
    a = np.ones(3, "f4")
    assert fields(ValueError, dlbridge.ops.add, a, a, out=np.ones(4, "f4")) == (
        "shape",
        "[4]",
        "[3]",
        None,
    )


def test_op_overlapping_out_has_fields():
    x = np.ones(4, "f4")
    kind, found, _, remedy = fields(ValueError, dlbridge.ops.add, x[:3], x[:3], out=x[1:])
    assert (kind, found) == ("alias", "a") and remedy.endswith("pass a copy")


def test_op_read_only_out_has_fields():
    x = np.ones(3, "f4")
    x.flags.writeable = False
    assert fields(BufferError, dlbridge.ops.add, x, x, out=x)[0] == "readonly"


def test_op_non_tensor_argument_has_fields():
    assert fields(TypeError, dlbridge.ops.add, np.ones(3), "text")[0] == "type"


def test_op_missing_argument_has_fields():
    assert fields(TypeError, dlbridge.ops.add, np.ones(3))[0] == "argument"


X = np.ones((2, 3), "f4")


@pytest.mark.parametrize(
    "exception, call, text, expected",
    [
        (
            TypeError,
            lambda: dlbridge.ops.sum(X, X),
            "sum: takes 1 tensor but 2 were given",
            ("argument", "2", "1", None),
        ),
        (
            TypeError,
            lambda: dlbridge.ops.add(X, X, label=3),
            "add: expected a str for label, got int",
            ("argument", "int", "str", None),
        ),
        (
            ValueError,
            lambda: dlbridge.ops.add(X, X, memory="shared"),
            'add: expected "own" or "caller" for memory, got shared',
            ("argument", "shared", '"own" or "caller"', None),
        ),
        (
            TypeError,
            lambda: dlbridge.ops.sum(X, axis="x"),
            "sum: attribute \"axis\" is of kind ints | None, not 'x'",
            ("argument", "'x'", "ints | None", None),
        ),
        (
            IndexError,
            lambda: dlbridge.from_dlpack(X)[2],
            "index 2 is out of bounds for axis 0 with size 2",
            ("index", "2", "-2 to 1", None),
        ),
        (
            IndexError,
            lambda: dlbridge.from_dlpack(X)[0, 0, 0],
            "too many indices: the tensor has rank 2, but 3 were given",
            ("index", "3 indices", "at most 2", None),
        ),
        (
            IndexError,
            lambda: dlbridge.from_dlpack(X)[..., ...],
            "an index has at most one ...",
            ("index", "several ...", "one ...", None),
        ),
        (
            TypeError,
            lambda: dlbridge.from_dlpack(X)["x"],
            "a tensor is indexed by integers, slices, ... or None, got str; "
            "convert it to a framework, without a copy, to gather elements",
            (
                "argument",
                "str",
                "integers, slices, ... or None",
                "convert it to a framework, without a copy, to gather elements",
            ),
        ),
        (
            ValueError,
            lambda: dlbridge.zeros(3).mT,
            "mT needs a tensor of rank 2 or more, got rank 1",
            ("rank", "1", "2 or more", None),
        ),
        (
            TypeError,
            lambda: len(dlbridge.zeros(())),
            "a tensor of rank 0 has no length",
            ("rank", "0", "1 or more", None),
        ),
        (
            TypeError,
            lambda: [0][dlbridge.zeros(())],
            "expected an integer tensor of rank 0 as an index, got float64, shape []",
            ("argument", "float64, shape []", "an integer tensor of rank 0", None),
        ),
        (
            ValueError,
            lambda: dlbridge.from_dlpack(X).to_device("cpu", stream=1),
            "to_device doesn't support the stream argument; "
            "use `with dlbridge.cuda.stream(stream):`",
            (
                "argument",
                "a stream",
                "stream=None",
                "use `with dlbridge.cuda.stream(stream):`",
            ),
        ),
        (
            ValueError,
            lambda: dlbridge.zeros((2, -1)),
            "(2, -1) has a negative size",
            ("shape", "(2, -1)", "0 or more", None),
        ),
        (
            ValueError,
            lambda: dlbridge.asarray([[1], [2, 3]]),
            "the lists are not all of one length, or not all as deep",
            ("shape", "ragged lists", "lists of equal lengths", None),
        ),
        (
            TypeError,
            lambda: dlbridge.asarray([1, "x"]),
            "expected numbers in the list, got str",
            ("argument", "str", "a number", None),
        ),
        (
            BufferError,
            lambda: dlbridge.asarray([1], copy=False),
            "elements of another dtype, or of Python objects, need a copy, which copy=False forbids; pass copy=None",
            ("copy", "copy=False", "copy=None", "pass copy=None"),
        ),
        (
            ValueError,
            lambda: dlbridge.arange(0, 1, 0),
            "arange can't count in steps of 0",
            ("argument", "0", "another step", None),
        ),
        (
            TypeError,
            lambda: dlbridge.arange("x"),
            "expected a number, got str",
            ("argument", "str", "a number", None),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_argument_has_text_and_fields(exception, call, text, expected):
    with pytest.raises(exception) as caught:
        call()
    error = caught.value
    assert (type(error), str(error)) == (exception, text)
    assert (error.kind, error.found, error.wanted, error.remedy) == expected


def test_op_without_kernel_has_fields():
    i4 = dlbridge.zeros(4, "int4")
    assert fields(LookupError, dlbridge.ops.add, i4, i4)[0] == "kernel"


def test_unknown_dtype_or_device_has_fields():
    assert fields(LookupError, dlbridge.zeros, 3, "float33")[:2] == ("name", "float33")
    assert fields(LookupError, dlbridge.zeros, 3, device="gpu")[:2] == ("name", "gpu")


def test_conversion_of_unsupported_dtype_has_fields():
    assert fields(BufferError, dlbridge.convert, dlbridge.zeros(4, "int4"), "numpy")[:2] == (
        "dtype",
        "int4",
    )


def test_conversion_of_excessive_rank_has_fields():
    x = dlbridge.zeros((1,) * 65)
    assert fields(BufferError, dlbridge.convert, x, "numpy")[:3] == ("rank", "65", "at most 64")


def test_conversion_of_unsupported_layout_has_remedy():
    framework("torch")
    kind, found, wanted, remedy = fields(
        BufferError, dlbridge.convert, np.ones(4, "f4")[::-1], "torch"
    )
    assert (kind, found) == ("layout", "shape [4], strides [-1]")
    assert (wanted, remedy) == ("no negative strides", "copy it first")


def test_conversion_of_read_only_memory_has_fields():
    framework("torch")
    x = np.ones(4, "f4")
    x.flags.writeable = False
    assert fields(BufferError, dlbridge.convert, x, "torch", readonly="refuse")[0] == "readonly"


def test_special_torch_tensors_have_fields():
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


def test_explanation_has_the_exceptions_fields():
    x = np.ones(4, "f4")[::-1]
    explanation = dlbridge.explain(x, "paddle")
    assert (explanation.kind, explanation.found) == ("layout", "shape [4], strides [-1]")
    assert dlbridge.explain(np.ones(3), "numpy").kind is None


def test_every_exception_that_is_raised_in_python_gets_fields():
    # Exceptions that are made elsewhere are variables, of which there are none that weren't caught.
    package = Path(dlbridge.__file__).parent
    table = (Path(__file__).resolve().parents[3] / "docs/errors.md").read_text()
    kinds = set(re.findall(r"^\|[^|]+\| `[^|]+` \| `(\w+)` \|", table, re.MULTILINE))

    def has_fields(call):
        is_call = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        return is_call and call.func.id == "with_fields" and call.args[1].value in kinds

    files = [file for file in package.rglob("*.py") if "_doctor" not in file.parts]
    trees = {file: ast.parse(file.read_text()) for file in files}
    # Functions that return such exceptions, to be raised by their callers.
    makers = set()
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef):
            returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return)]
            if returned and all(map(has_fields, returned)):
                makers.add(node.name)
    seen = 0
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            text = ast.unparse(node)
            # Names with an underscore are what Python itself asks for; the others can't happen.
            if text == "raise AttributeError(name)" or "AssertionError" in text:
                continue
            place = f"{file.relative_to(package)}:{node.lineno}: {text}"
            assert has_fields(node.exc) or node.exc.func.id in makers, place
            seen += 1
    assert seen > 30


ALL_HOSTS = "torch, jax, tensorflow, tvm"


@pytest.mark.parametrize(
    ("exception", "call", "expected"),
    [
        (
            LookupError,
            lambda: dlbridge.publish("pytorch"),
            ("name", "pytorch", ALL_HOSTS, None),
        ),
        (LookupError, lambda: dlbridge.publish({}), ("name", {}, ALL_HOSTS, None)),
        (LookupError, lambda: dlbridge.ufunc(3), ("name", 3, None, None)),
        (RuntimeError, lambda: dlbridge.ufunc("softmax"), ("argument", None, None, None)),
        (TypeError, lambda: dlbridge.ufunc("cast"), ("argument", None, "dtype", None)),
        (TypeError, lambda: dlbridge.ufunc("add", axis=1), ("argument", "axis", None, None)),
        (TypeError, lambda: dlbridge.readonly(1), ("argument", "int", "str", None)),
        (
            ValueError,
            lambda: dlbridge.readonly("no"),
            ("value", '"no"', '"warn", "share" or "refuse"', None),
        ),
        (
            AttributeError,
            lambda: dlbridge.ops.sofmax,
            ("name", "sofmax", None, "did you mean 'softmax'?"),
        ),
    ],
)
def test_exception_that_is_raised_in_python_has_fields(exception, call, expected):
    assert fields(exception, call) == expected


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "", "x" * 1_000_000, "ad\nd"])
def test_strange_name_of_an_op_is_an_attribute_that_there_is_not(name):
    assert not hasattr(dlbridge.ops, name)
    kind, found, wanted, remedy = fields(AttributeError, getattr, dlbridge.ops, name)
    assert (kind, found, wanted) == ("name", name, None) and remedy.startswith("there are abs, add")


def test_publish_before_the_import_has_remedy():
    in_new_process("""
        import dlbridge
        try:
            dlbridge.publish("tvm")
        except RuntimeError as error:
            assert str(error) == "tvm_ffi isn't imported; import it before ops are published"
            assert (error.kind, error.found, error.wanted) == ("name", None, "tvm_ffi")
            assert error.remedy == "import it before ops are published"
        else:
            raise AssertionError("it was published")
    """)


def test_frameworks_that_are_not_installed_are_refused_and_explained():
    code = """
    import sys, dlbridge
    class None_:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "mxnet":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.meta_path.insert(0, None_())
    x = dlbridge.ones(2)
    try:
        dlbridge.convert(x, "mxnet")
    except ImportError as error:
        print(type(error).__name__, error.kind, error.found, error.name, error)
        print(type(error.__cause__).__name__)
    """
    said = in_new_process(code).splitlines()
    assert said == [
        "ModuleNotFoundError name mxnet mxnet MXNet isn't installed; install the package mxnet",
        "ModuleNotFoundError",
    ]


def test_frameworks_that_cannot_be_found_are_explained():
    code = """
    import importlib.machinery, sys, dlbridge
    find = importlib.machinery.PathFinder.find_spec
    importlib.machinery.PathFinder.find_spec = classmethod(
        lambda cls, name, *more: None if name == "mxnet" else find(name, *more)
    )
    outlook = dlbridge.explain(dlbridge.ones(2), "mxnet")
    print(outlook.outcome, outlook.kind, outlook)
    print(dlbridge.explain(dlbridge.ones(2), "dlbridge").outcome)
    """
    said = in_new_process(code).splitlines()
    assert said[0].startswith("refused name mxnet can't have the tensor: MXNet isn't installed; ")
    assert said[1:] == ["shared"]


@pytest.mark.parametrize(
    "exception, kind, call",
    [
        (ValueError, "shape", lambda x: float(x)),
        (ValueError, "shape", lambda x: x.broadcast_to(-1)),
        (ValueError, "shape", lambda x: x.reshape(-2, 3)),
        (ValueError, "shape", lambda x: x.reshape(-1, 4)),
        (BufferError, "dtype", lambda x: memoryview(dlbridge.ones(2, "bfloat16"))),
        (BufferError, "device", lambda x: x.__dlpack__(stream=5)),
        (BufferError, "device", lambda x: x.to_device("cpu:1")),
        (LookupError, "name", lambda x: dlbridge.convert(x, "nothing")),
        (TypeError, "argument", lambda x: dlbridge.kernels(1)),
    ],
)
def test_kinds_of_errors_say_what_they_are_about(exception, kind, call):
    assert fields(exception, call, dlbridge.ones(3))[0] == kind
