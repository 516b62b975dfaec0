"""Gradients of ops, and their transforms, in PyTorch."""

import warnings

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import GRADIENTS, VECTORISED
from graph_torch import same
from support import framework, refused

torch = framework("torch")
import torch._dynamo.compiled_autograd as compiled_autograd  # noqa: E402


def floats(*shape):
    return torch.rand(shape, dtype=torch.float64).add_(0.5).requires_grad_()


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_right(name):
    function, *shapes = GRADIENTS[name]
    inputs = tuple(floats(*shape) for shape in shapes)
    assert torch.autograd.gradcheck(function, inputs)
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    eager = torch.autograd.grad(function(*inputs).sum(), inputs)
    traced = torch.autograd.grad(compiled(*inputs).sum(), inputs)
    assert all(map(same, eager, traced))


def test_second_gradients():
    x, y = floats(3, 4), floats(4, 2)
    assert torch.autograd.gradgradcheck(lambda x, y: ops.softmax(ops.matmul(x, y)), (x, y))


def test_gradients_of_a_cast_have_the_dtype_of_the_input():
    x = torch.ones(3, dtype=torch.float16, requires_grad=True)
    ops.cast(x, dtype="float32").sum().backward()
    assert x.grad.dtype == torch.float16


@pytest.fixture
def testing():
    """Ops of another extension, which declare gradients."""
    extension = pytest.importorskip("dlbridge_testing", reason="not built for this environment")
    if not hasattr(ops, "testing"):
        extension.publish_ops()
    return ops.testing


def gradients_of(function, *values):
    inputs = [torch.tensor(value, requires_grad=True) for value in values]
    return torch.autograd.grad(function(*inputs).abs().sum(), inputs)


def traced(function):
    torch._dynamo.reset()
    return torch.compile(
        lambda *args: function(*args), backend="aot_eager", fullgraph=True, dynamic=False
    )


def test_gradients_of_complex_numbers_are_conjugates(testing):
    for function in (testing.product, traced(testing.product)):
        found = gradients_of(function, [1 + 2j, 1j], [3 - 1j, 2 + 0j])
        expected = gradients_of(torch.mul, [1 + 2j, 1j], [3 - 1j, 2 + 0j])
        assert all(map(torch.allclose, found, expected))
    x, y = torch.tensor([1 + 2j, 1j]), torch.tensor([3 - 1j, 2 + 0j])
    tangents = [torch.func.jvp(op, (x, y), (y, x))[1] for op in (testing.product, torch.mul)]
    assert torch.allclose(*tangents)


def test_gradients_of_casts_to_complex_numbers_are_real():
    def function(cast):
        return lambda x: (cast(x) * torch.tensor([1 + 2j, 3j])).real

    expected = gradients_of(function(lambda x: x.to(torch.complex64)), [1.0, 2.0])
    cast = function(lambda x: ops.cast(x, dtype="complex64"))
    assert same(gradients_of(cast, [1.0, 2.0]), expected)
    assert same(gradients_of(traced(cast), [1.0, 2.0]), expected)


def test_gradients_of_variadic_inputs(testing):
    x = torch.ones(3, requires_grad=True)
    for function in (testing.total, traced(testing.total)):
        found = torch.autograd.grad((function(x, torch.ones(3), x * 3) * 2).sum(), x)
        assert found[0].tolist() == [8, 8, 8]

    def sum_of(x):
        return testing.total(x, torch.ones(3), x).sum()

    assert torch.func.grad(sum_of)(torch.ones(3)).tolist() == [2, 2, 2]
    assert torch.vmap(torch.func.grad(sum_of))(torch.ones(2, 3)).tolist() == [[2] * 3] * 2
    assert torch.vmap(sum_of)(torch.ones(2, 3)).tolist() == [9, 9]
    assert torch.func.jvp(sum_of, (torch.ones(3),), (torch.ones(3),))[1] == 6


def test_derivatives_of_one_of_several_results(testing):
    a, b = torch.ones(3), torch.ones(3)
    for at, sign in ((0, 1.0), (1, -1.0)):

        def one(a, b, at=at):
            return testing.both(a, b)[at]

        follows = [x.clone().requires_grad_() for x in (a, b)]
        eager = torch.autograd.grad(one(*follows).sum(), follows)
        transformed = torch.func.grad(lambda a, b: one(a, b).sum(), (0, 1))(a, b)
        second = torch.func.jvp(lambda b: one(a, b), (b,), (b,))[1]
        assert [x.tolist() for x in (*eager, *transformed)] == [[1.0] * 3, [sign] * 3] * 2
        assert second.tolist() == [sign] * 3
        both = torch.func.jvp(testing.both, (a, b), (a, b * 2))[1]
        assert both[at].tolist() == [1 + 2 * sign] * 3


