"""Tests of the listing of ops and kernels: names, signatures, help, and tables."""

import copy
import inspect
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
# What the CPU casts besides.
CAST = """complex32 complex64 complex128 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz
float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int1 int2 int4 uint1
uint2 uint4""".split()
# What comes after each op's own arguments, where it has results.
REST = "out=None, like=None, label='', memory='own', threads=None)"
SIGNATURES = {
    "abs": f"(x, *, {REST}",
    "add": f"(a, b, *, {REST}",
    "argmax": f"(x, *, axis=None, keepdims=False, {REST}",
    "argmin": f"(x, *, axis=None, keepdims=False, {REST}",
    "axpy": "(alpha, x, y, *, like=None, label='', memory='own', threads=None)",
    "broadcast_like": f"(x, other, *, {REST}",
    "cast": f"(x, *, dtype, saturate=False, {REST}",
    "concat": f"(*xs, axis=0, {REST}",
    "copy": f"(x, *, {REST}",
    "dequantize": f"(q, scale, zero_point=None, *, dtype='float32', axis=-1, group=0, {REST}",
    "divide": f"(a, b, *, {REST}",
    "equal": f"(a, b, *, {REST}",
    "exp": f"(x, *, {REST}",
    "expand_dims": f"(x, *, axis=0, {REST}",
    "fma": f"(a, b, c, *, {REST}",
    "gelu": f"(x, *, approximate='none', {REST}",
    "greater": f"(a, b, *, {REST}",
    "greater_equal": f"(a, b, *, {REST}",
    "image_to_tensor": (
        f"(image, mean, std, *, dtype='float32', height=0, width=0, scale=0.00392156862745098, "
        f"crop=None, flip=False, resize='bilinear', {REST}"
    ),
    "index_add": "(x, indices, source, *, axis=0, like=None, label='', memory='own', threads=None)",
    "layer_norm": f"(x, weight=None, bias=None, *, axis=-1, eps=1e-05, {REST}",
    "less": f"(a, b, *, {REST}",
    "less_equal": f"(a, b, *, {REST}",
    "log": f"(x, *, {REST}",
    "log_softmax": f"(x, *, axis=-1, {REST}",
    "matmul": f"(a, b, *, dtype=None, {REST}",
    "matrix_transpose": f"(x, *, {REST}",
    "max": f"(x, *, axis=None, keepdims=False, {REST}",
    "maximum": f"(a, b, *, {REST}",
    "mean": f"(x, *, axis=None, keepdims=False, {REST}",
    "mean_backward": f"(grad, other, *, axis=None, keepdims=False, {REST}",
    "min": f"(x, *, axis=None, keepdims=False, {REST}",
    "minimum": f"(a, b, *, {REST}",
    "multiply": f"(a, b, *, {REST}",
    "negative": f"(x, *, {REST}",
    "not_equal": f"(a, b, *, {REST}",
    "nv12_to_rgb": f"(y, uv, *, standard='bt601', full_range=False, {REST}",
    "quantize": f"(x, scale, zero_point=None, *, dtype='int8', axis=-1, group=0, {REST}",
    "relu": f"(x, *, {REST}",
    "rms_norm": f"(x, weight=None, *, eps=1e-06, {REST}",
    "rms_norm_backward": f"(grad, x, weight=None, *, eps=1e-06, {REST}",
    "rms_norm_factor": f"(x, *, eps=1e-06, {REST}",
    "rsqrt": f"(x, *, {REST}",
    "sigmoid": f"(x, *, {REST}",
    "silu": f"(x, *, {REST}",
    "softmax": f"(x, *, axis=-1, {REST}",
    "sqrt": f"(x, *, {REST}",
    "std": f"(x, *, axis=None, correction=0.0, keepdims=False, {REST}",
    "subtract": f"(a, b, *, {REST}",
    "sum": f"(x, *, axis=None, keepdims=False, dtype=None, {REST}",
    "sum_backward": f"(grad, other, *, axis=None, keepdims=False, {REST}",
    "sum_to_like": f"(x, other, *, {REST}",
    "take": f"(x, indices, *, axis=0, {REST}",
    "tanh": f"(x, *, {REST}",
    "topk": f"(x, *, k, axis=-1, largest=True, sorted=True, {REST}",
    "var": f"(x, *, axis=None, correction=0.0, keepdims=False, {REST}",
    "where": f"(condition, a, b, *, {REST}",
}
OPS = {
    "abs": "abs(x: T) -> out: T",
    "add": "add(a: T, b: T) -> out: T",
    "argmax": "argmax(x: T, *, axis: int | None = None, keepdims: bool = False) -> out: int64",
    "argmin": "argmin(x: T, *, axis: int | None = None, keepdims: bool = False) -> out: int64",
    "axpy": "axpy(alpha: T, x: T, y: T) -> y",
    "broadcast_like": "broadcast_like(x: T, other: T) -> out: T",
    "cast": "cast(x: S, *, dtype: dtype, saturate: bool = False) -> out: dtype",
    "concat": "concat(*xs: T, axis: int = 0) -> out: T",
    "copy": "copy(x: T) -> out: T",
    "dequantize": (
        'dequantize(q: Q, scale: float32, zero_point: int32 | None = None, *, dtype: dtype = "float32", axis: int = -1, '
        "group: int = 0) -> out: dtype"
    ),
    "divide": "divide(a: T, b: T) -> out: T",
    "equal": "equal(a: T, b: T) -> out: bool",
    "exp": "exp(x: T) -> out: T",
    "expand_dims": "expand_dims(x: T, *, axis: int = 0) -> out: T",
    "fma": "fma(a: T, b: T, c: T) -> out: T",
    "gelu": 'gelu(x: T, *, approximate: str = "none") -> out: T',
    "greater": "greater(a: T, b: T) -> out: bool",
    "greater_equal": "greater_equal(a: T, b: T) -> out: bool",
    "image_to_tensor": (
        'image_to_tensor(image: uint8, mean: float32, std: float32, *, dtype: dtype = "float32", height: int = 0, '
        "width: int = 0, scale: float = 0.00392156862745098, crop: ints | None = None, flip: bool = False, "
        'resize: str = "bilinear") -> out: dtype'
    ),
    "index_add": "index_add(x: T, indices: I, source: T, *, axis: int = 0) -> x",
    "layer_norm": (
        "layer_norm(x: T, weight: T | None = None, bias: T | None = None, *, axis: int = -1, eps: float = 1e-5) -> "
        "out: T"
    ),
    "less": "less(a: T, b: T) -> out: bool",
    "less_equal": "less_equal(a: T, b: T) -> out: bool",
    "log": "log(x: T) -> out: T",
    "log_softmax": "log_softmax(x: T, *, axis: int = -1) -> out: T",
    "matmul": "matmul(a: T, b: T, *, dtype: dtype | None = None) -> out: dtype | T",
    "matrix_transpose": "matrix_transpose(x: T) -> out: T",
    "max": "max(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T",
    "maximum": "maximum(a: T, b: T) -> out: T",
    "mean": "mean(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T",
    "mean_backward": (
        "mean_backward(grad: T, other: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T"
    ),
    "min": "min(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T",
    "minimum": "minimum(a: T, b: T) -> out: T",
    "multiply": "multiply(a: T, b: T) -> out: T",
    "negative": "negative(x: T) -> out: T",
    "not_equal": "not_equal(a: T, b: T) -> out: bool",
    "nv12_to_rgb": (
        'nv12_to_rgb(y: uint8, uv: uint8, *, standard: str = "bt601", full_range: bool = False) -> out: uint8'
    ),
    "quantize": (
        'quantize(x: F, scale: float32, zero_point: int32 | None = None, *, dtype: dtype = "int8", axis: int = -1, '
        "group: int = 0) -> out: dtype"
    ),
    "relu": "relu(x: T) -> out: T",
    "rms_norm": "rms_norm(x: T, weight: T | None = None, *, eps: float = 1e-6) -> out: T",
    "rms_norm_backward": (
        "rms_norm_backward(grad: T, x: T, weight: T | None = None, *, eps: float = 1e-6) -> out: T"
    ),
    "rms_norm_factor": "rms_norm_factor(x: T, *, eps: float = 1e-6) -> out: T",
    "rsqrt": "rsqrt(x: T) -> out: T",
    "sigmoid": "sigmoid(x: T) -> out: T",
    "silu": "silu(x: T) -> out: T",
    "softmax": "softmax(x: T, *, axis: int = -1) -> out: T",
    "sqrt": "sqrt(x: T) -> out: T",
    "std": (
        "std(x: T, *, axis: ints | None = None, correction: float = 0.0, keepdims: bool = False) -> out: T"
    ),
    "subtract": "subtract(a: T, b: T) -> out: T",
    "sum": (
        "sum(x: T, *, axis: ints | None = None, keepdims: bool = False, dtype: dtype | None = None) "
        "-> out: dtype | sum of T"
    ),
    "sum_backward": (
        "sum_backward(grad: T, other: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T"
    ),
    "sum_to_like": "sum_to_like(x: T, other: T) -> out: T",
    "take": "take(x: T, indices: I, *, axis: int = 0) -> out: T",
    "tanh": "tanh(x: T) -> out: T",
    "topk": (
        "topk(x: T, *, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> values: T, indices: int64"
    ),
    "var": (
        "var(x: T, *, axis: ints | None = None, correction: float = 0.0, keepdims: bool = False) -> out: T"
    ),
    "where": "where(condition: bool, a: T, b: T) -> out: T",
}
NAMES = [*OPS]
OF_FLOATS = """broadcast_like divide exp fma gelu layer_norm log log_softmax mean mean_backward rms_norm
rms_norm_backward rms_norm_factor rsqrt sigmoid silu softmax sqrt std sum_backward sum_to_like tanh
var""".split()
COMPARISONS = ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal", "where"]
LISTED = ", ".join(NAMES)
# The ops with kernels for GPUs.
ON_GPUS = """add axpy cast copy divide image_to_tensor matmul max mean multiply rms_norm softmax subtract
sum""".split()
DEVICES = {"cpu": "dlbridge::ops::", "cuda": "dlbridge::cuda::ops::"}
# The types of each op's kernels for one device.
OF_KERNELS = {
    **{name: {"T": TYPES} for name in NAMES},
    **{name: {"T": FLOATS} for name in OF_FLOATS},
    **{name: {"T": [*TYPES, "bool"]} for name in COMPARISONS},
    "cast": {"S": ANY},
    "concat": {"T": []},
    "copy": {"T": []},
    "expand_dims": {"T": []},
    "matrix_transpose": {"T": []},
    "dequantize": {"Q": ["int8", "uint8", "int4", "uint4"]},
    "image_to_tensor": {},
    "index_add": {"T": TYPES, "I": ["int32", "int64"]},
    "nv12_to_rgb": {},
    "quantize": {"F": ["float32", "float16", "bfloat16"]},
    "take": {"T": [], "I": ["int32", "int64"]},
}


