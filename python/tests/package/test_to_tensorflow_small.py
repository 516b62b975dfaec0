"""Element types that TensorFlow's DLPack refuses, through its C library: 8-bit floats and smaller
numbers.
"""

import gc
import sys
import threading

import dlbridge
import ml_dtypes
import numpy as np
import pytest
from support import framework, in_fork, in_new_process, refused
from test_memory import START

if "paddle" in sys.modules:
    pytest.skip("Paddle and TensorFlow crash in one process; see run.py", allow_module_level=True)
tf = framework("tensorflow")
from made import IS_SUBBYTE_TYPE_PADDED, Made, Producer, content_of  # noqa: E402
from tensorflow.python.framework import dtypes  # noqa: E402

NAMES = """float8_e5m2 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2fnuz
    int4 uint4 int2 uint2 float4_e2m1fn""".split()
NAMES = [name for name in NAMES if hasattr(dtypes, name) and hasattr(ml_dtypes, name)]
SHAPES = [(), (1,), (7,), (2, 3, 4), (0,), (3, 0, 2), (1, 2, 1, 2, 1, 2, 1, 2), (700, 3)]


def aligned(name, shape):
    """An array of ones and zeros in memory that TensorFlow shares, and its bytes."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    assert dtype.itemsize == 1
    count = int(np.prod(shape))
    room = np.zeros(count + 64, "u1")
    first = -room.ctypes.data % 64
    memory = room[first : first + count]
    array = memory.view(dtype).reshape(shape)
    array[...] = (np.arange(count) % 2).astype(dtype).reshape(shape)
    return array, memory


@pytest.mark.parametrize("name", NAMES)
def test_every_type_and_shape_is_shared_both_ways(name):
    for shape in SHAPES:
        array, memory = aligned(name, shape)
        before = array.tolist()
        for ours in (array, dlbridge.from_dlpack(array)):
            assert dlbridge.explain(ours, "tensorflow").shares
            x = dlbridge.convert(ours, "tensorflow")
            assert type(x) is type(tf.constant(0)) and (x.dtype.name, x.shape) == (name, shape)
            assert x.numpy().tolist() == before
            back = dlbridge.from_dlpack(x, copy=False)
            assert (back.dtype, back.shape, back.readonly) == (name, shape, True)
            assert back.tolist() == before
            if array.size == 0:
                continue
            # What is written here is seen by TensorFlow, and by what came back.
            assert back.data_ptr == array.ctypes.data
            memory[0] ^= 1
            assert x.numpy().tolist() == array.tolist() == back.tolist() != before
            assert dlbridge.convert(x, "numpy").ctypes.data == array.ctypes.data
            memory[0] ^= 1


@pytest.mark.parametrize("name", NAMES)
def test_tensors_that_tensorflow_made_are_shared(name):
    x = tf.identity(tf.constant(aligned(name, (4, 16))[0]))
    for copy in (None, False, True):
        ours = dlbridge.from_dlpack(x, copy=copy)
        assert ours.dtype == name and ours.tolist() == x.numpy().tolist()
        assert (ours.data_ptr == dlbridge.from_dlpack(x).data_ptr) == (copy is not True)
        assert ours.readonly == (copy is not True)
    # It keeps the memory.
    ours, expected = dlbridge.from_dlpack(x), x.numpy().tolist()
    del x
    gc.collect()
    again = [tf.identity(tf.constant(aligned(name, (4, 16))[0] * 0)) for _ in range(9)]
    assert ours.tolist() == expected and len(again) == 9


@pytest.mark.parametrize("name", NAMES)
def test_misaligned_memory_is_copied_or_refused(name):
    array, _ = aligned(name, (65,))
    with refused(BufferError, "TensorFlow needs memory that is aligned to 64 bytes"):
        dlbridge.convert(array[1:], "tensorflow")
    for layout in (array[1:], array[::2], array[::-1]):
        x = dlbridge.convert(layout, "tensorflow", copy=None)
        assert x.numpy().tolist() == layout.tolist()


def test_operations_take_them():
    for name in ("float8_e5m2", "float8_e4m3fn"):
        array, _ = aligned(name, (2, 8))
        x = dlbridge.convert(array, "tensorflow")
        assert tf.cast(x, "float32").numpy().tolist() == array.astype("f4").tolist()
        assert tf.function(lambda y: tf.transpose(y))(x).numpy().tolist() == array.T.tolist()
        assert array.tolist() == aligned(name, (2, 8))[0].tolist()


def test_packed_numbers_are_refused():
    ours = dlbridge.zeros(64, "int4")
    for copy in (False, None, True):
        with refused(BufferError, "TensorFlow has no packed int4"):
            ours.to("tensorflow", copy=copy)
    assert dlbridge.explain(ours, "tensorflow").outcome == "refused"


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_released_once(name):
    array, _ = aligned(name, (2, 32))
    capsule = dlbridge.from_dlpack(array).__dlpack__(max_version=(1, 3))
    dtype = content_of(capsule).dl_tensor.dtype
    padded = IS_SUBBYTE_TYPE_PADDED if dtype.bits < 8 else 0

    def made():
        return Made(
            (2, 32),
            data=array.ctypes.data,
            dtype=(dtype.code, dtype.bits, dtype.lanes),
            flags=padded,
        )

    # Last by TensorFlow's tensor, by what came back of it, and on another thread.
    one = made()
    x = dlbridge.from_dlpack(Producer(lambda **_: one.capsule())).to("tensorflow")
    gc.collect()
    assert one.deleted == 0 and x.numpy().tolist() == array.tolist()
    del x
    gc.collect()
    assert one.deleted == 1
    two = made()
    x = dlbridge.from_dlpack(Producer(lambda **_: two.capsule())).to("tensorflow")
    back = dlbridge.from_dlpack(x)
    del x
    gc.collect()
    assert two.deleted == 0
    boxes = [[back]]
    del back
    thread = threading.Thread(target=lambda: boxes[0].clear())
    thread.start()
    thread.join()
    assert two.deleted == 1


def test_threads_share_at_once():
    array, _ = aligned("float8_e5m2", (64,))
    expected, failed = array.tolist(), []

    def work():
        try:
            for _ in range(300):
                x = dlbridge.convert(array, "tensorflow")
                back = dlbridge.from_dlpack(x)
                assert back.data_ptr == array.ctypes.data and back.tolist() == expected
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_conversion_in_a_loop_does_not_leak():
    code = """
