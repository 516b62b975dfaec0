"""Memory that Rust code keeps, as a Tensor or Owned: nothing of the extension writes it until it is
dropped.
"""

import gc
import threading

import dlbridge_testing as ext
import pytest
from made import CUDA, CUDA_HOST, Made
from support import framework, refused

np = framework("numpy")

KEPT = "memory that is to be written is kept by Rust code, which may read it at any time"
READ = "memory that is to be read is being written"


def f32(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


def test_owned_and_written_argument_of_one_call_conflict():
    x, y = f32(3), np.zeros(3, "f4")
    for copy in (ext.copy_owned, ext.copy_tensor):
        with refused(ValueError, KEPT, "pass a copy"):
            copy(x, x)
        with refused(ValueError, KEPT):
            copy(x[1:], x[:2])
        copy(x, y)
        assert y.tolist() == [0, 1, 2]
        # What was refused has left nothing behind.
        ext.double(x), ext.double(x)
        x[:] = 0, 1, 2
    with refused(ValueError, READ):
        ext.copy_owned_backwards(x, x)
    ext.copy_owned_backwards(y, x)


def test_documentation_example_keeps_its_matrix():
    matrix = f32(3, 4)
    lookup = ext.Lookup(matrix)
    out = np.zeros(4, "f4")
    lookup.copy_row(1, out)
    assert out.tolist() == [4, 5, 6, 7]
    for row in (
        matrix[2],
        matrix[1],
        lookup.row(2),
        lookup.rows(1, 2, matrix)[0],
        matrix[:2].ravel()[2:6],
    ):
        with refused(ValueError, KEPT):
            lookup.copy_row(1, row)
    assert (matrix == f32(3, 4)).all()
    # What it returned is Python's, and is written once the object is gone that keeps it.
    row = lookup.row(1)
    del lookup
    gc.collect()
    ext.double(row)
    assert matrix[1].tolist() == [8, 10, 12, 14]


RELEASES = [
    ext.release,
    ext.release_detached,
    ext.release_on_thread,
    lambda key: ext.take_out(key) is not None,
]


@pytest.mark.parametrize("release", RELEASES)
def test_kept_memory_refuses_writes_until_dropped(release):
    x = f32(4)
    keys = [ext.keep(x), ext.keep(x[1:]), ext.keep(x)]
    while keys:
        with refused(ValueError, KEPT):
            ext.double(x)
        assert ext.read_f32(x) == ext.own_f32(x) == [0, 1, 2, 3]
        assert release(keys.pop())
    ext.double(x)
    assert x.tolist() == [0, 2, 4, 6]


def test_written_argument_is_refused_only_where_memory_is_kept():
    x = f32(4, 4)
    key = ext.keep(x[:, 1])
    ext.double(x[:, 0]), ext.double(x[:, 2:]), ext.double(f32(4))
    for part in (x, x[:, 1], x[2], x[::-1, 1:2], x.view("u1")):
        with refused(ValueError, KEPT):
            ext.describe_out(part)
    ext.describe_out(x[:0])
    empty = ext.keep(x[:0])
    assert ext.release(key)
    ext.double(x)
    assert ext.release(empty)


def test_returned_tensor_is_no_longer_kept():
    x = f32(4)
    torch = framework("torch")
    for leave in (
        ext.identity,
        ext.owned_row_major,
        lambda x: ext.import_(x),
        lambda x: ext.to(x, "numpy"),
        lambda x: ext.to(x, "torch"),
        lambda x: ext.like(x, x),
    ):
        for source in (x, torch.from_numpy(x), ext.identity(x), memoryview(x)):
            there = leave(source)
            ext.double(x)
            ext.double(there)
            del there
    key = ext.keep(x)
    ours = ext.take_out(key)
    ext.double(ours)


def test_returned_part_is_no_longer_kept():
    matrix = f32(3, 4)
    lookup = ext.Lookup(matrix)
    row = lookup.row(0)
    # It comes back, and is kept once more.
    key = ext.keep(row)
    del lookup
    gc.collect()
    with refused(ValueError, KEPT):
        ext.double(matrix[0])
    ext.double(matrix[1])
    assert ext.release(key)
    ext.double(row)


def test_memory_being_written_cannot_be_kept():
    x = f32(4)
    for keep in (ext.own_f32, ext.keep, ext.import_, lambda x: ext.Lookup(x.reshape(2, 2))):
        with refused(ValueError, READ):
            ext.writing(x, lambda: keep(x))
        with refused(ValueError, READ):
            ext.writing(x[:1], lambda: keep(x))
    key = ext.writing(x[:2], lambda: ext.keep(x[2:]))
    with refused(ValueError, KEPT):
        ext.double(x)
    assert ext.release(key)
    ext.double(x)


def test_tensor_kept_within_a_call_refuses_writes():
    x = f32(4)
    for object in (x, ext.identity(x), memoryview(x)):
        with refused(ValueError, KEPT):
            ext.keep_in_two_ways(object, lambda: ext.double(x))
        with refused(ValueError, READ):
            ext.writing(x, lambda: ext.keep_in_two_ways(object, lambda: None))
        ext.double(x)


def test_kept_device_memory_allows_writes_unless_host_accessible():
    x = f32(4)
    fields = dict(data=x.ctypes.data, shape=x.shape)
    # Rust code can't read what only a GPU reaches, and reads pinned memory.
    key = ext.keep(Made(device=(CUDA, 0), **fields).capsule())
    ext.describe_out(Made(device=(CUDA, 0), **fields).capsule())
    assert ext.release(key)
    key = ext.keep(Made(device=(CUDA_HOST, 0), **fields).capsule())
    with refused(ValueError, KEPT):
        ext.double(x)
    assert ext.release(key)


def test_kept_by_many_threads_without_the_gil():
    x = np.zeros(64, "f4")

    def body(i):
        mine = x[i * 8 : i * 8 + 8]
        for _ in range(300):
            keys = [ext.keep(mine), ext.keep(mine[2:])]
            with refused(ValueError, KEPT):
                ext.double(mine)
            for key, release in zip(keys, (ext.release_detached, ext.release_on_thread)):
                release(key)
            ext.double(mine)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(8)]
    errors = []
    threading.excepthook, before = lambda args: errors.append(args.exc_value), threading.excepthook
    try:
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        threading.excepthook = before
    assert errors == []
    ext.double(x)


def test_owned_argument_is_requested_once():
    class Changing:
        """Says something else each time."""

        def __init__(self):
            self.shapes = [(2, 2), (1, 2, 2)]

        def __dlpack__(self, **keywords):
            return np.ones(self.shapes.pop(0), "f4").__dlpack__(**keywords)

    changing = Changing()
    assert ext.owned_matrix_rank(changing) == 2
    assert len(changing.shapes) == 1
    with refused(ValueError, "rank 2"):
        ext.owned_matrix_rank(changing)


def test_number_after_strided_arguments():
    x = f32(6, 6)
    for _ in range(8):
        entries = [ext.many([x[:, i] for i in range(6)] + [x[::2, ::3]] * 4)]
        assert entries and ext.number_has_slice(1.5) and ext.number_has_slice(2)
    assert ext.number_has_slice(f32(1)[0])
