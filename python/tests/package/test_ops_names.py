"""Tests of the listing of ops and kernels: names, signatures, help, and tables."""

import copy
import inspect
import itertools
import pickle
import pydoc

import dlbridge
import pytest
from dlbridge import _catalog, ops
from support import refused

# The lists are of a process in which no other extension has published ops.
pytestmark = pytest.mark.own_process

TYPES = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = TYPES[:4]
ANY = sorted([*TYPES, "bool"])
# What comes after each op's own arguments, where it has results.
REST = "out=None, like=None, label='', memory='own')"
SIGNATURES = {
    "add": f"(a, b, *, {REST}",
    "axpy": "(alpha, x, y, *, like=None, label='', memory='own')",
    "cast": f"(x, *, dtype, {REST}",
    "copy": f"(x, *, {REST}",
    "div": f"(a, b, *, {REST}",
    "image_to_tensor": (
        f"(image, mean, std, *, dtype='float32', height=0, width=0, scale=0.00392156862745098, {REST}"
    ),
    "matmul": f"(a, b, *, {REST}",
    "max": f"(x, *, axis=None, keepdims=False, {REST}",
    "mean": f"(x, *, axis=None, keepdims=False, {REST}",
    "mul": f"(a, b, *, {REST}",
    "rms_norm": f"(x, weight, *, eps=1e-06, {REST}",
    "softmax": f"(x, *, axis=-1, {REST}",
    "sub": f"(a, b, *, {REST}",
    "sum": f"(x, *, axis=None, keepdims=False, {REST}",
}
OPS = {
    "add": "add(a: T, b: T) -> out: T",
    "axpy": "axpy(alpha: T, x: T, y: T) -> y",
    "cast": "cast(x: S, *, dtype: dtype) -> out: dtype",
    "copy": "copy(x: T) -> out: T",
    "div": "div(a: T, b: T) -> out: T",
    "image_to_tensor": (
        'image_to_tensor(image: uint8, mean: float32, std: float32, *, dtype: dtype = "float32", height: int = 0, '
        "width: int = 0, scale: float = 0.00392156862745098) -> out: dtype"
    ),
    "matmul": "matmul(a: T, b: T) -> out: T",
    "max": "max(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T",
    "mean": "mean(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T",
    "mul": "mul(a: T, b: T) -> out: T",
    "rms_norm": "rms_norm(x: T, weight: T, *, eps: float = 1e-6) -> out: T",
    "softmax": "softmax(x: T, *, axis: int = -1) -> out: T",
    "sub": "sub(a: T, b: T) -> out: T",
    "sum": "sum(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T",
}
NAMES = [*OPS]
LISTED = ", ".join(NAMES)
DEVICES = {"cpu": "dlbridge::ops::", "cuda": "dlbridge::cuda::ops::"}
# The types of each op's kernels for one device.
OF_KERNELS = {
    **{name: {"T": TYPES} for name in NAMES},
    **{name: {"T": FLOATS} for name in ("div", "mean", "rms_norm", "softmax")},
    "cast": {"S": ANY},
    "copy": {"T": []},
    "image_to_tensor": {},
}


@pytest.fixture
def published(monkeypatch):
    """Has ops of another extension be there until the test is over."""
    monkeypatch.setattr(_catalog, "adopted", dict(_catalog.adopted))
    monkeypatch.setattr(_catalog, "adopted_kernels", list(_catalog.adopted_kernels))
    monkeypatch.setattr(_catalog, "recorders", list(_catalog.recorders))
    before = set(vars(ops))
    yield lambda functions, rows: ops._adopt(functions, rows, dlbridge._core._Recorder)
    for name in set(vars(ops)) - before:
        delattr(ops, name)


def row(op, **others):
    return {
        "op": op,
        "device": "cuda",
        "types": {},
        "label": "",
        "priority": 0,
        "origin": "",
        **others,
    }


def test_ops_module_lists_its_ops():
    assert dir(ops) == NAMES
    for name in NAMES:
        function = getattr(ops, name)
        assert getattr(ops, name) is function and callable(function) and inspect.isbuiltin(function)
        assert (function.__name__, function.__module__) == (name, "dlbridge.ops")
    with refused(AttributeError, f"there is no op 'subtract'; there are {LISTED}"):
        ops.subtract
    with refused(AttributeError, "__wrapped__"):
        ops.__wrapped__
    with refused(LookupError, f"subtract: there is no such op; there are {LISTED}"):
        dlbridge._core._op("subtract")
    assert dlbridge._core._op_names() == NAMES
    assert not hasattr(ops, "nothing") and copy.deepcopy(ops.add) is ops.add


@pytest.mark.parametrize("name", NAMES)
def test_ops_have_signatures_and_help(name):
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


