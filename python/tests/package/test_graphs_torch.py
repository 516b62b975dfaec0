"""Ops of PyTorch's dispatcher: eager, compiled, exported, differentiated and vectorised."""

import os
import shutil
import threading
import warnings

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import CALLS, NOT_TENSORS, NUMBER_NAMES, NUMBERS, OF_TYPES, calls_with, outcome
from support import (
    IS_LONG,
    check_released,
    check_resident,
    framework,
    in_fork,
    in_new_process,
    in_threads,
    refused,
)

torch = framework("torch")
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
if VERSION < (2, 8):
    pytest.skip("the C functions are known from PyTorch 2.8 on", allow_module_level=True)
# PyTorch 2.8 and 2.9 compare no numbers that they have as symbols, have no constants of other
# classes, and trace exceptions only from some places.
TRACES_ALL = VERSION > (2, 9)
# Other files of this process may have published ops for tests.
assert set(dlbridge.publish("torch")) <= {"testing.kinds"}


def tensors(name):
    """The arguments of a call."""
    args, attributes = CALLS[name]

    def of(value):
        if isinstance(value, list):
            return [of(item) for item in value]
        return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value

    attributes = {
        key: getattr(torch, value) if key == "dtype" else value for key, value in attributes.items()
    }
    return [of(value) for value in args], attributes


def same(a, b):
    if isinstance(a, tuple | list):
        return all(map(same, a, b))
    return a.dtype == b.dtype and a.shape == b.shape and a.equal(b)


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


def compiled(function, fullgraph=False, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="eager", fullgraph=fullgraph, **options)


# Where a call is refused, torch.compile calls the eager op, which raises its own exception.
@pytest.mark.parametrize(("dtype", "number"), NUMBERS, ids=NUMBER_NAMES)
def test_numbers_are_refused_as_of_eager_calls(dtype, number):
    x = torch.ones(3, dtype=getattr(torch, dtype))
    condition = torch.ones(3, dtype=torch.bool)

    def call(x):
        # `outcome` reads NumPy's arrays, which have no bfloat16.
        result = ops.where(condition, x, number)
        return result.double() if dtype == "bfloat16" else result

    expected = outcome(lambda: call(x))
    assert outcome(lambda: compiled(call)(x)) == expected
    if isinstance(expected[0], str):
        assert outcome(lambda: compiled(call, fullgraph=True)(x)) == expected
    else:
        with pytest.raises(torch._dynamo.exc.Unsupported):
            compiled(call, fullgraph=True)(x)
    # Untraced, as vmap calls it.
    found = outcome(lambda: torch.vmap(call, in_dims=0)(x.expand(1, 3))[0])
    assert found == expected


def test_numbers_alone_have_the_dtype_of_eager_calls():
    x = torch.ones(3, dtype=torch.bool)
    for a, b in ((1, 2), (1, 2.5), (True, False), (True, 2)):

        def call(x, a=a, b=b):
            return ops.where(x, a, b)

        assert same(compiled(call, fullgraph=True)(x), call(x))
        assert same(torch.vmap(call)(x.expand(2, 3))[0], call(x))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float32"])
def test_symbols_may_stand_for_tensors(dtype):
    class Module(torch.nn.Module):
        def forward(self, x):
            return ops.multiply(x, x.shape[0])

    x, module = torch.ones(5, dtype=getattr(torch, dtype)), Module()
    assert compiled(module, fullgraph=True, dynamic=True)(x).tolist() == [5] * 5
    shapes = {"x": {0: torch.export.Dim("rows", min=2)}}
    for strict in (False, True):
        program = torch.export.export(module, (x[:3],), dynamic_shapes=shapes, strict=strict)
        assert program.module()(x).tolist() == [5] * 5
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        call = compiled(lambda x, number: ops.multiply(x, number.item()), fullgraph=True)
        assert call(x, torch.tensor(5)).tolist() == [5] * 5


