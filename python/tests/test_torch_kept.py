"""PyTorch's tensors that are kept: what is seen of them, what keeps them, and who releases them."""

import gc
import threading
import weakref

import dlbridge_testing as ext
import numpy as np
import pytest
from support import framework, in_fork, refused

torch = framework("torch")

VIEWS = {
    "all": lambda x: x,
    "rows": lambda x: x[1:],
    "columns": lambda x: x[:, 1:3],
    "steps": lambda x: x[::2, ::3],
    "transposed": lambda x: x.t(),
    "one": lambda x: x[2, 3],
    "broadcast": lambda x: x[1].expand(3, 6),
    "diagonal": lambda x: x.diagonal(),
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, 4:4],
    "odd strides": lambda x: torch.as_strided(x, (1, 4, 1, 6), (3, 6, 5, 1)),
    "8 dimensions": lambda x: x.reshape(1, 2, 2, 1, 1, 2, 3, 1),
    "9 dimensions": lambda x: x.reshape(1, 2, 2, 1, 1, 1, 2, 3, 1),
    "9 in another order": lambda x: x.reshape(1, 2, 2, 1, 1, 1, 2, 3, 1).permute(
        *reversed(range(9))
    ),
}


def numbers(dtype="float32"):
    return torch.arange(24).reshape(4, 6).to(getattr(torch, dtype))


class Watched:
    """A tensor whose memory tells when it is released."""

    def __init__(self):
        memory = np.arange(6, dtype="f4").view(type("Memory", (np.ndarray,), {}))
        self.memory = weakref.ref(memory)
        self.tensor = torch.from_numpy(memory)

    @property
    def is_there(self):
        gc.collect()
        return self.memory() is not None


@pytest.mark.parametrize(
    "dtype", "bool uint8 int16 int64 float16 bfloat16 float64 complex64 float8_e5m2".split()
)
@pytest.mark.parametrize("view", VIEWS)
def test_kept_view_keeps_its_layout(view, dtype):
    x = VIEWS[view](numbers(dtype))
    for _ in range(2):
        seen = ext.describe_owned(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(x.shape), dtype, "cpu")
        assert (seen["readonly"], seen["padded"]) == (False, False)
        if x.numel():
            assert seen["ptr"] == x.data_ptr()
            strides = zip(seen["strides"], x.stride(), x.shape)
            assert all(ours == theirs for ours, theirs, size in strides if size > 1)
    y = ext.to(ext.identity(x), "torch")
    assert y.dtype == x.dtype and torch.equal(y.to(torch.complex64), x.to(torch.complex64))


@pytest.mark.parametrize("view", VIEWS)
def test_memory_outlives_the_object(view):
    x = VIEWS[view](numbers())
    expected = x.tolist()
    ours = ext.identity(x)
    del x
    gc.collect()
    others = [torch.full((4, 6), 7.0) for _ in range(20)]
    assert ext.to(ours, "numpy").tolist() == expected and len(others) == 20


def test_last_handle_releases_the_memory():
    watched = Watched()
    first, second = ext.identity(watched.tensor), ext.identity(watched.tensor)
    watched.tensor = None
    assert watched.is_there
    third = ext.to(first, "numpy")
    del first, second
    assert watched.is_there and third.tolist() == [0, 1, 2, 3, 4, 5]
    del third
    assert not watched.is_there


def test_attributes_of_the_object_are_released_with_it():
    class Note:
        pass

    x = torch.zeros(3)
    x.note = Note()
    note = weakref.ref(x.note)
    ours = ext.identity(x)
    x.ours = ours
    del x.ours, x
    gc.collect()
    del ours
    gc.collect()
    assert note() is None


def test_release_by_foreign_thread_succeeds():
    watched = Watched()
    ext.entrust(watched.tensor)
    watched.tensor = None
    assert watched.is_there
    ext.release_later(0)
    waited = threading.Event()
    for _ in range(500):
        if not watched.is_there:
            break
        waited.wait(0.01)
    assert not watched.is_there


