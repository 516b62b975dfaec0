"""Arguments of calls that PyTorch traces or follows: bound, read and refused as of eager calls."""

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import (
    NOT_TENSORS,
    NUMBERS,
    NUMBER_NAMES,
    OF_TYPES,
    REFUSED_OF_ANY_SIZE,
    calls_with,
    outcome,
)
from graph_torch import TRACES_ALL, compiled, same
from support import framework, refused

torch = framework("torch")
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402


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


@pytest.mark.parametrize("requires_grad", [False, True])
def test_numbers_are_refused_for_inputs_that_are_written(requires_grad):
    x = torch.ones((), requires_grad=requires_grad)
    for call in (lambda x: ops.axpy(2.0, x, 1.0), lambda x: ops.axpy(2.0, x, y=3)):
        for function in (call, compiled(call)):
            with refused(TypeError, 'axpy: argument "y": expected a tensor, got ') as raised:
                function(x)
            assert raised.value.kind == "type"


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


FLOATS = ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"]


@pytest.mark.parametrize("name", [f"float8_{name}" for name in FLOATS])
def test_floats_of_a_byte_are_compiled(name):
    if not hasattr(torch, name):
        pytest.skip(f"PyTorch has no dtype {name}")
    dtype, x = getattr(torch, name), torch.tensor([1.0, 2.0, 4.0])
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda x: ops.copy(ops.cast(x, dtype=dtype)), backend="aot_eager", fullgraph=True
    )
    found = compiled(x)
    assert found.dtype == dtype and found.float().equal(x)


MIXED = [("add", {"b": torch.ones(3, 5, dtype=torch.int32)}, TypeError, "dtype")]


@pytest.mark.parametrize("name, keywords, error, kind", [*REFUSED_OF_ANY_SIZE, *MIXED])
def test_calls_that_are_wrong_for_any_size_are_refused_while_traced(name, keywords, error, kind):
    dlbridge.publish("torch")
    call = getattr(torch.ops.dlbridge, name)
    for mode in ("fake", "symbolic"):
        trace = make_fx(
            lambda x: call(x, **keywords), tracing_mode=mode, _allow_non_fake_inputs=True
        )
        with pytest.raises(error, match=f"^{name}: ") as raised:
            trace(torch.ones(3, 5))
        assert raised.value.kind == kind