def test_numbers_that_become_symbols_are_refused():
    x = torch.ones(1, dtype=torch.uint8)
    call = compiled(lambda x, number: ops.add(x, number))
    assert [call(x, number).item() for number in (2, 3, 4)] == [3, 4, 5]
    if TRACES_ALL:
        with refused(ValueError, 'add: argument "b": 300 can\'t be stored as uint8'):
            call(x, 300)
    else:  # By PyTorch itself.
        with pytest.raises(RuntimeError, match="without overflow"):
            call(x, 300)
    call = compiled(lambda x, number: ops.add(x, number))
    assert [call(x.half(), number).item() for number in (2.5, 3.5, 4.5)] == [3.5, 4.5, 5.5]
    if TRACES_ALL:
        with refused(ValueError, 'add: argument "b": 1000000000.0 can\'t be stored as float16'):
            call(x.half(), 1e9)


@pytest.mark.parametrize("given", NOT_TENSORS, ids=str)
def test_arguments_that_are_not_tensors_are_refused(given):
    x = torch.ones(3)
    for call in calls_with(given):
        expected = outcome(lambda: call(x))
        assert expected[0] is TypeError
        assert outcome(lambda: compiled(call)(x)) == expected
        assert outcome(lambda: call(torch.ones(3, requires_grad=True))) == expected
        assert outcome(lambda: torch.vmap(call)(torch.ones(2, 3))) == expected


def test_attributes_have_any_type_of_integers_in_untraced_calls():
    x = torch.arange(6.0).reshape(2, 3)
    for call in OF_TYPES:
        expected = outcome(lambda call=call: call(x))
        assert outcome(lambda call=call: call(x.clone().requires_grad_()).detach()) == expected
        assert outcome(lambda call=call: torch.vmap(call)(x[None])[0]) == expected


OUTS = {
    "dtype": (torch.float32, torch.int32, (3,)),
    "narrower": (torch.float64, torch.float32, (3,)),
    "shape": (torch.float32, torch.float32, (2, 3)),
    "dtype and shape": (torch.float32, torch.int32, (2, 3)),
}


@pytest.mark.parametrize("name", OUTS)
def test_results_are_not_cast_or_broadcast_to_out(name):
    dtype, other, shape = OUTS[name]
    x = torch.ones(3, dtype=dtype)
    out, right = torch.zeros(shape, dtype=other), torch.zeros(3, dtype=dtype)

    def call(x, out):
        return ops.add(x, x, out=out)

    expected = outcome(lambda: call(x, out))
    assert expected[0] in (TypeError, ValueError)
    assert outcome(lambda: compiled(call)(x, out)) == expected
    # Untraced.
    assert outcome(lambda: call(x.clone().requires_grad_(), out)) == expected
    assert not out.any()
    assert compiled(call, fullgraph=True)(x, right) is right and right.tolist() == [2] * 3


def test_several_results_have_an_out_each():
    x, values, indices = torch.ones(3), torch.zeros(2), torch.zeros(2, dtype=torch.int64)

    def call(x, *out):
        return ops.topk(x, k=2, out=out)

    found = compiled(call, fullgraph=True)(x, values, indices)
    assert found[0] is values and found[1] is indices and values.tolist() == [1, 1]
    assert compiled(call, fullgraph=True)(x, None, indices)[0].tolist() == [1, 1]
    for out in ((values,), (values, values), (values[:1], indices), (values, indices, indices)):
        expected = outcome(lambda out=out: call(x, *out))
        if TRACES_ALL:
            assert outcome(lambda out=out: compiled(call)(x, *out)) == expected
        else:  # Or an error of PyTorch's own.
            pytest.raises(Exception, compiled(call), x, *out)
        followed = x.clone().requires_grad_()
        assert outcome(lambda out=out: call(followed, *out))[:3] == expected[:3]


DTypeOfOurs = type(dlbridge.zeros(1).dtype)
DTYPES = [np.float64, np.dtype("f8"), float, dlbridge.zeros(1, dtype="float64").dtype, "float64"]


