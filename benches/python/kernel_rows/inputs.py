"""Tensors of the rows: PyTorch's, and NumPy's and JAX's arrays of the same memory."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import torch

#: Random numbers are repeated after this number of them.
REPEATED = 1_000_003


class Inputs:
    """Makes tensors of random numbers, the same in each run."""

    def __init__(self):
        jax.config.update("jax_enable_x64", True)
        self.random = torch.Generator().manual_seed(7)

    def normal(self, *shape, dtype=torch.float32):
        count = math.prod(shape)
        numbers = torch.randn(min(count, REPEATED), generator=self.random).to(dtype)
        repeats = -(-count // REPEATED)
        return numbers.repeat(repeats)[:count].reshape(shape).clone()

    def integers(self, low, high, *shape, dtype=torch.int64):
        return torch.randint(low, high, shape, generator=self.random, dtype=dtype)


def as_jax(tensor):
    """An array of JAX with the same elements: of the same memory if that is row-major."""
    return jax.block_until_ready(jax.dlpack.from_dlpack(tensor.contiguous()))


def jitted(function):
    return jax.jit(function)


def functions(name):
    """PyTorch's function that takes `out`, and JAX's."""
    if name == "gelu":
        return torch._C._nn.gelu, lambda x: jax.nn.gelu(x, approximate=False)
    return getattr(torch, name), getattr(jnp, name)


#: JAX returns before the result is there.
READY = jax.block_until_ready


def as_torch(result):
    """A result of any of the libraries as a tensor of PyTorch."""
    if isinstance(result, torch.Tensor):
        return result
    if isinstance(result, jax.Array):
        return torch.from_dlpack(result)
    return torch.from_numpy(np.atleast_1d(np.asarray(result))).reshape(np.shape(result))


def is_close(found, expected, rtol, atol):
    """Whether all elements are close, in pieces, as temporary tensors are as large."""
    if found.shape != expected.shape:
        return False
    found, expected = found.reshape(-1), expected.reshape(-1)
    step = 1 << 22
    for begin in range(0, max(found.numel(), 1), step):
        one, other = found[begin : begin + step], expected[begin : begin + step]
        if not one.is_floating_point() and not other.is_floating_point():
            is_same = torch.equal(one.long(), other.long())
        else:
            one, other = one.double(), other.double()
            is_same = torch.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True)
        if not is_same:
            return False
    return True
