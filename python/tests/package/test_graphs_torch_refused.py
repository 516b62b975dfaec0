"""What ops of PyTorch's dispatcher refuse: other devices, tensors without memory."""

import pytest
from dlbridge import ops
import graph_torch  # noqa: F401, publishes ops
from support import framework, refused

torch = framework("torch")

ONE = torch.tensor(1.0)
X = torch.ones(3)
META = torch.ones(3, device="meta")

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
        with refused(RuntimeError, text):
            call()
    empty = torch.ones(0, 3)
    assert torch.ops.dlbridge.add(empty, empty).shape == (0, 3)