@pytest.mark.parametrize("dtype", [*DTYPES, "torch.float64", torch.float64], ids=str)
def test_dtypes_of_any_library_are_attributes(dtype):
    def call(x):
        return ops.cast(x, dtype=dtype)

    x = torch.ones(3)
    assert call(x.requires_grad_()).dtype == torch.float64
    if TRACES_ALL or not isinstance(dtype, DTypeOfOurs):
        assert compiled(call, fullgraph=True)(x).dtype == torch.float64
    assert torch.vmap(call)(torch.ones(2, 3)).dtype == torch.float64


@pytest.mark.parametrize("is_readonly", [False, True])
def test_untraced_calls_take_tensors_of_others(is_readonly):
    x, array = torch.ones(3, requires_grad=True), np.full(3, 2, np.float32)
    array.flags.writeable = not is_readonly
    for call in (
        lambda x: ops.multiply(x, array),
        lambda x: ops.multiply(array, x),
        lambda x: ops.rms_norm(x, weight=array),
        lambda x: ops.add(x, np.float32(2)),
        lambda x: ops.add(x, memoryview(array)),
        lambda x: ops.multiply(x, dlbridge.from_dlpack(array)),
        lambda x: ops.concat(x, array),
    ):
        expected = torch.as_tensor(np.asarray(call(x.detach())))
        found = call(x)
        assert found.equal(expected) and found.requires_grad
        assert torch.vmap(call)(torch.ones(2, 3))[1].equal(expected)
    assert torch.func.grad(lambda x: ops.sum(ops.multiply(x, array)))(x).tolist() == [2] * 3
    # Written in place.
    if is_readonly:
        with pytest.raises(BufferError, match="read-only"):
            ops.axpy(1.0, x, array)
    else:
        assert ops.axpy(1.0, x, array).tolist() == array.tolist() == [3] * 3


def function_of(function, attributes):
    return lambda *args: function(*args, **attributes)


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


def floats(*shape):
    return torch.rand(shape, dtype=torch.float64).add_(0.5).requires_grad_()


GRADIENTS = {
    "add": (lambda a, b: ops.add(a, b), (3, 4), (4,)),
    "subtract": (lambda a, b: ops.subtract(a, b), (3, 1), (2, 1, 4)),
    "multiply": (lambda a, b: ops.multiply(a, b), (3, 4), ()),
    "divide": (lambda a, b: ops.divide(a, b), (3, 4), (3, 1)),
    "axpy": (lambda alpha, x, y: ops.axpy(alpha, x, y * 1), (), (3,), (3,)),
    "matmul": (lambda a, b: ops.matmul(a, b), (2, 3, 4), (4, 5)),
    "matmul of vectors": (lambda a, b: ops.matmul(a, b), (4,), (4,)),
    "matmul of a row": (lambda a, b: ops.matmul(a, b), (4,), (2, 4, 3)),
    "matmul of a column": (lambda a, b: ops.matmul(a, b), (2, 3, 4), (4,)),
    "softmax": (lambda x: ops.softmax(x, axis=0), (3, 4)),
    "log_softmax": (lambda x: ops.log_softmax(x), (3, 4)),
    "rms_norm": (lambda x, weight: ops.rms_norm(x, weight), (2, 3, 4), (4,)),
    "rms_norm without weight": (lambda x: ops.rms_norm(x, eps=0.1), (3, 4)),
    "sum": (lambda x: ops.sum(x, axis=(0, 2)), (2, 3, 4)),
    "sum of all": (lambda x: ops.sum(x), (2, 3)),
    "mean": (lambda x: ops.mean(x, axis=1, keepdims=True), (2, 3, 4)),
    "cast": (lambda x: ops.multiply(ops.cast(x, dtype="float64"), 2.0), (3,)),
    "exp": (lambda x: ops.log(ops.sqrt(ops.exp(ops.negative(x)))), (3,)),
    "sigmoid": (lambda x: ops.tanh(ops.sigmoid(x)), (3,)),
}


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


