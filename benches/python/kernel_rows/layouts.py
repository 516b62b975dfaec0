"""Copies, casts and transposed copies."""

from .inputs import READY, as_jax, jitted, jnp, np, torch
from .row import SMALL, SMALL_NUMPY, STREAMING, Call, Row, op, shape_text, size_text

SIZES = (10, 1000, 10**5, 10**7, 10**8)
#: From this number of elements on, tensors are larger than the caches.
LARGE = 10**7
TABLE = "Copies and casts"
TRANSPOSED = "Transposed copies"


def bars_of(count):
    return STREAMING if count >= LARGE else SMALL if count <= 1000 else {}


def rows(inputs):
    for count in SIZES:
        yield lambda count=count: copy(inputs, count)
    for source, target in ((torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)):
        for count in SIZES:
            yield lambda s=source, t=target, count=count: cast(inputs, s, t, count)
    for count in (1000, 10**5, 10**7):
        yield lambda count=count: cast(inputs, torch.float64, torch.bfloat16, count)
    for count in (10, 1000):
        yield lambda count=count: copy_of_numpy(inputs, count)
    for side in (100, 1000, 4096, 8000):
        yield lambda side=side: transposed(inputs, torch.float32, (side, side), (1, 0))
    for dtype in (torch.uint8, torch.bfloat16, torch.float64, torch.complex128):
        yield lambda dtype=dtype: transposed(inputs, dtype, (4096, 4096), (1, 0))
    yield lambda: transposed(inputs, torch.float32, (16, 1024, 1000), (0, 2, 1))
    yield lambda: transposed(inputs, torch.float32, (8, 2048, 16, 64), (0, 2, 1, 3))
    yield lambda: transposed(inputs, torch.float32, (4, 1080, 1920, 3), (0, 3, 1, 2))


def copy(inputs, count):
    x = inputs.normal(count)
    out = torch.empty_like(x)
    calls = {
        "dlbridge": Call(op("copy"), x, out=out),
        "torch": Call(out.copy_, x),
        "numpy": Call(np.copyto, out.numpy(), x.numpy()),
        "jax": Call(jitted(jnp.copy), as_jax(x), then=READY),
    }
    return Row(
        TABLE,
        "copy f32",
        size_text(count),
        calls,
        bars_of(count),
        8 * count,
        (x, out),
        curve=("copy f32", count),
    )


def copy_of_numpy(inputs, count):
    x, out = inputs.normal(count).numpy(), np.empty(count, np.float32)
    calls = {
        "dlbridge": Call(op("copy"), x, out=out),
        "torch": Call(torch.from_numpy(out).copy_, torch.from_numpy(x)),
        "numpy": Call(np.copyto, out, x),
    }
    return Row(TABLE, "copy f32, NumPy's arrays", size_text(count), calls, SMALL_NUMPY)


def cast(inputs, source, target, count):
    x = inputs.normal(count, dtype=source)
    out = torch.empty(count, dtype=target)
    names = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float64: "f64"}
    dtype = str(target).removeprefix("torch.")
    calls = {
        "dlbridge": Call(op("cast"), x, dtype=dtype, out=out),
        "torch": Call(out.copy_, x),
        "jax": Call(jitted(lambda x: x.astype(dtype)), as_jax(x), then=READY),
    }
    name = f"cast {names[source]} to {names[target]}"
    nbytes = count * (source.itemsize + target.itemsize)
    bars = bars_of(count)
    curve = (name, count)
    return Row(TABLE, name, size_text(count), calls, bars, nbytes, (x, out), curve=curve)


def transposed(inputs, dtype, shape, axes):
    x = inputs.integers(0, 100, *shape, dtype=torch.uint8).to(dtype)
    view = x.permute(axes)
    out = torch.empty(view.shape, dtype=dtype)
    calls = {
        "dlbridge": Call(op("copy"), view, out=out),
        "torch": Call(out.copy_, view),
        "jax": Call(jitted(lambda x: jnp.copy(jnp.transpose(x, axes))), as_jax(x), then=READY),
    }
    if dtype != torch.bfloat16:
        calls["numpy"] = Call(np.copyto, out.numpy(), view.numpy())
    name = f"{str(dtype).removeprefix('torch.')}, axes {axes}"
    bars = {"torch": 1.5} if x.numel() >= 10**6 else {}
    nbytes = 2 * x.numel() * x.itemsize
    return Row(TRANSPOSED, name, shape_text(*shape), calls, bars, nbytes, (x, out))
