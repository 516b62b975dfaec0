"""Ops of PyTorch's dispatcher in a process: their errors, memory, threads and
forks, and when they are published.
"""

import os
import sys
import threading

import dlbridge
import pytest
from dlbridge import ops
from graph_samples import CALLS, RARE, REFUSED
from graph_torch import same, tensors
from support import (
    check_released,
    check_resident,
    framework,
    in_fork,
    in_new_process,
    in_threads,
    refused,
)

torch = framework("torch")


def test_errors_have_the_text_of_the_op():
    x = torch.ones(3)
    with refused(RuntimeError, 'add: argument "b" has shape [4]; it can\'t be broadcast'):
        torch.ops.dlbridge.add(x, torch.ones(4))
    with refused(RuntimeError, "axis 3 is out of bounds for a tensor of rank 1"):
        torch.ops.dlbridge.softmax(x, axis=3)
    with refused(RuntimeError, "take: ", "is out of bounds for axis 0 with size 3"):
        torch.ops.dlbridge.take(x, torch.tensor([7]))
    with refused(RuntimeError, "add: "):
        torch.ops.dlbridge.add(x, torch.ones(3, dtype=torch.int32))


@pytest.fixture
def testing():
    """Ops of another extension, of which some go wrong."""
    extension = pytest.importorskip("dlbridge_testing", reason="not built for this environment")
    if not hasattr(ops, "testing"):
        extension.publish_ops()
    assert set(dlbridge.publish("torch")) <= REFUSED
    return ops.testing


