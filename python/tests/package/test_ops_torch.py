"""Ops of PyTorch's tensors."""

import dlbridge
import numpy as np
from dlbridge import ops
from ops_calls import OpsCalls
from support import framework, in_new_process, refused

torch = framework("torch")


class TestTorch(OpsCalls):
    kind = torch.Tensor
    dtypes = [*OpsCalls.dtypes, "uint16", "uint32", "uint64"]

    def of(self, array):
        return torch.from_numpy(array.copy())


def test_dtypes_without_numpy_equivalent():
    x = torch.tensor([1.5, 2.5], dtype=torch.bfloat16)
    y = ops.add(x, 1)
    assert (
        y.dtype == torch.bfloat16
        and y.tolist() == [2.5, 3.5] == ops.axpy(1, torch.ones_like(x), x).tolist()
    )
    with refused(LookupError, "a: complex64 of rank 1 on cpu"):
        ops.add(torch.ones(2, dtype=torch.complex64), 1)


def test_views_are_read_and_written_in_place():
    base = torch.zeros(4, 6)
    out = base[::2, 1::2]
    assert ops.add(torch.ones(2, 3), torch.ones(3, 2).T, out=out) is out
    assert base.sum() == 12 and out.tolist() == [[2] * 3] * 2
    row = torch.arange(3.0)
    assert ops.add(row.expand(2, 3), out).tolist() == [[2, 3, 4]] * 2
    with refused(
        BufferError,
        'add: argument "out" is to be written, and elements of it are at one place; pass a copy',
    ):
        ops.add(out, out, out=row.expand(2, 3))
    ops.axpy(3, base[1], base[0])
    with refused(ValueError, 'axpy: argument "y" is to be written, and shares memory with "x"'):
        ops.axpy(1, base[0, 1:], base[0, :-1])


def test_lazily_transformed_tensors_are_refused():
    x = torch.ones(3)
    with refused(RuntimeError, "a leaf Variable that requires grad"):
        ops.add(x, x, out=torch.ones(3, requires_grad=True))
    z = torch.ones(3, dtype=torch.complex64)
    with refused(BufferError, 'add: argument "a":', "resolve_conj()"):
        ops.add(z.conj(), z)
    with refused(BufferError, 'add: argument "a":', "resolve_neg()"):
        ops.add(z.conj().imag, x)
    with refused(BufferError, 'sum: argument "x":', "to_dense()"):
        ops.sum(x.to_sparse())
    with refused(BufferError, 'sum: argument "x":'):
        ops.sum(torch.ones(3, device="meta"))
    parameter = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    assert (
        type(ops.add(parameter, 1)) is torch.Tensor
        and ops.add(parameter, 1, out=parameter) is parameter
    )
    with torch.no_grad():
        assert not ops.add(torch.ones(3, requires_grad=True), 1).requires_grad


def allocated_by_torch(call):
    """Bytes that PyTorch's allocator gave while something was called."""
    with torch.profiler.profile(profile_memory=True) as profile:
        result = call()
    assert result.tolist() == [2.0] * 1024
    return sum(max(event.self_cpu_memory_usage, 0) for event in profile.key_averages())


def test_caller_memory_is_from_torch_allocator():
    x, array = torch.ones(1024), np.ones(1024, "f4")
    for call in (
        lambda: ops.add(x, x, memory="caller"),
        lambda: ops.add(array, array, like=x, memory="caller"),
        lambda: ops.sum(torch.ones(2, 1024), axis=0, memory="caller"),
    ):
        assert allocated_by_torch(call) >= 4096
    for call in (
        lambda: ops.add(x, x),
        lambda: ops.add(x, x, memory="own"),
        lambda: ops.add(x, x, memory="caller", like=array),
        lambda: ops.add(x, x, memory="caller", out=array.copy()),
    ):
        assert allocated_by_torch(call) < 4096
    y = ops.add(x, x, memory="caller")
    y.add_(1)
    assert ops.add(y, 1, out=y)[0] == 4
    powers = torch.tensor([0.5, 4]).to(torch.float8_e8m0fnu)  # It has no zero.
    assert ops.copy(powers, memory="caller").float().tolist() == [0.5, 4]


class Intercepting(torch.Tensor):
    """Has its own functions for those of PyTorch."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))


def test_results_of_derived_classes_are_of_pytorch():
    plain = torch.ones(1024)
    for kind in (Intercepting, type("Derived", (torch.Tensor,), {})):
        x = plain.as_subclass(kind)
        for result in (ops.add(x, x), ops.add(x, 1), ops.add(x, plain), ops.topk(x, k=2)[0]):
            assert type(result) is torch.Tensor
        if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
            assert allocated_by_torch(lambda x=x: ops.add(x, x, memory="caller")) >= 4096


def test_searches_for_offsets_are_hidden_from_modes():
    output = in_new_process("""
        import torch
        from dlbridge import ops
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode

        called = []

        class Dispatched(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                called.append(function)
                return function(*args, **(kwargs or {}))

        class Called(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                called.append(function)
                return function(*args, **(kwargs or {}))

        x = torch.ones(3)
        with Dispatched(), Called():
            ops.exp(x)
            assert not any("zeros" in str(one) for one in called), called
            assert torch._C._len_torch_dispatch_stack() == 1
            torch.ones(2)
        assert any("ones" in str(one) for one in called)
    """)
    assert not output


def test_mixed_frameworks_return_the_first():
    array, x, ours = np.ones(3, "f4"), torch.ones(3), dlbridge.ones(3, "float32")
    assert type(ops.add(array, x)) is np.ndarray and type(ops.add(x, array)) is torch.Tensor
    assert type(ops.add(1, x, like=ours)) is dlbridge.Tensor
    assert ops.add(array, ours, out=x) is x and array.tolist() == [1] * 3 and x.tolist() == [2] * 3
    # One memory, two frameworks.
    with refused(ValueError, 'add: argument "out" is to be written, and shares memory with "b"'):
        ops.add(x, x.numpy()[::-1], out=x)
    assert ops.add(x.numpy(), 1, out=x) is x and x.tolist() == [3] * 3
