"""Tensors that autograd follows, used for a call while it is off."""

import threading

import dlbridge_testing as ext
import pytest
from support import framework, in_fork, refused

torch = framework("torch")

FOLLOWED = {
    "leaf": lambda: torch.ones(3, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.ones(3)),
    "result": lambda: torch.ones(3, requires_grad=True) * 1,
    "view of a leaf": lambda: torch.ones(6, requires_grad=True)[::2],
    "module's": lambda: torch.nn.LayerNorm(3).weight,
}
OFF = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode}


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("kind", FOLLOWED)
def test_followed_tensor_is_read_and_written_while_grad_mode_is_off(kind, off):
    x = FOLLOWED[kind]()
    version = x._version
    with OFF[off]():
        assert ext.read_f32(x) == [1] * 3
        assert ext.sum_detached(x) == 3
        ext.write_f32(x, 2)
        ext.double_detached(torch.ones(3), x)
    assert x.tolist() == [2] * 3 and x.requires_grad
    assert x._version == version + 2
    for function, arguments in [(ext.read_f32, (x,)), (ext.write_f32, (x, 1))]:
        with refused(BufferError, "requires_grad") as error:
            function(*arguments)
        assert error.value.kind == "requires_grad"


@pytest.mark.parametrize("kind", FOLLOWED)
def test_followed_tensor_is_not_kept_even_then(kind):
    x = FOLLOWED[kind]()
    with torch.no_grad(), refused(BufferError, "requires_grad") as error:
        ext.own_f32(x)
    assert error.value.remedy == "pass tensor.detach()"
    with torch.no_grad():
        assert ext.own_f32(x.detach()) == [1] * 3


def test_grad_mode_inside_of_no_grad_is_what_counts():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        with torch.enable_grad(), refused(BufferError, "requires_grad"):
            ext.read_f32(x)
        assert ext.read_f32(x) == [1, 1]


def test_grad_mode_is_that_of_the_thread():
    x, seen = torch.ones(2, requires_grad=True), []

    def read():
        try:
            ext.read_f32(x)
        except BufferError as error:
            seen.append(error.kind)

    with torch.no_grad():
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert seen == ["requires_grad"]


def test_backward_after_a_write_under_no_grad_raises():
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    with torch.no_grad():
        ext.write_f32(w, 2)
    with refused(RuntimeError, "modified by an inplace operation"):
        loss.backward()


def test_dual_tensors_stay_refused():
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level(), torch.no_grad():
        primal = torch.ones(2, requires_grad=True)
        dual = forward_ad.make_dual(primal, torch.ones(2))
        with refused(BufferError, "has a tangent"):
            ext.read_f32(dual)


def test_conjugated_and_negated_tensors_stay_refused():
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    with torch.no_grad():
        assert ext.read_c64(x) == [(1, 0), (1, 0)]
        with refused(BufferError, "resolve_conj"):
            ext.read_c64(x.conj())
        with refused(BufferError, "resolve_neg"):
            ext.read_f32(torch._neg_view(torch.ones(2, requires_grad=True)))


def test_parameters_in_collections_are_taken():
    layer = torch.nn.Linear(2, 3)
    with torch.no_grad():
        sums = ext.dict_sums(layer.state_dict(keep_vars=True))
        assert sums == {name: pytest.approx(x.sum().item()) for name, x in layer.named_parameters()}
        assert len(ext.list_sums(list(layer.parameters()))) == 2


@pytest.mark.parametrize("kind", ["leaf", "parameter"])
def test_first_tensor_of_a_process_may_be_followed(kind):
    make = {
        "leaf": "torch.ones(3, requires_grad=True)",
        "parameter": "torch.nn.Parameter(torch.ones(3))",
    }
    code = f"""
        import torch, dlbridge_testing as ext
        x = {make[kind]}
        with torch.no_grad():
            print(ext.read_f32(x))
            ext.write_f32(x, 2)
        print(x.tolist(), x._version)
        try:
            ext.read_f32(x)
        except BufferError as error:
            print(error.kind)
        """
    assert in_fork("torch", code) == "[1.0, 1.0, 1.0]\n[2.0, 2.0, 2.0] 1\nrequires_grad\n"