def test_ops_of_dtypes_that_pytorch_lacks_are_refused_alone(testing):
    reasons = dlbridge.publish("torch")
    for name in RARE:
        assert reasons[name] == f"{name}: PyTorch has no dtype float8_e3m4"
    with refused(BufferError, "autograd follows this tensor") as error:
        testing.rare_default(torch.ones(3, requires_grad=True))
    reason = reasons["testing.rare_default"]
    if sys.version_info >= (3, 11):
        assert error.value.__notes__ == [f"torch can't have the op: {reason}"]
    torch._dynamo.reset()
    compiled = torch.compile(testing.panics, backend="eager", fullgraph=True)
    assert compiled(torch.ones(3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("size", [3, 1000])
def test_failures_of_kernels_are_exceptions(testing, size):
    compiled = torch.compile(testing.panics, backend="aot_eager", fullgraph=True)
    x = torch.ones(size)
    for panics in (torch.ops.dlbridge.testing_panics, compiled):
        assert panics(x).equal(x)
        with refused(RuntimeError, "testing.panics: -1 is negative"):
            panics(-x)
    y = torch.zeros(size, dtype=torch.bool)
    with refused(RuntimeError, "testing.raises: ", "KeyError"):
        torch.ops.dlbridge.testing_raises(torch.full((size,), 2, dtype=torch.float16), y)
    with refused(RuntimeError, "testing.fails", f"{size} are too many"):
        torch.ops.dlbridge.testing_fails(x)


def test_kernels_run_without_the_interpreter_lock():
    """While calls take long, another thread runs Python."""
    x = torch.rand(400, 400)
    count, done = 0, threading.Event()

    def multiply():
        for _ in range(5):
            torch.ops.dlbridge.matmul_kernel(x, x)
        done.set()

    thread = threading.Thread(target=multiply)
    thread.start()
    while not done.is_set():
        count += 1
    thread.join()
    assert count > 100


def test_arguments_are_released():
    import weakref

    def use(fails):
        x, axis = torch.ones(3, 4), 7 if fails else 1
        try:
            torch.ops.dlbridge.sum(x, axis=[axis])
            torch.ops.dlbridge.concat([x, x], axis=0)
            torch.ops.dlbridge.gelu(x, approximate="none")
            torch.ops.dlbridge.rms_norm(x, torch.ones(5 if fails else 4))
        except (RuntimeError, IndexError):  # In Python before 2.10.
            assert fails
        return weakref.ref(x)

    check_released(use)


def test_memory_stays_flat():
    x = torch.ones(1000)

    def calls(count):
        for _ in range(count):
            torch.ops.dlbridge.add(x, x)
            torch.ops.dlbridge.sum(x, axis=[0])
            try:
                torch.ops.dlbridge.softmax(x, axis=5)
            except (RuntimeError, IndexError):
                pass

    def others(count):
        for name in CALLS:
            args, attributes = tensors(name)
            op = getattr(torch.ops.dlbridge, name)
            for _ in range(count):
                op(*args, **attributes)

    for repeat, count in ((calls, 100_000), (others, 2000)):
        check_resident(repeat, count)


def test_threads_run_at_once():
    x = torch.rand(64, 64)
    expected, failures = ops.matmul(x, x), []

    def run():
        for _ in range(200):
            if not same(torch.ops.dlbridge.matmul(x, x), expected):
                failures.append("another result")
            try:
                torch.ops.dlbridge.matmul(x, x[:3])
                failures.append("no error")
            except RuntimeError:
                pass

    in_threads(run)
    assert failures == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_children_of_a_fork_call_ops():
    in_fork(
        "torch,torch._dynamo",
        """
        import os
        import dlbridge
        import torch
        from dlbridge import ops
        dlbridge.publish("torch")
        dlbridge.set_num_threads(2)
        compiled = torch.compile(lambda x: ops.softmax(ops.exp(x)), backend="eager", fullgraph=True)
        x = torch.rand(512, 512)
        expected = compiled(x), torch.ops.dlbridge.matmul(x, x)
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                found = compiled(x), torch.ops.dlbridge.matmul(x, x)
                bad = [a for a, b in zip(found, expected) if not a.equal(b)]
                try:
                    torch.ops.dlbridge.matmul(x, x[:3])
                    bad.append("no error")
                except RuntimeError:
                    pass
                os._exit(len(bad))
            assert os.waitpid(pid, 0)[1] == 0
        """,
    )


MET = """
from dlbridge import ops
f = torch.compile(lambda x: ops.exp(x) * 2, backend="eager", fullgraph=True)
assert f(torch.zeros(2)).tolist() == [2, 2]
assert torch.ops.dlbridge.exp(torch.zeros(1)).item() == 1
"""


def test_ops_are_published_to_a_framework_that_is_loaded_later():
    in_new_process(f"""
import sys
import dlbridge
assert "torch" not in sys.modules
import torch
assert "dlbridge._hosts.torch" not in sys.modules
{MET}""")


def test_ops_are_published_to_a_framework_that_is_there():
    in_fork("torch,torch._dynamo", f"import dlbridge, torch\n{MET}")


def test_threads_publish_while_the_compiler_is_imported():
    in_new_process("""
import faulthandler, sys, threading, time
import torch
from dlbridge import ops
faulthandler.dump_traceback_later(120, exit=True)
multiply, x = ops.multiply, torch.ones(3, requires_grad=True)
assert "torch._dynamo" not in sys.modules

def compile():
    compiled = torch.compile(lambda x: ops.exp(x), backend="eager", fullgraph=True)
    results.append(compiled(torch.zeros(3)).tolist())

results = []
compiler = threading.Thread(target=compile)
compiler.start()
while "torch._dynamo" not in sys.modules:
    time.sleep(0.001)
assert multiply(x, x).requires_grad
compiler.join()
assert results == [[1, 1, 1]]
""")


def test_the_compiler_is_imported_where_ops_can_not_be_published():
    in_new_process("""
import warnings
import torch
import dlbridge
import dlbridge._hosts.torch as adapter

def publish(names):
    raise OSError("there is nothing")

adapter.publish = publish
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import torch._dynamo
assert "ops of dlbridge aren't published for torch._dynamo: there is nothing" in {
    str(warning.message) for warning in caught
}
try:
    dlbridge.publish("torch")
except OSError:
    pass
else:
    raise AssertionError
""")


def test_unknown_frameworks_are_refused():
    with refused(LookupError, "expected one of torch, ", "got 'caffe'"):
        dlbridge.publish("caffe")
