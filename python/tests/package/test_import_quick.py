"""`from_dlpack` of one argument, which takes few steps: all else about it is as of any
other call.
"""

import array
import gc
import inspect
import pickle
import sys
import weakref

import dlbridge
import numpy as np
import pytest
from support import in_new_process, refused

from_dlpack = dlbridge.from_dlpack


class Exporter:
    """What speaks DLPack, and nothing else."""

    def __init__(self, of):
        self.of = of

    def __dlpack__(self, **keywords):
        return self.of.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.of.__dlpack_device__()


def makers():
    numbers = np.arange(6, dtype="f4")
    return {
        "numpy": numbers,
        "numpy, transposed": numbers.reshape(2, 3).T,
        "numpy, rank 0": np.array(2, "f4"),
        "numpy, empty": np.zeros((0, 3), "f4"),
        "numpy, read-only": np.frombuffer(numbers.tobytes(), "f4"),
        "numpy, rank 9": numbers.reshape((1,) * 8 + (6,)),
        "buffer": array.array("f", range(6)),
        "protocol": Exporter(numbers),
        "ours": dlbridge.arange(6),
        "capsule": None,
    }


@pytest.mark.parametrize("name", makers())
def test_fast_path_returns_what_the_slow_path_returns(name):
    def one():
        return np.arange(6, dtype="f4").__dlpack__() if name == "capsule" else x

    x = makers()[name]
    quick, other = from_dlpack(one()), from_dlpack(one(), copy=None)
    assert type(quick) is type(other) is dlbridge.Tensor
    assert quick.tolist() == other.tolist() and quick.owner == other.owner
    facts = "shape strides dtype device readonly nbytes is_contiguous".split()
    assert [getattr(quick, fact) for fact in facts] == [getattr(other, fact) for fact in facts]
    assert name == "capsule" or quick.data_ptr == other.data_ptr


@pytest.mark.parametrize("name", makers())
def test_references_are_released_at_once(name):
    x = makers()[name] if name != "capsule" else np.arange(6, dtype="f4")
    one = x.__dlpack__ if name == "capsule" else lambda: x
    from_dlpack(one())
    before = sys.getrefcount(x), sys.getrefcount(type(x))
    kept = [from_dlpack(one()) for _ in range(100)]
    assert all(tensor.tolist() == kept[0].tolist() for tensor in kept)
    del kept
    assert (sys.getrefcount(x), sys.getrefcount(type(x))) == before


def test_object_that_is_not_a_tensor_is_refused():
    for wrong in (None, 1.5, "text", object(), [1, 2]):
        with refused(TypeError):
            from_dlpack(wrong)
        with refused(TypeError):
            from_dlpack(wrong, copy=False)
    with refused(BufferError):
        from_dlpack(np.array(["text"]))
    with refused(TypeError, "from_dlpack", "positional argument"):
        from_dlpack()
    with refused(TypeError, "positional argument"):
        from_dlpack(np.ones(1), np.ones(1))
    with refused(TypeError, "keyword"):
        from_dlpack(np.ones(1), wrong=1)
    with refused(TypeError):
        from_dlpack(x=np.ones(1))


def test_from_dlpack_is_a_builtin_function_with_signature():
    assert inspect.isbuiltin(from_dlpack) and repr(from_dlpack) == "<built-in function from_dlpack>"
    assert str(inspect.signature(from_dlpack)) == "(x, /, *, device=None, copy=None)"
    assert "shared memory or an error" in from_dlpack.__doc__
    assert from_dlpack.__name__ == from_dlpack.__qualname__ == "from_dlpack"
    assert pickle.loads(pickle.dumps(from_dlpack)) is from_dlpack


def test_reused_object_memory_has_no_old_state():
    """Memory of an object is used again; nothing of the former one is left in it."""
    x, gone = np.ones(3, "f4"), []
    for _ in range(300):
        tensor = from_dlpack(x)
        assert weakref.getweakrefcount(tensor) == 0 and not hasattr(tensor, "__dict__")
        reference = weakref.ref(tensor, gone.append)
        view = tensor[1:]
        del tensor
        assert reference() is None
        assert view.tolist() == [1, 1]
    gc.collect()
    assert len(gone) == 300


def test_first_import_by_many_threads_succeeds():
    code = """
        import sys, threading
        import dlbridge, numpy as np
        sys.setswitchinterval(1e-6)
        x, gate, wrong = np.arange(6), threading.Barrier(16), []
        def body():
            gate.wait()
            for _ in range(100):
                if dlbridge.from_dlpack(x).tolist() != [0, 1, 2, 3, 4, 5]: wrong.append(1)
        threads = [threading.Thread(target=body) for _ in range(16)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not wrong and sys.getrefcount(x) == 2
        print("done")
    """
    for _ in range(3):
        assert in_new_process(code) == "done\n"


def test_failed_import_releases_its_references():
    class Failing(np.ndarray):
        def __dlpack__(self, **keywords):
            raise KeyError("no")

    x = np.ones(3, "f4").view(Failing)
    before = sys.getrefcount(x)
    for _ in range(10):
        with pytest.raises((KeyError, BufferError)):
            from_dlpack(x, copy=False)
    for _ in range(10):
        with pytest.raises((KeyError, BufferError)):
            from_dlpack(x)
    assert sys.getrefcount(x) == before
