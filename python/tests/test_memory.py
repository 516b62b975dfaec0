"""Memory stays flat over 100,000 round trips (5,000 in short runs), by every lane, whether calls
succeed or are refused.
"""

import pytest
from support import framework, in_new_process, repeats

framework("numpy")

START = (
    f"""
ROUNDS = {repeats(100_000)}
"""
    + """
import array, atexit, gc, sys
import dlbridge_testing as ext, numpy as np
from support import check_growth, resident_kilobytes

atexit.register(gc.unfreeze)

class Forwarding:
    def __init__(self, inner): self.inner = inner
    def __dlpack__(self, **keywords): return self.inner.__dlpack__(**keywords)

class Old:
    def __init__(self, inner): self.inner = inner
    def __dlpack__(self): return self.inner.__dlpack__()

def repeat(function, rounds):
    for _ in range(rounds):
        function()

def repeat_refused(function, rounds):
    for _ in range(rounds):
        try:
            function()
        except (BufferError, TypeError, ValueError, LookupError):
            continue
        raise AssertionError("it was not refused")

def check(name, function, rounds=ROUNDS, repeat=repeat):
    gc.freeze()  # What is there needs no collection.
    repeat(function, rounds // 20)
    # A leak is one block a round; a few hundred in all come and go with frameworks' own caches, as
    # JAX's threads do by 2 MB.
    limits = {sys.getallocatedblocks: rounds // 50 + 500, resident_kilobytes: 1024}
    check_growth(lambda: repeat(function, rounds), limits, name)

def check_refused(name, function, rounds=ROUNDS):
    check(name, function, rounds, repeat_refused)

def check_arguments(make, writable=True, rounds=ROUNDS):
    other = np.ones(4, "f4")
    x = make()
    def of(use):
        return lambda: use(x)
    check("In", of(ext.rank_1), rounds)
    check("detached", of(ext.sum_detached), rounds)
    check("Owned", of(ext.owned_vector), rounds)
    check_refused("In, refused", of(ext.read_f64), rounds // 4)
    check_refused("Owned, refused", of(ext.own_f64), rounds // 4)
    if writable:
        check("Out", of(ext.double), rounds)
        check_refused("aliased", of(lambda x: ext.add(x, x, x)), rounds // 4)
        check("kept", of(lambda x: ext.release(ext.keep(x))), rounds // 4)
    else:
        check_refused("Out, refused", of(ext.double), rounds // 4)
    check("new each time", lambda: ext.owned_vector(make()), rounds // 4)
    check("in a list", of(lambda x: ext.many([x, other])), rounds // 4)
"""
)

LANES = {
    "our object": "check_arguments(lambda: ext.zeros([4], 'float32'))",
    "numpy": "check_arguments(lambda: np.zeros(4, 'f4'))",
    "numpy, strided": "check_arguments(lambda: np.zeros((4, 2), 'f4')[::-1, 1])",
    "numpy, read-only": "check_arguments(lambda: np.broadcast_to(np.float32(1), 4), writable=False)",
    "a memoryview": "check_arguments(lambda: memoryview(np.zeros(4, 'f4')))",
    "an array": "check_arguments(lambda: array.array('f', [0, 0, 0, 0]))",
    "a class": "check_arguments(lambda: Forwarding(np.zeros(4, 'f4')), rounds=ROUNDS // 2)",
    "an old class": "check_arguments(lambda: Old(np.zeros(4, 'f4')), rounds=ROUNDS // 4)",
    "a capsule": """
capsules = iter(lambda: np.zeros(4, 'f4').__dlpack__(max_version=(1, 0)), None)
for name, use in {"In": ext.rank_1, "Out": ext.double, "Owned": ext.identity, "detached": ext.sum_detached}.items():
    check(name, lambda: use(next(capsules)))
    check("ours, " + name, lambda: use(ext.zeros([4], "float32").__dlpack__()), ROUNDS // 4)
check("untouched", lambda: next(capsules))
check_refused("refused", lambda: ext.read_f64(next(capsules)), ROUNDS // 4)
check_refused("refused, to be kept", lambda: ext.own_f64(next(capsules)), ROUNDS // 4)
""",
}


@pytest.mark.parametrize("lane", LANES)
def test_borrowed_arguments_do_not_leak(lane):
    assert in_new_process(START + LANES[lane] + "\nprint('flat')") == "flat\n"


