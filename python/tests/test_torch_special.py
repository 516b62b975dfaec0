"""PyTorch's tensors whose memory is not their value: each is refused with the remedy, or taken."""

import textwrap
import warnings

import dlbridge_testing as ext
import pytest
from support import framework, in_fork, refused

torch = framework("torch")
warnings.filterwarnings("ignore", category=UserWarning, module="torch")

#: PyTorch imports the second at the first fake tensor or transform, in seconds.
WITH_FAKES = "torch,torch._dynamo"
LOOKS = [ext.describe, ext.describe_out, ext.describe_owned]

# How each is made, and what the refusal says. As text, so that a new process can run it too.
SPECIAL = {
    "conj": ("torch.tensor([1 + 2j]).conj()", "resolve_conj()"),
    "conj of a view": ("torch.zeros(2, 2, dtype=torch.complex64).t().conj()[1:]", "resolve_conj()"),
    "conj of conj of conj": ("torch.tensor([1 + 2j]).conj().conj().conj()", "resolve_conj()"),
    "mH": ("torch.zeros(2, 2, dtype=torch.complex128).mH", "resolve_conj()"),
    "neg": ("torch._neg_view(torch.ones(2))", "resolve_neg()"),
    "imag of conj": ("torch.tensor([1 + 2j]).conj().imag", "resolve_neg()"),
    "requires_grad": ("torch.ones(2, requires_grad=True)", "tensor.detach()"),
    "result of autograd": ("torch.ones(2, requires_grad=True) * 2", "tensor.detach()"),
    "view of a leaf": ("torch.ones(2, requires_grad=True)[1:]", "tensor.detach()"),
    "parameter": ("torch.nn.Parameter(torch.ones(2))", "tensor.detach()"),
    "inference made to require": ("torch.nn.Linear(2, 2).weight", "tensor.detach()"),
    "conj that requires": ("torch.tensor([1 + 2j], requires_grad=True).conj()", "tensor.detach()"),
    "fake": (
        "torch._subclasses.FakeTensorMode().from_tensor(torch.ones(2))",
        "pass a plain torch.Tensor",
    ),
    "sparse coo": ("torch.eye(3).to_sparse()", ""),
    "sparse csr": ("torch.eye(3).to_sparse_csr()", ""),
    "meta": ("torch.ones(2, device='meta')", "device meta"),
    "quantized": ("torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)", ""),
    "nested": ("torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])", ""),
    "jagged": (
        "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)",
        "plain torch.Tensor",
    ),
    "mkldnn": ("torch.ones(2).to_mkldnn()", ""),
    "zero tensor": ("torch._efficientzerotensor(3)", ""),
}
TAKEN = {
    "plain": ("torch.tensor([1.0, 2.0])", [1, 2]),
    "resolved conj": ("torch.tensor([1 + 2j]).conj().resolve_conj().real", [1]),
    "conj twice": ("torch.tensor([1 + 2j]).conj().conj().real", [1]),
    "conj of a real tensor": ("torch.tensor([1.0]).conj()", [1]),
    "real of conj": ("torch.tensor([1 + 2j]).conj().real", [1]),
    "neg twice": ("torch._neg_view(torch._neg_view(torch.ones(1)))", [1]),
    "physical conj": ("torch.tensor([1 + 2j]).conj_physical().imag", [-2]),
    "detached": ("torch.ones(1, requires_grad=True).detach()", [1]),
    "data": ("torch.nn.Parameter(torch.ones(1)).data", [1]),
    "without grad": ("torch.nn.Parameter(torch.ones(1), requires_grad=False)", [1]),
    "view": ("torch.ones(2, 2)[1:]", [1, 1]),
    "view of a view": ("torch.ones(2, 2).t()[1:][:, 0]", [1]),
    "split": ("torch.ones(4).split(2)[1]", [1, 1]),
    "alias": ("torch.ones(1).view_as(torch.ones(1))", [1]),
    "pinned or not": ("torch.ones(1).contiguous()", [1]),
    "gradient": (
        "(lambda x: (x.sum().backward(), x.grad)[1])(torch.ones(1, requires_grad=True))",
        [1],
    ),
    "swapped in": ("torch.ones(2).set_(torch.tensor([5.0]))", [5]),
    "shared": ("torch.ones(1).share_memory_()", [1]),
    "from numpy": ("torch.from_numpy(__import__('numpy').ones(1, 'f4'))", [1]),
    "buffer": ("torch.frombuffer(bytearray(4), dtype=torch.float32)", [0]),
}


