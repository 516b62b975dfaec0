"""PyTorch's tensors, to and from the package."""

import dlbridge
import pytest
from round_trips import (
    COMMON,
    COMPLEX,
    LAYOUTS,
    NO_NEGATIVE_STRIDES,
    WIDE_UNSIGNED,
    RoundTrips,
    aligned,
    check_flat,
)
from support import framework, refused

torch = framework("torch")

FLOAT8 = "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()


class TestTorch(RoundTrips):
    name, title, owner = "torch", "PyTorch", "torch.Tensor"
    dtypes = [
        *COMMON,
        *WIDE_UNSIGNED,
        *COMPLEX,
        "bfloat16",
        *FLOAT8,
        "complex32",
        "float4_e2m1fnx2",
    ]
    layouts_in = [layout for layout in LAYOUTS if layout != "negative"]
    copied = NO_NEGATIVE_STRIDES

    def of(self, array):
        name = array.dtype.name
        if name == "bfloat16" or name in FLOAT8:
            return torch.from_numpy(array.view(f"u{array.itemsize}")).view(getattr(torch, name))
        return torch.from_numpy(array)

    def pointer(self, x):
        return x.data_ptr()

    def values(self, x):
        return x.tolist()


def test_framework_writes_are_visible_in_our_tensor():
    base = aligned("float32")
    ours = dlbridge.from_dlpack(base)
    ours.T.to("torch")[1] = 7
    assert base[:, 1].tolist() == [7] * 4
    x = torch.zeros(3)
    dlbridge.from_dlpack(x).to("numpy")[1] = 5
    assert x.tolist() == [0, 5, 0]


def test_read_only_tensor_is_copied_on_request():
    base = aligned("float32")
    base.flags.writeable = False
    with refused(
        BufferError,
        "the tensor is read-only, and PyTorch writes to memory all the same; copy it first",
    ):
        dlbridge.convert(base, "torch", readonly="refuse")
    copy = dlbridge.convert(base, "torch", copy=None)
    copy += 1
    assert base[0, 0] == 1 and copy[0, 0] == 2


def test_lazily_transformed_tensors_are_refused():
    with refused(BufferError, "autograd follows", "detach()"):
        dlbridge.from_dlpack(torch.zeros(3, requires_grad=True))
    z = torch.tensor([1 + 2j]).conj()
    with refused(BufferError, "conj"):
        dlbridge.from_dlpack(z)
    assert dlbridge.from_dlpack(z.resolve_conj()).tolist() == [1 - 2j]
    with refused(BufferError, "resolve_neg"):
        dlbridge.from_dlpack(z.imag)


@pytest.mark.parametrize(
    "dtype, kind", [("complex32", torch.complex32), ("float4_e2m1fnx2", torch.float4_e2m1fn_x2)]
)
def test_dtypes_without_numpy_equivalent(dtype, kind):
    x = dlbridge.zeros((2, 3), dtype)
    y = x.to("torch")
    assert (y.dtype, y.shape, y.data_ptr()) == (kind, (2, 3), x.data_ptr)
    assert dlbridge.from_dlpack(y).dtype == dtype


def test_torch_from_dlpack_shares_memory():
    ours = dlbridge.arange(6).reshape(2, 3)
    assert torch.from_dlpack(ours).data_ptr() == ours.data_ptr
    assert torch.from_dlpack(ours.T).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert torch.asarray(ours).data_ptr() == ours.data_ptr
    # It takes the buffer of what has one, and only one without gaps.
    with refused(RuntimeError, "non-contiguous buffers are not supported"):
        torch.asarray(ours.T)
    assert torch.from_dlpack(ours, copy=True).data_ptr() != ours.data_ptr


def test_conversion_in_a_loop_does_not_leak():
    check_flat("torch", "import torch\nmake = lambda: torch.zeros(16)")
