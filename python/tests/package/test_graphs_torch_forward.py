"""Derivatives of PyTorch's forward mode: of dual tensors and of transforms, nested and compiled."""

import importlib

import pytest
from dlbridge import ops
from graph_samples import GRADIENTS
from graph_torch import same
from support import framework, refused

torch = framework("torch")
from torch.autograd import forward_ad  # noqa: E402
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vmap  # noqa: E402

D = torch.ops.dlbridge
X = torch.linspace(0.5, 1.5, 9, dtype=torch.float64).reshape(3, 3)
TWO = torch.tensor(2.0, dtype=torch.float64)
#: Ops, and functions of PyTorch that do the same.
SAME = {
    "tanh": (ops.tanh, torch.tanh),
    "exp": (D.exp, torch.exp),
    "matmul": (lambda x: ops.matmul(x, x.mT), lambda x: x @ x.mT),
    "axpy": (lambda x: ops.axpy(TWO, x, x * x), lambda x: x * 2 + x * x),
    "softmax": (ops.softmax, lambda x: x.softmax(-1)),
}
#: Others, which one transform is tried with.
MORE = {
    **SAME,
    "divide": (lambda x: ops.divide(2.0, x), lambda x: 2.0 / x),
    "cast": (lambda x: ops.cast(x.sin(), dtype="float32"), lambda x: x.sin().float()),
    "out": (lambda x: ops.exp(x, out=torch.empty_like(x)), torch.exp),
}


def summed(function):
    return lambda x: function(x).sum()


def dual(function, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, x.sin()))).tangent


TRANSFORMS = {
    "dual": lambda f: lambda x: dual(f, x),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x.sin(),))[1],
    "jacfwd": lambda f: lambda x: jacfwd(f)(x),
    "hessian": lambda f: lambda x: hessian(summed(f))(x),
    "reverse over forward": lambda f: lambda x: jacrev(jacfwd(summed(f)))(x),
    "forward over forward": lambda f: lambda x: jacfwd(jacfwd(summed(f)))(x),
    "nested": lambda f: lambda x: jvp(lambda x: jvp(f, (x,), (x * x,))[1], (x,), (x,))[1],
    "forward over grad": lambda f: lambda x: jvp(grad(summed(f)), (x,), (x,))[1],
    "vmap": lambda f: (
        lambda x: vmap(lambda x: jvp(f, (x,), (x.sin(),))[1])(torch.stack([x, x + 1]))
    ),
    "linearize": lambda f: lambda x: linearize(f, x)[1](x.sin()),
}


def close(found, expected):
    return torch.allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", SAME)
def test_tangents_are_those_of_pytorchs_own_functions(name, transform):
    found, expected = (TRANSFORMS[transform](function)(X) for function in SAME[name])
    assert close(found, expected)


@pytest.mark.parametrize(
    "name, transform, backend",
    [
        ("tanh", "dual", "aot_eager"),
        ("tanh", "hessian", "eager"),
        ("axpy", "dual", "eager"),
        ("axpy", "hessian", "aot_eager"),
    ],
)
def test_compiled_tangents(name, transform, backend):
    torch._dynamo.reset()
    found, expected = (TRANSFORMS[transform](function) for function in SAME[name])
    assert close(torch.compile(found, backend=backend)(X), expected(X))


@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("name", MORE)
def test_tangents_while_gradients_are_off(name, follows):
    x = X.clone().requires_grad_(follows)
    with torch.no_grad():
        found, expected = (dual(function, x) for function in MORE[name])
    assert close(found, expected) and not found.requires_grad


@pytest.mark.parametrize("name", [name for name in MORE if name not in ("softmax", "out")])
def test_tangents_have_gradients(name):
    x = X.clone().requires_grad_()
    found, expected = (
        torch.autograd.grad(dual(function, x).sum(), x)[0] for function in MORE[name]
    )
    assert close(found, expected)


@pytest.mark.parametrize("name", GRADIENTS)
def test_tangents_agree_with_differences(name):
    function, *shapes = GRADIENTS[name]
    inputs = tuple(torch.rand(shape, dtype=torch.float64).add_(0.5) for shape in shapes)
    inputs = tuple(x.requires_grad_() for x in inputs)
    options = {"check_batched_forward_grad": True, "check_backward_ad": False}
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, **options)


def test_tangents_of_gradients_agree_with_differences():
    x, y = (torch.rand(2, 2, dtype=torch.float64).requires_grad_() for _ in range(2))

    def function(x, y):
        return ops.softmax(ops.rms_norm(ops.matmul(x, ops.tanh(y)), y[0]))

    assert torch.autograd.gradgradcheck(function, (x, y), check_fwd_over_rev=True)


