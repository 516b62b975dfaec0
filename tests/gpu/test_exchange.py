"""No copies between frameworks: the pointer is the same, and what one writes the other reads."""

import gc

import numpy as np
import pytest

import dlbridge

SHAPES = [(6,), (2, 3), (0, 4), (), (5, 1, 2)]
DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"]


def pointer(x):
    if hasattr(x, "data_ptr"):
        return x.data_ptr() if callable(x.data_ptr) else x.data_ptr
    if hasattr(x, "unsafe_buffer_pointer"):
        return x.unsafe_buffer_pointer()
    return x.data.ptr


def numbers(shape, dtype):
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_torch_round_trip_shares_memory(torch, shape, dtype):
    theirs = torch.tensor(numbers(shape, "float32" if dtype == "bfloat16" else dtype)).to(
        "cuda", getattr(torch, dtype)
    )
    ours = dlbridge.from_dlpack(theirs)
    assert ours.device == "cuda:0" and ours.dtype == dtype and ours.shape == tuple(shape)
    back = ours.to("torch")
    assert (
        back.dtype == theirs.dtype and back.shape == theirs.shape and back.device == theirs.device
    )
    if theirs.numel():
        assert ours.data_ptr == back.data_ptr() == theirs.data_ptr()
        theirs.zero_()
        assert not back.to(torch.float32).any() if dtype != "complex64" else not back.abs().any()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy_round_trip_shares_memory(cupy, shape, dtype):
    theirs = cupy.asarray(numbers(shape, dtype))
    ours = dlbridge.from_dlpack(theirs)
    back = ours.to("cupy")
    assert back.dtype == theirs.dtype and back.shape == theirs.shape
    if theirs.size:
        assert ours.data_ptr == back.data.ptr == theirs.data.ptr
        theirs[...] = 1
        assert bool((back == 1).all())


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_jax_round_trip_shares_memory(jax, shape, dtype):
    theirs = jax.device_put(numbers(shape, dtype), jax.devices("gpu")[0])
    ours = dlbridge.from_dlpack(theirs)
    assert ours.readonly and ours.device == "cuda:0"
    back = ours.to("jax")
    if theirs.size:
        assert ours.data_ptr == theirs.unsafe_buffer_pointer() == back.unsafe_buffer_pointer()
    np.testing.assert_array_equal(np.asarray(back), numbers(shape, dtype))


@pytest.mark.parametrize("to", ["torch", "cupy", "jax"])
@pytest.mark.parametrize("source", ["torch", "cupy", "jax"])
def test_convert_between_frameworks_shares_memory(request, source, to):
    modules = {name: request.getfixturevalue(name) for name in (source, to)}
    array = numbers((4, 8), "float32")
    make = {
        "torch": lambda torch: torch.tensor(array, device="cuda"),
        "cupy": lambda cupy: cupy.asarray(array),
        "jax": lambda jax: jax.device_put(array, jax.devices("gpu")[0]),
    }
    theirs = make[source](modules[source])
    if source == "jax" and to in ("torch", "cupy"):
        # They write to read-only memory; so they get a copy, which is said.
        with pytest.raises(BufferError, match="read-only"):
            dlbridge.convert(theirs, to)
        out = dlbridge.convert(theirs, to, copy=None)
    else:
        out = dlbridge.convert(theirs, to)
        assert pointer(out) == pointer(theirs)
    host = out.get() if to == "cupy" else out.cpu().numpy() if to == "torch" else np.asarray(out)
    np.testing.assert_array_equal(host, array)


def test_convert_keeps_strides(torch, cupy):
    theirs = torch.arange(24, device="cuda", dtype=torch.float32).reshape(4, 6).t()[1:, ::2]
    array = dlbridge.convert(theirs, "cupy")
    assert array.shape == tuple(theirs.shape)
    assert tuple(stride // 4 for stride in array.strides) == theirs.stride()
    np.testing.assert_array_equal(array.get(), theirs.cpu().numpy())


def test_cuda_array_interface_shares_memory(cupy):
    theirs = cupy.arange(6, dtype="float32").reshape(2, 3)

    class Old:
        __cuda_array_interface__ = theirs.__cuda_array_interface__

    ours = dlbridge.asarray(Old())
    assert ours.data_ptr == theirs.data.ptr and ours.shape == (2, 3)
    back = cupy.asarray(ours)
    assert back.data.ptr == theirs.data.ptr
    theirs[...] = 7
    assert ours.tolist() == [[7.0] * 3] * 2


def test_numba_shares_dlbridge_memory():
    try:
        from numba import cuda as numba_cuda
    except ImportError as error:  # Also where its parts don't fit together.
        pytest.skip(f"numba.cuda can't be imported: {error}")
    if not numba_cuda.is_available():
        pytest.skip("numba sees no GPU")
    ours = dlbridge.asarray([1.0, 2.0, 3.0], device="cuda")
    array = numba_cuda.as_cuda_array(ours)
    assert array.copy_to_host().tolist() == [1, 2, 3]
    back = dlbridge.asarray(array)
    assert back.data_ptr == ours.data_ptr


def test_host_round_trip_keeps_values(torch):
    theirs = torch.arange(12, device="cuda", dtype=torch.float32).reshape(3, 4).t()
    host = dlbridge.from_dlpack(theirs, device="cpu")
    np.testing.assert_array_equal(np.asarray(host), theirs.cpu().numpy())
    again = host.to("cuda").to("torch")
    assert torch.equal(again, theirs)
    assert dlbridge.from_dlpack(theirs).__dlpack__(dl_device=(1, 0)) is not None
    np.testing.assert_array_equal(
        np.from_dlpack(dlbridge.from_dlpack(theirs), device="cpu"), theirs.cpu().numpy()
    )


def test_framework_memory_is_released_once(torch):
    # What earlier tests left must not be released meanwhile.
    gc.collect()
    torch.cuda.synchronize()
    dlbridge.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    theirs = torch.zeros(1 << 20, device="cuda")
    ours = dlbridge.from_dlpack(theirs)
    part = ours[10:20]
    del theirs, ours
    assert torch.cuda.memory_allocated() > before
    assert part.tolist() == [0.0] * 10
    del part
    dlbridge.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before
