"""PyTorch's tensors, as arguments and as results."""

import dlbridge_testing as ext
import pytest
from support import framework, refused

torch = framework("torch")

NAMES = """bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32
    complex64 complex128 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu""".split()
LOOKS = [ext.describe, ext.describe_out, ext.describe_owned]


def zeros(dtype, shape=(2, 3)):
    return torch.zeros(shape, dtype=getattr(torch, dtype))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 9])
def test_import_keeps_dtype_and_values(name, shape):
    x = zeros(name, shape)
    for look in LOOKS:
        seen = look(x)
        assert (seen["shape"], seen["dtype"], seen["device"]) == (list(shape), name, "cpu")
        assert seen["ptr"] == x.data_ptr()
        assert (seen["readonly"], seen["padded"]) == (False, False)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_shares_memory(name):
    x = zeros(name)
    y = ext.to(ext.identity(x), "torch")
    assert type(y) is torch.Tensor and y.dtype == x.dtype and y.shape == x.shape
    assert y.data_ptr() == x.data_ptr()
    y.view(torch.uint8)[0, 0] = 1
    assert x.view(torch.uint8)[0, 0] == 1


def test_writes_are_visible_to_the_framework():
    x = torch.zeros(3, 4)
    ext.write_f32(x, 7)
    assert (x == 7).all()
    ext.write_f32(x[1:, ::2], 5)
    assert x.tolist() == [[7] * 4, [5, 7, 5, 7], [5, 7, 5, 7]]
    ext.write_f32(x.t(), 0)
    assert not x.any()
    x = torch.zeros(2, dtype=torch.bfloat16)
    ext.write_bf16(x, 1.5)
    assert x.tolist() == [1.5, 1.5]
    x = torch.zeros(2, dtype=torch.complex64)
    ext.write_c64(x, 1 + 2j)
    assert x.tolist() == [1 + 2j] * 2


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[1:, 1:],
        lambda x: x[:, ::2],
        lambda x: x.expand(5, 3, 4),
        lambda x: x.unfold(1, 2, 1),
        lambda x: x[:, :0],
        lambda x: x.view(-1),
        lambda x: x.detach(),
        lambda x: x.to(memory_format=torch.contiguous_format),
        lambda x: x.view(1, 3, 2, 2).to(memory_format=torch.channels_last),
        lambda x: x.diagonal(),
        lambda x: torch.as_strided(x, (2, 2), (1, 1), 3),
    ],
)
def test_views_are_imported_without_copy(view):
    x = view(torch.arange(12.0).view(3, 4))
    for look in (ext.describe, ext.describe_owned):
        seen = look(x)
        assert seen["shape"] == list(x.shape)
        assert not x.numel() or seen["ptr"] == x.data_ptr()
        assert not x.numel() or [s for s, n in zip(seen["strides"], x.shape) if n > 1] == [
            s for s, n in zip(x.stride(), x.shape) if n > 1
        ]
    assert ext.read_f32(x) == x.flatten().tolist() == ext.own_f32(x)
    assert torch.equal(ext.to(x, "torch"), x)


def test_like_and_zeros_like():
    x = torch.arange(6.0).view(2, 3)
    where, y = ext.doubled(x)
    assert type(y) is torch.Tensor and y.data_ptr() == where and torch.equal(y, 2 * x)
    for dtype in ("float32", "float64", "int64", "bool", "bfloat16"):
        where, new = ext.zeros_like(x, [2, 5], dtype)
        assert new.data_ptr() == where and new.dtype == getattr(torch, dtype) and not new.any()
        assert new.shape == (2, 5)
    # It comes from torch's own allocator, and goes back as it is.
    assert ext.zeros_like(x, [], "float32")[1].shape == ()
    assert ext.zeros_like(x, [0, 3], "float32")[1].shape == (0, 3)


def test_subclasses_share_memory():
    class Sub(torch.Tensor):
        pass

    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    for x in (parameter, torch.ones(2).as_subclass(Sub), torch.nn.Buffer(torch.ones(2))):
        for look in LOOKS:
            assert look(x)["ptr"] == x.data_ptr()
        assert ext.read_f32(x) == [1, 1]
    # What is made is a plain tensor.
    assert type(ext.like(parameter, torch.ones(1))) is torch.Tensor


def test_torch_imports_our_objects():
    ours = ext.from_list([1, 2, 3, 4], [2, 2])
    x = torch.from_dlpack(ours)
    assert x.data_ptr() == ours.data_ptr
    x[0, 0] = 9
    assert ext.read_f32(ours)[0] == 9
    copy = torch.from_dlpack(ours, copy=True)
    assert copy.data_ptr() != ours.data_ptr
    turned = torch.from_dlpack(ext.transposed(ours))
    assert torch.equal(turned, x.t()) and turned.data_ptr() == ours.data_ptr
    capsule = torch.utils.dlpack.to_dlpack(x)
    assert ext.identity(capsule).data_ptr == x.data_ptr()


def test_export_of_unsupported_dtype_or_layout_is_refused(counted):
    import numpy as np

    with refused(BufferError, "PyTorch has no int4"):
        ext.to(ext.zeros([4], "int4"), "torch")
    with refused(BufferError, "PyTorch has no float32x4"):
        ext.to(ext.zeros([4], "float32x4"), "torch")
    with refused(BufferError, "negative strides", "copy it first"):
        ext.to(np.arange(3)[::-1], "torch")
    with refused(BufferError, "read-only, and PyTorch writes", "copy it first"):
        ext.to(ext.counted(3), "torch", readonly="refuse")
    with refused(BufferError, "read-only"):
        ext.like(torch.ones(1), ext.counted(3), readonly="refuse")
    with refused(BufferError, "negative strides"):
        ext.like(torch.ones(1), np.arange(3)[::-1])
    assert counted() == 0


def test_no_grad_and_inference_mode_are_accepted():
    with torch.no_grad():
        x = torch.ones(2)
        assert ext.read_f32(x) == [1, 1]
        ext.write_f32(x, 2)
    assert ext.read_f32(x) == [2, 2]
    with torch.inference_mode():
        x = torch.ones(2)
        for look in LOOKS:
            assert look(x)["ptr"] == x.data_ptr()
        assert ext.read_f32(x[1:]) == [1]
        assert ext.doubled(x)[1].tolist() == [2, 2]
    assert x.is_inference()
    for look in LOOKS:
        assert look(x)["ptr"] == x.data_ptr()
    with torch.enable_grad():
        assert ext.read_f32(torch.ones(1)) == [1]
    with torch.device("meta"):
        assert ext.read_f32(torch.ones(1, device="cpu")) == [1]


def test_dispatch_mode_is_accepted():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Mode():
        assert ext.read_f32(x) == [1, 1]
        ext.write_f32(x, 2)
        assert ext.doubled(x)[1].tolist() == [4, 4]


def test_tensor_changed_during_the_call_is_refused():
    x = torch.ones(2)
    with refused(BufferError, "resized or re-pointed a"):
        # Between the look at the tensor and its use without the GIL, the callback of another
        # argument runs.
        class Changing:
            def __dlpack__(self, **keywords):
                x.resize_(1000)
                return torch.ones(2).__dlpack__(**keywords)

        ext.copy_pairs_detached(x, Changing(), torch.zeros(2), torch.zeros(2))
