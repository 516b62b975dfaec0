"""The package's types: what the stubs say is what the module has, and what type checkers make of
programs.
"""

import ast
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path

import dlbridge
import pytest
import stub_docs
from support import REQUIRE_ALL

if importlib.util.find_spec("mypy") is None:
    assert not REQUIRE_ALL, "mypy isn't installed"
    pytest.skip("mypy isn't installed", allow_module_level=True)

RIGHT = """
import array
import pathlib
from typing import Any

import dlbridge
from dlbridge import Device, DType, Explanation, Tensor


class Producer:
    def __dlpack__(self, *, stream: int | None = None) -> object:
        raise NotImplementedError

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Named:
    name = "float32"


t: Tensor = dlbridge.asarray([[1, 2], [3, 4]], "float32", device="cpu", copy=None)
t = dlbridge.from_dlpack(Producer(), device=t.device, copy=False)
t = dlbridge.from_dlpack(b"ab")
t = dlbridge.asarray(array.array("d", [1.0]), dtype=Named())
t = dlbridge.asarray(1j)
t = dlbridge.zeros(3)
t = dlbridge.ones((2, 3), float)
t = dlbridge.empty([2, 3], t.dtype, device=(1, 0))
t = dlbridge.full((), 2.5, dtype="bfloat16")
t = dlbridge.full((), fill_value=2.5)
t = dlbridge.zeros(3, dtype=None)
t = dlbridge.arange(0, 1, 0.25, "float16")
shape: tuple[int, ...] = t.shape + t.strides
dtype: DType = t.dtype
device: Device = t.device
text: str = dtype.name + device.kind + t.owner + repr(t)
number: int = t.ndim + t.size + t.nbytes + t.data_ptr + dtype.bits + dtype.lanes + device.id
truth: bool = t.readonly and t.is_contiguous and dtype == "float32" and t.equals(t) and t.allclose(t, rtol=1.0)
t = t[
    0, 1:, ..., None, ::-1,
][-1].T.transpose(1, 0).transpose([0, 1]).reshape(2, -1).reshape((4,)).squeeze().unsqueeze(0)
t = t.broadcast_to(2, 3).broadcast_to([2, 2, 3]).view("int32").copy()
t = t.mT.permute_dims((1, 0)).expand_dims(-1).to_device("cpu").to_device(t.device, stream=None)
t = dlbridge.expand_dims(dlbridge.permute_dims(Producer(), [1, 0]), axis=1)
rows: list[Tensor] = list(t)
answer: Tensor = (t == 1) != (t == t)
item: Any = t.item()
view: memoryview = memoryview(t)
index: str = "abc"[t[0]]
real: float = float(t) + int(t) + len(t)
imaginary: complex = complex(t)
capsule = t.to_dlpack(max_version=(1, 3))
t = dlbridge.from_dlpack(capsule)
ours: Tensor = dlbridge.convert(Producer(), "dlbridge")
ours = t.to("dlbridge", copy=True)
theirs: Any = dlbridge.convert(t, "torch", copy=None)
theirs = dlbridge.convert(t, "torch", readonly="share") or t.to("torch", readonly="warn")
capsule = t.to_dlpack(readonly="refuse")
with dlbridge.readonly("share"):
    quiet: Any = dlbridge.to_pytorch_func(len, readonly="refuse")(dlbridge.wrap(len, "torch", readonly="warn"))
warning: type[UserWarning] = dlbridge.ReadOnlyWarning
explanation: Explanation = dlbridge.explain(Producer(), "jax")
explanation = dlbridge.explain(Producer(), "torch", readonly="refuse")
parts: tuple[str, str, str | None, str | None, str | None] = (
    explanation.to, explanation.outcome, explanation.reason, explanation.remedy, explanation.remark,
)
total: Tensor = dlbridge.ops.add(t, t)
total = dlbridge.ops.add(t, 1.5, label="", memory="caller")
total = dlbridge.ops.add(1, t, out=t)
total = dlbridge.ops.add(1, 2)
total = dlbridge.ops.add(b"ab", bytearray(2))
total = dlbridge.ops.sum(Producer(), axis=(0, -1), keepdims=True, like=t)
total = dlbridge.ops.axpy(2, Producer(), t)
total = dlbridge.ops.div(dlbridge.ops.sub(t, 2), dlbridge.ops.mul(2, t))
total = dlbridge.ops.copy(Producer(), out=t)
total = dlbridge.ops.cast(b"ab", dtype="float16")
total = dlbridge.ops.rms_norm(t, t, eps=1e-5, out=t)
total = dlbridge.ops.softmax(t, axis=-2, like=t)
total = dlbridge.ops.layer_norm(dlbridge.ops.rms_norm(t), None, t, axis=0, eps=1e-5)
total = dlbridge.ops.concat(t, t, axis=1)
produced: Producer = dlbridge.ops.matmul(Producer(), t)
produced = dlbridge.ops.max(dlbridge.ops.mean(Producer(), axis=0))
produced = dlbridge.ops.cast(Producer(), dtype=t.dtype)
produced = dlbridge.ops.image_to_tensor(Producer(), t, t, dtype=Named(), height=224, width=224, scale=1)
produced = dlbridge.ops.concat([Producer(), Producer()])
produced = dlbridge.ops.matmul(t, t, out=Producer(), dtype="int32")
buffer: bytearray = dlbridge.ops.add(b"ab", 1, out=bytearray(2))
found: Any = dlbridge.ops.other_extension.op(t, anything=3)
name: str = [*dlbridge.kernels(), *dlbridge.kernels("add")][0]["op"] + str(dlbridge.kernels())
with dlbridge.record() as calls:
    call: dlbridge.Call = calls[0]
    duration: float = call.seconds + sum(call.bytes for call in calls) + len(calls[1:])
to_torch: Any = dlbridge.wrap(dlbridge.ops.sum, "torch", over="numpy")(1)
to_torch = dlbridge.to_pytorch_func(dlbridge.ops.add)(1, 2) or dlbridge.to_mxnet_func(len, over="tvm")([])
op: dlbridge.Op
unaligned: list[str] = dlbridge.save("x.safetensors", {"a": t, "b": Producer()}, align=64, metadata={"a": "b"})
unaligned = dlbridge.save(pathlib.Path("x.npy"), t, format="npy")
message: bytes = dlbridge.dumps({"a": t}, "safetensors") + dlbridge.dumps(Producer(), format="npy")
loaded: dlbridge.Loaded = dlbridge.load("x.npy", "torch", device="cpu", names=["a"], writable=True)
loaded = dlbridge.loads(message, device=t.device, format="npy")
theirs = loaded.only or loaded["a"]
file: dlbridge.TensorFile = dlbridge.open_file(pathlib.Path("x.npy"), to="numpy", writable=False)
if explanation and explanation.shares:
    version: str = dlbridge.__version__
"""
# Each is wrong by itself.
WRONG = [
    "dlbridge.zeros('3')",
    "dlbridge.convert(t, 'torch', readonly='never')",
    "dlbridge.readonly('never')",
    "dlbridge.zeros(2.0)",
    "dlbridge.zeros(2, 3)",
    "dlbridge.zeros(2, device=1)",
    "dlbridge.zeros(2).shape + 1",
    "dlbridge.zeros(2)[1.0]",
    "dlbridge.zeros(2)['a']",
    "dlbridge.zeros(2).dtype.width",
    "dlbridge.zeros(2).size(0)",
    "dlbridge.zeros(2).reshape(2.0)",
    "dlbridge.zeros(2) < 1",
    "dlbridge.zeros(2).allclose(dlbridge.zeros(2), 0.1)",
    "dlbridge.from_dlpack([1, 2])",
    "dlbridge.from_dlpack(1)",
    "dlbridge.asarray('1')",
    "dlbridge.asarray(None)",
    "dlbridge.asarray(1, copy=1)",
    "dlbridge.full(2, '1')",
    "dlbridge.arange(1j)",
    "dlbridge.convert(dlbridge.zeros(2))",
    "dlbridge.convert(dlbridge.zeros(2), 'torch', None)",
    "dlbridge.zeros(2).to(1)",
    "dlbridge.explain(dlbridge.zeros(2), None)",
    "dlbridge.explain(dlbridge.zeros(2), 'jax').because",
    "dlbridge.ops.add(dlbridge.zeros(2))",
    "dlbridge.ops.add(dlbridge.zeros(2), [1])",
    "dlbridge.ops.add(dlbridge.zeros(2), 1, out=3)",
    "dlbridge.ops.add(dlbridge.zeros(2), 1, dlbridge.zeros(2))",
    "dlbridge.ops.sum(dlbridge.zeros(2), dlbridge.zeros(2))",
    "dlbridge.ops.copy(dlbridge.zeros(2), dlbridge.zeros(2))",
    "dlbridge.ops.cast(dlbridge.zeros(2), dlbridge.zeros(2), dtype='int8')",
    "dlbridge.ops.softmax(dlbridge.zeros(2), dlbridge.zeros(2))",
    "dlbridge.ops.rms_norm(dlbridge.zeros(2), dlbridge.zeros(2), dlbridge.zeros(2))",
    "dlbridge.full(2, value=1)",
    "dlbridge.zeros(2).permute_dims(1, 0)",
    "dlbridge.ops.add(dlbridge.zeros(2), 1, memory='theirs')",
    "dlbridge.ops.sum(dlbridge.zeros(2), axis=0.5)",
    "dlbridge.ops.axpy(1, dlbridge.zeros(2), 3)",
    "dlbridge.ops.cast(dlbridge.zeros(2))",
    "dlbridge.ops.cast(dlbridge.zeros(2), 'int8')",
    "dlbridge.ops.softmax(dlbridge.zeros(2), axis=(0, 1))",
    "dlbridge.ops.rms_norm(dlbridge.zeros(2), 1.0)",
    "dlbridge.ops.concat(xs=[dlbridge.zeros(2)])",
    "dlbridge.ops.concat(None)",
    "dlbridge.ops.image_to_tensor(dlbridge.zeros(2), 0, 1)",
    "dlbridge.ops.max(dlbridge.zeros(2), keepdims=0)",
    "y: int = dlbridge.ops.matmul(dlbridge.zeros(2), dlbridge.zeros(2))",
    "dlbridge.record(1)",
    "dlbridge.kernels(1)",
    "dlbridge.wrap(len)",
    "dlbridge._restore",
    "dlbridge.tensor([1])",
    "class Derived(dlbridge.Tensor): ...",
    "x: int = dlbridge.zeros(2)",
    "dlbridge.zeros(2).data_ptr = 0",
    "dlbridge.zeros(2)[0] = 1",
    "dlbridge.load('x.npy', device=object())",
    "dlbridge.load('x.npy', names=1)",
    "dlbridge.loads('x.npy')",
    "dlbridge.loads(b'x', device=1)",
    "dlbridge.open_file(1)",
    "dlbridge.dumps(5, 'npy')",
    "dlbridge.dumps(dlbridge.zeros(2))",
    "dlbridge.save('x.npy', {'a': 'text'})",
    "dlbridge.save('x.npy', [dlbridge.zeros(2)])",
]
#: Modules whose functions programs import from `dlbridge`. mypy reports errors only in those that
#: it is called with.
MODULES = [
    *("dlbridge", "dlbridge.cuda", "dlbridge.ops", "dlbridge.typing", "dlbridge._catalog"),
    *("dlbridge._explain", "dlbridge._files", "dlbridge._readonly", "dlbridge._record"),
    *("dlbridge._views", "dlbridge._wrap"),
]

