"""JAX's arrays, to and from the package."""

import dlbridge
import numpy as np
import pytest
from round_trips import (
    ALIGNED,
    COMMON,
    COMPLEX,
    FLOAT8,
    NO_GAPS,
    WIDE_UNSIGNED,
    RoundTrips,
    aligned,
    check_flat,
)
from support import framework, in_new_process, refused

jax = framework("jax")
import jax.numpy as jnp  # noqa: E402

jax.config.update("jax_enable_x64", True)


class TestJax(RoundTrips):
    name, title, owner, readonly = "jax", "JAX", "jaxlib._jax.ArrayImpl", True
    dtypes = [*COMMON, *WIDE_UNSIGNED, *COMPLEX, "bfloat16", *FLOAT8]
    copied = {**NO_GAPS, **ALIGNED}
    has_views = False  # It copies what NumPy would make a view of.

    def of(self, array):
        return jnp.array(array)

    def pointer(self, x):
        return x.unsafe_buffer_pointer()

    def values(self, x):
        return np.asarray(x).tolist()


def test_jax_array_is_imported_read_only():
    x = jnp.zeros(3)
    ours = dlbridge.from_dlpack(x)
    assert ours.readonly and not ours.to("numpy").flags.writeable
    with refused(BufferError, "read-only"):
        dlbridge.convert(x, "torch", readonly="refuse")
    copy = dlbridge.from_dlpack(x, copy=True).to("numpy")
    copy[1] = 5
    assert x.tolist() == [0, 0, 0] and copy.tolist() == [0, 5, 0]


def test_permuted_tensor_is_shared():
    base = dlbridge.from_dlpack(aligned("float32")).reshape(2, 2, 6)
    for axes in ((2, 0, 1), (1, 0, 2), (2, 1, 0)):
        ours = base.transpose(*axes)
        x = ours.to("jax")
        assert x.unsafe_buffer_pointer() == ours.data_ptr
        assert (x + 1).tolist() == (ours.to("numpy") + 1).tolist()


def test_wide_dtype_without_x64_is_refused():
    code = """
    import dlbridge, jax
    for name in ("int64", "uint64", "float64", "complex128"):
        ours = dlbridge.zeros(3, name)
        for copy in (False, None, True):
            try:
                ours.to("jax", copy=copy)
            except BufferError as error:
                assert str(error) == f"JAX would narrow {name}; set jax_enable_x64", error
            else:
                raise SystemExit(f"{name} was not refused")
        explained = dlbridge.explain(ours, "jax")
        assert (explained.outcome, explained.remedy) == ("refused", "set jax_enable_x64")
    assert dlbridge.zeros(3, "int32").to("jax").dtype == "int32"
    jax.config.update("jax_enable_x64", True)
    assert ours.to("jax").dtype == "complex128"
    print("as it should be")
    """
    assert "as it should be" in in_new_process(code)


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2"])
def test_sub_byte_integers_are_refused(name):
    # In JAX's own words.
    with refused(BufferError, "has no DLPack equivalent"):
        dlbridge.from_dlpack(jnp.zeros((3, 4), dtype=name))


def test_float4_arrays_are_imported_packed():
    x = jnp.array([[0.5, 1, 2, 3], [4, 6, -1, -0.5]], dtype="float4_e2m1fn")
    ours = dlbridge.from_dlpack(x)
    assert (ours.dtype, ours.shape, ours.nbytes, ours.itemsize) == ("float4_e2m1fn", (2, 4), 4, 0.5)
    assert ours.tolist() == [[0.5, 1, 2, 3], [4, 6, -1, -0.5]]
    with refused(BufferError, "JAX has no float4_e2m1fn"):  # It can't take what it gives.
        ours.to("jax")


def test_traced_or_deleted_array_is_refused():
    with refused(BufferError, "__dlpack__() method was called on traced array"):
        jax.jit(lambda x: dlbridge.from_dlpack(x).size)(jnp.zeros(3))
    x = jnp.zeros(3)
    x.delete()
    with refused(BufferError, "Array has been deleted"):
        dlbridge.from_dlpack(x)


def test_jax_from_dlpack_shares_memory():
    ours = dlbridge.from_dlpack(aligned("float32"))
    assert jnp.from_dlpack(ours).unsafe_buffer_pointer() == ours.data_ptr
    assert jnp.asarray(ours.T).tolist() == ours.T.tolist()


def test_conversion_in_a_loop_does_not_leak():
    check_flat("jax", "import jax\nmake = lambda: jax.numpy.zeros(16, dtype='float32')")


def test_unversioned_request_exports_read_only_memory(monkeypatch):
    """They ask for no version, and get the kind of capsule that can't say so."""
    asked = []

    class Asked:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, *, stream=None):
            asked.append(stream)
            return self.x.__dlpack__(stream=stream)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    take = jax.dlpack.from_dlpack
    monkeypatch.setattr(jax.dlpack, "from_dlpack", lambda x, **keywords: take(Asked(x), **keywords))
    x = aligned("float64")
    x.flags.writeable = False
    values = x.tolist()
    y = dlbridge.from_dlpack(x).to("jax")
    assert asked and y.unsafe_buffer_pointer() == x.ctypes.data
    assert dlbridge.explain(x, "jax").shares
    again = dlbridge.from_dlpack(y).to("jax")
    assert again.unsafe_buffer_pointer() == x.ctypes.data
    del x, y
    assert again.tolist() == values
