"""Read-only memory shared with frameworks that have no read-only tensors."""

import asyncio
import gc
import mmap
import threading
import warnings

import dlbridge
import pytest
from readonly_pairs import SOURCES, check_pair, check_warnings_as_errors, frozen, place, shown_by
from support import framework, in_fork, in_new_process, refused

np = framework("numpy")
torch = framework("torch")
jax = framework("jax")
tf = framework("tensorflow")

import jax.numpy as jnp  # noqa: E402

ALL = {
    **SOURCES,
    "tensorflow": (lambda: tf.ones((4, 8)) * 3, "TensorFlow"),
    "jax": (lambda: jnp.full((4, 8), 3.0), "JAX"),
    "jax, bfloat16": (lambda: jnp.full((4, 8), 3, "bfloat16"), "JAX"),
    "dlbridge, of jax": (lambda: dlbridge.from_dlpack(jnp.full((4, 8), 3.0)), "JAX"),
}
TARGETS = {"torch": "PyTorch", "tvm_ffi": "TVM FFI", "tvm": "TVM", "onnxruntime": "ONNX Runtime"}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", ALL)
def test_read_only_memory_of_each_pair_follows_the_policy(name, to):
    framework(to)
    make, source = ALL[name]
    check_pair(make, source, to, TARGETS[to])


@pytest.mark.parametrize(
    "make", [lambda: tf.range(16.0), lambda: jnp.arange(16.0)], ids=["tensorflow", "jax"]
)
def test_read_only_round_trip_shares_memory(make):
    x = make()
    home = "jax" if isinstance(x, jax.Array) else "tensorflow"
    t, texts = shown_by(lambda: dlbridge.convert(x, "torch"))
    assert type(t) is torch.Tensor and t.data_ptr() == place(x) and len(texts) == 1
    assert t.sum() == 120 and torch.equal(t + 1, torch.arange(1.0, 17.0))
    # The other way there is nothing to warn of: their tensors are never written.
    back, texts = shown_by(lambda: dlbridge.convert(t, home))
    assert place(back) == place(x) and type(back) is type(x) and texts == []
    del x, back
    gc.collect()
    assert t.tolist() == list(range(16))


def test_write_to_shared_read_only_memory_is_visible_to_the_owner():
    """It would be seen, by a framework that counts on it not to be."""
    code = """
        import dlbridge, jax.numpy as jnp
        x = jnp.arange(16.0)
        t = dlbridge.convert(x, "torch", readonly="share")
        t[0] = 7
        print(x.tolist()[0])
    """
    assert in_fork("torch,jax", code).split()[-1] == "7.0"


@pytest.mark.parametrize("to", ["numpy", "jax", "tensorflow"])
def test_framework_with_read_only_tensors_receives_the_flag(to):
    x = dlbridge.from_dlpack(jnp.arange(16.0))
    for policy in ("warn", "share", "refuse"):
        y, texts = shown_by(lambda policy=policy: x.to(to, readonly=policy))
        assert place(y) == x.data_ptr and texts == [] and dlbridge.from_dlpack(y).readonly


def test_numpy_from_dlpack_keeps_read_only():
    x = dlbridge.from_dlpack(jnp.arange(16.0))
    for policy in ("warn", "share", "refuse"):
        with dlbridge.readonly(policy):
            array, texts = shown_by(lambda: np.from_dlpack(x))
            assert not array.flags.writeable and array.ctypes.data == x.data_ptr and texts == []
            assert not np.asarray(x).flags.writeable and memoryview(x).readonly


@pytest.mark.parametrize("take", [torch.from_dlpack, torch.utils.dlpack.from_dlpack])
def test_torch_from_dlpack_follows_the_policy(take):
    x = dlbridge.from_dlpack(jnp.arange(16.0))
    t, texts = shown_by(lambda: take(x))
    assert t.data_ptr() == x.data_ptr
    assert len(texts) == 1 and texts[0].startswith("JAX -> PyTorch: ")
    with dlbridge.readonly("share"):
        assert shown_by(lambda: take(x))[1] == []
    with dlbridge.readonly("refuse"), refused(BufferError, "read-only, and PyTorch writes"):
        take(x)
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr


def test_capsules_of_read_only_memory_follow_the_policy():
    x = dlbridge.from_dlpack(jnp.arange(16.0))
    # A versioned one says that it is read-only, whatever the policy.
    with dlbridge.readonly("refuse"):
        assert dlbridge.from_dlpack(x.__dlpack__(max_version=(1, 3))).readonly
        assert dlbridge.from_dlpack(x.to_dlpack(max_version=(1, 0))).readonly
        for ask in (x.to_dlpack, x.__dlpack__):
            with refused(BufferError, "read-only", "legacy", 'readonly="share"'):
                ask()
        assert place(x.__dlpack__(copy=True)) != x.data_ptr
        assert place(x.to_dlpack(readonly="share")) == x.data_ptr
    for ask in (x.to_dlpack, x.__dlpack__):
        capsule, texts = shown_by(ask)
        assert place(capsule) == x.data_ptr
        assert len(texts) == 1 and texts[0].startswith(
            "JAX -> a consumer of legacy DLPack capsules: "
        )
    # TensorFlow takes only such.
    y = tf.experimental.dlpack.from_dlpack(x.to_dlpack(readonly="share"))
    assert place(y) == x.data_ptr