import dlbridge, tensorflow as tf
ours = dlbridge.zeros(4096, "float8_e5m2")
x, packed = ours.to("tensorflow"), dlbridge.zeros(64, "int4")
check("out", lambda: ours.to("tensorflow"), ROUNDS // 4)
check("in", lambda: dlbridge.from_dlpack(x), ROUNDS // 4)
make = lambda: dlbridge.zeros(4096, "float8_e5m2").to("tensorflow")
check("out and back", lambda: dlbridge.from_dlpack(make()))
check_refused("refused", lambda: packed.to("tensorflow"), ROUNDS // 4)
print("flat")
"""
    assert "flat\n" in in_new_process(START + code, TF_CPP_MIN_LOG_LEVEL="3")


def test_child_of_a_fork_shares():
    code = """
    import os
    import dlbridge, tensorflow as tf
    ours = dlbridge.ones(64, "float8_e5m2")
    x = ours.to("tensorflow")
    child = os.fork()
    if child == 0:
        # Ops wait for threads that the child doesn't have; sharing doesn't.
        y = dlbridge.ones(64, "float8_e5m2").to("tensorflow")
        good = dlbridge.from_dlpack(x).tolist() == dlbridge.from_dlpack(y).tolist() == [1] * 64
        del x, y
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert x.numpy().tolist() == [1] * 64
    print("shared")
    """
    assert "shared\n" in in_fork("tensorflow", code)


def test_tensors_are_released_by_other_threads_while_python_ends():
    for milliseconds in (0, 50):
        code = f"""
        import dlbridge, numpy as np, tensorflow as tf
        import dlbridge_testing as ext
        kept = dlbridge.zeros(64, "float8_e5m2").to("tensorflow")
        array = np.zeros(80, "f4")
        array = array[-array.ctypes.data % 64 // 4 :][:64]
        x = dlbridge.convert(array, "tensorflow")
        for theirs in (tf.constant([1.0] * 64), x, dlbridge.from_dlpack(kept)):
            ext.entrust(dlbridge.from_dlpack(theirs))
        del theirs, x, array
        ext.release_later({milliseconds})
        print("leaving")
        """
        assert "leaving\n" in in_fork("tensorflow", code)


REFUSALS = {
    "another memory": (
        "tf.experimental.dlpack.from_dlpack = lambda capsule: tf.zeros((2, 3))",
        "its functions didn't do what they should",
    ),
    "another class": (
        "tf.experimental.dlpack.from_dlpack = lambda capsule: type('EagerTensor', (), {})()",
        "its extension module lacks the functions",
    ),
    "another class of the same library": (
        "tf.experimental.dlpack.from_dlpack = lambda _: TFE_Py_TapeSetNew(False, True)",
        "from_dlpack returned",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_functions_that_do_something_else_are_not_used(case):
    change, reason = REFUSALS[case]
    code = f"""
    import dlbridge, tensorflow as tf
    from tensorflow.python._pywrap_tfe import TFE_Py_TapeSetNew
    whole = tf.experimental.dlpack.from_dlpack
    {change}
    ours = dlbridge.zeros(64, "float8_e5m2")
    try:
        ours.to("tensorflow")
    except BufferError as error:
        print(error)
    # It was looked for once. What DLPack has isn't concerned.
    tf.experimental.dlpack.from_dlpack = whole
    assert dlbridge.explain(ours, "tensorflow").outcome == "refused"
    assert dlbridge.zeros(64).to("tensorflow").shape == (64,)
    try:
        dlbridge.from_dlpack(tf.cast(tf.zeros(3), tf.dtypes.experimental.float8_e5m2))
    except BufferError as error:
        print(error)
    """
    said = in_fork("tensorflow", code)
    expected = "TensorFlow's DLPack has no float8_e5m2, and its C library wasn't used: " + reason
    assert expected in said and "is not supported by dlpack" in said


@pytest.mark.parametrize(
    "raised", [KeyboardInterrupt, MemoryError, RecursionError, ZeroDivisionError]
)
def test_exception_that_is_no_refusal_passes_through(raised, monkeypatch):
    x = dlbridge.convert(aligned("float8_e5m2", (64,))[0], "tensorflow")
    assert dlbridge.from_dlpack(x).shape == (64,)

    def interrupted(*arguments, **keywords):
        raise raised

    monkeypatch.setattr(type(x), "__dlpack__", interrupted)
    monkeypatch.setattr(tf.experimental.dlpack, "to_dlpack", interrupted)
    with pytest.raises(raised):
        dlbridge.from_dlpack(x)
    with pytest.raises(raised):
        dlbridge.ops.copy(x)