def test_torch_arguments_do_not_leak():
    framework("torch")
    code = """
import warnings
import torch
warnings.simplefilter("ignore")
check_arguments(lambda: torch.zeros(4))
class Sub(torch.Tensor): pass
check_arguments(lambda: torch.zeros(4).as_subclass(Sub), rounds=ROUNDS // 4)
followed, conjugated = torch.zeros(4, requires_grad=True), torch.zeros(4, dtype=torch.complex64).conj()
for x in (followed, conjugated):
    check_refused("guarded", lambda: ext.describe(x), ROUNDS // 4)
x, ours = torch.zeros(4), ext.zeros([4], "float32")
check("like", lambda: ext.like(x, ours))
check("zeros", lambda: ext.zeros_like(x, [4], "float32"))
check("to", lambda: ext.to(ours, "torch"))
check("there and back", lambda: ext.to(ext.identity(x), "torch"))
check("from_dlpack", lambda: torch.from_dlpack(ours), ROUNDS // 4)
read_only = ext.counted(4)
check_refused("refused", lambda: ext.to(read_only, "torch", readonly="refuse"), ROUNDS // 4)
check("shared, read-only", lambda: ext.to(read_only, "torch", readonly="share"), ROUNDS // 4)
check("shared, with a warning", lambda: ext.to(read_only, "torch"), ROUNDS // 8)
print("flat")
"""
    assert in_new_process(START + code) == "flat\n"


def test_jax_arguments_do_not_leak():
    framework("jax")
    code = """
import jax
check_arguments(lambda: jax.numpy.zeros(4, dtype="float32"), writable=False, rounds=ROUNDS // 8)
x, ours = jax.numpy.zeros(4), ext.zeros([4], "float32")
check("In", lambda: ext.rank_1(x))
check("to", lambda: ext.to(ours, "jax"), ROUNDS // 8)
check("there and back", lambda: ext.to(ext.identity(x), "dlbridge"))
print("flat")
"""
    assert in_new_process(START + code) == "flat\n"


def test_results_do_not_leak():
    code = """
x, ours, bf16 = np.zeros(4, "f4"), ext.zeros([4], "float32"), ext.zeros([4], "bfloat16")
check("own", lambda: ext.like(ours, ours))
check("own, transposed", lambda: ext.transposed(ours))
check("own, new", lambda: ext.doubled(ours))
check("numpy", lambda: ext.like(x, ours))
check("numpy, new", lambda: ext.doubled(x))
check("numpy, zeros", lambda: ext.zeros_like(x, [4], "float32"))
check("numpy, of ml_dtypes", lambda: ext.to(bf16, "numpy"), ROUNDS // 4)
check("numpy, there and back", lambda: ext.to(ext.identity(x), "numpy"))
check("numpy asks", lambda: np.from_dlpack(ours))
check("numpy asks for a copy", lambda: np.from_dlpack(ours, copy=True), ROUNDS // 4)
check("like a number", lambda: ext.like_number(1.0, ours))
check("capsules", lambda: (ours.__dlpack__(), ours.__dlpack__(max_version=(1, 0))))
check("attributes", lambda: (ours.shape, ours.strides, ours.dtype, ours.device, ours.data_ptr))
check("text", lambda: (repr(ours), str(ours)), ROUNDS // 4)
check_refused("numpy", lambda: ext.to(ext.zeros([4], "float32x4"), "numpy"), ROUNDS // 4)
check_refused("no framework", lambda: ext.to(ours, "fortran"), ROUNDS // 4)
check_refused("no type", lambda: ext.zeros([4], "float31"), ROUNDS // 4)
check_refused("no tensor", lambda: ext.identity(None), ROUNDS // 4)
check_refused("no type of DLPack's", lambda: ext.identity(np.array(["a"])), ROUNDS // 4)
check_refused("a stream", lambda: ours.__dlpack__(stream=1), ROUNDS // 4)
check_refused("a device", lambda: ours.__dlpack__(dl_device=(2, 0)), ROUNDS // 4)
check_refused("no version", lambda: ours.__dlpack__(max_version=3), ROUNDS // 4)
print("flat")
"""
    assert in_new_process(START + code) == "flat\n"


def test_leak_is_detected_by_this_test():
    code = """
kept = []
for leak in (lambda: kept.append(np.zeros(1, "f4")), lambda: ext.keep(np.zeros(1, "f4"))):
    try:
        check("leaking", leak, 20_000)
    except AssertionError as error:
        assert "leaking" in str(error)
    else:
        raise SystemExit("it was not seen")
print("seen")
"""
    assert in_new_process(START + code) == "seen\n"
