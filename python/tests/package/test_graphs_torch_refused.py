"""What ops of PyTorch's dispatcher refuse: other devices, tangents, and tensors without memory."""

import contextlib
import importlib

import pytest
from dlbridge import ops
from graph_torch import compiled, same
from support import framework, refused

torch = framework("torch")
from torch.autograd import forward_ad  # noqa: E402

ONE = torch.tensor(1.0)
X = torch.ones(3)
META = torch.ones(3, device="meta")
TANGENT = "the tensor has a tangent (forward-mode automatic differentiation)"

MIXED = {
    "followed": lambda: ops.add(torch.ones(3, requires_grad=True), META),
    "matmul": lambda: ops.matmul(
        torch.ones(1, 3, requires_grad=True), torch.ones(3, 1, device="meta")
    ),
    "op": lambda: torch.ops.dlbridge.add(X, META),
    "meta first": lambda: torch.ops.dlbridge.add(META, X),
    "variadic": lambda: torch.ops.dlbridge.concat([X, META]),
    "functional": lambda: torch.ops.dlbridge.axpy_functional(ONE, X, META),
    "written": lambda: torch.ops.dlbridge.axpy(ONE, META, X.clone()),
}


@pytest.mark.parametrize("call", MIXED.values(), ids=MIXED)
def test_tensors_of_several_devices_are_refused(call):
    with refused(ValueError, " is on ", ", and others are on ") as error:
        call()
    assert error.value.kind == "device"
    assert {error.value.found, error.value.wanted} == {"cpu", "meta"}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_calls_of_several_devices_are_refused(backend):
    torch._dynamo.reset()
    with pytest.raises(Exception, match=r"(others are on|on the device meta)"):
        torch.compile(ops.add, backend=backend)(X, META)


def exported(op):
    class Module(torch.nn.Module):
        def forward(self, x):
            return op(x)

    return torch.export.export(Module(), (X,)).module()


def index_add(x):
    y = torch.zeros(3)
    torch.ops.dlbridge.index_add(y, torch.tensor([0, 1, 2]), x)
    return y


#: Ops that declare no gradient.
DUAL = {
    "relu": lambda: torch.ops.dlbridge.relu,
    "concat": lambda: lambda x: torch.ops.dlbridge.concat([X, x]),
    "index_add": lambda: index_add,
    "exported relu": lambda: exported(ops.relu),
}


@pytest.mark.parametrize("function", DUAL.values(), ids=DUAL)
def test_tangents_are_refused(function):
    function = function()
    for follows in (False, True):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(3, requires_grad=follows), X)
            with refused(BufferError, TANGENT) as error:
                function(dual)
            assert error.value.kind == "requires_grad"
            # Without a tangent they are called.
            function(forward_ad.unpack_dual(dual).primal)
    with refused(BufferError, TANGENT):
        torch.func.jvp(function, (X,), (X,))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_calls_refuse_tangents(backend):
    torch._dynamo.reset()

    @torch.compile(fullgraph=True, backend=backend)
    def derivative(x):
        return torch.func.jvp(ops.relu, (x,), (torch.ones(3),))[1]

    with pytest.raises(Exception, match="has a tangent"):
        derivative(X)


def test_the_remedy_of_a_tangent_keeps_it():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(3, requires_grad=True), X)
        for call in (
            lambda: ops.relu(dual),
            lambda: ops.maximum(X, b=dual),
            lambda: ops.concat(X, dual),
        ):
            with refused(BufferError, TANGENT) as error:
                call()
            assert "unpack_dual(tensor).primal" in error.value.remedy


def test_tensors_without_memory_are_refused():
    text = "the data pointer is NULL, though there are 3 elements"
    z = torch.ones(3)
    z.untyped_storage().resize_(0)
    for call in (
        lambda: torch.ops.dlbridge.add(z, z),
        lambda: torch.ops.dlbridge.add(X, z),
        lambda: torch.ops.dlbridge.concat([X, z]),
        lambda: torch.ops.dlbridge.axpy(ONE, z, torch.zeros(3)),
        lambda: torch.ops.dlbridge.axpy(ONE, X, z),
    ):
        # A call like it came before.
        torch.ops.dlbridge.add(X, X)
        # Before PyTorch 2.10, lists are read in Python, whose error it is.
        with pytest.raises((RuntimeError, BufferError), match=text):
            call()
    empty = torch.ones(0, 3)
    assert torch.ops.dlbridge.add(empty, empty).shape == (0, 3)


ODD = {
    "sparse": lambda: X.to_sparse(),
    "oneDNN": lambda: X.to_mkldnn(),
    "nested": lambda: torch.nested.nested_tensor([X, X[1:]]),
}


@pytest.mark.parametrize("maker", ODD.values(), ids=ODD)
def test_tensors_without_memory_of_their_own_are_refused_as_before_the_compiler_came(maker):
    importlib.import_module("torch._dynamo")
    odd = maker()
    for level in (contextlib.nullcontext, forward_ad.dual_level):
        with level(), refused(BufferError, "the tensor isn't a plain one"):
            ops.add(odd, 1.0)


def test_decomposed_programs_are_trained():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

        def forward(self, x):
            return ops.softmax(ops.multiply(ops.relu(x), self.weight))

    def gradient(module):
        loss = (module(X) * torch.arange(3.0)).sum()
        return torch.autograd.grad(loss, module.weight)[0]

    expected = gradient(Module())
    for strict in (False, True):
        program = torch.export.export(Module(), (X,), strict=strict)
        assert same(gradient(program.module()), expected)
        for decomposed in (program.run_decompositions(), program.run_decompositions({})):
            assert "dlbridge.softmax.default" in str(decomposed.graph)
            module = decomposed.module()
            assert same(gradient(module), expected)
            assert same(compiled(module)(X), Module()(X))