def test_writable_memory_ignores_the_policy():
    x = dlbridge.zeros(16, "float32")
    with dlbridge.readonly("refuse"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for to in TARGETS:
            assert place(x.to(to)) == x.data_ptr
        assert torch.from_dlpack(x).data_ptr() == place(x.to_dlpack()) == x.data_ptr


def test_written_argument_ignores_the_policy():
    x, out = jnp.arange(4.0), dlbridge.zeros(4, "float32")
    with dlbridge.readonly("share"):
        with refused(BufferError, "read-only"):
            dlbridge.ops.add(x, x, out=x)
        assert type(dlbridge.ops.add(x, torch.ones(4), like=torch.ones(1))) is torch.Tensor
        assert dlbridge.ops.add(x, x, out=out).tolist() == [0, 2, 4, 6]
        assert dlbridge.from_dlpack(x).readonly
        with pytest.raises((BufferError, TypeError)):
            memoryview(dlbridge.from_dlpack(x))[0] = 1.0


def test_read_only_mapped_file_is_shared_with_warning(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(16, dtype="f4").tobytes())
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        x = dlbridge.from_dlpack(mapped).view("float32")
        t, texts = shown_by(lambda: x.to("torch"))
        assert t.data_ptr() == x.data_ptr and t.tolist() == list(range(16))
        assert len(texts) == 1 and texts[0].startswith("mmap.mmap -> PyTorch: ")
        del x, t


def test_warning_is_issued_once_for_each_pair():
    code = """
        import warnings
        import dlbridge, jax.numpy as jnp, numpy as np, torch

        x, a = jnp.arange(16.0), np.broadcast_to(np.float32(1), 4)
        for _ in range(3):
            dlbridge.convert(x, "torch")
            dlbridge.from_dlpack(x).to("torch")
            dlbridge.convert(a, "torch")
            dlbridge.convert(x, "tvm_ffi")
            # Python forgets what it has shown when filters change.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("always")
        dlbridge.convert(x, "torch")
        warnings.simplefilter("ignore")
        dlbridge.convert(x, "torch")
    """
    said = in_fork("torch,jax", code)
    lines = [line for line in said.splitlines() if "ReadOnlyWarning: " in line]
    pairs = [line.split("ReadOnlyWarning: ")[1].split(":")[0] for line in lines]
    assert pairs == ["JAX -> PyTorch", "NumPy -> PyTorch", "JAX -> TVM FFI", "JAX -> PyTorch"]
    assert all(line.startswith("<string>:") for line in lines)


def test_warning_names_the_callers_line():
    array = frozen()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        dlbridge.wrap(lambda x: x, "torch")(array)
    assert [warning.filename for warning in shown] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*NumPy -> PyTorch", module=__name__)
        dlbridge.convert(array, "torch")
        warnings.filterwarnings("error", category=dlbridge.ReadOnlyWarning, lineno=1)
        dlbridge.convert(array, "torch")


@pytest.mark.parametrize("name", [None, 3, "other"])
def test_warning_needs_no_name_of_a_module(name):
    array = frozen()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        exec("convert(array, 'torch')", {"__name__": name, "convert": dlbridge.convert, **locals()})
    assert len(shown) == 1


def test_warnings_as_errors_refuse_and_release():
    check_warnings_as_errors("torch")
    check_warnings_as_errors("onnxruntime")
    check_warnings_as_errors("tvm_ffi")


def test_nested_policies_are_restored():
    array, share = frozen(), dlbridge.readonly("share")

    def outcome():
        try:
            return "warn" if shown_by(lambda: dlbridge.convert(array, "torch"))[1] else "share"
        except BufferError:
            return "refuse"

    assert outcome() == "warn"
    with dlbridge.readonly("refuse"):
        assert outcome() == "refuse"
        with share:
            assert outcome() == "share"
            with dlbridge.readonly("warn"), share:
                assert outcome() == "share"
        assert outcome() == "refuse"
        with pytest.raises(KeyError), share:
            raise KeyError
        assert outcome() == "refuse"
    assert outcome() == "warn" and repr(share) == "dlbridge.readonly('share')"


def test_policy_is_per_thread():
    """Each thread has its own, also of one object that all of them use."""
    array, share, refuse = frozen(), dlbridge.readonly("share"), dlbridge.readonly("refuse")
    barrier, seen = threading.Barrier(8), []

    def run(number):
        quiet = number % 2 == 0
        with share if quiet else refuse:
            barrier.wait()
            for _ in range(200):
                try:
                    seen.append(
                        (quiet, dlbridge.convert(array, "torch").data_ptr() == array.ctypes.data)
                    )
                except BufferError:
                    seen.append((quiet, False))

    with dlbridge.readonly("warn"):
        threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(set(seen)) == [(False, False), (True, True)] and len(seen) == 1600
        assert shown_by(lambda: dlbridge.convert(array, "torch"))[1]


def test_policy_is_per_task():
    array = frozen()

    async def task(policy):
        with dlbridge.readonly(policy):
            outcomes = set()
            for _ in range(20):
                await asyncio.sleep(0)
                try:
                    dlbridge.convert(array, "torch")
                    outcomes.add("share")
                except BufferError:
                    outcomes.add("refuse")
                outcomes.add(await inherited())
            return outcomes

    async def inherited():
        await asyncio.sleep(0)
        try:
            dlbridge.convert(array, "torch")
            return "share"
        except BufferError:
            return "refuse"

    async def main():
        return await asyncio.gather(task("share"), task("refuse"), task("share"))

    assert asyncio.run(main()) == [{"share"}, {"refuse"}, {"share"}]


@pytest.mark.parametrize(
    "value, outcome", [("share", "[]"), ("refuse", "BufferError"), ("warn", "[1]"), ("", "[1]")]
)
def test_environment_variable_sets_the_policy(value, outcome):
    code = """
        import warnings
        import dlbridge, numpy as np
        array = np.broadcast_to(np.float32(1), 4)
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always", dlbridge.ReadOnlyWarning)
            try:
                dlbridge.convert(array, "torch")
                print([1 for warning in shown if warning.category is dlbridge.ReadOnlyWarning])
            except BufferError as error:
                print(type(error).__name__)
        with dlbridge.readonly("share"):
            assert dlbridge.convert(array, "torch").data_ptr() == array.ctypes.data
    """
    assert in_fork("torch,jax", code, DLBRIDGE_READONLY=value).splitlines()[-1] == outcome


def test_invalid_policy_is_refused():
    text = 'expected "warn", "share" or "refuse", got "never"'
    x = dlbridge.zeros(3, "float32")
    for use in (
        lambda policy: dlbridge.convert(x, "torch", readonly=policy),
        lambda policy: x.to("torch", readonly=policy),
        lambda policy: x.to_dlpack(readonly=policy),
        lambda policy: dlbridge.explain(x, "torch", readonly=policy),
        lambda policy: dlbridge.wrap(lambda x: x, "torch", readonly=policy),
        dlbridge.readonly,
    ):
        with refused(ValueError, text):
            use("never")
        with pytest.raises(TypeError):
            use(1)
    output = in_new_process("import dlbridge", status=1, DLBRIDGE_READONLY="never")
    assert f"ValueError: the environment variable DLBRIDGE_READONLY: {text}" in output


def test_extensions_follow_the_package():
    """They are compiled apart, and have the policy and the warning of the package all the same."""
    import dlbridge_testing as ext

    t, texts = shown_by(lambda: ext.compiled_in("torch"))
    assert (
        t.tolist() == [1, 2, 4] and len(texts) == 1 and texts[0].startswith("dlbridge -> PyTorch: ")
    )
    before = ext.alive()
    with dlbridge.readonly("refuse"):
        with refused(BufferError, "read-only"):
            ext.compiled_in("torch")
        with refused(BufferError, "read-only"):
            ext.like(torch.ones(1), ext.counted(3))
        assert ext.like(torch.ones(1), ext.counted(3), readonly="share").tolist() == [0, 1, 2]
        # The borrowed call of an exchange table carries no flags: it is refused, and the owned one
        # is taken.
        assert ext.read_f32(dlbridge.from_dlpack(jnp.arange(4.0))) == [0, 1, 2, 3]
    with dlbridge.readonly("share"):
        assert shown_by(lambda: ext.like(torch.ones(1), ext.counted(3)))[1] == []
    assert shown_by(lambda: ext.like(torch.ones(1), ext.counted(3)))[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dlbridge.ReadOnlyWarning):
            ext.like(torch.ones(1), ext.counted(3))
        with pytest.raises(dlbridge.ReadOnlyWarning):
            ext.counted(3).to("torch")
    kept = dlbridge.convert(ext.counted(3), "torch", readonly="share")
    assert ext.alive() == before + 1 and kept.tolist() == [0, 1, 2]
    del kept
    gc.collect()
    assert ext.alive() == before
