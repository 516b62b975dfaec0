"""What Python is told of ops and kernels: names, signatures, help, and tables."""

import copy
import inspect
import pickle
import pydoc

import dlbridge
import pytest
from dlbridge import ops
from support import refused

NAMES = ["add", "axpy", "matmul", "sum"]
TYPES = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
SIGNATURES = {
    "add": "(a, b, *, out=None, like=None, label='', memory='own')",
    "axpy": "(alpha, x, y, *, like=None, label='', memory='own')",
    "matmul": "(a, b, *, out=None, like=None, label='', memory='own')",
    "sum": "(x, *, axis=(), keepdims=False, out=None, like=None, label='', memory='own')",
}
OPS = {
    "add": "add(a: T, b: T) -> out: T",
    "axpy": "axpy(alpha: T, x: T, y: T) -> y",
    "matmul": "matmul(a: T, b: T) -> out: T",
    "sum": "sum(x: T, *, axis: ints = (), keepdims: bool = False) -> out: T",
}


@pytest.fixture
def published(monkeypatch):
    """Has ops of another extension be there until the test is over."""
    monkeypatch.setattr(ops, "_adopted", dict(ops._adopted))
    monkeypatch.setattr(ops, "_adopted_kernels", list(ops._adopted_kernels))
    before = set(vars(ops))
    monkeypatch.setattr(ops, "_recorders", list(ops._recorders))
    yield lambda functions, rows: ops._adopt(functions, rows, dlbridge._core._Recorder)
    for name in set(vars(ops)) - before:
        delattr(ops, name)


def row(op, **others):
    return {"op": op, "device": "cuda", "types": {}, "label": "", "priority": 0, "origin": "", **others}


def test_names():
    assert dir(ops) == NAMES
    for name in NAMES:
        function = getattr(ops, name)
        assert getattr(ops, name) is function and callable(function) and inspect.isbuiltin(function)
        assert (function.__name__, function.__module__) == (name, "dlbridge.ops")
    with refused(AttributeError, "there is no op 'subtract'; there are add, axpy, matmul, sum"):
        ops.subtract
    with refused(AttributeError, "__wrapped__"):
        ops.__wrapped__
    with refused(LookupError, "subtract: there is no such op; there are add, axpy, matmul, sum"):
        dlbridge._core._op("subtract")
    assert dlbridge._core._op_names() == NAMES
    assert not hasattr(ops, "nothing") and copy.deepcopy(ops.add) is ops.add


@pytest.mark.parametrize("name", NAMES)
def test_signatures_and_help(name):
    function = getattr(ops, name)
    assert str(inspect.signature(function)) == SIGNATURES[name]
    op = function.__self__
    assert (op.name, op.signature, repr(op)) == (name, OPS[name], f"<op {OPS[name]}>")
    assert op.doc in function.__doc__ and OPS[name] in function.__doc__ and len(op.doc) > 20
    text = pydoc.plain(pydoc.render_doc(function))
    assert name + SIGNATURES[name] in text and op.doc in text
    assert type(op).__name__ == "Op" and type(op).__module__ == "dlbridge"
    with refused(AttributeError, "not writable"):
        op.name = "other"
    with refused(TypeError, "cannot create", "Op"):
        type(op)()
    with refused(TypeError, "cannot pickle"):
        pickle.dumps(op)


def test_kernels():
    kernels = dlbridge.kernels()
    assert isinstance(kernels, list) and len(kernels) == len(NAMES) * len(TYPES) and dlbridge.kernels is ops.kernels
    for name in NAMES:
        of_op = dlbridge.kernels(name)
        assert of_op == [kernel for kernel in kernels if kernel["op"] == name] == getattr(ops, name).__self__.kernels()
        assert [kernel["types"] for kernel in of_op] == [{"T": [dtype]} for dtype in TYPES]
        for kernel, dtype in zip(of_op, TYPES):
            assert (kernel["device"], kernel["label"], kernel["priority"]) == ("cpu", "", 0)
            assert kernel["origin"] == f"dlbridge::ops::{name}"
            assert kernel["description"].startswith(f"{name} (cpu, T={dtype}")
    assert dlbridge.kernels("subtract") == [] and str(dlbridge.kernels("subtract")).splitlines()[0].startswith("op ")
    kernels.clear()
    assert dlbridge.kernels()


def test_kernels_as_a_table(published):
    lines = str(dlbridge.kernels("matmul")).splitlines()
    assert lines[0].split() == "op device types label priority from".split() and len(lines) == 2 + len(TYPES)
    assert set(lines[1]) == {"-", " "}
    assert lines[3] == "matmul  cpu     T: float64   -      0         dlbridge::ops::matmul"
    published(
        {"mine.scale": len},
        [row("mine.scale", types={"T": ["int8", "int16"], "U": []}, label="fast", priority=-3, origin="mine")],
    )
    line = str(dlbridge.kernels("mine.scale")).splitlines()[2]
    assert line.split() == "mine.scale cuda T: int8|int16, U: any fast -3 mine".split()


def test_ops_of_other_extensions(published):
    published(
        {"zeta": len, "image.normalize": str, "image.filter.blur": repr, "image.filter.edges": abs}, [row("zeta")]
    )
    assert dir(ops) == ["add", "axpy", "image", "matmul", "sum", "zeta"] and ops.zeta is len
    assert dir(ops.image) == ["filter", "normalize"] and dir(ops.image.filter) == ["blur", "edges"]
    assert ops.image.normalize is str and ops.image.filter.blur is repr
    assert repr(ops.image) == "<ops image: filter, normalize>" and ops.image is ops.image
    with refused(AttributeError, "there is no op 'image.sharpen'; there are add, axpy, image.filter.blur"):
        ops.image.sharpen
    with refused(AttributeError, "__len__"):
        ops.image.__len__
    assert copy.copy(ops.image).normalize is str
    assert len(dlbridge.kernels()) == 49 and dlbridge.kernels("zeta") == [row("zeta")]
    # Names that come later are found, and none that is taken.
    with refused(ValueError, "there are ops of these names already: zeta, add"):
        published({"zeta": abs, "add": abs, "image.late": abs}, [])
    published({"image.late": abs}, [])
    assert ops.image.late is abs and ops.zeta is len
