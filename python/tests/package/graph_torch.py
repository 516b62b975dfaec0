"""What the tests of ops in PyTorch's dispatcher share."""

import dlbridge
import numpy as np
import pytest
from graph_samples import CALLS, REFUSED
from support import framework

torch = framework("torch")
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
if VERSION < (2, 8):
    pytest.skip("the C functions are known from PyTorch 2.8 on", allow_module_level=True)
# PyTorch 2.8 and 2.9 compare no numbers that they have as symbols, have no constants of other
# classes, and trace exceptions only from some places.
TRACES_ALL = VERSION > (2, 9)
# Other files of this process may have published ops for tests.
assert set(dlbridge.publish("torch")) <= REFUSED


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


def compiled(function, fullgraph=False, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="eager", fullgraph=fullgraph, **options)


def function_of(function, attributes):
    return lambda *args: function(*args, **attributes)
