"""Reductions, and functions of lines: softmax and norms."""

from .inputs import READY, as_jax, jax, jitted, jnp, np, torch
from .row import SAME, SMALL, SMALL_NUMPY, Call, Row, op, shape_text, size_text

TABLE = "Reductions"
LINES = "Softmax and norms"
F = torch.nn.functional


def rows(inputs):
    for count in (10, 1000, 10**5, 10**7, 10**8):
        yield lambda count=count: reduction(inputs, "sum", (count,), None)
    for name in ("max", "argmax"):
        for count in (1000, 10**7):
            yield lambda name=name, count=count: reduction(inputs, name, (count,), None)
    for name in ("sum", "max", "argmax"):
        for axis in (0, 1):
            yield lambda name=name, axis=axis: reduction(inputs, name, (4096, 4096), axis)
    for shape, axis in (((10**6, 5), 1), ((10**6, 5), 0), ((5, 10**6), 0), ((64, 512, 300), 1)):
        yield lambda shape=shape, axis=axis: reduction(inputs, "sum", shape, axis)
    yield lambda: reduction(inputs, "sum", (10**7,), None, torch.bfloat16)
    for count in (10, 1000):
        yield lambda count=count: sum_of_numpy(inputs, count)
    for name in ("softmax", "log_softmax", "rms_norm", "layer_norm"):
        for shape in ((1, 1000), (1024, 4096), (65536, 64)):
            yield lambda name=name, shape=shape: of_lines(inputs, name, shape)
        yield lambda name=name: of_lines(inputs, name, (1024, 4096), torch.bfloat16)


def reduction(inputs, name, shape, axis, dtype=torch.float32):
    x = inputs.normal(*shape, dtype=dtype)
    over = 0 if axis is None else axis
    theirs = {"sum": torch.sum, "max": torch.amax, "argmax": torch.argmax}[name]
    out = torch.empty_like(theirs(x, over))
    function = op(name)
    from_jax = getattr(jnp, name)
    calls = {
        "dlbridge": function and Call(function, x, axis=over, out=out),
        "torch": Call(theirs, x, over, out=out),
        "jax": Call(jitted(lambda x: from_jax(x, over)), as_jax(x), then=READY),
    }
    if dtype != torch.bfloat16:
        calls["numpy"] = Call(getattr(np, name), x.numpy(), over, out=out.numpy())
    size = size_text(shape[0]) if axis is None else f"{shape_text(*shape)}, axis {axis}"
    bars = SAME if x.numel() >= 10**6 else SMALL if x.numel() <= 1000 else {}
    label = f"{name} {'f32' if dtype == torch.float32 else 'bf16'}"
    # Sums of random numbers lose digits where they are near 0.
    tolerance = 1e-4 * x.numel() ** 0.5 if dtype == torch.float32 else 0.5 * x.numel() ** 0.5
    nbytes = x.numel() * x.itemsize
    curve = (label, x.numel()) if axis is None and name == "sum" and dtype.itemsize == 4 else None
    memory = (x, torch.empty_like(x)) if x.numel() >= 10**6 else None
    return Row(TABLE, label, size, calls, bars, nbytes, memory, atol=tolerance, curve=curve)


def sum_of_numpy(inputs, count):
    x, out = inputs.normal(count).numpy(), np.empty((), np.float32)
    calls = {
        "dlbridge": Call(op("sum"), x, axis=0, out=out),
        "torch": Call(torch.sum, torch.from_numpy(x), 0, out=torch.from_numpy(out)),
        "numpy": Call(np.sum, x, 0, out=out),
    }
    bars = SMALL_NUMPY
    return Row(TABLE, "sum f32, NumPy's arrays", size_text(count), calls, bars, atol=1e-3)


def of_lines(inputs, name, shape, dtype=torch.float32):
    x = inputs.normal(*shape, dtype=dtype)
    length = shape[-1]
    weight, bias = (inputs.normal(length, dtype=dtype) for _ in range(2))
    out = torch.empty_like(x)
    function = op(name)
    if name.endswith("softmax"):
        ours = function and Call(function, x, out=out)
        theirs = Call(getattr(F, name), x, -1)
        from_jax = Call(jitted(getattr(jax.nn, name)), as_jax(x), then=READY)
    elif name == "rms_norm":
        ours = function and Call(function, x, weight, eps=1e-6, out=out)
        theirs = Call(F.rms_norm, x, (length,), weight, 1e-6)
        from_jax = Call(jitted(_rms_norm), as_jax(x), as_jax(weight), then=READY)
    else:
        ours = function and Call(function, x, weight, bias, eps=1e-6, out=out)
        theirs = Call(F.layer_norm, x, (length,), weight, bias, 1e-6)
        from_jax = Call(jitted(_layer_norm), *map(as_jax, (x, weight, bias)), then=READY)
    calls = {"dlbridge": ours, "torch": theirs, "jax": from_jax}
    bars = SMALL if x.numel() <= 1000 else SAME
    label = f"{name} {'f32' if dtype == torch.float32 else 'bf16'}"
    tolerance = 1e-5 if dtype == torch.float32 else 5e-2
    nbytes = 2 * x.numel() * x.itemsize
    text = shape_text(*shape)
    return Row(LINES, label, text, calls, bars, nbytes, (x, out), rtol=tolerance, atol=tolerance)


def _rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype) * weight


def _layer_norm(x, weight, bias):
    wide = x.astype(jnp.float32)
    centred = wide - jnp.mean(wide, -1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-6)
    return (centred * scale).astype(x.dtype) * weight + bias
