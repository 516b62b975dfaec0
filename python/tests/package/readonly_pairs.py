"""Read-only memory on its way to frameworks that have no read-only tensors, which several test
files try.
"""

import gc
import warnings
import weakref

import dlbridge
import numpy as np
import pytest
from support import refused


def frozen(dtype="float32"):
    """An array of NumPy that must not be written, aligned as every framework wants it."""
    array = dlbridge.full((4, 8), 3, dtype).to("numpy")
    array.flags.writeable = False
    return array


def pyarrow_array():
    import pyarrow

    return pyarrow.Array.from_buffers(pyarrow.float32(), 16, [None, pyarrow.py_buffer(frozen())])


#: What makes read-only memory, and what a warning calls its framework.
SOURCES = {
    "numpy": (frozen, "NumPy"),
    "pyarrow": (pyarrow_array, "PyArrow"),
    "bytes": (lambda: np.full(16, 3, "f4").tobytes(), "bytes"),
    "dlbridge, of bytes": (lambda: dlbridge.from_dlpack(np.full(16, 3, "f4").tobytes()), "bytes"),
    "dlbridge, of numpy": (lambda: dlbridge.from_dlpack(frozen()), "NumPy"),
}


def shown_by(function):
    """What a function gives, and the warnings of read-only memory that it shows."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always", dlbridge.ReadOnlyWarning)
        result = function()
    return result, [
        str(warning.message) for warning in shown if warning.category is dlbridge.ReadOnlyWarning
    ]


def place(x):
    return dlbridge.from_dlpack(x).data_ptr


def check_pair(make, source, to, target):
    """Every policy, for one pair of frameworks."""
    x = make()
    tensor = dlbridge.from_dlpack(x)
    where, values = tensor.data_ptr, tensor.tolist()
    assert tensor.readonly
    if dlbridge.explain(x, to).outcome != "shared":
        assert "aligned" in dlbridge.explain(x, to).reason  # As bytes are not for TVM.
        return
    for convert in (
        lambda **policy: dlbridge.convert(x, to, **policy),
        lambda **policy: tensor.to(to, **policy),
        lambda **policy: dlbridge.wrap(lambda x: x, to, **policy)(tensor),
    ):
        y, texts = shown_by(convert)
        assert place(y) == where
        assert (
            len(texts) == 1
            and texts[0].startswith(f"{source} -> {target}: ")
            and 'readonly="share"' in texts[0]
        )
        y, texts = shown_by(lambda convert=convert: convert(readonly="share"))
        assert (place(y), texts) == (where, [])
        message = (
            f"the tensor is read-only, and {target} writes to memory all the same; copy it first"
        )
        with refused(BufferError, message, 'readonly="share"'):
            convert(readonly="refuse")
        with dlbridge.readonly("refuse"), refused(BufferError, message):
            convert()
        with dlbridge.readonly("refuse"):
            assert place(convert(readonly="share")) == where
    for copy in (None, True):
        y, texts = shown_by(lambda copy=copy: dlbridge.convert(x, to, copy=copy))
        assert place(y) != where and texts == []
    explanation = dlbridge.explain(x, to)
    assert (
        explanation.shares
        and explanation.remark in str(explanation)
        and target in explanation.remark
    )
    assert dlbridge.explain(x, to, readonly="refuse").outcome == "copied"
    # It keeps the memory.
    y = dlbridge.convert(x, to, readonly="share")
    del x, tensor, convert
    gc.collect()
    assert dlbridge.from_dlpack(y).tolist() == values and place(y) == where


def check_warnings_as_errors(to):
    """An exception instead of the tensor, and nothing is kept."""
    array = frozen()
    alive = weakref.ref(array)
    tensor = dlbridge.from_dlpack(array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for convert in (
            lambda: dlbridge.convert(array, to),
            lambda: tensor.to(to),
            lambda: tensor.to_dlpack(),
        ):
            with pytest.raises(dlbridge.ReadOnlyWarning, match="NumPy -> "):
                convert()
    del array, tensor, convert
    gc.collect()
    assert alive() is None
