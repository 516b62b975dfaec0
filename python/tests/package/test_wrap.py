"""Functions over dlbridge's tensors as functions over a framework's."""

import asyncio
import collections
import functools
import inspect
import warnings
from typing import NamedTuple

import dlbridge
import pytest
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
torch = framework("torch")


class Pair(NamedTuple):
    one: object
    two: object


class Rows(list):
    pass


class Titled(list):
    def __init__(self, title, rows):
        super().__init__(rows)
        self.title = title


def seen(call):
    """What a function gets when it is wrapped and called."""
    got = []

    def function(*args, **kwargs):
        got.append((args, kwargs))

    assert call(dlbridge.wrap(function, "torch")) is None
    return got[0]


def test_wrapped_function_converts_arguments_and_results():
    def twice(x, out=None):
        """Doubles."""
        assert isinstance(x, dlbridge.Tensor) and (out is None or isinstance(out, dlbridge.Tensor))
        return ops.add(x, x, out=out)

    wrapped = dlbridge.wrap(twice, "torch")
    assert (wrapped.__name__, wrapped.__doc__, wrapped.__wrapped__) == ("twice", "Doubles.", twice)
    x = torch.arange(3.0)
    y = wrapped(x)
    assert type(y) is torch.Tensor and y.tolist() == [0, 2, 4]
    out = torch.zeros(3)
    result = wrapped(x, out=out)
    assert (
        type(result) is torch.Tensor
        and result.data_ptr() == out.data_ptr()
        and out.tolist() == [0, 2, 4]
    )
    result[0] = 9
    assert out[0] == 9
    # Whose tensors come in doesn't matter; what goes out is the framework's.
    assert (
        type(wrapped(np.ones(2))) is torch.Tensor
        and type(wrapped(dlbridge.ones(2))) is torch.Tensor
    )
    assert type(dlbridge.wrap(twice, "numpy")(x)) is np.ndarray
    assert type(dlbridge.wrap(twice, "dlbridge")(x)) is dlbridge.Tensor


def test_wrapped_op_accepts_torch_tensors():
    add = dlbridge.to_pytorch_func(ops.add)
    x = torch.ones(2, 3)
    assert add.__name__ == "add" and add(x, 1).tolist() == [[2] * 3] * 2
    with refused(ValueError, 'add: argument "b" has shape [2]'):
        add(x, torch.ones(2))
    matmul, out = dlbridge.to_pytorch_func(ops.matmul), torch.zeros(2, 2)
    assert torch.equal(matmul(x, x.T, out=out), torch.mm(x, x.T)) and torch.equal(
        out, torch.mm(x, x.T)
    )


def test_tensors_in_containers_are_converted():
    x, y = torch.ones(2), torch.zeros(2)
    args, kwargs = seen(
        lambda f: f([x, (y, {"a": x, "b": [y]})], Pair(x, 1), Rows([x]), more=(x,), none=None)
    )
    (first, (second, inner)), pair, rows = args
    for tensor in (first, second, inner["a"], inner["b"][0], pair.one, rows[0], kwargs["more"][0]):
        assert type(tensor) is dlbridge.Tensor
    assert type(pair) is Pair and pair.two == 1 and type(rows) is Rows and kwargs["none"] is None
    assert first.data_ptr == pair.one.data_ptr == x.data_ptr()

    def give(x):
        return {
            "rows": [x[0], (x[1],)],
            "pair": Pair(x, "text"),
            "number": 3,
            "ordered": collections.OrderedDict(a=x),
        }

    result = dlbridge.wrap(give, "torch")(torch.eye(2))
    assert result["rows"][0].tolist() == [1, 0] and result["rows"][1][0].tolist() == [0, 1]
    assert (
        type(result["pair"]) is Pair
        and type(result["pair"].one) is torch.Tensor
        and result["pair"].two == "text"
    )
    assert result["number"] == 3 and type(result["ordered"]["a"]) is torch.Tensor
    assert type(result["ordered"]) is collections.OrderedDict
    counted = collections.defaultdict(list, a=x)
    titled = Titled("x", [x])
    given = seen(lambda f: f(counted, titled))[0]
    assert [type(one) for one in given] == [collections.defaultdict, Titled]
    assert type(given[0]["a"]) is type(given[1][0]) is dlbridge.Tensor
    assert given[0].default_factory is list and given[1].title == "x"
    assert counted["a"] is titled[0] is x
    # A structure of PyTorch's, which is a tuple with more to it.
    values = seen(lambda f: f(torch.max(torch.eye(2), 0)))[0][0]
    assert [type(value) for value in values] == [dlbridge.Tensor] * 2


def test_non_tensor_argument_is_passed_unchanged():
    class Other:
        pass

    values = [
        1,
        2.5,
        "text",
        b"bytes",
        None,
        Other(),
        np.float32,
        torch.Tensor,
        torch.float32,
        dlbridge.Tensor,
        {1, 2},
    ]
    args, kwargs = seen(lambda f: f(*values, dtype=np.ndarray))
    assert all(one is other for one, other in zip(args, values)) and kwargs["dtype"] is np.ndarray
    generator = (x for x in [torch.ones(1)])
    assert seen(lambda f: f(generator))[0][0] is generator


def test_writes_reach_the_callers_tensor():
    def clear(tensors, *, last):
        for tensor in (*tensors, last):
            ops.add(tensor, 1, out=tensor)

    tensors = [torch.zeros(2), torch.zeros(4)[::2]]
    last = torch.zeros(3, 3)
    dlbridge.wrap(clear, "torch")(tensors, last=last.T)
    assert [x.tolist() for x in tensors] == [[1, 1]] * 2 and last.sum() == 9