def test_kernels_returns_one_row_for_op_and_device():
    kernels = dlbridge.kernels()
    assert isinstance(kernels, list) and dlbridge.kernels is ops.kernels
    assert [(kernel["op"], kernel["device"]) for kernel in kernels] == list(
        itertools.product(NAMES, DEVICES)
    )
    for name in NAMES:
        of_op = dlbridge.kernels(name)
        assert (
            of_op
            == [kernel for kernel in kernels if kernel["op"] == name]
            == getattr(ops, name).__self__.kernels()
        )
        for kernel in of_op:
            assert (kernel["label"], kernel["priority"]) == ("", 0)
            assert kernel["origin"].startswith(DEVICES[kernel["device"]])
            types = {variable: sorted(types) for variable, types in kernel["types"].items()}
            assert types == {
                variable: sorted(types) for variable, types in OF_KERNELS[name].items()
            }
            # A text for each of the kernels, of which most are for one type.
            asked = [
                f", {variable}={dtype}"
                for variable, types in kernel["types"].items()
                for dtype in types
            ] or [""]
            count = 3 if name == "image_to_tensor" else len(asked)
            assert len(kernel["descriptions"]) == count
            for of_type, description in zip(asked, kernel["descriptions"]):
                assert description.startswith(f"{name} ({kernel['device']}{of_type}")
    of_images = {
        text for kernel in dlbridge.kernels("image_to_tensor") for text in kernel["descriptions"]
    }
    dtypes = ("float32", "float16", "bfloat16")
    assert of_images == {
        f'image_to_tensor ({device}, dtype="{dtype}")' for dtype in dtypes for device in DEVICES
    }
    assert dlbridge.kernels("subtract") == [] and str(dlbridge.kernels("subtract")).splitlines()[
        0
    ].startswith("op ")
    kernels.clear()
    assert dlbridge.kernels()


def test_kernels_print_as_a_table(published):
    lines = str(dlbridge.kernels("matmul")).splitlines()
    assert lines[0].split() == "op device types label priority from".split()
    assert len(lines) == 2 + len(DEVICES)
    assert set(lines[1]) == {"-", " "}
    types = "|".join(dlbridge.kernels("matmul")[0]["types"]["T"])
    assert lines[2] == f"matmul  cpu     T: {types}  -      0         dlbridge::ops::matmul"
    published(
        {"mine.scale": len},
        [
            row(
                "mine.scale",
                types={"T": ["int8", "int16"], "U": []},
                label="fast",
                priority=-3,
                origin="mine",
            )
        ],
    )
    line = str(dlbridge.kernels("mine.scale")).splitlines()[2]
    assert line.split() == "mine.scale cuda T: int8|int16, U: any fast -3 mine".split()


def test_ops_of_other_extensions_are_listed(published):
    published(
        {"zeta": len, "image.normalize": str, "image.filter.blur": repr, "image.filter.edges": abs},
        [row("zeta")],
    )
    assert dir(ops) == sorted([*NAMES, "image", "zeta"]) and ops.zeta is len
    assert dir(ops.image) == ["filter", "normalize"] and dir(ops.image.filter) == ["blur", "edges"]
    assert ops.image.normalize is str and ops.image.filter.blur is repr
    assert repr(ops.image) == "<ops image: filter, normalize>" and ops.image is ops.image
    there_are = (
        "there is no op 'image.sharpen'; there are add, axpy,",
        " image.filter.blur, image.filter.edges",
    )
    with refused(AttributeError, *there_are):
        ops.image.sharpen
    with refused(AttributeError, "__len__"):
        ops.image.__len__
    assert copy.copy(ops.image).normalize is str
    assert dlbridge.kernels()[-1] == row("zeta") and dlbridge.kernels("zeta") == [row("zeta")]
    # Names that come later are found, and none that is taken.
    with refused(ValueError, "there are ops of these names already: zeta, add"):
        published({"zeta": abs, "add": abs, "image.late": abs}, [])
    published({"image.late": abs}, [])
    assert ops.image.late is abs and ops.zeta is len


def test_op_names_of_python_builtins_are_usable(published):
    names = ["max", "sum", "sorted", "zip", "len", "str", "globals", "getattr"]
    published({name: abs for name in names[2:]}, [row("zip")])
    found = [getattr(ops, name) for name in names]
    assert [op.__name__ for op in found[:2]] == names[:2] and found[2:] == [abs] * 6
    # All that is said of ops still is.
    assert set(names) < set(dir(ops)) and str(dlbridge.kernels("zip")).splitlines()[2].startswith(
        "zip  cuda"
    )
    with refused(AttributeError, "there is no op 'subtract'"):
        ops.subtract
    assert ops.softmax.__name__ == "softmax"
