"""Transforms of torch.func: compiled, nested, and of ops by PyTorch's names."""

import dlbridge
import pytest
from dlbridge import ops
from graph_samples import VECTORISED
from graph_torch import same
from support import framework, refused

torch = framework("torch")
D = torch.ops.dlbridge
ONE = torch.tensor(1.0)
BACKENDS = ["eager", "aot_eager"]


def compiled(function, backend):
    torch._dynamo.reset()
    return torch.compile(function, backend=backend, fullgraph=True)


@pytest.mark.parametrize("name", VECTORISED)
def test_compiled_vmap_is_one_call_where_it_can_be(name):
    function, dims, *shapes, count = VECTORISED[name]
    inputs = [torch.rand(*shape) for shape in shapes]
    expected = torch.vmap(function, in_dims=dims)(*inputs)
    call = compiled(lambda *inputs: torch.vmap(function, in_dims=dims)(*inputs), "eager")
    assert same(call(*inputs), expected)
    with dlbridge.record() as calls:
        assert same(call(*inputs), expected)
    assert len(calls) == count


def test_vmap_of_pytorchs_ops():
    x = torch.rand(64, 3)
    for op, expected in ((D.exp, x.exp()), (D.softmax, x.softmax(-1)), (D.relu, x)):
        with dlbridge.record() as calls:
            assert torch.allclose(torch.vmap(op)(x), expected)
        assert len(calls) == 1
    y = x.reshape(8, 8, 3)
    assert torch.allclose(torch.vmap(torch.vmap(D.softmax))(y), y.softmax(-1))


@pytest.mark.parametrize("op", [ops.exp, D.exp])
def test_vmap_follows_gradients(op):
    x = torch.rand(4, 3, requires_grad=True)
    for call in (torch.vmap(op), compiled(lambda x: torch.vmap(lambda x: op(x))(x), "aot_eager")):
        (found,) = torch.autograd.grad(call(x).sum(), x)
        assert torch.allclose(found, x.exp())


def add_in_place(x):
    y = x * 2
    D.axpy(ONE, x, y)
    return y


WRITES = {
    "axpy": lambda x: ops.axpy(1.0, x, x * 2),
    "axpy of PyTorch": add_in_place,
    "index_add": lambda x: ops.index_add(x * 1, torch.tensor([0]), x[:1]),
    "out": lambda x: ops.exp(x, out=x * 1),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WRITES)
def test_vmap_of_ops_that_write(name, backend):
    function, x = WRITES[name], torch.rand(4, 3)
    expected = torch.stack([function(row) for row in x])
    assert torch.vmap(function)(x).equal(expected)
    assert compiled(lambda x: torch.vmap(function)(x), backend)(x).equal(expected)


def test_vmap_writes_no_tensor_without_its_axis():
    y = torch.zeros(3)
    with refused(ValueError, 'axpy: argument "y": ', "vmap"):
        torch.vmap(lambda x: D.axpy(ONE, x, y))(torch.ones(2, 3))
    assert not y.any()


def squared(softmax):
    return lambda x: (softmax(x) ** 2).sum()


def twice(softmax):
    grad = torch.func.grad(squared(softmax))
    return torch.func.grad(lambda x: grad(x).pow(2).sum())


TRANSFORMS = {
    "grad": lambda softmax: torch.func.grad(squared(softmax)),
    "grad of grad": twice,
    "vmap of grad": lambda softmax: torch.vmap(torch.func.grad(squared(softmax))),
    "grad of vmap": lambda softmax: torch.func.grad(lambda x: (torch.vmap(softmax)(x) ** 2).sum()),
    "vmap of hessian": lambda softmax: torch.vmap(
        torch.func.jacrev(torch.func.jacrev(squared(softmax)))
    ),
}


@pytest.mark.parametrize("op", [ops.softmax, D.softmax])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_equal_those_of_pytorch(name, op):
    x = torch.rand(4, 3, dtype=torch.float64)
    expected = TRANSFORMS[name](lambda x: torch.softmax(x, -1))(x)
    function = TRANSFORMS[name](lambda x: op(x))
    assert torch.allclose(function(x), expected)
    for backend in BACKENDS:
        assert torch.allclose(compiled(lambda x: function(x), backend)(x), expected)


def test_gradients_of_transforms_are_followed():
    def loss(softmax):
        grad = torch.func.grad(squared(softmax))
        return lambda x: grad(x).pow(2).sum()

    x = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
    expected = torch.autograd.grad(loss(lambda x: torch.softmax(x, -1))(x), x)
    for op in (ops.softmax, D.softmax):
        assert torch.allclose(torch.autograd.grad(loss(op)(x), x)[0], expected[0])


@pytest.mark.parametrize("backend", [None, *BACKENDS])
def test_gradients_that_are_not_declared_are_errors(backend):
    for text, function in (
        ("relu declares no gradient of 'x'", lambda x: ops.relu(x).sum()),
        ("relu declares no gradient of 'x'", lambda x: D.relu(x).sum()),
        ("concat declares no gradient of 'xs'", lambda x: D.concat([x, x]).sum()),
        ("index_add declares no gradient of ", lambda x: WRITES["index_add"](x).sum()),
    ):
        grad = torch.func.grad(function)
        if backend:
            torch._dynamo.reset()
            grad = torch.compile(lambda x, grad=grad: grad(x), backend=backend)
        with pytest.raises(RuntimeError, match=text):
            grad(torch.rand(3))
    grad = torch.func.grad(lambda x: (x * D.less(x, x + 1)).sum())
    assert grad(torch.rand(3)).tolist() == [1, 1, 1]
