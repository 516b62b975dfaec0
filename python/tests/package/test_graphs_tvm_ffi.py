"""Ops as global functions of tvm-ffi, in both conventions."""

import weakref

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from graph_samples import CALLS, REFUSED
from support import check_released, check_resident, extension, framework, in_threads, refused

tvm_ffi = framework("tvm_ffi")
torch = framework("torch")
# Other files of this process may have published ops for tests.
assert set(dlbridge.publish("tvm")) <= REFUSED
dlbridge_testing = extension()
if dlbridge_testing and not hasattr(ops, "testing"):
    dlbridge_testing.publish_ops()
needs_extension = pytest.mark.skipif(not dlbridge_testing, reason="there is no extension")


def global_op(name):
    return tvm_ffi.get_global_func(f"dlbridge.{name}")


def sample(name):
    """The tensors of a call, and the values of its attributes in order."""
    args, attributes = CALLS[name]

    def of(value):
        if isinstance(value, list):
            return [of(item) for item in value]
        return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value

    row = getattr(ops, name).__self__._describe()
    missing = [None] * (len(row["inputs"]) - len(args))
    names = [attribute["name"] for attribute in row["attributes"]]
    last = max((at for at, name in enumerate(names) if name in attributes), default=-1)
    values = [attributes.get(name) for name in names[: last + 1]]
    return [*map(of, args), *missing], values, attributes


def eager(name):
    args, _, attributes = sample(name)
    result = getattr(ops, name)(*[arg for arg in args if arg is not None], **attributes)
    return result if isinstance(result, tuple) else (result,)


def same(a, b):
    a = a if isinstance(a, torch.Tensor) else torch.from_dlpack(a)
    return a.dtype == b.dtype and a.shape == b.shape and a.equal(b)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_results_made_equal_eager_ones(name):
    args, values, _ = sample(name)
    result = global_op(name)(*args, *values)
    expected = eager(name)
    if result is None:  # It writes an input.
        row = getattr(ops, name).__self__._describe()
        result = [arg for arg, given in zip(args, row["inputs"]) if given["writes"]]
    else:
        result = list(result) if len(expected) > 1 else [result]
    assert len(result) == len(expected) and all(map(same, result, expected))


@pytest.mark.parametrize("name", sorted(CALLS))
def test_given_outputs_equal_eager_results(name):
    args, values, _ = sample(name)
    row = getattr(ops, name).__self__._describe()
    if not row["outputs"]:
        pytest.skip("it has no outputs")
    expected = eager(name)
    outs = [torch.empty_like(result) for result in expected]
    addresses = [out.data_ptr() for out in outs]
    assert global_op(name)(*args, *values, *outs) is None
    assert all(map(same, outs, expected)) and [out.data_ptr() for out in outs] == addresses


@pytest.mark.parametrize("name", sorted(CALLS))
def test_kernels_have_the_addresses_of_arguments_and_results(name):
    args, values, _ = sample(name)
    flat = [arg for one in args for arg in (one if isinstance(one, list) else [one])]
    given = [arg.data_ptr() for arg in flat if arg is not None]
    with dlbridge.record() as calls:
        made = global_op(name)(*args, *values)
    made = [] if made is None else [made] if isinstance(made, torch.Tensor) else list(made)
    (call,) = calls
    made = [torch.from_dlpack(one).data_ptr() for one in made]
    assert sorted(call.addresses) == sorted(given + made)


@needs_extension
def test_kernels_have_the_addresses_of_tensors():
    x = torch.ones(8)
    made = global_op("testing.addresses")(x)
    assert made.tolist() == [x.data_ptr(), made.data_ptr()]
    out = torch.empty(2, dtype=torch.int64)
    global_op("testing.addresses")(tvm_ffi.from_dlpack(x), out)
    assert out.tolist() == [x.data_ptr(), out.data_ptr()]


def test_tensors_of_tvm_ffi_share_memory():
    x, y, z = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3), torch.zeros(2, 3)
    a, b, c = map(tvm_ffi.from_dlpack, (x, y, z))
    with dlbridge.record() as calls:
        global_op("add")(a, b, c)
    assert z.equal(x + 1) and [call.op for call in calls] == ["add"]
    global_op("add")(x.T, y.T, z.T)  # Strides.
    assert z.equal(x + 1)
    array = np.arange(6, dtype=np.float32)
    given = tvm_ffi.from_dlpack(array)
    global_op("negative")(given, given)
    assert array.tolist() == [-at for at in range(6)]


def test_given_outputs_may_have_any_bits():
    x, out = torch.ones(4), torch.full((4,), 7, dtype=torch.uint8).view(torch.bool)
    global_op("equal")(x, x, out)
    assert out.view(torch.uint8).tolist() == [1] * 4


def test_results_without_an_allocator_are_refused():
    def call():
        x = tvm_ffi.from_dlpack(np.ones(3, np.float32))
        with refused(RuntimeError, 'add: the result "out" can\'t be made', "give the outputs"):
            global_op("add")(x, x)

    in_threads(call, 1)  # Old releases keep the allocator of a thread's last call with PyTorch's.