@pytest.fixture
def published(monkeypatch):
    """Has ops of another extension be there until the test is over."""
    monkeypatch.setattr(_catalog, "adopted", dict(_catalog.adopted))
    monkeypatch.setattr(_catalog, "adopted_kernels", list(_catalog.adopted_kernels))
    monkeypatch.setattr(_catalog, "recorders", list(_catalog.recorders))
    monkeypatch.setattr(_catalog, "setters", list(_catalog.setters))
    before = set(vars(ops))
    yield lambda functions, rows: ops._adopt(
        functions, rows, dlbridge._core._Recorder, dlbridge._core._set_num_threads
    )
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
    with refused(AttributeError, f"there is no op 'remainder'; there are {LISTED}"):
        ops.remainder
    with refused(AttributeError, "__wrapped__"):
        ops.__wrapped__
    with refused(LookupError, f"remainder: there is no such op; there are {LISTED}"):
        dlbridge._core._op("remainder")
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
    assert pickle.loads(pickle.dumps(op)).signature == op.signature
    assert pickle.loads(pickle.dumps(function)).__name__ == name


def test_kernels_returns_one_row_for_op_and_device():
    kernels = dlbridge.kernels()
    assert isinstance(kernels, list) and dlbridge.kernels is ops.kernels
    assert [(kernel["op"], kernel["device"]) for kernel in kernels] == [
        (name, device) for name in NAMES for device in DEVICES if device == "cpu" or name in ON_GPUS
    ]
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
            expected = {variable: sorted(types) for variable, types in OF_KERNELS[name].items()}
            if (name, kernel["device"]) == ("cast", "cpu"):
                expected = {"S": sorted([*ANY, *CAST])}
            assert types == expected
            # A text for each of the kernels, of which most are for one type.
            asked = [
                f", {variable}={dtype}"
                for variable, types in kernel["types"].items()
                for dtype in types
            ] or [""]
            if name == "index_add":
                dtypes, indices = kernel["types"]["T"], kernel["types"]["I"]
                asked = [f", T={dtype}, I={index}" for index in indices for dtype in dtypes]
            count = 3 if name == "image_to_tensor" else len(asked)
            if (name, kernel["device"]) == ("cast", "cpu"):
                # One for all types but bool, and one for bool.
                count, asked = 2, [", S=int1|int2|int4|", ", S=bool, "]
            if (name, kernel["device"]) == ("matmul", "cpu"):
                # Four more are for results of another type.
                count += 4
            if name == "dequantize":
                # One for each type of result.
                count, asked = 3, 3 * [", Q=int8|uint8|int4|uint4, dtype="]
            if name == "gelu":
                # One for each of its forms.
                count = 2 * len(asked)
            descriptions = kernel["descriptions"]
            assert len(descriptions) == count and descriptions == sorted(descriptions)
            for of_type in asked:
                start = f"{name} ({kernel['device']}{of_type}"
                assert any(description.startswith(start) for description in descriptions)
    of_images = {
        text for kernel in dlbridge.kernels("image_to_tensor") for text in kernel["descriptions"]
    }
    dtypes = ("float32", "float16", "bfloat16")
    assert of_images == {
        f'image_to_tensor ({device}, dtype="{dtype}")' for dtype in dtypes for device in DEVICES
    }
    assert dlbridge.kernels("remainder") == [] and str(dlbridge.kernels("remainder")).splitlines()[
        0
    ].startswith("op ")
    assert dlbridge.kernels("sub") == dlbridge.kernels("subtract") and ops.sub is ops.subtract
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
        "there is no op 'image.sharpen'; there are abs, add, argmax,",
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
    with refused(AttributeError, "there is no op 'remainder'"):
        ops.remainder
    assert ops.softmax.__name__ == "softmax"