# Names in the stubs of ops that aren't ops.
ALIASES = ["_Input", "_Memory", "_Axes"]


def run(module, *arguments, folder):
    """A tool's status and what it printed. It finds the package where this process did, installed
    or not.
    """
    path = os.pathsep.join(
        [str(Path(dlbridge.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "MYPY_CACHE_DIR": str(folder / "cache")},
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_stubs_match_the_module(tmp_path):
    # Python learned of buffers' methods in 3.12; type checkers of any version know them.
    (tmp_path / "allowed").write_text(
        "dlbridge._core.Tensor.__(release_)?buffer__\n" if sys.version_info < (3, 12) else "",
    )
    status, text = run("mypy.stubtest", "dlbridge._core", "--allowlist", "allowed", folder=tmp_path)
    assert status == 0, text


def test_stubs_name_every_public_attribute():
    stubs = (Path(dlbridge.__file__).parent / "_core.pyi").read_text()
    for name in dlbridge.__all__:
        # The others are in Python, and have their types there.
        if hasattr(dlbridge._core, name):
            assert f"class {name}" in stubs or f"def {name}(" in stubs, name
    for name in dir(dlbridge.Tensor):
        if not name.startswith("_"):
            assert f"def {name}(" in stubs, name


def test_stubs_of_ops_match_the_ops():
    tree = ast.parse((Path(dlbridge.__file__).parent / "_ops.pyi").read_text())
    # Functions, and variables of a class of what is called in the same way.
    stubs = [(node.name, node) for node in tree.body if isinstance(node, ast.FunctionDef)]
    classes = {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and node.target.id not in ALIASES:
            stubs += [(node.target.id, method) for method in classes[node.annotation.id]]
    assert {name for name, _ in stubs} == set(dlbridge._core._op_names())
    for name, stub in stubs:
        # As the function has it, results are named.
        assert "out" not in {argument.arg for argument in stub.args.args}
        variadic = [stub.args.vararg] if stub.args.vararg else []
        arguments = stub.args.args + stub.args.kwonlyargs + variadic
        names = {argument.arg for argument in arguments} - {"self"}
        assert names == set(inspect.signature(getattr(dlbridge.ops, name)).parameters)


@pytest.mark.parametrize("stub", ["_core.pyi", "_ops.pyi"])
def test_stub_docstrings_equal_the_runtime(stub):
    """Editors read the stubs alone. `python stub_docs.py` copies the docstrings there."""
    source = (stub_docs.FOLDER / stub).read_text()
    places, docs = stub_docs.places(ast.parse(source)), stub_docs.runtime_docs(stub)
    assert len(docs) > 10 and set(docs) <= set(places)
    for path, doc in docs.items():
        assert doc and stub_docs.words(stub_docs.stub_doc(places[path])) == stub_docs.words(doc), (
            path
        )
    # Nothing is left to be written.
    assert stub_docs.with_docs(source, docs) == source


def test_public_names_have_docstrings():
    import dlbridge.cuda

    for module in (dlbridge, dlbridge.cuda):
        for name in module.__all__:
            assert inspect.getdoc(getattr(module, name)), name
    for thing in (dlbridge.Explanation, dlbridge.Call, dlbridge.Calls, dlbridge.cuda.Properties):
        for name, member in vars(thing).items():
            if not name.startswith("_") and inspect.isfunction(member):
                assert inspect.getdoc(member), f"{thing.__name__}.{name}"


def test_package_passes_strict_mypy(tmp_path):
    assert (Path(dlbridge.__file__).parent / "py.typed").exists()
    status, text = run(
        "mypy", "--strict", *(f"--module={name}" for name in MODULES), folder=tmp_path
    )
    assert status == 0, text


def test_type_checker_accepts_a_valid_program(tmp_path):
    (tmp_path / "program.py").write_text(RIGHT)
    status, text = run("mypy", "--strict", "program.py", folder=tmp_path)
    assert status == 0, text


def test_type_checker_rejects_invalid_programs(tmp_path):
    (tmp_path / "program.py").write_text("import dlbridge\n" + "\n".join(WRONG))
    status, text = run("mypy", "--strict", "program.py", folder=tmp_path)
    found = {int(line.split(":")[1]) for line in text.splitlines() if ": error:" in line}
    right = [wrong for line, wrong in enumerate(WRONG, start=2) if line not in found]
    assert status == 1 and not right, text
