"""Tests of one framework each: tensors that must not pass, and ops with and without `out=`."""

import importlib

import dlbridge
from dlbridge import ops


def tests(name, in_only):
    """Pairs of a title and a test."""
    yield from GUARDS.get(name, [])
    if in_only:
        yield "op makes no result of the framework", lambda: refuses(lambda: ops.add(make(name), 1))
    else:
        yield "op makes a result of the framework", lambda: makes_result(name)
    if name in IMMUTABLE:
        yield "op doesn't write immutable tensors", lambda: refuses(lambda: add_into(make(name)))
    else:
        yield "op writes out=", lambda: writes_out(name)


IMMUTABLE = ("jax", "tensorflow", "pyarrow")


def make(name, values=(1, 2, 3, 4)):
    """A tensor of float32 numbers; its memory may be written unless the framework forbids that."""
    values = [float(value) for value in values]
    if name == "numpy":
        return module("numpy").array(values, "float32")
    if name == "torch":
        return module("torch").tensor(values)
    if name == "jax":
        return module("jax.numpy").array(values, "float32").block_until_ready()
    if name == "tensorflow":
        return module("tensorflow").constant(values)
    if name == "paddle":
        return module("paddle").to_tensor(values)
    if name == "pyarrow":
        pyarrow = module("pyarrow")
        return pyarrow.array(values, pyarrow.float32())
    if name == "mlx":
        return module("mlx.core").array(values)
    return module(name).from_dlpack(module("numpy").array(values, "float32"))


def module(name):
    return importlib.import_module(name)


def values(x):
    return dlbridge.from_dlpack(x).tolist()


def add_into(x):
    return ops.add(x, 1, out=x)


def refuses(call, text=""):
    try:
        made = call()
    except BufferError as error:
        assert text in str(error), error
        return
    raise AssertionError(f"expected a BufferError, got {made!r}")


def makes_result(name):
    x = make(name)
    made = ops.add(x, 1)
    assert type(made).__module__.split(".")[0] == type(x).__module__.split(".")[0], type(made)
    assert values(made) == [2, 3, 4, 5] and values(x) == [1, 2, 3, 4]


def writes_out(name):
    x, out = make(name), make(name, [0, 0, 0, 0])
    before = dlbridge.from_dlpack(out).data_ptr
    assert ops.add(x, 1, out=out) is out
    assert values(out) == [2, 3, 4, 5] and dlbridge.from_dlpack(out).data_ptr == before
    add_into(x)
    assert values(x) == [2, 3, 4, 5]


def load_extension():
    """Loads the package that gives older releases of PyTorch an exchange table, if it is here,
    after a tensor was seen without one.
    """
    x = make("torch")
    add_into(x)
    values(ops.add(x, 1))
    try:
        importlib.import_module("tvm_ffi")
    except ImportError:
        return


def torch_views():
    torch = module("torch")
    x, z = torch.ones(4), torch.tensor([1 + 2j, 3 + 4j])
    for _ in range(3):
        for use in (dlbridge.from_dlpack, lambda x: ops.add(x, 1), lambda x: x_to_numpy(x)):
            refuses(lambda use=use: use(torch._neg_view(x)), "resolve_neg")
            refuses(lambda use=use: use(z.conj()), "resolve_conj")
            refuses(lambda use=use: use(z.conj().imag), "resolve_neg")
        for use in (dlbridge.from_dlpack, lambda x: x_to_numpy(x)):
            refuses(lambda use=use: use(torch.ones(2, requires_grad=True)), "detach")
    if has_graphs():
        assert ops.add(torch.ones(2, requires_grad=True), 1).requires_grad
    else:
        refuses(lambda: ops.add(torch.ones(2, requires_grad=True), 1), "detach")
        refused = dlbridge.publish("torch")
        assert refused["add"].startswith("expected PyTorch 2.8 or newer, got "), refused["add"]
    assert values(z.conj().imag.resolve_neg()) == [-2, -4]
    assert values(torch._neg_view(x).resolve_neg()) == [-1] * 4


def has_graphs():
    """Whether ops are PyTorch's own for tensors that it follows or traces."""
    version = module("torch").__version__.split(".")
    return tuple(map(int, version[:2])) >= (2, 8)


def x_to_numpy(x):
    return dlbridge.convert(x, "numpy")


