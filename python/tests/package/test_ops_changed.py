"""Ops whose arguments are changed by other arguments, or kept by functions of the same
extension.
"""

import dlbridge
import dlbridge_testing
import pytest
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
torch = framework("torch")

if not hasattr(ops, "testing"):
    dlbridge_testing.publish_ops()

CHANGED = "Python code that ran meanwhile has resized or re-pointed a "
LARGE = 1 << 16
CHANGES = {
    "resize": (lambda: np.ones(LARGE, "f4"), lambda x: x.resize(1, refcheck=False)),
    "set_": (lambda: torch.ones(LARGE), lambda x: x.set_()),
    "resize_": (lambda: torch.ones(LARGE), lambda x: x.resize_(64 * LARGE)),
}


class Later:
    """A tensor of ones that runs a function when it is imported."""

    def __init__(self, function):
        self.function, self.ones = function, np.ones(LARGE, "f4")

    def __dlpack__(self, **keywords):
        self.function()
        return self.ones.__dlpack__(**keywords)


@pytest.mark.parametrize("name", CHANGES)
def test_argument_changed_by_a_later_one_is_refused(name):
    make, change = CHANGES[name]
    x = make()
    with refused(BufferError, 'add: argument "b"', CHANGED, "pass a copy"):
        ops.add(x, Later(lambda: change(x)))
    x, y = make(), np.ones(LARGE, "f4")
    with refused(BufferError, 'add: argument "out"', CHANGED):
        ops.add(x, y, out=Later(lambda: change(x)))
    x = make()
    out = ops.add(x, Later(lambda: None), like=y)
    assert (out == 2).all()


@pytest.mark.parametrize("name", CHANGES)
def test_argument_changed_by_like_is_refused(name):
    make, change = CHANGES[name]
    x = make()

    class Kind(type):
        def __getattribute__(self, name):
            if name == "__dlpack__":
                change(x)
            return super().__getattribute__(name)

    class Like(metaclass=Kind):
        def __dlpack__(self, **keywords):
            return np.ones(1, "f4").__dlpack__(**keywords)

    # What the results are to be like is asked first, so the arguments are seen as they then are.
    assert ops.add(x, 1, like=Like()).shape == tuple(x.shape)


def test_output_kept_by_rust_code_is_refused():
    x, out = np.ones(4, "f4"), np.zeros(4, "f4")
    key = dlbridge_testing.keep(out[2:])
    with refused(ValueError, "is kept by Rust code, which may read it at any time"):
        ops.testing.panics(x, out=out)
    ops.testing.panics(x[:2], out=out[:2])
    assert dlbridge_testing.release(key)
    ops.testing.panics(x, out=out)
    assert out.tolist() == [1, 1, 1, 1]


def test_imported_tensors_do_not_lock_their_memory():
    x = np.ones(4, "f4")
    kept = [
        dlbridge.from_dlpack(x),
        dlbridge.asarray(x),
        dlbridge.convert(x, "torch"),
        dlbridge.asarray(x, "float64"),
    ]
    kept += [kept[0][1:], kept[0].reshape((2, 2)), dlbridge.explain(x, "torch")]
    ops.add(x, x, out=x)
    assert x.tolist() == [2, 2, 2, 2]
