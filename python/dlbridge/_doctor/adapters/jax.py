"""JAX."""

from __future__ import annotations

import importlib
from typing import Any

from .. import arrays, elements
from ..layouts import Layout
from ..memory import Look
from .base import AbsentError, Adapter, only_plain


class Jax(Adapter):
    name = "jax"
    module = "jax"
    immutable = True

    def __init__(self) -> None:
        super().__init__()
        self.numpy: Any = importlib.import_module("jax.numpy")
        importlib.import_module("jax.dlpack")

    def make(self, dtype: str, layout: Layout) -> Any:
        if layout.name != "transposed":
            only_plain(layout, "JAX")
        if (
            elements.BITS[dtype] >= 64
            and dtype != "complex64"
            and not self.lib.config.jax_enable_x64
        ):
            raise AbsentError(f"JAX has no {dtype} unless jax_enable_x64 is set")
        try:
            x = self.numpy.array(arrays.array(dtype, layout), copy=True)
        except (TypeError, ValueError) as error:
            raise AbsentError(f"JAX has no {dtype}: {error}") from None
        if layout.name == "transposed":
            # Its memory is column-major; that is its only kind of strides.
            of = importlib.import_module("jax.experimental.layout")
            x = self.lib.device_put(x, of.Format(of.Layout(major_to_minor=(1, 0)), x.sharding))
        return x.block_until_ready()

    def look(self, x: Any) -> Look:
        name = elements.canonical(str(x.dtype))
        strides = arrays.look(x.__array__()).strides if x.size else None
        is_host = next(iter(x.devices())).platform == "cpu"
        bits = elements.BITS.get(name, 8)
        step = bits if bits in (1, 2, 4) else x.dtype.itemsize * 8  # They are packed.
        return Look(name, tuple(x.shape), strides, x.unsafe_buffer_pointer(), step, is_host)

    def own_read(self, x: Any, dtype: str) -> list[int]:
        # Of a copy that it makes anew, for an array remembers what NumPy once saw of it.
        return elements.from_bytes(dtype, self.numpy.array(x, copy=True).__array__().tobytes())

    def compute(self, x: Any) -> None:
        (x == x).block_until_ready()

    def take(self, x: Any) -> Any:
        return self.lib.dlpack.from_dlpack(x).block_until_ready()
