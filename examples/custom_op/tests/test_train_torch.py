"""The op `nn.swiglu` in PyTorch: compiled, exported, differentiated, vectorised, and trained."""

import dlbridge
import numpy as np
import pytest

torch = pytest.importorskip("torch")
if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 8):
    pytest.skip("the C functions are known from PyTorch 2.8 on", allow_module_level=True)
import train_torch  # noqa: E402

swiglu = dlbridge.ops.nn.swiglu


def composed(gate, up):
    """The same of PyTorch's ops."""
    return torch.nn.functional.silu(gate) * up


def inputs(*shape, dtype=torch.float64):
    torch.manual_seed(0)
    return tuple(torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(2))


def gradients(function, args):
    return torch.autograd.grad(function(*args).square().sum(), args)


def test_losses_equal_those_of_pytorch(printed, monkeypatch):
    losses = train_torch.train()
    assert len(losses) == 20 and all(np.diff(losses) < 0)
    assert np.allclose(losses, train_torch.train(composed), rtol=1e-5, atol=0)
    assert np.allclose(printed("train_torch.py"), losses, atol=1e-4)
    monkeypatch.setattr(torch, "compile", lambda model, fullgraph: model)
    assert np.allclose(losses, train_torch.train(), rtol=1e-5, atol=0)


def test_gradients_are_right():
    assert torch.autograd.gradcheck(swiglu, inputs(3, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_compiled_call_equals_eager_one(dtype):
    torch._dynamo.reset()
    args = inputs(3, 4, dtype=dtype)
    compiled = torch.compile(swiglu, fullgraph=True)
    assert compiled(*args).equal(swiglu(*args)) and swiglu(*args).dtype == dtype
    eager, traced = gradients(swiglu, args), gradients(compiled, args)
    assert all(a.equal(b) for a, b in zip(eager, traced))
    rtol = 0.05 if dtype == torch.bfloat16 else 1e-5
    for a, b in zip(eager, gradients(composed, args)):
        assert a.dtype == dtype and torch.allclose(a, b, rtol=rtol, atol=rtol)


def test_opcheck_passes():
    torch.library.opcheck(torch.ops.dlbridge.nn_swiglu.default, inputs(3, 4))
    args = (*inputs(3, 4), torch.ones(3, 4, dtype=torch.float64))
    detached = [arg.detach() for arg in args]
    torch.library.opcheck(torch.ops.dlbridge.nn_swiglu_backward.default, detached)


def test_export_with_unknown_sizes():
    class Module(torch.nn.Module):
        def forward(self, gate, up):
            return swiglu(gate, up)

    rows = {0: torch.export.Dim("rows", min=2)}
    args = tuple(arg.detach() for arg in inputs(5, 3))
    program = torch.export.export(Module(), args, dynamic_shapes={"gate": rows, "up": rows})
    args = tuple(arg.detach() for arg in inputs(9, 3))
    assert program.module()(*args).equal(swiglu(*args))


@pytest.mark.parametrize("dims", [(0, 0), (1, None)])
def test_vmap_is_one_call(dims):
    gate, up = (arg.detach() for arg in inputs(3, 3))
    expected = torch.vmap(composed, in_dims=dims)(gate, up[0] if None in dims else up)
    with dlbridge.record() as calls:
        found = torch.vmap(swiglu, in_dims=dims)(gate, up[0] if None in dims else up)
    assert torch.allclose(found, expected) and len(calls) == 1


def test_other_shapes_are_refused():
    with pytest.raises(RuntimeError, match="nn.swiglu: expected shape"):
        torch.ops.dlbridge.nn_swiglu(torch.ones(3), torch.ones(1))