def test_ops_without_gradient_say_so():
    x = torch.ones(3, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ops.relu(x).sum().backward()
    assert any("dlbridge::relu" in str(warning.message) for warning in caught)
    assert x.grad is None


def test_eager_calls_follow_gradients():
    x = torch.ones(3, requires_grad=True)
    assert ops.multiply(x, 2.0).requires_grad and ops.multiply(2.0, x).requires_grad
    assert ops.add(torch.ones(3), b=x).requires_grad
    assert ops.concat(torch.ones(3), torch.ones(3)).shape == (6,)
    with torch.no_grad():
        assert not ops.multiply(x, 2.0).requires_grad
    with torch.no_grad():
        ops.axpy(1.0, torch.ones(3), x)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        ops.axpy(1.0, torch.ones(3), x)


def test_training_steps_equal_those_of_pytorch():
    def model(matmul, rms_norm, softmax, multiply, mean):
        def loss(x, w, g):
            y = softmax(matmul(rms_norm(x, g), w))
            return mean(multiply(y, y))

        return loss

    functional = torch.nn.functional
    theirs = model(
        torch.matmul,
        lambda x, g: functional.rms_norm(x, (x.shape[-1],), g, 1e-6),
        lambda x: torch.softmax(x, -1),
        torch.mul,
        torch.mean,
    )
    ours = model(ops.matmul, ops.rms_norm, ops.softmax, ops.multiply, ops.mean)
    torch._dynamo.reset()
    losses = []
    for loss in (theirs, ours, torch.compile(ours, backend="aot_eager", fullgraph=True)):
        torch.manual_seed(0)
        x, w, g = (
            torch.rand(6, 4),
            torch.rand(4, 5).requires_grad_(),
            torch.ones(4).requires_grad_(),
        )
        optimizer = torch.optim.SGD([w, g], 0.5)
        of_this = []
        for _ in range(20):
            optimizer.zero_grad()
            now = loss(x, w, g)
            now.backward()
            optimizer.step()
            of_this.append(now.item())
        losses.append(of_this)
    assert losses[1] == losses[2]
    assert np.allclose(losses[0], losses[1], rtol=1e-5)


def selected(x, dim, at):
    if dim is None:
        return x
    return x.select(dim, at)


@pytest.mark.parametrize("name", VECTORISED)
def test_vmap_is_one_call_where_it_can_be(name):
    function, dims, *shapes, count = VECTORISED[name]
    inputs = [torch.rand(*shape) for shape in shapes]
    expected = torch.stack(
        [function(*(selected(x, dim, at) for x, dim in zip(inputs, dims))) for at in range(3)]
    )
    with dlbridge.record() as calls:
        found = torch.vmap(function, in_dims=dims)(*inputs)
    assert torch.allclose(found.float(), expected.float(), rtol=1e-6) and len(calls) == count


NO_INDICES = {
    "argmax": (ops.argmax, torch.argmax),
    "take": (lambda x: ops.take(x, x.long()), lambda x: torch.gather(x, 0, x.long())),
    "topk": (lambda x: ops.topk(x, k=2), lambda x: tuple(torch.topk(x, 2))),
    "softmax": (ops.softmax, lambda x: torch.softmax(x, -1)),
    "index_add": (
        lambda x: ops.index_add(x.clone(), torch.zeros(3, dtype=torch.int64), x),
        lambda x: torch.index_add(x, 0, torch.zeros(3, dtype=torch.int64), x),
    ),
}


@pytest.mark.parametrize("name", NO_INDICES)
def test_vmap_of_no_indices_has_no_elements(name):
    ours, theirs = NO_INDICES[name]
    for shape, dim in (((0, 3), 0), ((3, 0), 1)):
        x = torch.ones(shape)
        assert same(torch.vmap(ours, in_dims=dim)(x), torch.vmap(theirs, in_dims=dim)(x))
    for shape in ((0, 2, 3), (2, 0, 3)):
        x = torch.ones(shape)
        assert same(torch.vmap(torch.vmap(ours))(x), torch.vmap(torch.vmap(theirs))(x))


def test_transforms_follow_ops():
    x = torch.rand(3)
    grad = torch.func.grad(lambda x: ops.sum(ops.exp(x)))
    assert torch.allclose(grad(x), x.exp())
    assert torch.allclose(torch.func.grad(lambda x: grad(x).sum())(x), x.exp())
    per_sample = torch.vmap(torch.func.grad(lambda x: ops.sum(ops.multiply(x, x))))
    assert per_sample(torch.ones(2, 3)).tolist() == [[2] * 3] * 2
    y = torch.ones(2, 3)
    assert torch.vmap(lambda x, y: ops.axpy(1.0, x, y))(torch.ones(2, 3), y).sum() == 12
    assert y.sum() == 12


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_autograd_follows_gradients(backend):
    x, weight = torch.rand(3, 4), torch.rand(4, 4, requires_grad=True)

    def loss():
        return ops.softmax(ops.matmul(x, weight)).pow(2).sum()

    (wanted,) = torch.autograd.grad(loss(), weight)
    torch._dynamo.reset()
    # Releases name it with and without the underscore.
    enable = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable
    with enable(torch.compile(fullgraph=True, backend=backend)):
        loss().backward()
    assert torch.equal(weight.grad, wanted)


def test_derivatives_that_are_not_there_are_errors():
    x = torch.rand(3)
    with refused(RuntimeError, "dlbridge::relu declares no gradient of 'x'"):
        torch.func.grad(lambda x: ops.relu(x).sum())(x)
    with refused(RuntimeError, "dlbridge::relu declares no gradient of 'x'"):
        torch.func.jvp(ops.relu, (x,), (x,))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        with refused(BufferError, "relu", "has a tangent", "declares no gradient"):
            ops.relu(dual)
