"""Tests of older releases of PyArrow, JAX and TensorFlow, by stand-ins of their modules."""

import textwrap

import pytest
from older import REFUSED
from support import in_new_process

START = (
    REFUSED
    + """
import contextlib, sys, types
import dlbridge
from dlbridge import ops

def module(name, **attributes):
    made = sys.modules[name] = types.ModuleType(name)
    vars(made).update(attributes)
    return made

def class_of(module, name, **methods):
    return type(name, (), {"__module__": module, **methods})
"""
)


def with_stand_ins(code):
    return in_new_process(START + textwrap.dedent(code))


def test_pyarrow_legacy_capsules_are_read_only():
    with_stand_ins("""
        memory = dlbridge.asarray([1.0, 2.0, 3.0])
        Array = class_of(
            "pyarrow.lib", "Array",
            __dlpack__=lambda self, stream=None: memory.__dlpack__(),
            __dlpack_device__=lambda self: (1, 0),
        )
        x = Array()
        ours = dlbridge.from_dlpack(x)
        assert ours.readonly and ours.data_ptr == memory.data_ptr
        refused(lambda: ops.add(x, 1, out=x), "read-only")
        assert memory.tolist() == [1, 2, 3]
        copy = dlbridge.from_dlpack(x, copy=True)
        assert not copy.readonly and copy.data_ptr != memory.data_ptr
        # Of another package, memory in such a capsule may be written.
        Other = class_of(
            "other", "Array", __dlpack__=Array.__dlpack__, __dlpack_device__=Array.__dlpack_device__
        )
        assert not dlbridge.from_dlpack(Other()).readonly
        ops.add(Other(), 1, out=Other())
        assert memory.tolist() == [2, 3, 4]
    """)


JAX = """
    attempts = []
    class Array:
        def __init__(self, source):
            self.ours = source
        def __add__(self, other):
            assert evaluating == [True], "a trace would make no array of numbers"
            return Array(computed(self.ours))
        def tolist(self):
            return self.ours.tolist()
    @contextlib.contextmanager
    def ensure_compile_time_eval():
        evaluating.append(True)
        yield
        evaluating.pop()
    evaluating = []
    def computed(ours):
        return ops.add(ours, ours)
    def from_dlpack(x, copy=None):
        ours = dlbridge.from_dlpack(x)
        attempts.append((ours.shape, ours.strides))
        refuse(ours)
        return Array(ours)
    jax = module("jax", config=types.SimpleNamespace(jax_enable_x64=True))
    jax.ensure_compile_time_eval = ensure_compile_time_eval
    jax.dlpack = module("jax.dlpack", from_dlpack=from_dlpack)
"""


JAX_COPIES = """
    def check_copies(why):
        # Transposed tensors are copied for this reason, found by one attempt; others are shared.
        x = dlbridge.zeros([4, 16]).T
        reason = (
            "the installed release of JAX needs elements that are row-major without gaps"
            f" ({why})"
        )
        for _ in range(2):
            explained = dlbridge.explain(x, "jax")
            assert (explained.outcome, explained.kind) == ("copied", "layout"), explained
            assert explained.reason == reason, explained
            refused(lambda: dlbridge.convert(x, "jax", copy=False), reason)
        assert attempts == [((3, 2), (1, 3))] and not evaluating, attempts
        made = dlbridge.convert(x, "jax", copy=None)
        assert made.ours.is_contiguous and made.ours.data_ptr != x.data_ptr
        assert dlbridge.explain(x.T, "jax").outcome == "shared"
        assert dlbridge.convert(x.T, "jax").ours.data_ptr == x.data_ptr
"""


def test_jax_without_strides_receives_copies():
    code = """
        def refuse(ours):
            if not ours.is_contiguous:
                raise RuntimeError("UNIMPLEMENTED: non-default layout")
        check_copies("UNIMPLEMENTED: non-default layout")
    """
    with_stand_ins(textwrap.dedent(JAX + JAX_COPIES) + textwrap.dedent(code))


def test_jax_with_strides_receives_shared_memory():
    code = """
        refuse = lambda ours: None
        x = dlbridge.zeros([4, 16]).T
        assert dlbridge.explain(x, "jax").outcome == "shared"
        assert dlbridge.convert(x, "jax").ours.data_ptr == x.data_ptr
        assert not evaluating
    """
    with_stand_ins(textwrap.dedent(JAX) + textwrap.dedent(code))


MISREADS = [
    ("raise AssertionError('layout override\\nof x')", "layout override"),
    ("return dlbridge.asarray([[0, 2], [4, 6], [8, 10]])", "it reads other elements"),
]


@pytest.mark.parametrize(("computation", "why"), MISREADS)
def test_jax_that_misreads_transposed_tensors_is_given_copies(computation, why):
    code = f"""
        refuse = lambda ours: None
        def computed(ours):
            {computation}
        check_copies({why!r})
    """
    with_stand_ins(textwrap.dedent(JAX + JAX_COPIES) + textwrap.dedent(code))


def test_jax_that_runs_out_of_memory_in_trial_is_asked_again():
    code = """
        refuse = lambda ours: None
        def computed(ours):
            raise MemoryError
        x = dlbridge.zeros([4, 16]).T
        try:
            dlbridge.convert(x, "jax")
        except MemoryError:
            computed = lambda ours: ops.add(ours, ours)
        assert not evaluating
        assert dlbridge.convert(x, "jax").ours.data_ptr == x.data_ptr
    """
    with_stand_ins(textwrap.dedent(JAX) + textwrap.dedent(code))


