"""Words of PyTorch's structs are read only while PyTorch's own functions agree with them."""

import pytest
from support import framework, in_fork

torch = framework("torch")

COUNT = """
import ctypes, torch
import dlbridge_testing as ext

asked = []
keys = torch._C._dispatch_keys
torch._C._dispatch_keys = lambda x: asked.append(1) or keys(x)

def questions_in_many_calls():
    x = torch.tensor([1.0, 2.0, 3.0])
    view = torch.arange(6.0)[::2]
    for _ in range(20):
        assert ext.read_f32(x) == [1, 2, 3] and ext.read_f32(view) == [0, 2, 4]
    for special in (torch._neg_view(x), torch.ones(3, requires_grad=True)):
        try:
            ext.read_f32(special)
        except BufferError:
            pass
        else:
            raise AssertionError("wrong values came in")
    return len(asked)
"""

#: PyTorch's function, with an answer about another tensor than the one that it was asked about.
REPLACED = """
Plain = ctypes.CDLL
function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
another = torch.zeros(1)
kept = []

class Library:
    def __init__(self, *arguments):
        self.library = Plain(*arguments)

    def __getattr__(self, name):
        real = getattr(self.library, name)
        if name != "torch_tensor_from_pyobject":
            return real
        answer = ctypes.cast(real, ctypes.c_void_p).value
        kept.append(function(lambda object, handle: function(answer)({object}, handle)))
        return kept[-1]

ctypes.CDLL = Library
"""


def has_function():
    from pathlib import Path

    library = Path(torch.__file__).parent / "lib/libtorch_cpu.so"
    return b"torch_tensor_from_pyobject" in library.read_bytes()


@pytest.mark.parametrize("object, is_probed", [("object", True), ("another", False)])
def test_probe_is_disabled_where_torch_disagrees(object, is_probed):
    if not has_function():
        pytest.skip("this PyTorch has no torch_tensor_from_pyobject")
    code = COUNT + REPLACED.replace("{object}", object)
    code += "\nasked = questions_in_many_calls()\nprint('asked', asked, 'compared', len(kept))"
    words = in_fork("torch", code).split()
    asked, compared = int(words[1]), int(words[3])
    assert compared >= 1
    assert asked <= 8 if is_probed else asked >= 40


#: Counts what PyTorch tells a mode of, while views are read. `hidden` takes the C++ function away.
OBSERVED = """
import ctypes, torch
import dlbridge_testing as ext
from torch.overrides import TorchFunctionMode

Plain = ctypes.CDLL
if {hidden}:
    def without_c10(path, *arguments):
        if "libc10" in str(path):
            raise OSError("not there")
        return Plain(path, *arguments)
    ctypes.CDLL = without_c10

ext.read_f32(torch.ones(1))
seen = []

class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        seen.append(function)
        return function(*args, **(kwargs or {}))

view = torch.arange(4.0)[1:]
with Mode():
    assert ext.read_f32(view) == [1, 2, 3]
print("seen", len(seen))
"""


@pytest.mark.parametrize("hidden", [False, True])
def test_requires_grad_runs_python_code_only_without_c_function(hidden):
    seen = int(in_fork("torch", OBSERVED.replace("{hidden}", str(hidden))).split()[-1])
    assert seen > 0 if hidden else seen == 0


def test_view_that_requires_grad_is_refused():
    in_fork(
        "torch",
        """
        import torch
        import dlbridge_testing as ext

        ext.read_f32(torch.ones(1))
        followed = torch.arange(4.0, requires_grad=True)
        for special in (followed, followed[1:], followed * 2):
            try:
                ext.read_f32(special)
            except BufferError as error:
                assert error.kind == "requires_grad", error.kind
            else:
                raise AssertionError("autograd lost it")
        with torch.no_grad():
            assert ext.read_f32((followed * 2)[1:]) == [2, 4, 6]
        """,
    )
