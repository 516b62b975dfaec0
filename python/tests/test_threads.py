"""Many threads at once, with the GIL and without."""

import sys
import threading
import time

import dlbridge_testing as ext
import pytest
from support import framework, in_new_process, refused

np = framework("numpy")
torch = framework("torch")

THREADS = 8


@pytest.fixture(autouse=True)
def short_turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(function, count=THREADS):
    """Calls `function(i)` in each of them, all at once, and raises what one of them raised."""
    errors, gate = [], threading.Barrier(count)

    def body(i):
        try:
            gate.wait()
            function(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def waiting_for(count):
    end = time.monotonic() + 30
    while ext.waiting() != count:
        assert time.monotonic() < end, f"{ext.waiting()} are waiting, and not {count}"
        time.sleep(0.001)


class Calls:
    """Calls that are under way without the GIL, until they are let go."""

    def __init__(self, *calls):
        self.results = []
        self.threads = [
            threading.Thread(target=self.body, args=(function, *args)) for function, *args in calls
        ]

    def body(self, function, *args):
        self.results.append(function(*args))

    def __enter__(self):
        self.before = ext.waiting()
        for thread in self.threads:
            thread.start()
        waiting_for(self.before + len(self.threads))
        return self

    def __exit__(self, *_):
        for _ in self.threads:
            ext.let_go()
        for thread in self.threads:
            thread.join()
        assert len(self.results) == len(self.threads)
        waiting_for(self.before)


MAKE = {
    "numpy": lambda numbers: np.array(numbers, "float32"),
    "torch": lambda numbers: torch.tensor(numbers, dtype=torch.float32),
    "ours": lambda numbers: ext.from_list(numbers, [len(numbers)]),
    "a buffer": lambda numbers: memoryview(np.array(numbers, "float32")),
}


@pytest.mark.parametrize("kind", MAKE)
def test_readers_on_several_threads_share_memory(kind):
    x = MAKE[kind]([1, 2, 3])
    with Calls(*[(ext.read_until_let_go, x)] * 4) as calls:
        assert ext.read_f32(x) == [1, 2, 3] and ext.sum_detached(x) == 6
        with refused(
            ValueError, "to be written is also in use by another argument, or another call"
        ):
            ext.write_f32(x, 1)
        with refused(ValueError, "in use by another"):
            ext.double_detached(MAKE[kind]([1, 1, 1]), x)
        ext.double_detached(x, np.empty(3, "float32"))
    assert calls.results == [6] * 4
    ext.write_f32(x, 4)
    assert ext.read_f32(x) == [4, 4, 4]


@pytest.mark.parametrize("kind", MAKE)
def test_writer_excludes_other_threads(kind):
    x, other = MAKE[kind]([1, 2, 3]), MAKE[kind]([1, 2, 3])
    with Calls((ext.write_until_let_go, x, 7)):
        for call in (ext.read_f32, ext.sum_detached, ext.read_until_let_go):
            with refused(
                ValueError, "to be read is being written by another argument, or another call"
            ):
                call(x)
        for call in (ext.write_f32, ext.write_until_let_go):
            with refused(ValueError, "in use by another"):
                call(x, 1)
        with refused(ValueError, "to be read is being written"):
            ext.copy_pairs_detached(other, x, np.empty(3, "f4"), np.empty(3, "f4"))
        ext.write_f32(other, 1)
    assert ext.read_f32(x) == [7, 7, 7] and ext.read_f32(other) == [1, 1, 1]


def test_disjoint_parts_are_written_by_several_threads():
    x = np.zeros((4, 4), "float32")
    ours = ext.identity(x[0])
    with Calls(
        (ext.write_until_let_go, x[0], 1),
        (ext.write_until_let_go, x[2:, 1], 2),
        (ext.read_until_let_go, x[1]),
    ):
        ext.write_f32(x[3, 2:], 3)
        assert ext.read_f32(x[1]) == [0] * 4
        for part in (x, x[:, 1], x.T[1:2], torch.from_numpy(x)[2:], ours):
            with refused(ValueError, "being written"):
                ext.read_f32(part)
        with refused(ValueError, "in use"):
            ext.write_f32(x[1, 3:], 3)
    assert x.tolist() == [[1] * 4, [0] * 4, [0, 2, 0, 0], [0, 2, 3, 3]]


@pytest.mark.parametrize("kind", MAKE)
def test_reads_of_one_tensor_by_many_threads_are_correct(kind):
    x = MAKE[kind]([1, 2, 3, 4])

    def body(i):
        out = np.empty(4, "float32")
        for _ in range(500):
            assert ext.sum_detached(x) == 10
            ext.double_detached(x, out)
            assert out.tolist() == [2, 4, 6, 8]
            assert ext.read_f32(x) == [1, 2, 3, 4]

    in_threads(body)
    ext.write_f32(x, 0)


@pytest.mark.parametrize("kind", MAKE)
def test_writes_of_one_tensor_by_many_threads_are_exclusive(kind):
    size = 1000
    tensors = [MAKE[kind]([0.0] * size) for _ in range(3)]
    sources = [np.full(size, i, "float32") for i in range(THREADS)]
    done, refusals = [0] * THREADS, [0] * THREADS

    def body(i):
        for turn in range(600):
            x = tensors[turn % 3]
            try:
                if turn % 2:
                    # Whatever is read was written by one call as a whole.
                    total = ext.sum_detached(x)
                    assert total % (2 * size) == 0 and total <= 2 * size * THREADS
                else:
                    ext.double_detached(sources[i], x)
                done[i] += 1
            except ValueError as error:
                assert "being written" in str(error) or "to be written" in str(error)
                refusals[i] += 1

    in_threads(body)
    # Each call ended in one of two ways; that some thread never gets its turn is possible.
    assert sum(done) + sum(refusals) == 600 * THREADS and sum(done) > 0
    for x in tensors:
        ext.write_f32(x, 1)
        assert ext.sum_detached(x) == size


def test_owners_shared_by_many_threads_are_released_once(counted):
    shared = ext.counted_mut(4)
    array = np.from_dlpack(shared)
    tensor = ext.to(shared, "torch")

    def body(i):
        for _ in range(300):
            keys = [ext.keep(x) for x in (shared, array, tensor)]
            y = ext.to(shared, "numpy")
            z = torch.from_dlpack(y)
            own = ext.counted(4)
            del y
            for key, release in zip(
                keys, (ext.release, ext.release_detached, ext.release_on_thread)
            ):
                assert release(key)
            assert z.tolist() == [0, 1, 2, 3] == ext.own_f32(own)

    before = ext.drops()
    in_threads(body)
    assert counted() == 1 and ext.drops() - before == 300 * THREADS
    del shared, array, tensor
    assert counted() == 0


def test_capsule_taken_by_many_threads_is_consumed_once(counted):
    for _ in range(100):
        capsule, outcomes = ext.counted_mut(4).__dlpack__(max_version=(1, 0)), []

        def take(i):
            try:
                outcomes.append(ext.identity(capsule))
            except BufferError:
                outcomes.append(None)

        in_threads(take, 4)
        assert len(outcomes) == 4 and outcomes.count(None) == 3
        del capsule
        assert counted() == 1
        outcomes.clear()
        assert counted() == 0


FIRST_USE = """
    import threading, sys
    import dlbridge_testing as ext
    import {name}, numpy
    sys.setswitchinterval(1e-6)
    x, errors, gate = {make}, [], threading.Barrier(16)
    def body(i):
        try:
            gate.wait()
            for function in (ext.read_f32, ext.own_f32, ext.read_f32):
                assert function(x) == [0] * 4
            assert ext.describe(x)["dtype"] == "float32"
            ext.like(x, ext.zeros([4], "float32"))
            assert ext.sum_detached(x) == 0
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=body, args=(i,)) for i in range(16)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not errors, errors
    print("done")
"""


@pytest.mark.parametrize(
    "name, make",
    [
        ("numpy", "numpy.zeros(4, 'f4')"),
        ("numpy", "memoryview(numpy.zeros(4, 'f4'))"),
        ("array", "array.array('f', [0] * 4)"),
        ("numpy", "ext.zeros([4], 'float32')"),
        ("torch", "torch.zeros(4)"),
        ("jax", "jax.numpy.zeros(4)"),
    ],
)
def test_first_use_of_a_type_by_many_threads_succeeds(name, make):
    framework(name)
    assert in_new_process(FIRST_USE.format(name=name, make=make)) == "done\n"
