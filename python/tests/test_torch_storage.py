"""Memory of PyTorch's tensors that is kept stays, whatever storage the tensor gets afterwards."""

import gc
import weakref

import dlbridge_testing as ext
import numpy as np
import pytest
from support import framework, in_fork, refused

torch = framework("torch")

NUMBERS = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


class Watched:
    """A tensor of 6 numbers whose memory tells when it is released."""

    def __init__(self, kind=None):
        memory = np.arange(6, dtype="f4").view(type("Memory", (np.ndarray,), {}))
        self.memory = weakref.ref(memory)
        self.tensor = torch.from_numpy(memory)
        if kind is not None:
            self.tensor = self.tensor.as_subclass(kind)

    @property
    def is_there(self):
        gc.collect()
        return self.memory() is not None


class Override(torch.Tensor):
    """A class that takes the path by `__dlpack__`."""

    def __dlpack__(self, **keywords):
        return super().__dlpack__(**keywords)


def set_data(x):
    x.data = torch.zeros(3, dtype=torch.float64)


# What puts another storage into a tensor.
REPLACE = {
    "set_": lambda x: x.set_(),
    "set_ to another": lambda x: x.set_(torch.zeros(3)),
    "set_ to a storage": lambda x: x.set_(torch.zeros(3).untyped_storage()),
    "data": set_data,
    "_swap_tensor_impl": lambda x: torch._C._swap_tensor_impl(x, torch.zeros(3)),
}
# How its memory is kept.
KEEP = {
    "Tensor": ext.identity,
    "numpy": lambda x: ext.to(x, "numpy"),
    "torch": lambda x: ext.to(x, "torch"),
}
# Of which class the tensor is; each is taken in another way.
KINDS = {
    "plain": None,
    "subclass": type("Sub", (torch.Tensor,), {}),
    "override": Override,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("replace", REPLACE)
def test_kept_memory_survives_replaced_storage(replace, keep, kind):
    watched = Watched(KINDS[kind])
    view = watched.tensor[1:]
    kept = [KEEP[keep](watched.tensor), KEEP[keep](view)]
    REPLACE[replace](watched.tensor)
    REPLACE[replace](view)
    assert watched.is_there
    assert [ext.own_f32(x) for x in kept] == [NUMBERS, NUMBERS[1:]]
    del kept, view
    watched.tensor = None
    assert not watched.is_there


@pytest.mark.skipif(
    not hasattr(torch.utils, "swap_tensors"), reason="this release has no swap_tensors"
)
@pytest.mark.parametrize("keep", KEEP)
def test_kept_memory_survives_swapped_tensors(keep):
    watched = Watched()
    kept = KEEP[keep](watched.tensor)
    torch.utils.swap_tensors(watched.tensor, torch.zeros(3))
    assert watched.is_there and watched.tensor.tolist() == [0, 0, 0]
    assert ext.own_f32(kept) == NUMBERS
    del kept
    assert not watched.is_there


@pytest.mark.parametrize("keep", KEEP)
def test_kept_parameter_survives_module_conversion(keep):
    linear = torch.nn.Linear(300, 300)
    expected = linear.weight.tolist()
    kept = KEEP[keep](linear.weight.detach())
    for dtype in (torch.float64, torch.bfloat16):
        linear.to(dtype)
    others = [torch.full((300, 300), 7.0) for _ in range(20)]
    assert ext.own_f32(kept) == sum(expected, []) and len(others) == 20


RESIZE = {
    "resize_": lambda x: x.resize_(1 << 20),
    "storage.resize_(0)": lambda x: x.untyped_storage().resize_(0),
    "storage.resize_": lambda x: x.untyped_storage().resize_(1 << 20),
    "out of another shape": lambda x: torch.arange(1e6, out=x),
    "a view's": lambda x: x.detach()[1:2].resize_(1 << 20),
}
MAKE = {
    "plain": lambda: torch.arange(6.0),
    "a view": lambda: torch.arange(-2.0, 8).narrow(0, 2, 6),
    "transposed": lambda: torch.tensor([[0.0, 2, 4], [1, 3, 5]]).t(),
    "bfloat16": lambda: torch.arange(6.0).bfloat16(),
    "expanded": lambda: torch.zeros(1).expand(6),
    "empty": lambda: torch.zeros(0, 3),
    "subclass": lambda: torch.arange(6.0).as_subclass(KINDS["subclass"]),
    "override": lambda: torch.arange(6.0).as_subclass(Override),
    "parameter": lambda: torch.nn.Parameter(torch.arange(6.0), requires_grad=False),
}


@pytest.mark.filterwarnings(
    "ignore:An output with one or more", "ignore:The number of elements in the out"
)
@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("resize", RESIZE)
def test_kept_storage_refuses_resizing(resize, make):
    x = MAKE[make]()
    if not x.numel() and resize == "a view's":
        pytest.skip("there is no such view")
    assert x.untyped_storage().resizable()
    kept = ext.identity(x)
    assert not x.untyped_storage().resizable()
    plain = x.as_subclass(torch.Tensor).detach()
    seen = plain.tolist()
    with refused(RuntimeError, "not resizable"):
        RESIZE[resize](plain)
    assert ext.to(kept, "torch").tolist() == seen


def test_borrowed_storage_stays_resizable():
    x, out = torch.ones(6), torch.zeros(6)
    ext.add(x, x, out)
    ext.double_detached(x, out)
    assert ext.read_f32(x) == [1] * 6
    for tensor in (x, out):
        assert tensor.untyped_storage().resizable()
        tensor.resize_(1 << 20)


def test_copied_storage_stays_resizable():
    dlbridge = framework("dlbridge")
    x = torch.ones(6)
    dlbridge.from_dlpack(x, copy=True)
    dlbridge.convert(x, "numpy", copy=True)
    assert x.untyped_storage().resizable()


def test_set_during_a_detached_call_keeps_the_memory():
    watched = Watched()

    def callback():
        watched.tensor.set_()
        assert watched.is_there

    assert ext.call_while_detached(watched.tensor, callback) == 15
    assert not watched.is_there


def test_share_memory_leaves_kept_memory_unchanged():
    """PyTorch moves the storage itself to shared memory, and refuses that for `Tensor.numpy()` no
    more than here.
    """
    for keep in (torch.Tensor.numpy, ext.identity):
        x = torch.arange(6.0)
        kept = keep(x)
        before = x.data_ptr()
        x.share_memory_()
        assert x.data_ptr() != before and kept is not None
        # Memory that is shared already stays.
        before, kept = x.data_ptr(), keep(x)
        x.share_memory_()
        assert x.data_ptr() == before and kept is not None


def test_first_tensor_is_kept_like_later_ones():
    said = in_fork(
        "torch",
        """
        import torch, dlbridge_testing as ext
        modes = [torch.no_grad, torch.inference_mode, lambda: torch.device("meta")]
        for mode in modes:
            with mode():
                x = torch.zeros(3, device="cpu")
                kept = ext.identity(x)
                assert not x.untyped_storage().resizable()
        x = torch.arange(3.0)
        kept = ext.identity(x)
        x.set_()
        print(ext.own_f32(kept), x.untyped_storage().resizable())
    """,
    )
    assert said.splitlines()[-1] == "[0.0, 1.0, 2.0] True"
