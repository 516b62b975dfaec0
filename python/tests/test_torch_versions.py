"""Tensors of PyTorch that are written say so to autograd, once for each call."""

import dlbridge_testing as ext
import pytest
from support import framework, in_fork, refused

torch = framework("torch")


class Override(torch.Tensor):
    def __dlpack__(self, **keywords):
        return super().__dlpack__(**keywords)


WRITE = {
    "Out": lambda x: ext.write_f32(x, 2),
    "detached": lambda x: ext.double_detached(torch.ones_like(x), x),
    "second of three": lambda x: ext.add(torch.ones_like(x), torch.ones_like(x), x),
}
MAKE = {
    "plain": lambda: torch.ones(3),
    "view": lambda: torch.ones(6)[3:],
    "steps": lambda: torch.ones(6)[::2],
    "detached": lambda: torch.ones(3, requires_grad=True).detach(),
    "data": lambda: torch.ones(3, requires_grad=True).data,
    "parameter": lambda: torch.nn.Parameter(torch.ones(3), requires_grad=False),
    "subclass": lambda: torch.ones(3).as_subclass(type("Sub", (torch.Tensor,), {})),
    "override": lambda: torch.ones(3).as_subclass(Override),
}


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("write", WRITE)
def test_write_increments_version_once(write, make):
    x = MAKE[make]()
    if write == "second of three" and not x.is_contiguous():
        pytest.skip("add takes row-major tensors")
    for count in range(3):
        before = x._version
        WRITE[write](x)
        assert x._version == before + 1
    before = x._version
    ext.read_f32(x)
    ext.own_f32(x)
    assert x._version == before


def test_views_share_the_version():
    base = torch.zeros(6)
    view, alias = base[3:], base.detach()
    ext.write_f32(view, 1)
    assert (base._version, view._version, alias._version) == (1, 1, 1)
    ext.write_f32(base, 1)
    assert (base._version, view._version, alias._version) == (2, 2, 2)
    assert base.data._version == 0


@pytest.mark.parametrize("write", WRITE)
def test_backward_after_a_write_raises(write):
    w, x = torch.ones(3, requires_grad=True), torch.ones(3)
    loss = (w * x).sum()
    WRITE[write](x)
    with refused(RuntimeError, "modified by an inplace operation"):
        loss.backward()
    loss = (w * x).sum()
    loss.backward()
    assert w.grad.tolist() == x.tolist()


def test_backward_after_a_write_to_detached_parameter_raises():
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    ext.write_f32(w.detach(), 2)
    with refused(RuntimeError, "modified by an inplace operation"):
        loss.backward()


def test_refused_write_leaves_version_unchanged():
    x = torch.ones(3)
    with refused(TypeError):
        ext.write_f32(torch.ones(3, dtype=torch.int64), 1)
    with refused(TypeError):
        ext.write_bf16(x, 1)
    assert x._version == 0


def test_failed_call_increments_version():
    x = torch.ones(3)
    with pytest.raises(ValueError, match="expected shape"):
        ext.double_detached(torch.ones(4), x)
    assert x._version == 1


def test_inference_tensor_is_written_without_version():
    with torch.inference_mode():
        x = torch.ones(3)
        ext.write_f32(x, 2)
        ext.write_f32(x[1:], 3)
    ext.write_f32(x, 4)
    assert x.is_inference() and x.tolist() == [4] * 3


def test_first_written_tensor_increments_version():
    said = in_fork(
        "torch",
        """
        import torch, dlbridge_testing as ext
        with torch.inference_mode():
            first = torch.ones(2)
            ext.write_f32(first, 2)
        for mode in (torch.no_grad, torch.inference_mode, lambda: torch.device("meta")):
            x = torch.ones(2)
            with mode():
                for count in range(1, 4):
                    ext.write_f32(x, 2)
                    assert x._version == count, (mode, x._version)
        print("done")
    """,
    )
    assert said.splitlines()[-1] == "done"


def test_tensor_swapped_during_the_call_increments_a_version():
    x, y = torch.ones(3), torch.zeros(3)

    class Swapping:
        def __dlpack__(self, **keywords):
            torch._C._swap_tensor_impl(x, y)
            return torch.ones(3).__dlpack__(**keywords)

    try:
        ext.copy_pairs_detached(torch.ones(3), Swapping(), x, torch.zeros(3))
    except BufferError:
        pass
    assert x._version + y._version >= 1