def make(code):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_tensor_is_refused(name):
    code, remedy = SPECIAL[name]
    x = make(code)
    for look in LOOKS:
        with refused(BufferError, remedy) as error:
            look(x)
        assert "dispatch key" not in str(error.value).lower()
    with refused(BufferError, remedy):
        ext.add(torch.ones(2), x, torch.ones(2))
    assert ext.read_f32(torch.ones(2)) == [1, 1]


@pytest.mark.parametrize("name", TAKEN)
def test_ordinary_tensor_is_accepted(name):
    code, values = TAKEN[name]
    x = make(code)
    assert ext.read_f32(x) == values == ext.own_f32(x)
    assert ext.describe(x)["ptr"] == x.data_ptr()


# PyTorch is imported once, and each process that is forked then sees its first tensor.
FIRST = """
    import os, sys, warnings
    warnings.simplefilter("ignore")
    import torch, dlbridge_testing as ext
    for name, code in {codes!r}.items():
        if os.fork() == 0:
            with {mode}:
                x = eval(code)
                for look in (ext.describe, ext.describe_out, ext.describe_owned) * 3:
                    try:
                        outcome = "taken" if look(x)["ptr"] == x.data_ptr() else "somewhere else"
                    except Exception as error:
                        outcome = type(error).__name__ + " " + str(error).splitlines()[0]
                    print(name, outcome, sep=": ")
            ext.write_f32(torch.ones(2), 2)
            print(name, ext.read_f32(torch.ones(2)), sep=": ", flush=True)
            os._exit(0)
        assert os.wait()[1] == 0
"""


def first_tensors(codes, mode="torch.enable_grad()"):
    outcomes = {name: [] for name in codes}
    for line in in_fork(WITH_FAKES, FIRST.format(codes=codes, mode=mode)).splitlines():
        name, outcome = line.split(": ", 1)
        outcomes[name].append(outcome)
    assert all(len(found) == 10 and found[-1] == "[1.0, 1.0]" for found in outcomes.values()), (
        outcomes
    )
    return {name: found[:9] for name, found in outcomes.items()}


def test_special_tensor_is_refused_as_the_first_tensor():
    found = first_tensors({name: code for name, (code, _) in SPECIAL.items()})
    for name, (_, remedy) in SPECIAL.items():
        for outcome in found[name]:
            assert outcome.startswith("BufferError ") and remedy in outcome, (name, outcome)


def test_ordinary_tensor_is_accepted_as_the_first_tensor():
    found = first_tensors({name: code for name, (code, _) in TAKEN.items()})
    assert set(map(tuple, found.values())) == {("taken",) * 9}


@pytest.mark.parametrize(
    "mode", ["torch.inference_mode()", "torch.no_grad()", "torch.device('meta')"]
)
def test_first_tensor_under_a_mode_is_accepted(mode):
    plain = {"plain": "torch.ones(2, device='cpu')"}
    assert first_tensors(plain, mode) == {"plain": ["taken"] * 9}


def test_tensor_created_before_a_mode_is_accepted():
    output = in_fork(
        WITH_FAKES,
        """
        import os, torch, dlbridge_testing as ext
        x = torch.ones(2)
        specials = torch.ones(2, requires_grad=True), torch._neg_view(torch.ones(2)), torch.tensor([1j]).conj()
        modes = torch.inference_mode(), torch.no_grad(), torch.device("meta"), torch._subclasses.FakeTensorMode()
        for mode in modes:
            if os.fork() == 0:
                for _ in range(10):
                    with mode:
                        assert ext.read_f32(x) == [1, 1]
                    assert ext.read_f32(torch.ones(2)) == [1, 1]
                for special in specials:
                    try:
                        ext.describe(special)
                    except BufferError as error:
                        print("refused", flush=True)
                os._exit(0)
            assert os.wait()[1] == 0
    """,
    )
    assert output.splitlines() == ["refused"] * 12


TRANSFORMS = """
    def spy(x):
        for look in (ext.describe, ext.describe_out, ext.describe_owned) * 2:
            try:
                look(x)
            except BufferError:
                print("refused")
        return x * 2

    for transform in (
        lambda: torch.vmap(spy)(torch.ones(3, 2)),
        lambda: torch.func.grad(lambda x: spy(x).sum())(torch.ones(2)),
        lambda: torch.func.jvp(spy, (torch.ones(2),), (torch.ones(2),)),
        lambda: torch.func.functionalize(spy)(torch.ones(2)),
        lambda: torch.vmap(torch.func.grad(lambda x: spy(x).sum()))(torch.ones(3, 2)),
    ):
"""