def test_a_tangent_is_written_with_its_tensor():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, X.sin())
        for write in (D.axpy, lambda alpha, x, y: ops.axpy(alpha, x, y)):
            y = torch.ones_like(X)
            write(TWO, x, y)
            assert same(y, X * 2 + 1)
            assert same(forward_ad.unpack_dual(y).tangent, X.sin() * 2)
        # What is written has no tangent of what was there.
        ops.add(X, X, out=x)
        tangent = forward_ad.unpack_dual(x).tangent
        assert tangent is None or not tangent.any()


def test_what_has_no_tangent_adds_nothing():
    infinite, factor = torch.tensor([torch.inf, 1.0]), torch.tensor([2.0, 3.0])
    for op in (ops.multiply, D.multiply):
        found = jvp(lambda x: op(x, factor), (infinite,), (torch.ones(2),))[1]
        assert found.tolist() == [2.0, 3.0]
        with forward_ad.dual_level():
            x = forward_ad.make_dual(infinite, torch.ones(2))
            assert forward_ad.unpack_dual(op(x, factor)).tangent.tolist() == [2.0, 3.0]
            # Nor is a gradient asked for that doesn't come.
            followed = factor.clone().requires_grad_()
            assert torch.autograd.grad(op(x, followed).sum(), followed)[0].equal(infinite)
    # Nor has a result one of what it takes the shape of alone.
    tangent = jvp(lambda x: ops.broadcast_like(TWO, x), (X,), (X,))[1]
    assert same(tangent, torch.zeros_like(X))


class Denying(torch.Tensor):
    """A tensor that says that it is sparse."""

    layout = property(lambda self: torch.sparse_coo)
    is_nested = property(lambda self: True)


def test_a_subclass_hides_no_tangent():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X.as_subclass(Denying), X)
        for op in (ops.exp, D.exp):
            tangent = forward_ad.unpack_dual(op(x)).tangent
            assert close(tangent.as_subclass(torch.Tensor), X.exp() * X)
        with refused(BufferError, "relu", "has a tangent"):
            D.relu(x)


def test_exported_programs_have_tangents():
    class Module(torch.nn.Module):
        def forward(self, x):
            return ops.softmax(ops.exp(x))

    program = torch.export.export(Module(), (X,)).module()
    for transform in ("dual", "hessian"):
        found, expected = map(TRANSFORMS[transform], (program, lambda x: x.exp().softmax(-1)))
        assert close(found(X), expected(X))


def test_modes_see_a_call_and_no_question_for_tangents():
    importlib.import_module("torch._dynamo")
    seen = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    x = X.clone().requires_grad_()
    for follows in (x, X):
        with Mode():
            D.exp(follows)
    assert seen.count("dlbridge.exp_kernel.default") == 2
    assert set(seen) <= {"dlbridge.exp_kernel.default", "aten.detach.default"}


def test_ops_without_their_derivative_say_so():
    extension = pytest.importorskip("dlbridge_testing", reason="not built for this environment")
    if not hasattr(ops, "testing"):
        extension.publish_ops()
    x = torch.ones(3)
    with refused(RuntimeError, "relu declares no gradient of 'x'") as error:
        jvp(ops.testing.guided, (x,), (x,))
    assert (error.value.kind, error.value.wanted) == ("kernel", "x")


#: Of tensors that only an outer transform follows.
OUTER = {
    "grad of grad": lambda f: grad(lambda x: grad(lambda y: (f(x) * y).sum())(X).sum())(X),
    "grad of vmap": lambda f: grad(lambda x: vmap(lambda y: f(x) * y)(X).sum())(X),
    "jvp of grad": lambda f: jvp(lambda x: grad(lambda y: (f(x) * y).sum())(X), (X,), (X,))[1],
    "grad of jvp": lambda f: grad(lambda x: jvp(lambda y: f(x) * y, (X,), (X.sin(),))[1].sum())(X),
}


@pytest.mark.parametrize("transform", OUTER.values(), ids=OUTER)
def test_an_inner_transform_passes_on_what_an_outer_one_follows(transform):
    for found, expected in (SAME["exp"], SAME["tanh"], (D.softmax, SAME["softmax"][1])):
        assert close(transform(found), transform(expected))
    torch._dynamo.reset()
    compiled = torch.compile(lambda: transform(D.exp), backend="aot_eager")
    assert close(compiled(), transform(torch.exp))
