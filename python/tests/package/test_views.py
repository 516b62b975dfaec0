"""Views of the package's tensors: orders, shapes and casts, each as NumPy has it, of the same
memory.
"""

import itertools
import random

import dlbridge
import pytest
from arrays import assert_same, some_array
from support import framework, refused

np = framework("numpy")


@pytest.mark.parametrize("seed", range(20))
def test_permute_equals_numpy(seed):
    choose = random.Random(seed)
    for _ in range(20):
        x = some_array(choose)
        t = dlbridge.from_dlpack(x)
        assert_same(t.T, x.T)
        assert_same(t.transpose(), x.T)
        axes = [axis - choose.choice([0, x.ndim]) for axis in choose.sample(range(x.ndim), x.ndim)]
        if axes:
            assert_same(t.transpose(*axes), x.transpose(axes))
            assert_same(t.transpose(axes), x.transpose(axes))
            assert_same(t.transpose(tuple(axes)), x.transpose(axes))


def some_shape(choose, size):
    """A random shape of a number of elements."""
    shape, left = [], size
    while left > 1 and choose.random() < 0.8:
        divisor = choose.choice([n for n in range(1, left + 1) if left % n == 0])
        shape.append(divisor)
        left //= divisor
    shape.insert(choose.randint(0, len(shape)), left)
    return shape


@pytest.mark.parametrize("seed", range(20))
def test_reshape_without_copy_equals_numpy(seed):
    choose = random.Random(seed)
    shared = copied = 0
    for _ in range(100):
        x = some_array(choose)
        t = dlbridge.from_dlpack(x)
        shape = some_shape(choose, x.size)
        if shape and 0 not in shape and choose.random() < 0.5:
            shape[choose.randrange(len(shape))] = -1
        try:
            expected = x.reshape(shape, copy=False)
        except ValueError:
            copied += 1
            with refused(ValueError, "copy"):
                t.reshape(*shape)
        else:
            shared += 1
            for result in (t.reshape(*shape), t.reshape(shape), t.reshape(tuple(shape))):
                assert_same(result, expected)
    assert shared > 20 and copied > 5


def test_invalid_shape_is_refused():
    t = dlbridge.arange(12)
    assert t.reshape(3, -1).shape == (3, 4) and t.reshape(-1).shape == (12,)
    assert dlbridge.asarray(5).reshape().shape == () and dlbridge.asarray(5).reshape(()).shape == ()
    assert dlbridge.zeros((0, 3)).reshape(3, -1).shape == (3, 0)
    for shape in [(5,), (5, -1), (-1, -1), (-2, 6), (), (0, -1), (2**62, 4)]:
        with refused(ValueError):
            t.reshape(*shape)
    for shape in [(2.0, 6), ("12",), (None,)]:
        with refused(TypeError):
            t.reshape(*shape)


@pytest.mark.parametrize("seed", range(20))
def test_broadcast_equals_numpy(seed):
    choose = random.Random(seed)
    for _ in range(50):
        x = some_array(choose, largest=3, ranks=range(4))
        t = dlbridge.from_dlpack(x)
        shape = [
            choose.randint(0, 3) if size == 1 or choose.random() < 0.1 else size for size in x.shape
        ]
        shape = [choose.randint(0, 3) for _ in range(choose.randint(0, 2))] + shape[
            choose.choice([0, 0, 0, 1]) :
        ]
        try:
            expected = np.broadcast_to(x, shape)
        except ValueError:
            with refused(ValueError):
                t.broadcast_to(*shape)
            continue
        for result in (t.broadcast_to(*shape), t.broadcast_to(shape), t.broadcast_to(tuple(shape))):
            # NumPy marks what it broadcasts as read-only; ours may be written as before.
            assert_same(result, expected, t.readonly)


@pytest.mark.parametrize("seed", range(10))
def test_squeeze_and_unsqueeze_equal_numpy(seed):
    choose = random.Random(seed)
    for _ in range(50):
        x = some_array(choose, largest=2)
        t = dlbridge.from_dlpack(x)
        assert_same(t.squeeze(), x.squeeze())
        for axis in range(-x.ndim - 1, x.ndim + 1):
            assert_same(t.unsqueeze(axis), np.expand_dims(x, axis))
        for axis in range(-x.ndim, x.ndim):
            if x.shape[axis] == 1:
                assert_same(t.squeeze(axis), x.squeeze(axis))
            else:
                with refused(ValueError, "size"):
                    t.squeeze(axis)


CASTS = (
    "bool int8 uint8 int16 uint16 float16 int32 float32 int64 float64 complex64 complex128".split()
)


