"""Kinds of attributes and numbers: traced and followed calls take those of eager ones."""

import enum

import pytest
from dlbridge import ops
from graph_samples import outcome
from graph_torch import TRACES_ALL, compiled
from support import framework

torch = framework("torch")


class Number(enum.IntEnum):
    TWO = 2


class Real(float):
    pass


X = torch.arange(6.0).reshape(2, 3)
WRONG = {
    "axis is a bool": lambda x: ops.softmax(x, axis=True),
    "axes are a bool": lambda x: ops.sum(x, axis=False),
    "keepdims is an int": lambda x: ops.sum(x, keepdims=2),
    "keepdims is a float": lambda x: ops.sum(x, keepdims=1.0),
    "axis is a float": lambda x: ops.softmax(x, axis=0.0),
    "eps is a bool": lambda x: ops.rms_norm(x, eps=True),
    "largest is an int": lambda x: ops.topk(x, k=1, largest=1)[0],
}
DEFAULTS = {
    "bool": lambda x: ops.sum(x, keepdims=None),
    "str": lambda x: ops.gelu(x, approximate=None),
    "int": lambda x: ops.softmax(x, axis=None),
    "float": lambda x: ops.rms_norm(x, eps=None),
    "ints": lambda x: ops.sum(x, axis=None),
    "int | None": lambda x: ops.argmax(x, axis=None),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_attributes_of_other_kinds_are_refused(call):
    expected = outcome(lambda: call(X))
    assert expected[0] is TypeError
    assert outcome(lambda: call(X.clone().requires_grad_())) == expected
    assert outcome(lambda: torch.vmap(call)(X[None])) == expected
    assert outcome(lambda: compiled(call)(X)) == expected
    with pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(call, fullgraph=True)(X)


@pytest.mark.parametrize("call", DEFAULTS.values(), ids=DEFAULTS)
def test_none_is_the_default(call):
    expected = outcome(lambda: call(X))
    assert isinstance(expected[0], str)
    assert outcome(lambda: call(X.clone().requires_grad_()).detach()) == expected
    assert outcome(lambda: torch.vmap(call)(X[None])[0]) == expected
    assert outcome(lambda: compiled(call, fullgraph=True)(X)) == expected


@pytest.mark.parametrize("number", [Number.TWO, Real(2)], ids=repr)
def test_numbers_of_derived_types_are_those_of_eager_calls(number):
    for call in (lambda x: ops.multiply(x, number), lambda x: ops.rms_norm(x, eps=number)):
        expected = outcome(lambda call=call: call(X))
        assert outcome(lambda call=call: call(X.clone().requires_grad_()).detach()) == expected
        assert outcome(lambda call=call: torch.vmap(call)(X[None])[0]) == expected
        if TRACES_ALL and isinstance(number, Number):
            assert outcome(lambda call=call: compiled(call)(X)) == expected
