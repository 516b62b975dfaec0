"""Arrays of every dtype and kind of shape, for the tests of files."""

import ml_dtypes
import numpy as np

NATIVE = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64
    complex128""".split()
# The rest of what TensorFlow's messages have.
EXTENSIONS = "bfloat16 float8_e5m2 float8_e4m3fn int4 uint4 int2 uint2 float4_e2m1fn".split()
SHAPES = [(), (0,), (1,), (3,), (2, 3, 4), (3, 0, 2), (1, 1, 16)]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def array(name, shape):
    """Numbers that differ from their neighbours, as far as the dtype has enough."""
    dtype = dtype_of(name)
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    return np.asarray(numbers % (2 if dtype.itemsize == 1 else 200)).astype(dtype)


def arrays(name):
    """Every shape, and strided ones."""
    for shape in SHAPES:
        yield array(name, shape)
    yield array(name, (4, 6)).T
    yield array(name, (4, 6))[::2, ::-1]


def same(a, b):
    """Whether two arrays have the same dtype, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
