"""Indexing the package's tensors: each key as NumPy has it, of the same memory, or refused."""

import random

import dlbridge
import pytest
from arrays import assert_same, some_array
from support import framework, refused

np = framework("numpy")


def some_slice(choose, size):
    """Any slice: also one that leaves the dimension, and steps of either sign."""
    ends = [None, *range(-size - 2, size + 3)]
    steps = [None, 1, 2, 3, size + 1, -1, -2, -3, -size - 1]
    return slice(choose.choice(ends), choose.choice(ends), choose.choice(steps))


def some_key(choose, shape):
    """Any tuple that NumPy takes as a key without gathering."""
    spoken = choose.randint(0, len(shape))
    has_rest = choose.random() < 0.5
    front = choose.randint(0, spoken) if has_rest else spoken
    dims = [*range(front), *range(len(shape) - (spoken - front), len(shape))]
    keys = []
    for axis in dims:
        if shape[axis] and choose.random() < 0.4:
            keys.append(choose.randint(-shape[axis], shape[axis] - 1))
        else:
            keys.append(some_slice(choose, shape[axis]))
    if has_rest:
        keys.insert(front, ...)
    for _ in range(choose.choice([0, 0, 1, 2])):
        keys.insert(choose.randint(0, len(keys)), None)
    return tuple(keys)


@pytest.mark.parametrize("seed", range(40))
def test_index_selects_what_numpy_selects(seed):
    choose = random.Random(seed)
    for _ in range(25):
        x = some_array(choose)
        t = dlbridge.from_dlpack(x)
        assert_same(t, x)
        key = some_key(choose, x.shape)
        # With dots NumPy has an array, also where a single element is meant.
        expected = x[key if ... in key else (*key, ...)]
        assert_same(t[key], expected)
        if len(key) == 1:
            assert_same(t[key[0]], expected)


def test_index_of_packed_elements_is_checked_for_byte_bounds():
    t = dlbridge.asarray([[1, 2, 3, 4], [5, 6, 7, -8]], "int4")
    assert t[1].tolist() == [5, 6, 7, -8] and t[:, 2:].tolist() == [[3, 4], [7, -8]]
    assert t.T.tolist() == [[1, 5], [2, 6], [3, 7], [4, -8]] and t[:, ::2].tolist() == [
        [1, 3],
        [5, 7],
    ]
    assert t[1].data_ptr == t.data_ptr + 2 and t[:, 2:].data_ptr == t.data_ptr + 1
    # An address is of a byte.
    with refused(ValueError, "byte"):
        t[0, 1]
    with refused(ValueError, "byte"):
        t[:, ::-1]


def test_index_out_of_bounds_raises_index_error():
    t = dlbridge.zeros((2, 3))
    for key in [2, -3, (0, 3), (0, -4), (..., 3), (None, 2), 2**40, -(2**40), 2**70, 10**5000]:
        with refused(IndexError):
            t[key]
    with refused(IndexError, "index 3", "axis 1", "size 3"):
        dlbridge.zeros((2, 3))[:, 3]
    for key in [(0, 0, 0), (slice(None),) * 3, (..., 0, 0, 0)]:
        with refused(IndexError, "too many indices", "rank 2, but 3 were given"):
            t[key]
    with refused(IndexError, "one ..."):
        t[..., ...]
    with refused(IndexError, "rank 0, but 1 was given"):
        dlbridge.zeros(())[0]
    with refused(ValueError, "step"):
        t[::0]
    assert t[()].shape == (2, 3) and t[2:].shape == (0, 3) and t[-9:9].shape == (2, 3)
    assert t[2**70 :].shape == (0, 3) and t[: 2**70 : 2**70].shape == (1, 3)


@pytest.mark.parametrize(
    "key",
    [
        True,
        np.True_,
        1.0,
        np.float32(1),
        "0",
        b"0",
        [0],
        [0, 1],
        [True, False],
        np.array([0]),
        np.array([True, False]),
        np.array(True),
        np.array(1.0),
        dlbridge.asarray([0]),
        dlbridge.asarray([0, 1]),
        dlbridge.asarray(True),
        dlbridge.asarray(1.0),
        {},
        object(),
    ],
    ids=repr,
)
def test_index_by_arrays_raises_type_error(key):
    t = dlbridge.zeros((2, 3))
    for keys in (key, (key,), (0, key), (..., key), (None, key)):
        with refused(TypeError, "indexed by integers, slices, ... or None"):
            t[keys]


def test_object_with_index_method_is_an_index():
    class Two:
        def __index__(self):
            return 2

    class Wrong:
        def __index__(self):
            raise KeyError("mine")

    t = dlbridge.arange(5)
    for key in (Two(), np.int8(2), np.uint64(2), np.array(2), dlbridge.asarray(2)):
        assert t[key].item() == 2 and t[key:].tolist() == [2, 3, 4]
    # What goes wrong in an object of theirs is their error.
    with refused(KeyError, "mine"):
        t[Wrong()]
    with refused(KeyError, "mine"):
        t[Wrong() :]


def test_item_assignment_is_refused():
    t = dlbridge.zeros(3)
    with refused(TypeError):
        t[0] = 1
    with refused(TypeError):
        del t[0]