VECTORISED = {
    "add": (lambda a, b: ops.add(a, b), (0, None), (3, 4), (4,), 1),
    "add of ranks": (lambda a, b: ops.add(a, b), (0, 0), (3, 4), (3, 2, 4), 1),
    "add of another axis": (lambda a, b: ops.add(a, b), (1, None), (4, 3), (4,), 1),
    "exp": (lambda a: ops.exp(a), (0,), (3, 4), 1),
    "sum": (lambda a: ops.sum(a), (0,), (3, 4, 5), 1),
    "mean": (lambda a: ops.mean(a, axis=0, keepdims=True), (0,), (3, 4, 5), 1),
    "softmax": (lambda a: ops.softmax(a, axis=0), (0,), (3, 4, 5), 1),
    "matmul": (lambda a, b: ops.matmul(a, b), (0, None), (3, 4, 5), (5, 2), 1),
    "matmul of batches": (lambda a, b: ops.matmul(a, b), (0, 0), (3, 7, 4, 5), (3, 5, 2), 1),
    "rms_norm": (lambda a, w: ops.rms_norm(a, w), (0, None), (3, 4, 5), (5,), 1),
    "topk": (lambda a: ops.topk(a, k=2)[0], (0,), (3, 4, 5), 1),
    "concat": (lambda a, b: ops.concat(a, b, axis=0), (0, None), (3, 4, 5), (2, 5), 1),
    "argmax": (lambda a: ops.argmax(a), (0,), (3, 4, 5), 3),
    "take": (lambda a, b: ops.matmul(a, b), (0, 0), (3, 5), (3, 5, 2), 3),
}


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


def test_derivatives_that_are_not_there_are_errors():
    x = torch.rand(3)
    with refused(RuntimeError, "dlbridge::relu declares no gradient of 'x'"):
        torch.func.grad(lambda x: ops.relu(x).sum())(x)
    for op in (ops.relu, ops.exp):
        with pytest.raises(NotImplementedError):
            torch.func.jvp(op, (x,), (x,))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, x)
            with refused(BufferError, "the tensor has a tangent"):
                op(dual)


def test_errors_have_the_text_of_the_op():
    x = torch.ones(3)
    with refused(RuntimeError, 'add: argument "b" has shape [4]; it can\'t be broadcast'):
        torch.ops.dlbridge.add(x, torch.ones(4))
    with refused(RuntimeError, "axis 3 is out of bounds for a tensor of rank 1"):
        torch.ops.dlbridge.softmax(x, axis=3)
    with refused(RuntimeError, "take: ", "is out of bounds for axis 0 with size 3"):
        torch.ops.dlbridge.take(x, torch.tensor([7]))
    with refused(RuntimeError, "add: "):
        torch.ops.dlbridge.add(x, torch.ones(3, dtype=torch.int32))


@pytest.fixture
def testing():
    """Ops of another extension, of which some go wrong."""
    extension = pytest.importorskip("dlbridge_testing", reason="not built for this environment")
    if not hasattr(ops, "testing"):
        extension.publish_ops()
    assert {name for name in dlbridge.publish("torch") if name.startswith("testing")} <= {
        "testing.kinds"
    }
    return ops.testing


@pytest.mark.parametrize("size", [3, 1000])
def test_failures_of_kernels_are_exceptions(testing, size):
    compiled = torch.compile(testing.panics, backend="aot_eager", fullgraph=True)
    x = torch.ones(size)
    for panics in (torch.ops.dlbridge.testing_panics, compiled):
        assert panics(x).equal(x)
        with refused(RuntimeError, "testing.panics: -1 is negative"):
            panics(-x)
    y = torch.zeros(size, dtype=torch.bool)
    with refused(RuntimeError, "testing.raises: ", "KeyError"):
        torch.ops.dlbridge.testing_raises(torch.full((size,), 2, dtype=torch.float16), y)
    with refused(RuntimeError, "testing.fails", f"{size} are too many"):
        torch.ops.dlbridge.testing_fails(x)