def torch_fakes():
    fakes = module("torch._subclasses")
    with fakes.FakeTensorMode():
        fake = module("torch").ones(3)
    refuses(lambda: dlbridge.from_dlpack(fake))
    if has_graphs():
        assert isinstance(add_into(fake), fakes.FakeTensor)
    else:
        refuses(lambda: add_into(fake))
    refuses(lambda: dlbridge.from_dlpack(module("torch").ones(3, device="meta")))


def torch_others():
    """Tensors whose elements aren't one piece of memory, or other than they say."""
    torch = module("torch")
    makers = {
        "sparse": lambda: torch.eye(3).to_sparse(),
        "compressed": lambda: torch.eye(3).to_sparse_csr(),
        "quantized": lambda: torch.quantize_per_tensor(torch.ones(4), 0.5, 1, torch.qint8),
        "oneDNN": lambda: torch.ones(3, 3).to_mkldnn(),
        "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "zeros": lambda: torch._efficientzerotensor((3,)),
        "followed": lambda: torch.nn.Parameter(torch.ones(3)) if not has_graphs() else None,
    }
    made = 0
    for maker in makers.values():
        try:
            x = maker()
        except (AttributeError, RuntimeError, NotImplementedError):
            continue  # This release hasn't got it.
        if x is None:
            continue
        made += 1
        for use in (dlbridge.from_dlpack, x_to_numpy, lambda x: ops.add(x, 1), add_into):
            refuses(lambda use=use, x=x: use(x))
    assert made >= 4, "most releases have most of them"


def torch_versions():
    torch = module("torch")
    x = torch.ones(4)
    before = x._version
    add_into(x)
    assert x._version > before, "autograd isn't told"


def paddle_autograd():
    x = module("paddle").ones([4])
    x.stop_gradient = False
    refuses(lambda: dlbridge.from_dlpack(x), "stop_gradient")
    refuses(lambda: ops.add(x, 1), "stop_gradient")


def pyarrow_bytes():
    """The memory of a Python `bytes`, which must never change."""
    pyarrow = module("pyarrow")
    memory = bytes(range(1, 9))
    x = pyarrow.Array.from_buffers(pyarrow.int32(), 2, [None, pyarrow.py_buffer(memory)])
    assert dlbridge.from_dlpack(x).readonly
    refuses(lambda: ops.add(x, 1, out=x), "read-only")
    assert memory == bytes(range(1, 9))
    copy = dlbridge.from_dlpack(x, copy=True)
    assert not copy.readonly
    refuses(lambda: dlbridge.from_dlpack(pyarrow.array([1.0, None])))


def tensorflow_strings():
    tf = module("tensorflow")
    refuses(lambda: dlbridge.from_dlpack(tf.constant(["a"])))
    for dtype in (tf.float32, tf.bfloat16):
        x = tf.cast(make("tensorflow"), dtype)
        assert dlbridge.from_dlpack(x).readonly, dtype
        refuses(lambda x=x: ops.add(x, 1, out=x), "read-only")


def jax_deleted():
    x = make("jax")
    assert dlbridge.from_dlpack(x).readonly
    x.delete()
    refuses(lambda: dlbridge.from_dlpack(x))


def jax_graphs():
    jax, x = module("jax"), make("jax")
    if jax.__version_info__ < (0, 4, 38):
        return refuses(lambda: jax.jit(ops.exp)(x), "Abstract tracer")
    assert jax.jit(lambda x: ops.add(x, 1))(x).tolist() == [2, 3, 4, 5]
    assert jax.jit(jax.vmap(ops.negative))(x).tolist() == [-1, -2, -3, -4]
    gradient = jax.grad(lambda x: ops.sum(ops.multiply(x, x)))
    assert gradient(x).tolist() == jax.jit(gradient)(x).tolist() == [2, 4, 6, 8]


def numpy_read_only():
    x = make("numpy")
    x.flags.writeable = False
    assert dlbridge.from_dlpack(x).readonly
    refuses(lambda: add_into(x), "read-only")


GUARDS = {
    "torch": [
        ("negated, conjugated and followed tensors", torch_views),
        ("fake tensors", torch_fakes),
        ("sparse, quantized and other tensors", torch_others),
        ("version counters", torch_versions),
    ],
    "paddle": [("followed tensors", paddle_autograd)],
    "pyarrow": [("immutable arrays", pyarrow_bytes)],
    "tensorflow": [("strings and immutable tensors", tensorflow_strings)],
    "jax": [("deleted arrays", jax_deleted), ("ops in graphs", jax_graphs)],
    "numpy": [("read-only arrays", numpy_read_only)],
}
