"""Ops of PyTorch's dispatcher: eager, compiled and exported."""

import shutil

import dlbridge
import pytest
from dlbridge import ops
from graph_samples import CALLS
from graph_torch import function_of, same, tensors
from support import IS_LONG, framework, in_new_process

torch = framework("torch")


def test_each_op_has_a_sample():
    assert set(CALLS) == set(dlbridge._core._op_names())


@pytest.mark.parametrize("name", sorted(CALLS))
def test_opcheck_passes(name):
    args, attributes = tensors(name)
    torch.library.opcheck(getattr(torch.ops.dlbridge, name).default, args, attributes)
    for arg in args:
        if isinstance(arg, torch.Tensor) and arg.is_floating_point():
            arg.requires_grad_()
    if name not in ("axpy", "index_add"):
        torch.library.opcheck(getattr(torch.ops.dlbridge, name).default, args, attributes)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_traced_calls_equal_eager_ones(name):
    function = getattr(ops, name)
    args, attributes = tensors(name)
    eager = function(*args, **attributes)
    args, _ = tensors(name)
    torch._dynamo.reset()
    compiled = torch.compile(function_of(function, attributes), backend="aot_eager", fullgraph=True)
    assert same(compiled(*args), eager)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_kernels_have_the_addresses_of_arguments_and_results(name):
    args, attributes = tensors(name)
    flat = [arg for one in args for arg in (one if isinstance(one, list) else [one])]
    given = [arg.data_ptr() for arg in flat if isinstance(arg, torch.Tensor)]
    with dlbridge.record() as calls:
        results = getattr(torch.ops.dlbridge, name)(*args, **attributes)
    results = () if results is None else results if isinstance(results, tuple) else (results,)
    (call,) = calls
    # Variadic inputs come behind the results.
    assert sorted(call.addresses) == sorted(given + [result.data_ptr() for result in results])


def test_kernels_have_the_addresses_of_views():
    x, y = torch.arange(8.0), torch.ones(8)
    # What is written in place is the same tensor.
    address = y.data_ptr()
    torch.ops.dlbridge.axpy(torch.tensor(2.0), x, y)
    assert y.data_ptr() == address and y.tolist() == (x * 2 + 1).tolist()
    # A view is read and written where it is.
    base = torch.zeros(4, 6)
    torch.ops.dlbridge.axpy(torch.tensor(1.0), torch.ones(6, 4).T[::2, ::2], base[::2, ::2])
    assert base.sum() == 6
    with dlbridge.record() as calls:
        torch.ops.dlbridge.add(x, y)
    assert [call.op for call in calls] == ["add"]


def test_unknown_sizes_compile_once():
    from torch._dynamo.testing import CompileCounterWithBackend

    weight = torch.ones(4)

    def function(x, y):
        x = ops.softmax(ops.matmul(x, y))
        return ops.sum(ops.rms_norm(ops.add(x, ops.concat(x, x, axis=0)[: x.shape[0]])), axis=1)

    counter = CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=counter, dynamic=True, fullgraph=True)
    for rows, columns in ((5, 4), (6, 7), (7, 9), (9, 11)):
        x, y = torch.rand(rows, 3), torch.rand(3, columns)
        assert same(compiled(x, y), function(x, y))
    assert counter.frame_count == 1
    assert ops.rms_norm(weight).shape == (4,)


def test_export_with_unknown_sizes():
    class Module(torch.nn.Module):
        def forward(self, x):
            return ops.mean(ops.softmax(x), axis=0)

    rows = torch.export.Dim("rows", min=2)
    program = torch.export.export(Module(), (torch.rand(5, 3),), dynamic_shapes={"x": {0: rows}})
    assert "dlbridge.softmax" in str(program.graph)
    x = torch.rand(9, 3)
    assert same(program.module()(x), ops.mean(ops.softmax(x), axis=0))


@pytest.mark.skipif(not IS_LONG, reason="takes long: ./dev test --full runs it")
@pytest.mark.skipif(not shutil.which("g++"), reason="inductor needs a compiler")
def test_inductor_and_packages_of_it_call_the_kernel(tmp_path):
    # The other process finds it, too.
    pytest.importorskip("dlbridge_testing", reason="not built for this environment")

    class Module(torch.nn.Module):
        def forward(self, x, y):
            return ops.sum(ops.softmax(ops.matmul(x, y) * 2) + 1, axis=0)

    module, x, y = Module(), torch.rand(5, 3), torch.rand(3, 4)
    expected = module(x, y)
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True)
    with dlbridge.record() as calls:
        assert torch.allclose(compiled(x, y), expected, rtol=1e-6)
    assert [call.op for call in calls][-3:] == ["matmul", "softmax", "sum"]
    program = torch.export.export(module, (x, y))
    package = str(tmp_path / "module.pt2")
    torch._inductor.aoti_compile_and_package(program, package_path=package)
    torch.save([x, y, expected], tmp_path / "tensors.pt")
    in_new_process(f"""
        import dlbridge, torch
        dlbridge.publish("torch")
        x, y, expected = torch.load({str(tmp_path / "tensors.pt")!r})
        module = torch._inductor.aoti_load_package({package!r})
        with dlbridge.record() as calls:
            assert torch.allclose(module(x, y), expected, rtol=1e-6)
        assert [call.op for call in calls] == ["matmul", "softmax", "sum"]
    """)
