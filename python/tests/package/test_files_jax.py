"""Files loaded into JAX, which shares memory that is aligned to 64 bytes."""

import dlbridge
import numpy as np
from support import framework

jax = framework("jax")
theirs = framework("safetensors.numpy")


def test_aligned_files_are_shared(tmp_path):
    path = tmp_path / "x.safetensors"
    named = {"a": np.arange(32, dtype="f4"), "b": np.arange(64, dtype="u1").reshape(8, 8)}
    dlbridge.save(path, named, align=64)
    file = dlbridge.open_file(path)
    ours, (loaded, copied) = file.load()[0], file.load(None, "jax")
    assert copied == {}
    for key, x in named.items():
        assert isinstance(loaded[key], jax.Array) and np.array_equal(loaded[key], x)
        assert loaded[key].unsafe_buffer_pointer() == ours[key].data_ptr


def test_unaligned_tensors_are_copied_and_named(tmp_path):
    path = tmp_path / "x.safetensors"
    # Of two tensors with so odd sizes, at most one is aligned.
    named = {"a": np.arange(3, dtype="f4"), "b": np.arange(5, dtype="f4")}
    theirs.save_file(named, path)
    loaded = dlbridge.load(path, "jax")
    assert loaded.copied
    assert all(reason.endswith("in the file, not to 64") for reason in loaded.copied.values())
    assert all(np.array_equal(loaded[key], x) for key, x in named.items())


def test_jax_arrays_are_saved():
    x = jax.numpy.arange(6.0).reshape(2, 3).T
    back = theirs.load(dlbridge.dumps({"x": x}, "safetensors"))["x"]
    assert np.array_equal(back, x)