def test_kernels_run_without_the_interpreter_lock():
    """While calls take long, another thread runs Python."""
    x = torch.rand(400, 400)
    count, done = 0, threading.Event()

    def multiply():
        for _ in range(5):
            torch.ops.dlbridge.matmul_kernel(x, x)
        done.set()

    thread = threading.Thread(target=multiply)
    thread.start()
    while not done.is_set():
        count += 1
    thread.join()
    assert count > 100


def test_arguments_are_released():
    import weakref

    def use(fails):
        x, axis = torch.ones(3, 4), 7 if fails else 1
        try:
            torch.ops.dlbridge.sum(x, axis=[axis])
            torch.ops.dlbridge.concat([x, x], axis=0)
            torch.ops.dlbridge.gelu(x, approximate="none")
            torch.ops.dlbridge.rms_norm(x, torch.ones(5 if fails else 4))
        except (RuntimeError, IndexError):  # In Python before 2.10.
            assert fails
        return weakref.ref(x)

    check_released(use)


def test_memory_stays_flat():
    x = torch.ones(1000)

    def calls(count):
        for _ in range(count):
            torch.ops.dlbridge.add(x, x)
            torch.ops.dlbridge.sum(x, axis=[0])
            try:
                torch.ops.dlbridge.softmax(x, axis=5)
            except (RuntimeError, IndexError):
                pass

    def others(count):
        for name in CALLS:
            args, attributes = tensors(name)
            op = getattr(torch.ops.dlbridge, name)
            for _ in range(count):
                op(*args, **attributes)

    for repeat, count in ((calls, 100_000), (others, 2000)):
        check_resident(repeat, count)


def test_threads_run_at_once():
    x = torch.rand(64, 64)
    expected, failures = ops.matmul(x, x), []

    def run():
        for _ in range(200):
            if not same(torch.ops.dlbridge.matmul(x, x), expected):
                failures.append("another result")
            try:
                torch.ops.dlbridge.matmul(x, x[:3])
                failures.append("no error")
            except RuntimeError:
                pass

    in_threads(run)
    assert failures == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_children_of_a_fork_call_ops():
    in_fork(
        "torch,torch._dynamo",
        """
        import os
        import dlbridge
        import torch
        from dlbridge import ops
        dlbridge.publish("torch")
        dlbridge.set_num_threads(2)
        compiled = torch.compile(lambda x: ops.softmax(ops.exp(x)), backend="eager", fullgraph=True)
        x = torch.rand(512, 512)
        expected = compiled(x), torch.ops.dlbridge.matmul(x, x)
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                found = compiled(x), torch.ops.dlbridge.matmul(x, x)
                bad = [a for a, b in zip(found, expected) if not a.equal(b)]
                try:
                    torch.ops.dlbridge.matmul(x, x[:3])
                    bad.append("no error")
                except RuntimeError:
                    pass
                os._exit(len(bad))
            assert os.waitpid(pid, 0)[1] == 0
        """,
    )


MET = """
from dlbridge import ops
f = torch.compile(lambda x: ops.exp(x) * 2, backend="eager", fullgraph=True)
assert f(torch.zeros(2)).tolist() == [2, 2]
assert torch.ops.dlbridge.exp(torch.zeros(1)).item() == 1
"""


def test_ops_are_published_to_a_framework_that_is_loaded_later():
    in_new_process(f"""
import sys
import dlbridge
assert "torch" not in sys.modules
import torch
assert "dlbridge._hosts.torch" not in sys.modules
{MET}""")


def test_ops_are_published_to_a_framework_that_is_there():
    in_fork("torch,torch._dynamo", f"import dlbridge, torch\n{MET}")


def test_unknown_frameworks_are_refused():
    with refused(LookupError, "expected one of torch, ", "got 'caffe'"):
        dlbridge.publish("caffe")