def test_coroutine_function_stays_one():
    async def double(x, out):
        await asyncio.sleep(0)
        assert type(x) is type(out) is dlbridge.Tensor
        return dlbridge.ops.add(x, x, out=out)

    class Double:
        async def __call__(self, x, out):
            return await double(x, out)

    assert dlbridge.wrap(double, "torch").__name__ == "double"
    for function in (double, functools.partial(double), Double()):
        wrapped, out = dlbridge.wrap(function, "torch"), torch.zeros(2)
        assert inspect.iscoroutinefunction(wrapped)
        result = asyncio.run(wrapped(torch.ones(2), out=out))
        assert isinstance(result, torch.Tensor) and result.data_ptr() == out.data_ptr()
        assert out.tolist() == [2, 2]


def test_generator_function_is_refused():
    def each(x):
        yield x

    async def each_later(x):
        yield x

    for function in (each, each_later):
        name = f"test_generator_function_is_refused.<locals>.{function.__name__}"
        message = f"expected a function that returns its results, got the generator function {name}"
        with refused(TypeError, message) as raised:
            dlbridge.wrap(function, "torch")
        assert (raised.value.kind, raised.value.wanted) == ("argument", "a function")

    class Each:
        def __call__(self, x):
            yield x

    for function in (functools.partial(each), Each()):
        with refused(TypeError, "got the generator function ", repr(function)):
            dlbridge.wrap(function, "torch")


def test_list_that_the_function_adds_to_stays_the_callers():
    given = [torch.ones(2)]
    dlbridge.wrap(lambda tensors: tensors.append(1), "torch")(given)
    assert len(given) == 1


def test_unsupported_argument_is_refused():
    wrapped = dlbridge.wrap(lambda x: x, "torch")
    with refused(BufferError, "autograd follows", "detach()"):
        wrapped(torch.ones(2, requires_grad=True))
    array = np.ones(3)
    array.flags.writeable = False
    strict = dlbridge.wrap(lambda x: x, "torch", readonly="refuse")
    with refused(BufferError, "the tensor is read-only, and PyTorch writes to memory all the same"):
        strict(array)
    quiet = dlbridge.to_pytorch_func(lambda x: x, readonly="share")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quiet(array).data_ptr() == array.ctypes.data
    with pytest.warns(dlbridge.ReadOnlyWarning, match="NumPy -> PyTorch"):
        assert wrapped(array).data_ptr() == array.ctypes.data
    with refused(ValueError, 'expected "warn", "share" or "refuse", got "never"'):
        dlbridge.wrap(lambda x: x, "torch", readonly="never")
    assert dlbridge.wrap(lambda x: x.readonly, "numpy")(array) is True
    with refused(LookupError, "nothing"):
        dlbridge.wrap(lambda x: x, "nothing")(torch.ones(2))
    with refused(ZeroDivisionError, "division by zero"):
        dlbridge.wrap(lambda x: x / 0, "torch")(1)


def test_function_over_another_framework_shares_memory():
    def norm(x):
        assert type(x) is np.ndarray
        x -= x.mean()
        return x, np.abs(x).max()

    x = torch.tensor([1.0, 2.0, 3.0])
    y, largest = dlbridge.wrap(norm, "torch", over="numpy")(x)
    assert y.data_ptr() == x.data_ptr() and x.tolist() == [-1, 0, 1] and largest == 1
    mm = dlbridge.wrap(torch.mm, "numpy", over="torch")
    a = np.arange(6.0).reshape(2, 3)
    assert type(mm(a, a.T)) is np.ndarray and np.array_equal(mm(a, a.T), a @ a.T)
    out = np.zeros((2, 2))
    assert mm(a, a.T, out=out).ctypes.data == out.ctypes.data and np.array_equal(out, a @ a.T)


@pytest.mark.parametrize("name", ["jax", "pyarrow", "tvm_ffi"])
def test_wrap_for_every_framework_returns_its_tensors(name):
    framework(name)
    result = dlbridge.wrap(lambda x: ops.add(x, x), name)(np.ones(16, "f4"))
    assert type(result).__module__.split(".")[0] in (name, "jaxlib")
    assert dlbridge.from_dlpack(result).tolist() == [2] * 16


def test_wrap_for_copying_framework_is_refused():
    framework("mlx.core")
    with refused(BufferError, "MLX copies all that it takes"):
        dlbridge.wrap(lambda x: x, "mlx")(np.ones(16, "f4"))


class Two(tuple):
    """Made of its items one by one."""

    def __new__(cls, one, two):
        return super().__new__(cls, (one, two))


class Same(collections.namedtuple("Same", "one two")):
    """Made of one item, that is there twice."""

    def __new__(cls, one):
        return super().__new__(cls, one, one)


def test_tuples_of_classes_with_constructors_of_their_own_are_converted():
    x = torch.ones(2)
    for value in (Two(x, 1), Same(x), torch.return_types.max((x, x))):
        (got,), _ = seen(lambda function, value=value: function(value))
        assert type(got) is type(value) and isinstance(got[0], dlbridge.Tensor)
        assert got[0].data_ptr == x.data_ptr()


def test_collections_without_tensors_stay_the_same_objects():
    for value in ([1, [2]], {"a": (1,)}, (1, 2), Two(1, 2), Same(1), torch.Size([1])):
        (got,), _ = seen(lambda function, value=value: function(value))
        assert got is value
    filled = []
    dlbridge.wrap(lambda values: values.append(1), "torch")(filled)
    assert filled == [1]
