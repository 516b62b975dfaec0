"""Products of matrices."""

from .inputs import READY, as_jax, jitted, jnp, np, torch
from .row import SMALL, Call, Row, op, shape_text

TABLE = "Products of matrices"
BARS = {torch.float32: {"torch": 0.9}, torch.bfloat16: {"torch": 0.85}}
SHORT = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
}


def rows(inputs):
    for side in (8, 64, 512, 1024, 2048):
        yield lambda side=side: product(inputs, (side, side), (side, side), torch.float32)
    for side in (64, 512, 1024, 2048):
        yield lambda side=side: product(inputs, (side, side), (side, side), torch.bfloat16)
    for dtype in (torch.float64, torch.float16):
        yield lambda dtype=dtype: product(inputs, (1024, 1024), (1024, 1024), dtype)
    for a, b in (((1, 2048), (2048, 2048)), ((2048, 2048), (2048, 1))):
        yield lambda a=a, b=b: product(inputs, a, b, torch.float32)
    for dtype in (torch.float32, torch.bfloat16):
        shape = (64, 64, 64)
        yield lambda dtype=dtype, shape=shape: product(inputs, shape, shape, dtype)
    yield lambda: integers(inputs, 1024)


def product(inputs, a_shape, b_shape, dtype):
    a, b = inputs.normal(*a_shape, dtype=dtype), inputs.normal(*b_shape, dtype=dtype)
    out = torch.empty(*a_shape[:-1], b_shape[-1], dtype=dtype)
    calls = {
        "dlbridge": Call(op("matmul"), a, b, out=out),
        "torch": Call(torch.matmul, a, b, out=out),
        "jax": Call(jitted(jnp.matmul), as_jax(a), as_jax(b), then=READY),
    }
    if dtype.itemsize > 2:
        calls["numpy"] = Call(np.matmul, a.numpy(), b.numpy(), out=out.numpy())
    depth = a_shape[-1]
    is_large = len(a_shape) == 2 and min(a_shape + b_shape) >= 512
    bars = BARS.get(dtype, {}) if is_large else SMALL if depth <= 8 else {}
    tolerance = {2: 0.05, 4: 1e-4, 8: 1e-12}[dtype.itemsize] * depth**0.5
    text = f"{shape_text(*a_shape)} by {shape_text(*b_shape)}"
    return Row(
        TABLE,
        f"matmul {SHORT[dtype]}",
        text,
        calls,
        bars,
        flops=2 * out.numel() * depth,
        peak="bf16" if dtype == torch.bfloat16 else "f32",
        rtol=1e-2 if dtype.itemsize == 2 else 1e-5,
        atol=tolerance,
    )


def integers(inputs, side):
    a, b = (inputs.integers(-128, 128, side, side, dtype=torch.int8) for _ in range(2))
    out = torch.empty(side, side, dtype=torch.int32)

    def of_jax(a, b):
        return jnp.matmul(a, b, preferred_element_type=jnp.int32)

    calls = {
        "dlbridge": Call(op("matmul"), a, b, dtype="int32", out=out),
        "torch": Call(torch._int_mm, a, b, out=out),
        "jax": Call(jitted(of_jax), as_jax(a), as_jax(b), then=READY),
    }
    text = shape_text(side, side)
    return Row(TABLE, "matmul int8 to int32", f"{text} by {text}", calls, flops=2 * side**3)