def test_release_keeps_a_pending_exception():
    watched = Watched()
    ext.entrust(watched.tensor)
    watched.tensor = None
    error = KeyError("on its way")
    assert ext.release_while_raised(error) is error
    assert not watched.is_there


def test_imports_by_many_threads_are_correct():
    watched = Watched()
    tensors = [watched.tensor, *(numbers()[row] for row in range(4))]

    def work():
        for number in range(3000):
            x = tensors[number % len(tensors)]
            assert ext.own_f32(ext.identity(x)) == x.tolist()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tensors.clear()
    watched.tensor = None
    assert not watched.is_there


def test_kept_tensor_keeps_its_layout_after_changes():
    x = numbers()
    ours = ext.identity(x)
    x.t_()
    x.unsqueeze_(0)
    assert ext.describe(ours)["shape"] == [4, 6]
    x += 1
    assert ext.own_f32(ours) == list(range(1, 25))
    assert ext.describe_owned(x)["shape"] == [1, 6, 4]


def test_write_to_lazily_cloned_tensor_leaves_its_source_unchanged():
    x = torch.arange(3.0)
    y = torch._lazy_clone(x)
    ours = ext.identity(y)
    ext.write_f32(ext.to(ours, "numpy"), 5)
    assert (x.tolist(), y.tolist()) == ([0, 1, 2], [5, 5, 5])


def test_lazily_transformed_tensor_is_refused_when_kept():
    plain = torch.ones(2)
    z = torch.tensor([1 + 2j, 3 + 4j])
    refusals = [
        (lambda: torch.ones(2, requires_grad=True), "detach()"),
        (lambda: torch.ones(2, requires_grad=True) * 2, "detach()"),
        (lambda: torch.ones(2, requires_grad=True)[:1], "detach()"),
        (lambda: z.conj(), "resolve_conj()"),
        (lambda: z.conj().imag, "resolve_neg()"),
        (lambda: torch._neg_view(plain), "resolve_neg()"),
        (lambda: torch.ones(2, device="meta"), "meta"),
        (lambda: plain.to_sparse(), "isn't a plain one"),
    ]
    for make, reason in refusals * 2:
        assert ext.own_f32(plain) == [1, 1]
        with refused(BufferError, reason):
            ext.identity(make())
    assert ext.own_f32(torch.ones(2, requires_grad=True).detach()) == [1, 1]
    assert ext.own_f32(torch.ones(2, requires_grad=True).data[1:]) == [1]
    with torch.inference_mode():
        assert ext.own_f32(torch.ones(2)[1:]) == [1]


def test_calls_leave_reference_counts_unchanged():
    watched = Watched()
    count = watched.tensor._use_count() if hasattr(watched.tensor, "_use_count") else None
    for view in VIEWS.values():
        x = view(numbers())
        for _ in range(100):
            ext.identity(x)
            ext.identity(watched.tensor)
    assert count is None or watched.tensor._use_count() == count
    watched.tensor = None
    assert not watched.is_there


def test_exit_of_python_with_live_objects_succeeds():
    said = in_fork(
        "torch",
        """
        import atexit, sys, threading
        import torch, dlbridge_testing as ext

        tensors = [torch.arange(4.0) for _ in range(4)]
        kept = [ext.identity(x) for x in tensors]
        ext.entrust(tensors[1])
        arrays = [ext.to(x, "numpy") for x in kept]
        cycle = [kept[2], ext.identity(torch.ones(2))]
        cycle.append(cycle)
        sys.kept = ext.identity(torch.ones(3))
        torch.kept = ext.identity(torch.ones(3))
        atexit.register(lambda ours=ext.identity(torch.ones(2)): print(ext.own_f32(ours)))
        del tensors
    """,
    )
    assert [line for line in said.splitlines() if "arn" not in line] == ["[1.0, 1.0]"]
