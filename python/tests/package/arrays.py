"""NumPy's arrays of any layout, and their comparison with tensors."""

import dlbridge
from support import framework

np = framework("numpy")


def assert_same(t, x, readonly=None):
    """The tensor is the array: its sizes, its strides where they say something, its place and its
    elements.
    """
    assert isinstance(t, dlbridge.Tensor) and t.shape == x.shape and str(t.dtype) == x.dtype.name
    assert (t.ndim, t.size, t.nbytes, t.itemsize) == (x.ndim, x.size, x.nbytes, x.itemsize)
    assert t.readonly == (not x.flags.writeable if readonly is None else readonly)
    assert t.is_contiguous == x.flags.c_contiguous
    assert t.tolist() == x.tolist()
    if x.size:
        steps = [stride // x.itemsize for stride in x.strides]
        assert [s for s, n in zip(t.strides, t.shape) if n > 1] == [
            s for s, n in zip(steps, x.shape) if n > 1
        ]
        assert t.data_ptr == x.ctypes.data


def some_array(choose, largest=4, ranks=range(5)):
    """An array of any rank, whose strides are anything."""
    shape = [
        choose.randint(0 if choose.random() < 0.1 else 1, largest)
        for _ in range(choose.choice(ranks))
    ]
    x = np.arange(np.prod([3 * n for n in shape], dtype=int), dtype="i4").reshape(
        [3 * n for n in shape]
    )
    # The memory is larger than what is seen of it, so that there are gaps, and something before it.
    for axis, size in enumerate(shape):
        first, step = choose.randint(0, 2), choose.choice([1, 2])
        x = np.moveaxis(np.moveaxis(x, axis, 0)[first::step][:size], 0, axis)
        if choose.random() < 0.3:
            x = np.flip(x, axis)
    x = x.transpose(choose.sample(range(x.ndim), x.ndim))
    if choose.random() < 0.2:
        x = np.broadcast_to(x, (choose.randint(1, 3), *x.shape))
    return x


def layouts(x):
    """Arrays of the same elements in other places."""
    wide = np.zeros([2 * n + 1 for n in x.shape], x.dtype)[(..., *[slice(1, None, 2)] * x.ndim)]
    wide[...] = x
    return [x, x.copy("F"), wide, np.asarray(np.flip(np.flip(x).copy()))]


def numbers(shape, dtype, first=0):
    count = int(np.prod(shape, dtype=int))
    return (np.arange(first, first + count) % 50).astype(dtype).reshape(shape)
