"""Rows that indices name, and images."""

from .inputs import READY, as_jax, jitted, jnp, np, torch
from .row import SAME, Call, Row, op, shape_text

TABLE = "Rows by index, and images"
F = torch.nn.functional
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def rows(inputs):
    for width, count in ((768, 4096), (64, 65536), (1, 10**6)):
        for name in ("embedding", "index_select"):
            if width > 1 or name == "index_select":
                yield lambda n=name, w=width, c=count: embedding(inputs, n, w, c)
    yield lambda: index_add(inputs, 768, 4096)
    for shape, size in (((8, 224, 224), None), ((1080, 1920), None), ((1080, 1920), (224, 224))):
        yield lambda shape=shape, size=size: image(inputs, shape, size)


def embedding(inputs, name, width, count):
    table = inputs.normal(50_000, width)
    indices = inputs.integers(0, 50_000, count)
    out = torch.empty(count, width)
    arrays = table.numpy(), indices.numpy()
    if name == "embedding":
        theirs = Call(F.embedding, indices, table)
    else:
        theirs = Call(torch.index_select, table, 0, indices, out=out)
    calls = {
        "dlbridge": Call(op("take"), table, indices, out=out),
        "torch": theirs,
        "numpy": Call(np.take, *arrays, axis=0, out=out.numpy(), mode="wrap"),
        "jax": Call(
            jitted(lambda x, at: jnp.take(x, at, axis=0)),
            *map(as_jax, (table, indices)),
            then=READY,
        ),
    }
    text = f"{count:,} rows of {width}"
    memory = (torch.empty_like(out), out)
    return Row(TABLE, f"take f32, {name}", text, calls, SAME, 8 * out.numel(), memory)


def index_add(inputs, width, count):
    # 0 is added, so that all calls have the same numbers.
    target = inputs.normal(50_000, width)
    indices = inputs.integers(0, 50_000, count)
    source = torch.zeros(count, width)
    calls = {
        "dlbridge": Call(op("index_add"), target, indices, source),
        "torch": Call(target.index_add_, 0, indices, source),
        "numpy": Call(np.add.at, target.numpy(), indices.numpy(), source.numpy()),
    }
    text = f"{count:,} rows of {width}"
    return Row(TABLE, "index_add f32", text, calls, {}, 12 * source.numel())


def image(inputs, shape, size):
    """Images of bytes, as normalised floats with the channels first."""
    image = inputs.integers(0, 256, *shape, 3, dtype=torch.uint8)
    mean, std = torch.tensor(MEAN), torch.tensor(STD)
    first = image.ndim - 1
    axes = (*range(first - 2), first, first - 2, first - 1)
    height, width = size or shape[-2:]
    out = torch.empty(*shape[:-2], 3, height, width)
    means, deviations = mean[:, None, None], std[:, None, None]

    def composed(image):
        x = image.permute(axes).float().div(255)
        if size is not None:
            x = F.interpolate(x[None], size, mode="bilinear", align_corners=False)[0]
        return x.sub(means).div(deviations)

    sizes = {"height": height, "width": width} if size else {}
    calls = {
        "dlbridge": Call(op("image_to_tensor"), image, mean, std, out=out, **sizes),
        "torch": Call(composed, image),
    }
    if size is None:
        constants = as_jax(means), as_jax(deviations)

        def fused(image, mean, std):
            return (jnp.transpose(image, axes).astype(jnp.float32) / 255 - mean) / std

        calls["jax"] = Call(jitted(fused), as_jax(image), *constants, then=READY)
    name = "image to CHW" if size is None else "image to CHW, resized"
    text = shape_text(*image.shape) + (f" to {shape_text(*size)}" if size else "")
    # Neighbours of random pixels differ by much, and places between them are rounded.
    tolerance = 1e-4 if size is None else 1e-2
    return Row(
        TABLE,
        name,
        text,
        calls,
        {"torch": 5.0},
        image.numel() + 4 * out.numel(),
        rtol=tolerance,
        atol=tolerance,
    )
