"""Ops of PyTorch's dispatcher that write their inputs: autograd, and lazy values."""

import pytest
from dlbridge import ops
from graph_torch import compiled
from support import framework, refused

torch = framework("torch")
ONE = torch.tensor(1.0)


def without_gradients(x, y):
    with torch.no_grad():
        ops.axpy(1.0, x, y)


WRITES = {
    "op": lambda x, y: torch.ops.dlbridge.axpy(ONE, x.detach(), y),
    "keywords": lambda x, y: torch.ops.dlbridge.axpy(alpha=ONE, y=y, x=x.detach()),
    "no_grad": without_gradients,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_lazy_values_are_not_written(write):
    for lazy, of in (
        (torch.tensor([1 + 2j]).conj().imag, "negat"),
        (torch.tensor([1 + 2j]).conj(), "conjugat"),
    ):
        x = torch.ones(1, dtype=lazy.dtype, requires_grad=True)
        expected = lazy.clone()
        # Each call took references that weren't its own.
        for _ in range(50):
            with refused(BufferError, f'axpy: argument "y": the tensor is {of}ed lazily'):
                write(x, lazy)
        assert lazy.equal(expected)


def test_lazy_values_are_read():
    y = torch.zeros(1)
    torch.ops.dlbridge.axpy(ONE, torch.tensor([1 + 2j]).conj().imag, y)
    assert y.tolist() == [-2]


class Module(torch.nn.Module):
    def forward(self, x, w):
        y = x * w
        ops.axpy(1.0, torch.ones(3), w)
        return y


def dispatched(x, w):
    y = x * w
    torch.ops.dlbridge.axpy(ONE, torch.ones(3), w)
    return y


def exported(x, w):
    return torch.export.export(Module(), (torch.ones(3), torch.ones(3))).module()(x, w)


CHANGES = {
    "dispatcher": dispatched,
    "eager backend": lambda x, w: compiled(Module(), True)(x, w),
    "aot_eager": lambda x, w: torch.compile(Module(), backend="aot_eager", fullgraph=True)(x, w),
    "exported": exported,
}


@pytest.mark.parametrize("function", CHANGES.values(), ids=CHANGES)
def test_gradients_of_values_that_were_overwritten_are_errors(function):
    torch._dynamo.reset()
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        function(x, torch.full((3,), 2.0)).sum().backward()


def test_versions_are_counted():
    x, y = torch.ones(3), torch.zeros(3)
    torch.ops.dlbridge.axpy(ONE, x, y)
    assert (x._version, y._version) == (0, 1)
    with torch.inference_mode():
        other = torch.zeros(3)
        torch.ops.dlbridge.axpy(ONE, x, other)
        torch.ops.dlbridge.axpy(ONE, x, y)
    assert other.tolist() == [1] * 3 and y._version == 2
    torch.ops.dlbridge.axpy(ONE, x, other)
    assert other.tolist() == [2] * 3


def test_written_inputs_have_gradients():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    torch.ops.dlbridge.axpy(torch.tensor(2.0), x, y)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        torch.ops.dlbridge.axpy(ONE, torch.ones(3), x)
    with torch.no_grad():
        torch.ops.dlbridge.axpy(ONE, torch.ones(3), x)
    assert x.tolist() == [2, 2, 2]