def test_failures_of_the_allocator_have_its_reason():
    x, failed = torch.ones(4), "the result \"out\" can't be made: the caller's allocator failed: "
    with refused(RuntimeError, f"cast: {failed}") as raised:
        global_op("cast")(x, tvm_ffi.dtype("int4"))
    assert "give the outputs" not in str(raised.value) and "\n" not in str(raised.value)
    a, b = torch.ones(1, 1).expand(2**20, 1), torch.ones(1, 1).expand(1, 2**24)
    with refused(RuntimeError, f"matmul: {failed}", "can't allocate memory"):
        global_op("matmul")(a, b)


def test_variadic_inputs_are_an_array_or_the_rest():
    x, y = torch.ones(2, 3), torch.zeros(2, 3)
    concat, expected = global_op("concat"), torch.cat([x, y])
    assert same(concat(x, y), expected) and same(concat([x, y]), expected)
    assert same(concat([x, y], 1), torch.cat([x, y], 1))
    out = torch.empty(4, 3)
    assert concat(x, y, 0, out) is None and same(out, expected)
    assert concat([x, y], out.zero_()) is None and same(out, expected)
    assert concat(tvm_ffi.Array([x, y]), out.zero_()) is None and same(out, expected)
    for value, kind in (({"a": x}, "a map"), (None, "None"), (3, "an int"), ("a", "a str")):
        with refused(TypeError, f'concat: argument "xs": expected a tensor, got {kind}'):
            concat(value, 0)
    with refused(TypeError, 'concat: argument "xs" is missing'):
        concat()


def test_attributes_have_the_types_of_their_kinds():
    x = torch.rand(2, 3)
    reduce = global_op("sum")
    for axis in (0, [0], (0,), tvm_ffi.Shape((0,))):
        assert same(reduce(x, axis, True), ops.sum(x, axis=0, keepdims=True))
    assert same(reduce(x, None, 1), ops.sum(x, keepdims=True))
    assert same(global_op("cast")(x, tvm_ffi.dtype("float64")), x.double())
    for text in ("none", "tanh", "another text"):
        try:
            assert same(global_op("gelu")(x, text), ops.gelu(x, approximate=text))
        except TypeError as error:  # There is no kernel for it.
            assert text in str(error)
    with refused(TypeError, 'sum: argument "axis": expected ints | None, got a float'):
        reduce(x, 1.5)
    with refused(TypeError, 'sum: argument "keepdims": expected bool, got a str'):
        reduce(x, 0, "yes")
    with refused(TypeError, 'topk: argument "k" is missing'):
        global_op("topk")(x)


def test_errors_have_the_text_of_the_op():
    x = torch.ones(3)
    with refused(ValueError, 'add: argument "b" has shape [4]; it can\'t be broadcast'):
        global_op("add")(x, torch.ones(4))
    with refused(IndexError, "axis 3 is out of bounds for a tensor of rank 1"):
        global_op("softmax")(x, 3)
    with refused(IndexError, "take: ", "is out of bounds for axis 0 with size 3"):
        global_op("take")(x, torch.tensor([7]))
    with refused(TypeError, "add: "):
        global_op("add")(x, torch.ones(3, dtype=torch.int32))
    with refused(TypeError, 'add: argument "b" is missing'):
        global_op("add")(x)
    with refused(TypeError, 'add: argument "a": expected a tensor, got an int'):
        global_op("add")(1, x)
    with refused(TypeError, "add: expected 1 outputs, got 2"):
        global_op("add")(x, x, x, x)
    with refused(ValueError, 'add: argument "out"'):
        global_op("add")(x, x, torch.ones(4))
    with refused(ValueError, "shares memory with"):
        global_op("add")(x[1:], x[1:], x[:2])


@needs_extension
def test_failures_and_panics_of_kernels_are_exceptions():
    x = torch.ones(3)
    with refused(RuntimeError, "testing.fails: ", "3 are too many"):
        global_op("testing.fails")(x)
    with refused(RuntimeError, "testing.panics: -1 is negative"):
        global_op("testing.panics")(-x)


def test_arguments_are_released():
    def use(fails):
        x = torch.ones(3, 4)
        try:
            global_op("sum")(x, [7 if fails else 1])
            global_op("concat")([x, x], 0)
            global_op("topk")(x, 2)
            global_op("rms_norm")(x, torch.ones(5 if fails else 4))
        except (IndexError, ValueError):
            assert fails
        return weakref.ref(x)

    check_released(use)


def test_memory_stays_flat():
    x, out = torch.ones(1000), torch.empty(1000)
    add, topk, softmax = map(global_op, ("add", "topk", "softmax"))
    samples = [(global_op(name), *sample(name)[:2]) for name in CALLS]

    def calls(count):
        for _ in range(count):
            add(x, x)
            add(x, x, out)
            topk(x, 2)
            try:
                softmax(x, 5)
            except IndexError:
                pass

    def refusals(count):
        for _ in range(count):
            with pytest.raises(TypeError):
                softmax(x, ["a" * 100_000])

    def others(count):
        for function, args, values in samples:
            for _ in range(count):
                function(*args, *values)

    for repeat, count in ((calls, 100_000), (refusals, 10_000), (others, 2000)):
        check_resident(repeat, count)


def test_threads_run_at_once():
    x = torch.rand(64, 64)
    expected, failures = ops.matmul(x, x), []
    matmul = global_op("matmul")

    def run():
        out = torch.empty(64, 64)
        for _ in range(200):
            matmul(x, x, out)
            if not same(out, expected):
                failures.append("another result")
            try:
                matmul(x, x[:3], out)
                failures.append("no error")
            except ValueError:
                pass

    in_threads(run)
    assert failures == []
