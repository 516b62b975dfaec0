"""NumPy's scalars, which have buffers: as tensors of rank 0."""

import dlbridge
import pytest
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
import ml_dtypes  # noqa: E402

DTYPES = ["?", "i1", "u8", "f2", "f4", "f8", "F", "D", "bfloat16", "float8_e4m3fn", "int4"]


@pytest.mark.parametrize("name", DTYPES)
def test_scalars_are_tensors_of_rank_0(name):
    array = np.array([1, 0], getattr(ml_dtypes, name, name))
    scalar = array[0]
    assert isinstance(scalar, np.generic)
    t = dlbridge.from_dlpack(scalar)
    assert t.shape == () and t.readonly and t.dtype == array.dtype.name
    assert t.item() == 1 and t.equals(dlbridge.from_dlpack(array)[0])
    assert (dlbridge.from_dlpack(array) == scalar).tolist() == [True, False]
    assert dlbridge.asarray(scalar).dtype == array.dtype.name
    assert dlbridge.explain(scalar, "numpy").outcome == "shared"
    is_lent = hasattr(np, name) or len(name) <= 2  # NumPy's own scalars lend their memory.
    if is_lent:
        assert dlbridge.from_dlpack(scalar, copy=False).item() == 1
    else:
        with refused(BufferError, "needs a copy, which copy=False forbids"):
            dlbridge.from_dlpack(scalar, copy=False)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_scalars_are_arguments_of_ops(name):
    array = np.array([1, 2], getattr(ml_dtypes, name, name))
    for found in (ops.add(array, array[1]), ops.add(array[1], array)):
        assert found.dtype == array.dtype and found.tolist() == [3, 4]
    with refused(BufferError, "read-only"):
        ops.axpy(np.ones((), array.dtype), array[0], array[1])


@pytest.mark.parametrize("scalar", ["datetime64", "timedelta64"])
def test_dates_are_refused_as_in_arrays(scalar):
    scalar = getattr(np, scalar)(5, "D")
    for given in (scalar, np.array(scalar)):
        for call in (
            lambda given=given: dlbridge.from_dlpack(given),
            lambda given=given: ops.add(np.zeros(8, "u1"), given),
        ):
            with refused(BufferError, "8[D]") as caught:
                call()
            assert caught.value.kind == "dtype"
        assert dlbridge.explain(given, "numpy").outcome == "refused"