@pytest.mark.parametrize("seed", range(10))
def test_view_as_dtype_equals_numpy(seed):
    choose = random.Random(seed)
    shared = 0
    for _ in range(100):
        old, new = choose.choice(CASTS[1:]), choose.choice(CASTS)
        x = np.zeros(some_array(choose).shape, old)
        x = x[..., ::2] if x.ndim and choose.random() < 0.2 else x
        x = x.transpose(choose.sample(range(x.ndim), x.ndim)) if choose.random() < 0.3 else x
        x = x[::-1] if x.ndim and choose.random() < 0.3 else x
        t = dlbridge.from_dlpack(x)
        try:
            expected = x.view(new)
        except ValueError:
            # Ours may do more, where strides don't matter, but shows the same bytes then.
            try:
                result = t.view(new)
            except ValueError as error:
                assert "can't be" in str(error) or "elements" in str(error)
            else:
                assert (
                    result.nbytes == x.nbytes
                    and result.data_ptr == x.ctypes.data
                    and min(x.shape) <= 1
                )
        else:
            shared += 1
            for dtype in (new, np.dtype(new), dlbridge.zeros(1, new).dtype):
                assert_same(t.view(dtype), expected)
    assert shared > 30


def test_view_as_dtype_reinterprets_bits():
    t = dlbridge.asarray([1.0, -2.0], "float32")
    assert t.view("uint32").tolist() == [0x3F800000, 0xC0000000]
    assert t.view("uint8").shape == (8,) and t.view("complex64").tolist() == [1 - 2j]
    assert t.view("bfloat16").tolist() == [0, 1, 0, -2] and t.view("int4").shape == (16,)
    assert t.view("float32x2").shape == (1,) and t.view("float32x2").view("float32").tolist() == [
        1,
        -2,
    ]
    with refused(ValueError, "whole number"):
        dlbridge.zeros(3, "uint8").view("uint16")
    with refused(ValueError, "are apart"):
        dlbridge.zeros((4, 4), "uint8")[:, ::2].view("uint16")
    with refused(ValueError, "keeps its width"):
        dlbridge.zeros((), "uint8").view("uint16")
    with refused(LookupError, "no element type is called"):
        t.view("float31")


def test_axis_out_of_bounds_is_refused():
    t = dlbridge.zeros((2, 1))
    for act in (
        lambda: t.squeeze(2),
        lambda: t.squeeze(-3),
        lambda: t.unsqueeze(3),
        lambda: t.unsqueeze(-4),
    ):
        with refused(IndexError, "is out of bounds for a tensor of rank"):
            act()
    with refused(IndexError, "axis 2 is out of bounds for a tensor of rank 2"):
        t.transpose(0, 2)
    for axes in [(0, 0), (0,), (0, 1, 0), (-1, 1)]:
        with refused(ValueError):
            t.transpose(*axes)
    with refused(TypeError):
        t.squeeze(0.5)


def test_views_share_memory_and_read_only():
    x = np.zeros((3, 4))
    part = dlbridge.from_dlpack(x)[1:, ::2].T
    x[1, 2] = 7
    assert part.tolist() == [[0, 0], [7, 0]] and "ndarray" in part.owner
    del x
    assert part[1, 0].item() == 7
    x = np.zeros(3)
    x.flags.writeable = False
    t = dlbridge.from_dlpack(x)
    for view in (
        t[0],
        t[::-1],
        t.T,
        t.reshape(3, 1),
        t.broadcast_to(2, 3),
        t.unsqueeze(0),
        t.view("int64"),
        t.squeeze(),
    ):
        assert view.readonly


@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), (1, 2, 0, 3)])
def test_array_api_names_return_views(shape):
    x = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    t = dlbridge.from_dlpack(x)

    def is_view(found, wanted):
        assert (found.shape, found.tolist()) == (wanted.shape, wanted.tolist())
        assert np.shares_memory(found.to("numpy"), x) or x.size == 0

    for axes in itertools.permutations(range(len(shape))):
        for given in (axes, list(axes), [axis - len(shape) for axis in axes]):
            is_view(t.permute_dims(given), np.permute_dims(x, given))
            is_view(dlbridge.permute_dims(x, given), np.permute_dims(x, given))
    for axis in range(-len(shape) - 1, len(shape) + 1):
        is_view(t.expand_dims(axis), np.expand_dims(x, axis))
        is_view(dlbridge.expand_dims(x, axis=axis), np.expand_dims(x, axis))
    is_view(t.expand_dims(), np.expand_dims(x, 0))
    is_view(t.mT, x.mT)
    assert dlbridge.asarray(3).permute_dims(()).tolist() == 3
    for few in (dlbridge.asarray(3), t[(0,) * (len(shape) - 1)] if x.size else dlbridge.zeros(3)):
        with refused(ValueError, "mT needs a tensor of rank 2 or more"):
            few.mT
    with refused(IndexError, "is out of bounds for a tensor of rank"):
        t.permute_dims([len(shape)] * len(shape))
    for axes in ([0], [0] * len(shape), range(len(shape) + 1)):
        with pytest.raises((ValueError, IndexError)):
            t.permute_dims(axes)
        with pytest.raises((ValueError, IndexError)):
            np.permute_dims(x, axes)


def test_to_device_of_same_device_returns_the_memory():
    t = dlbridge.from_dlpack(np.arange(3.0))
    for device in ("cpu", t.device, (1, 0)):
        assert (
            t.to_device(device).data_ptr == t.to_device(device, stream=None).data_ptr == t.data_ptr
        )
    with refused(ValueError, "to_device doesn't support the stream argument"):
        t.to_device("cpu", stream=1)
    with refused(LookupError, "no device is called"):
        t.to_device("torch")
    with refused(TypeError):
        t.to_device(device="cpu")
