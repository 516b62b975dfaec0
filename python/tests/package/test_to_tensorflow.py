"""TensorFlow's tensors, to and from the package."""

import sys

import dlbridge
import pytest
from round_trips import (
    ALIGNED,
    COMMON,
    COMPLEX,
    ROW_MAJOR,
    WIDE_UNSIGNED,
    RoundTrips,
    aligned,
    check_flat,
)
from support import framework, in_fork, refused

if "paddle" in sys.modules:
    pytest.skip("Paddle and TensorFlow crash in one process; see run.py", allow_module_level=True)
tf = framework("tensorflow")
from made import content_of  # noqa: E402

# Through its C library: see test_to_tensorflow_small.py.
FLOAT8 = """float8_e5m2 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2fnuz""".split()
SMALL = "int4 uint4 int2 uint2 float4_e2m1fn".split()
MISALIGNED = "TensorFlow needs memory that is aligned to 64 bytes, and the tensor is at 0x"


class TestTensorFlow(RoundTrips):
    name, title, readonly = "tensorflow", "TensorFlow", True
    owner = "tensorflow.python.framework.ops.EagerTensor"
    dtypes = [*COMMON, *WIDE_UNSIGNED, *COMPLEX, "bfloat16", *FLOAT8, *SMALL]
    copied = {**ROW_MAJOR, **ALIGNED}
    has_views = False  # Its tensors have no strides.

    def of(self, array):
        return tf.constant(array)

    def pointer(self, x):
        if x.dtype.name in FLOAT8:
            return dlbridge.from_dlpack(x).data_ptr
        return content_of(tf.experimental.dlpack.to_dlpack(x)).dl_tensor.data

    def values(self, x):
        return x.numpy().tolist()


def test_operations_read_shared_memory():
    base = aligned("float32")
    x = dlbridge.convert(base, "tensorflow")
    assert (x + x).numpy().tolist() == (2 * base).tolist() == tf.add(x, base).numpy().tolist()
    assert tf.matmul(x, x, transpose_b=True).numpy().tolist() == (base @ base.T).tolist()
    # Its operations leave it as it is.
    assert base.tolist() == aligned("float32").tolist()


def test_misaligned_memory_is_copied_or_refused():
    # TensorFlow itself takes it, and the process ends at the next operation.
    ours = dlbridge.from_dlpack(aligned("float32")).reshape(24)
    for first in range(1, 16):
        with refused(BufferError, MISALIGNED, "copy it first"):
            ours[first:].to("tensorflow")
        x = ours[first:].to("tensorflow", copy=None)
        assert (x + 1).numpy().tolist() == [n + 2 for n in range(first, 24)]
    x = ours[16:].to("tensorflow")
    assert (x + 1).numpy().tolist() == [n + 2 for n in range(16, 24)]


def test_tensorflow_import_of_unaligned_memory_aborts():
    """What the refusal is for; where it isn't so any more, it can go."""
    code = """
    import dlbridge, tensorflow as tf
    tensor = dlbridge.zeros(64, "float32")[1:]
    x = tf.experimental.dlpack.from_dlpack(tensor.to_dlpack())
    print(x + x)
    """
    in_fork("tensorflow", code, status=-6)


def test_string_tensors_are_refused():
    # Asked for a capsule of them, TensorFlow aborts the process.
    for x in (tf.constant(["a", "b"]), tf.constant("a")):
        with refused(BufferError, "TensorFlow's string has no DLPack equivalent"):
            dlbridge.from_dlpack(x)
        with refused(BufferError, "TensorFlow's string"):
            dlbridge.convert(x, "numpy", copy=True)
        assert dlbridge.explain(x, "numpy").outcome == "refused"


def test_variables_are_refused():
    variable = tf.Variable([1.0, 2.0])
    with refused(TypeError, "expected a tensor, got", "ResourceVariable"):
        dlbridge.from_dlpack(variable)
    assert dlbridge.from_dlpack(variable.value()).tolist() == [1, 2]


def test_read_only_memory_is_shared():
    # It never writes.
    base = aligned("float32")
    base.flags.writeable = False
    x = dlbridge.convert(base, "tensorflow")
    assert dlbridge.from_dlpack(x).data_ptr == base.ctypes.data and dlbridge.from_dlpack(x).readonly


def test_vector_dtype_is_refused():
    with refused(BufferError, "TensorFlow has no float32x4"):
        dlbridge.zeros(4, "float32x4").to("tensorflow")


def test_conversion_in_a_loop_does_not_leak():
    check_flat("tensorflow", "import tensorflow as tf\nmake = lambda: tf.zeros(16)")
