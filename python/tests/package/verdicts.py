"""Compares what `explain` says with what `convert` does."""

import warnings

import dlbridge
import pytest
from support import framework

np = framework("numpy")
import ml_dtypes  # noqa: E402

DTYPES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
    bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
    float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int2 int4 uint2 uint4 complex32""".split()


def read_only(x):
    x.flags.writeable = False
    return x


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.T,
    "gaps": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1],
    "offset": lambda x: x[1:, 1:],
    "repeated": lambda x: np.broadcast_to(x[0], (3, 6)),
    "flat": lambda x: x.reshape(-1),
    "every other": lambda x: x.reshape(-1)[::2],
    "rank 0": lambda x: x[0, 0, ...],
    "empty": lambda x: x[:0],
    "one row": lambda x: x[:1],
    "deep": lambda x: x.reshape(1, 1, 4, 1, 6, 1, 1, 1),
    "deeper": lambda x: x.reshape((1,) * 32 + x.shape),
    "read-only": lambda x: read_only(x[:]),
}


def array(name, offset):
    """Ones and zeros that begin a number of bytes behind a multiple of 64."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    count = 24 * dtype.itemsize
    memory = np.zeros(count + 128 + offset, "u1")
    first = -memory.ctypes.data % 64 + offset
    x = memory[first : first + count].view(dtype).reshape(4, 6)
    # Of one of them there is no 0.
    x[...] = np.ones((4, 6)).astype(dtype)
    x[:, 2:] = x[:, 2:] + x[:, 2:] if name == "float8_e8m0fnu" else x[:, 2:] * 0
    return x


def arrays(name):
    """All layouts, of memory that is aligned as all want it, and of memory that isn't."""
    for layout in LAYOUTS.values():
        for offset in (0, 16):
            yield layout(array(name, offset))


def check(
    x, to, place=lambda y: dlbridge.from_dlpack(y, copy=False).data_ptr, read=dlbridge.from_dlpack
):
    """The verdict, which must be what becomes of a tensor. `place` says where a framework's tensor
    is.
    """
    explanation = dlbridge.explain(x, to)
    outcome, reason, remedy = explanation.outcome, explanation.reason, explanation.remedy
    assert explanation.to == to and explanation.shares == bool(explanation) == (outcome == "shared")
    assert outcome in ("shared", "copied", "refused") and (reason is None) == (outcome == "shared")
    text = str(explanation)
    assert text.startswith(to) and (reason or "share") in text and (remedy or "") in text
    if outcome == "refused":
        for copy in (False, None, True):
            with pytest.raises(BufferError) as error:
                dlbridge.convert(x, to, copy=copy)
            assert reason in str(error.value)
        return outcome
    # What an empty tensor's address is says nothing.
    tensor = dlbridge.from_dlpack(x)
    where = tensor.data_ptr if tensor.size else None
    if outcome == "shared":
        assert remedy is None
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            assert where in (None, place(dlbridge.convert(x, to)))
        warned = any(warning.category is dlbridge.ReadOnlyWarning for warning in shown)
        assert warned == ("read-only" in (explanation.remark or "")) and (
            tensor.readonly or not warned
        )
        if warned:
            assert explanation.remark in text
            with pytest.raises(BufferError, match="read-only"):
                dlbridge.convert(x, to, readonly="refuse")
    else:
        assert "copy=None" in remedy
        with pytest.raises(BufferError) as error:
            dlbridge.convert(x, to, copy=False)
        assert reason in str(error.value)
    y = dlbridge.convert(x, to, copy=None)
    # What would be read-only is copied, as that makes it writable.
    is_shared = outcome == "shared" and explanation.remark is None
    assert where is None or (place(y) == where) == is_shared
    for y in (y, dlbridge.convert(x, to, copy=True)):
        found = read(y)
        assert (
            found.shape == tensor.shape
            and found.dtype == tensor.dtype
            and found.tolist() == tensor.tolist()
        )
    assert where is None or place(y) != where
    return outcome


def check_all(name, to, **keywords):
    """The verdicts on all layouts of a type, as often as each was given."""
    verdicts = [check(x, to, **keywords) for x in arrays(name)]
    return {verdict: verdicts.count(verdict) for verdict in set(verdicts)}