def test_jax_without_copy_keyword_is_given_memory_itself():
    code = """
        refuse = lambda ours: None
        calls = []
        def without_copy(x):
            calls.append(x)
            return from_dlpack(x)
        jax.dlpack.from_dlpack = without_copy
        x = dlbridge.zeros([16])
        def interrupted(x, copy=None):
            raise KeyboardInterrupt
        jax.dlpack.from_dlpack, later = interrupted, jax.dlpack.from_dlpack
        try:
            dlbridge.convert(x, "jax")
        except KeyboardInterrupt:
            jax.dlpack.from_dlpack = later
        for count in (1, 2):
            assert dlbridge.convert(x, "jax").ours.data_ptr == x.data_ptr
            assert len(calls) == count
        def failing(x):
            raise TypeError("no such tensor")
        jax.dlpack.from_dlpack = failing
        refused(lambda: dlbridge.convert(x, "jax"), "no such tensor")
    """
    with_stand_ins(textwrap.dedent(JAX) + textwrap.dedent(code))


def test_unsupported_jax_dtype_of_release_is_explained():
    code = """
        def refuse(ours):
            if ours.dtype == "float8_e3m4":
                raise TypeError("no float8_e3m4")
        x = dlbridge.zeros([4], "float8_e3m4")
        reason = "the installed release of JAX has no float8_e3m4 (no float8_e3m4)"
        assert dlbridge.explain(x, "jax").reason == reason
        refused(lambda: dlbridge.convert(x, "jax", copy=None), reason)
        assert dlbridge.explain(dlbridge.zeros([4], "bfloat16"), "jax").outcome == "shared"
    """
    with_stand_ins(textwrap.dedent(JAX) + textwrap.dedent(code))


TENSORFLOW = """
    class Shape:
        name = "bfloat16"
    memory = dlbridge.zeros([32], "bfloat16")
    EagerTensor = class_of("tensorflow.python.framework.ops", "EagerTensor", dtype=Shape())
    def to_dlpack(x):
        return memory.__dlpack__()
    def from_dlpack(capsule):
        ours = dlbridge.from_dlpack(capsule)
        if ours.dtype == "bool":
            raise RuntimeError("bool isn't supported")
        return ours
    dlpack = types.SimpleNamespace(to_dlpack=to_dlpack, from_dlpack=from_dlpack)
    module("tensorflow", experimental=types.SimpleNamespace(dlpack=dlpack))
"""


def test_tensorflow_without_methods_is_imported_by_its_function():
    code = """
        x = EagerTensor()
        ours = dlbridge.from_dlpack(x)
        assert (ours.dtype, ours.data_ptr) == ("bfloat16", memory.data_ptr) and ours.readonly
        refused(lambda: ops.add(x, 1, out=x), "read-only")
        x.dtype.name = "string"
        refused(lambda: dlbridge.from_dlpack(x), "TensorFlow's string has no DLPack equivalent")
    """
    with_stand_ins(textwrap.dedent(TENSORFLOW) + textwrap.dedent(code))


def test_unsupported_tensorflow_bool_of_release_is_explained():
    code = """
        x = dlbridge.zeros([4], "bool")
        reason = "the installed release of TensorFlow has no bool (bool isn't supported)"
        assert dlbridge.explain(x, "tensorflow").reason == reason
        refused(lambda: dlbridge.convert(x, "tensorflow", copy=None), reason)
        assert dlbridge.convert(dlbridge.zeros([16]), "tensorflow").shape == (16,)
    """
    with_stand_ins(textwrap.dedent(TENSORFLOW) + textwrap.dedent(code))


def test_mlx_without_from_dlpack_is_given_row_major_copies():
    with_stand_ins("""
        class Array:
            def __init__(self, x):
                self.ours = dlbridge.from_dlpack(x)
                if not self.ours.is_contiguous:
                    raise ValueError("Invalid type in array initialization")
        module("mlx").core = module("mlx.core", array=Array)
        x = dlbridge.asarray([[1.0, 2.0], [3.0, 4.0]], dtype="float32")
        reason = "the installed release of MLX needs elements that are row-major without gaps"
        for view in (x.T, x.broadcast_to([3, 2, 2])):
            for _ in range(2):
                explained = dlbridge.explain(view, "mlx")
                assert explained.outcome == "copied", explained
                made = dlbridge.convert(view, "mlx", copy=None)
                assert made.ours.tolist() == view.tolist()
                refused(lambda: dlbridge.convert(view, "mlx", copy=False), "copy")
        assert reason in dlbridge.explain(x.T, "mlx").reason
        assert dlbridge.convert(x, "mlx", copy=None).ours.data_ptr == x.data_ptr
    """)


@pytest.mark.parametrize("name", ["torch", "paddle"])
def test_what_interrupts_the_import_of_a_framework_is_raised(name):
    with_stand_ins(f"""
        attempts, raised = [], KeyboardInterrupt
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "{name}":
                    attempts.append(name)
                    raise raised
        sys.meta_path.insert(0, Finder())
        x = dlbridge.zeros([3])
        for call in (dlbridge.convert, dlbridge.explain):
            attempts.clear()
            try:
                call(x, "{name}")
            except KeyboardInterrupt:
                assert len(attempts) == 1, attempts
            else:
                raise AssertionError("not interrupted")
        # That a framework isn't installed says nothing of its releases.
        raised = ImportError
        assert dlbridge.explain(x, "{name}").outcome == "shared"
        with contextlib.suppress(ImportError):
            dlbridge.convert(x, "{name}")
            raise AssertionError("imported")
    """)
