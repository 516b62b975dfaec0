"""PyTorch before 2.10, which has no exchange table: the installed release without its own."""

import textwrap

import pytest
from older import REFUSED
from support import framework, in_fork

torch = framework("torch")
if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    pytest.skip("this release has no exchange table to remove", allow_module_level=True)

WITHOUT_TABLE = (
    REFUSED
    + """
import torch
table = torch.Tensor.__dlpack_c_exchange_api__
del torch.Tensor.__dlpack_c_exchange_api__
import sys, weakref
import dlbridge, dlbridge_testing as ext, numpy as np
from dlbridge import ops

def called(call):
    names = set()
    sys.setprofile(lambda frame, event, _: names.add(frame.f_code.co_name))
    try:
        call()
    finally:
        sys.setprofile(None)
    return names
"""
)


def without_table(code):
    return in_fork("torch", WITHOUT_TABLE + textwrap.dedent(code))


def test_tensors_without_table_are_shared_both_ways():
    without_table("""
        for _ in range(3):  # As a first tensor, and once the places in tensors are known.
            x = torch.arange(6.0).reshape(2, 3)
            for view in (x, x.t(), x[:, 1:], x[:0]):
                ours = dlbridge.from_dlpack(view)
                assert ours.data_ptr == view.data_ptr() or 0 in view.shape
                assert ours.tolist() == view.tolist() and not ours.readonly
            array = np.zeros(3, "f4")
            made = dlbridge.convert(array, "torch")
            assert type(made) is torch.Tensor and made.data_ptr() == array.ctypes.data
            made[1] = 5
            assert array.tolist() == [0, 5, 0]
            alive = weakref.ref(array)
            del array
            assert alive() is not None and made.tolist() == [0, 5, 0]
            del made
            assert alive() is None
        assert "__dlpack__" not in called(lambda: dlbridge.from_dlpack(x))
    """)


def test_ops_without_table_write_and_make_tensors():
    without_table("""
        for _ in range(3):
            x, out = torch.ones(4), torch.zeros(4)
            assert ops.add(x, x, out=out) is out and out.tolist() == [2.0] * 4
            assert out._version > 0
            made = ops.add(x, 1)
            assert type(made) is torch.Tensor and made.tolist() == [2.0] * 4
    """)


def test_guards_without_table_refuse_special_tensors():
    without_table("""
        z = torch.tensor([1 + 2j])
        class Own(torch.Tensor):
            def __dlpack__(self, *arguments, **keywords):
                return super().__dlpack__(*arguments, **keywords)
        neg = torch._neg_view(torch.ones(2))
        specials = [
            (lambda: neg, "resolve_neg"),
            (lambda: z.conj().imag, "resolve_neg"),
            (lambda: neg.as_subclass(Own), "resolve_neg"),
            (lambda: z.conj(), "resolve_conj"),
        ]
        uses = [
            dlbridge.from_dlpack,
            lambda x: dlbridge.convert(x, "numpy"),
            lambda x: ops.add(x, 1),
            lambda x: ops.add(1, 1, out=x),
        ]
        for _ in range(3):
            for make, text in specials:
                for use in uses:
                    refused(lambda: use(make()), text)
        for use in uses[:2]:
            refused(lambda: use(torch.ones(2, requires_grad=True)), "detach")
        with torch._subclasses.FakeTensorMode():
            fake = torch.ones(2)
        refused(lambda: dlbridge.from_dlpack(fake), "plain torch.Tensor")
    """)


def test_memory_without_table_is_checked_after_python_code():
    without_table("""
        x, out = torch.ones(3), torch.zeros(3)
        ext.add(x, x, out)  # Then the places in tensors are known.
        class Moves:
            def __dlpack__(self, **keywords):
                x.set_(torch.zeros(3))
                return torch.ones(3).__dlpack__()
            def __dlpack_device__(self):
                return (1, 0)
        refused(lambda: ext.add(x, Moves(), out), "resized or re-pointed")
        x = torch.ones(3)
        assert ext.call_while_detached(x, lambda: x.set_(torch.zeros(9))) == 3
    """)


def test_table_added_later_is_found():
    without_table("""
        class Derived(torch.Tensor):
            pass
        x = torch.ones(3)
        derived = x.as_subclass(Derived)
        assert "__dlpack__" in called(lambda: ext.describe(derived))
        assert "from_dlpack" in called(lambda: dlbridge.convert(dlbridge.ones([3]), "torch"))
        torch.Tensor.__dlpack_c_exchange_api__ = table
        assert "__dlpack__" not in called(lambda: ext.describe(derived))
        assert "from_dlpack" not in called(lambda: dlbridge.convert(dlbridge.ones([3]), "torch"))
        assert type(ops.add(derived, 1)) is torch.Tensor
        neg = torch._neg_view(x)
        for special in (neg, neg.as_subclass(Derived)):
            refused(lambda: ext.describe(special), "resolve_neg")
    """)


def test_unsupported_dtype_of_release_is_explained():
    without_table("""
        import torch.utils.dlpack
        own, attempts = torch.utils.dlpack.from_dlpack, []
        def from_dlpack(capsule):
            tensor = own(capsule)
            if tensor.dtype == torch.float8_e5m2:
                attempts.append(tensor)
                raise RuntimeError("Unsupported code 12")
            return tensor
        torch.utils.dlpack.from_dlpack = from_dlpack
        x = dlbridge.zeros([3], "float8_e5m2")
        reason = "the installed release of PyTorch has no float8_e5m2 (Unsupported code 12)"
        for _ in range(2):
            explained = dlbridge.explain(x, "torch")
            assert (explained.outcome, explained.kind) == ("refused", "dtype"), explained
            assert explained.reason == reason, explained
            for copy in (False, None, True):
                refused(lambda: dlbridge.convert(x, "torch", copy=copy), reason)
        assert len(attempts) == 1
        assert dlbridge.explain(dlbridge.zeros([3]), "torch").outcome == "shared"
    """)
