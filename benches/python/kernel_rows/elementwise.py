"""Elementwise ops."""

from .inputs import READY, as_jax, functions, jitted, jnp, np, torch
from .layouts import SIZES, bars_of
from .row import SMALL, SMALL_NUMPY, Call, Row, op, shape_text, size_text

TABLE = "Elementwise"


def rows(inputs):
    for name in ("add", "where", "exp", "gelu"):
        for count in SIZES:
            if name != "gelu" or count <= 10**7:
                yield lambda name=name, count=count: MAKERS[name](inputs, name, count)
    for name in ("add", "exp"):
        for count in (10, 1000):
            yield lambda name=name, count=count: of_numpy(inputs, name, count)
    for dtype in (torch.bfloat16, torch.float16):
        yield lambda dtype=dtype: add(inputs, "add", 10**7, dtype)
    yield lambda: unary(inputs, "gelu", 10**6, torch.float64)
    yield lambda: unary(inputs, "gelu", 10**7, torch.bfloat16)
    for count in (1000, 10**5, 10**6, 10**7):
        yield lambda count=count: in_place(inputs, count)
    yield lambda: column(inputs, (4096, 4096))


def add(inputs, name, count, dtype=torch.float32):
    x, y = (inputs.normal(count, dtype=dtype) for _ in range(2))
    out = torch.empty_like(x)
    calls = {
        "dlbridge": Call(op("add"), x, y, out=out),
        "torch": Call(torch.add, x, y, out=out),
        "jax": Call(jitted(jnp.add), as_jax(x), as_jax(y), then=READY),
    }
    if dtype != torch.bfloat16:
        calls["numpy"] = Call(np.add, x.numpy(), y.numpy(), out=out.numpy())
    label = f"add {SHORT[dtype]}"
    nbytes = 3 * count * dtype.itemsize
    bars = bars_of(count)
    curve = (label, count) if dtype == torch.float32 else None
    return Row(TABLE, label, size_text(count), calls, bars, nbytes, (x, out), curve=curve)


def where(inputs, name, count):
    x, y = inputs.normal(count), inputs.normal(count)
    condition, out = x > y, torch.empty_like(x)
    arrays = [tensor.numpy() for tensor in (condition, x, y)]
    calls = {
        "dlbridge": Call(op("where"), condition, x, y, out=out),
        "torch": Call(torch.where, condition, x, y, out=out),
        "numpy": Call(np.where, *arrays),
        "jax": Call(jitted(jnp.where), *map(as_jax, (condition, x, y)), then=READY),
    }
    return Row(TABLE, "where f32", size_text(count), calls, bars_of(count), 13 * count, (x, out))


def unary(inputs, name, count, dtype=torch.float32):
    x = inputs.normal(count, dtype=dtype)
    out = torch.empty_like(x)
    theirs, from_jax = functions(name)
    calls = {
        "dlbridge": Call(op(name), x, out=out),
        "torch": Call(theirs, x, out=out),
        "jax": Call(jitted(from_jax), as_jax(x), then=READY),
    }
    if name == "exp":
        calls["numpy"] = Call(np.exp, x.numpy(), out=out.numpy())
    bars = SMALL if count <= 1000 else {}
    label = f"{name} {SHORT[dtype]}"
    nbytes = 2 * count * dtype.itemsize
    tolerance = 1e-5 if dtype.itemsize > 2 else 1e-2
    curve = (label, count) if dtype == torch.float32 else None
    return Row(
        TABLE,
        label,
        size_text(count),
        calls,
        bars,
        nbytes,
        (x, out),
        rtol=tolerance,
        atol=tolerance,
        curve=curve,
    )


def of_numpy(inputs, name, count):
    """The op on NumPy's arrays, compared with NumPy's function."""
    arguments = [inputs.normal(count).numpy() for _ in range(2 if name == "add" else 1)]
    out = np.empty(count, np.float32)
    tensors = map(torch.from_numpy, arguments)
    calls = {
        "dlbridge": Call(op(name), *arguments, out=out),
        "torch": Call(getattr(torch, name), *tensors, out=torch.from_numpy(out)),
        "numpy": Call(getattr(np, name), *arguments, out=out),
    }
    return Row(TABLE, f"{name} f32, NumPy's arrays", size_text(count), calls, SMALL_NUMPY)


def in_place(inputs, count):
    # 0 is added, so that all calls have the same numbers.
    x, zero = inputs.normal(count), torch.zeros(count)
    calls = {
        "dlbridge": Call(op("add"), x, zero, out=x),
        "torch": Call(x.add_, zero),
        "numpy": Call(np.add, x.numpy(), zero.numpy(), out=x.numpy()),
    }
    return Row(TABLE, "add f32, in place", size_text(count), calls, {}, 12 * count, (zero, x))


def column(inputs, shape):
    x, y = inputs.normal(*shape), inputs.normal(shape[0], 1)
    out = torch.empty_like(x)
    calls = {
        "dlbridge": Call(op("add"), x, y, out=out),
        "torch": Call(torch.add, x, y, out=out),
        "numpy": Call(np.add, x.numpy(), y.numpy(), out=out.numpy()),
        "jax": Call(jitted(jnp.add), as_jax(x), as_jax(y), then=READY),
    }
    text = f"{shape_text(*shape)} + {shape_text(shape[0], 1)}"
    bars = bars_of(x.numel())
    return Row(TABLE, "add f32, a column", text, calls, bars, 8 * x.numel(), (x, out))


SHORT = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
}
MAKERS = {"add": add, "where": where, "exp": unary, "gelu": unary}