@pytest.mark.parametrize("is_first", [False, True])
def test_tensor_in_functional_transform_is_refused(is_first):
    code = "import os, torch, dlbridge_testing as ext\n"
    code += "" if is_first else "ext.describe(torch.ones(2))\n"
    code += (
        textwrap.dedent(TRANSFORMS)
        + """
    if os.fork() == 0:
        transform()
        print(ext.read_f32(torch.ones(2)), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""
    )
    lines = in_fork(WITH_FAKES, code).splitlines()
    assert [line for line in lines if "arn" not in line] == (["refused"] * 6 + ["[1.0, 1.0]"]) * 5


DUALS = {
    "dual": lambda dual: dual,
    "view": lambda dual: dual[1:],
    "reshaped": lambda dual: dual.view(3, 1),
    "result": lambda dual: dual * 2,
    "in place": lambda dual: dual.clone().add_(1),
    "written into": lambda dual: torch.zeros(3).copy_(dual),
}


@pytest.mark.parametrize("name", DUALS)
@pytest.mark.parametrize(
    "look",
    [*LOOKS, lambda x: ext.write_f32(x, 1), lambda x: ext.add(torch.ones(3), torch.ones(3), x)],
)
def test_dual_tensor_is_refused_and_its_primal_accepted(name, look):
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        x = DUALS[name](forward.make_dual(torch.ones(3), torch.ones(3)))
        with refused(BufferError, "tangent", "unpack_dual(tensor).primal"):
            look(x)
        primal = forward.unpack_dual(x).primal
        assert ext.read_f32(primal) == primal.flatten().tolist() == ext.own_f32(primal)
        assert ext.read_f32(x.detach()) == primal.flatten().tolist()
        # A view has something about autograd, and no tangent.
        assert ext.read_f32(torch.ones(3)[1:]) == [1, 1]
    assert ext.read_f32(x) == x.flatten().tolist()


def test_tensor_in_forward_transform_is_refused():
    seen = []

    def spy(x):
        for look in LOOKS:
            with refused(BufferError):
                look(x)
        seen.append(x)
        return x * 2

    torch.func.jvp(spy, (torch.ones(3),), (torch.ones(3),))
    assert len(seen) == 1 and ext.read_f32(torch.ones(3)[1:]) == [1, 1]


def test_dtype_without_dlpack_equivalent_is_refused():
    for name in ("bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"):
        x = torch.empty(4, dtype=getattr(torch, name))
        for look in LOOKS:
            with refused(BufferError, "PyTorch can't export the tensor"):
                look(x)


@pytest.mark.parametrize(
    "name, remedy",
    [
        ("quantized", lambda x: x.dequantize()),
        ("quantized", lambda x: x.int_repr()),
        ("sparse coo", lambda x: x.to_dense()),
        ("sparse csr", lambda x: x.to_dense()),
        ("mkldnn", lambda x: x.to_dense()),
        ("nested", lambda x: x.unbind()[0]),
        ("zero tensor", lambda x: x.clone()),
    ],
)
def test_remedy_of_the_error_works(name, remedy):
    x = make(SPECIAL[name][0])
    with refused(BufferError, "isn't a plain one") as error:
        ext.describe(x)
    follows = remedy.__code__.co_names[0]
    assert f"{follows}()" in str(error.value)
    ext.describe(remedy(x))


def test_tensor_that_starts_to_require_grad_is_refused():
    x = torch.ones(2)
    assert ext.read_f32(x) == [1, 1]
    x.requires_grad_()
    with refused(BufferError, "detach()"):
        ext.read_f32(x)
    x.requires_grad_(False)
    assert ext.read_f32(x) == [1, 1]


def test_wrapper_subclass_is_refused():
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise NotImplementedError

    for look in LOOKS:
        with refused(BufferError, "Wrapper", "pass a plain torch.Tensor"):
            look(Wrapper(torch.ones(2)))


def test_subclass_with_torch_function_is_accepted():
    seen = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Logged)
    assert ext.read_f32(x) == [1, 1] == ext.own_f32(x)
    with refused(BufferError, "detach()"):
        ext.read_f32(torch.ones(2, requires_grad=True).as_subclass(Logged))
    assert seen  # autograd's part of a view is asked about in words


def test_tensor_with_resized_storage_is_refused():
    x = torch.ones(2)
    x.untyped_storage().resize_(0)
    for look in LOOKS:
        with refused(BufferError):
            look(x)


def test_cuda_tensor_reports_its_device():
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    x = torch.ones(2, device="cuda")
    assert ext.any_device(x) == "cuda:0"
    with refused(BufferError, "in memory that the CPU reaches"):
        ext.read_f32(x)
