"""An array of CuPy's goes through a Rust op to JAX, and no element is copied on the way.

Needs CuPy, JAX and a GPU, and the extension: maturin develop --release
"""

import cuda_interop  # noqa: F401 (its op is in dlbridge.ops.interop from here on)
import cupy
import jax
import jax.numpy as jnp

import dlbridge


def main():
    x = cupy.linspace(-3, 3, 1000, dtype="float32")
    y = dlbridge.ops.interop.swish(x)  # A cupy.ndarray, on CuPy's stream.
    theirs = dlbridge.convert(y, "jax")
    print(
        f"CuPy made {x.data.ptr:#x}, Rust wrote {y.data.ptr:#x}, JAX reads {theirs.unsafe_buffer_pointer():#x}"
    )
    assert theirs.unsafe_buffer_pointer() == y.data.ptr
    assert jnp.allclose(theirs, jax.nn.silu(jnp.linspace(-3, 3, 1000)), atol=1e-5)
    print(dlbridge.explain(y, "jax"))


if __name__ == "__main__":
    main()
