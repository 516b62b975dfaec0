"""Arrays on the emulated device: their element types, layouts, values, and what lies around
them.
"""

import ctypes

import ml_dtypes
import numpy

TYPES = {
    "b8": numpy.dtype(bool),
    "f16": numpy.dtype(numpy.float16),
    "bf16": numpy.dtype(ml_dtypes.bfloat16),
    "f32": numpy.dtype(numpy.float32),
    "f64": numpy.dtype(numpy.float64),
    **{
        f"{sign}{bits}": numpy.dtype(f"{sign}{bits // 8}")
        for sign in "iu"
        for bits in (8, 16, 32, 64)
    },
}
# Elements of which only the size matters.
TYPES.update({f"bytes{size}": numpy.dtype(f"V{size}") for size in (1, 2, 4, 8, 16)})
MOST_DIMENSIONS = 8
UNTOUCHED = 0xA5


class Array:
    """Elements in memory of their own, somewhere in it, and all bytes of that."""

    def __init__(self, device, element, shape, layout="contiguous"):
        dtype = TYPES[element]
        room, self.look = LAYOUTS[layout](tuple(shape))
        self.bytes = device.memory(room * dtype.itemsize)
        self.bytes[:] = UNTOUCHED
        self.element, self.values = element, self.look(self.bytes.view(dtype))
        assert self.values.shape == tuple(shape)

    @property
    def pointer(self):
        return ctypes.c_void_p(self.values.ctypes.data)

    @property
    def strides(self):
        return tuple(stride // self.values.itemsize for stride in self.values.strides)

    def fill(self, values):
        self.values[...] = values
        return self

    def around(self):
        """All bytes, but for those of the elements."""
        copy = self.bytes.copy()
        self.look(copy.view(self.values.dtype))[...] = numpy.zeros((), self.values.dtype)
        return copy.tobytes()


def size(shape):
    return int(numpy.prod(shape, dtype=numpy.int64))


def transposed(shape):
    return size(shape), lambda all: all.reshape(shape[::-1]).transpose()


def backwards(shape):
    return size(shape), lambda all: all.reshape(shape)[
        (*(slice(None, None, -1) for _ in shape), ...)
    ]


def every_second(shape):
    room = tuple(2 * extent for extent in shape)
    return size(room), lambda all: all.reshape(room)[(*(slice(1, None, 2) for _ in shape), ...)]


def padded(shape):
    """Rows with room between them, which begin at multiples of 16 bytes all the same."""
    if not shape:
        return 1, lambda all: all.reshape(())
    room = (*shape[:-1], -(-shape[-1] // 16) * 16 + 16)
    return size(room), lambda all: all.reshape(room)[..., : shape[-1]]


LAYOUTS = {
    "contiguous": lambda shape: (size(shape), lambda all: all.reshape(shape)),
    "off by one": lambda shape: (size(shape) + 1, lambda all: all[1:].reshape(shape)),
    "transposed": transposed,
    "backwards": backwards,
    "every second": every_second,
    "padded": padded,
}


def layout(shape, *strides):
    """What kernels take as `Strided<N>`: the fastest dimension comes first."""
    count = len(strides)

    class Strided(ctypes.Structure):
        _fields_ = [
            ("rank", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * MOST_DIMENSIONS),
            ("strides", ctypes.c_int64 * MOST_DIMENSIONS * count),
        ]

    strided = Strided(len(shape))
    strided.sizes[: len(shape)] = [*reversed(shape)]
    for number, of_one in enumerate(strides):
        strided.strides[number][: len(shape)] = [*reversed(of_one)]
    return strided


def u32(number):
    return ctypes.c_uint32(number)


def i64(number):
    return ctypes.c_int64(number)


def u64(number):
    return ctypes.c_uint64(number)


def f64(number):
    return ctypes.c_double(number)


def ends(dtype):
    """The smallest and the largest number of a type."""
    if dtype.kind in "iu":
        limits = numpy.iinfo(dtype)
    else:
        limits = ml_dtypes.finfo(dtype)
    return limits.min, limits.max


def some_numbers(generator, element, shape):
    """Random numbers, and among them those that are special."""
    dtype = TYPES[element]
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        lowest, highest = ends(dtype)
        values = generator.integers(lowest, highest, shape, dtype, endpoint=True)
        special = [0, 1, lowest, highest]
    else:
        values = generator.standard_normal(shape).astype(dtype)
        special = [
            0.0,
            -0.0,
            1.0,
            numpy.inf,
            -numpy.inf,
            numpy.nan,
            *ends(dtype),
            ml_dtypes.finfo(dtype).smallest_subnormal,
        ]
    chosen = generator.integers(0, 4 * len(special), shape)
    special = numpy.array(special, dtype)
    return numpy.where(chosen < len(special), special[chosen % len(special)], values)


def run_unchanged_around(out, device, *call, **options):
    """Runs a kernel, which may write to the elements of its result, and to nothing around them."""
    around = out.around()
    device.launch(*call, **options)
    assert out.around() == around, "something outside of the result was written"


def assert_same(found, expected):
    """Bit for bit, but for which NaN it is."""
    assert found.dtype == expected.dtype and found.shape == expected.shape
    is_nan = found != found
    numpy.testing.assert_array_equal(is_nan, expected != expected)
    bits = numpy.dtype(f"u{found.itemsize}")
    numpy.testing.assert_array_equal(
        numpy.where(is_nan, 0, numpy.ascontiguousarray(found).view(bits).reshape(found.shape)),
        numpy.where(is_nan, 0, numpy.ascontiguousarray(expected).view(bits).reshape(found.shape)),
    )
