"""Tests without a driver or GPUs, and in forked and spawned processes."""

import os
import sysconfig
import textwrap

import double_driver as driver  # noqa: F401
import pytest
from support import in_new_process

FOLDER = os.path.dirname(os.path.abspath(__file__))
WITHOUT = {
    "no driver": {"LD_LIBRARY_PATH": ""},
    "no GPU": {"LIBCUDA_DOUBLE_DEVICES": "0"},
}
REASONS = {
    "no driver": "there is no CUDA driver here: libcuda.so.1 was not found; install NVIDIA's driver",
    "no GPU": "the CUDA driver finds no GPU",
}
FIELDS = {
    "no driver": ("device", "no driver", "a CUDA driver", "install NVIDIA's driver"),
    "no GPU": ("device", "no GPU", "a GPU", None),
}
ASKED = """
import dlbridge, pickle
import numpy as np

def refused(kind, call):
    try:
        call()
    except kind as error:
        assert type(error) is kind, type(error)
        return str(error)
    raise AssertionError("nothing was raised")

cuda = dlbridge.cuda
assert (cuda.is_available(), cuda.device_count()) == (False, 0)
host = dlbridge.ones(3)

class Interface:
    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}

class Stream:
    def __cuda_stream__(self):
        return (0, 5)

class Producer:
    def __dlpack_device__(self):
        return (2, 0)
    def __dlpack__(self, **keywords):
        raise BufferError("no GPU")

for call in (
    cuda.check, cuda.properties, cuda.synchronize, cuda.current_stream, cuda.trim, cuda.Stream,
    lambda: cuda.stream(5), lambda: cuda.stream(Stream()), lambda: cuda.properties(1),
    lambda: dlbridge.zeros(3, device="cuda"), lambda: dlbridge.empty(3, device="cuda:1"),
    lambda: dlbridge.ones(3, device="cuda_host"), lambda: dlbridge.full(3, 1, device="cuda_managed"),
    lambda: dlbridge.arange(3, device="cuda"), lambda: dlbridge.asarray([1], device="cuda"),
    lambda: dlbridge.asarray(np.ones(3), device="cuda"),
    lambda: host.to("cuda"), lambda: dlbridge.from_dlpack(host, device="cuda"),
    lambda: host.__dlpack__(dl_device=(2, 0)),
):
    text = refused(BufferError, call)
    assert REASON in text, text
try:
    cuda.check()
except BufferError as error:
    assert (error.kind, error.found, error.wanted, error.remedy) == FIELDS, vars(error)
refused(BufferError, lambda: host.to("cupy", copy=None))
refused(BufferError, lambda: dlbridge.from_dlpack(Producer()))
refused(BufferError if REASON == "the CUDA driver finds no GPU" else TypeError, lambda: dlbridge.from_dlpack(Interface()))
# What has nothing to do with GPUs goes on.
assert dlbridge.from_dlpack(np.ones(3, "f4")).tolist() == [1, 1, 1]
assert dlbridge.ops.add(host, host).tolist() == [2, 2, 2]
assert pickle.loads(pickle.dumps(host)).tolist() == [1, 1, 1]
assert host.to("cpu").tolist() == [1, 1, 1] and host.copy().tolist() == [1, 1, 1]
assert not hasattr(host, "__cuda_array_interface__")
"""


@pytest.mark.parametrize("what", WITHOUT)
def test_missing_driver_error_names_the_reason(what):
    libraries = sysconfig.get_config_var("LIBDIR") or ""
    environment = {name: value or libraries for name, value in WITHOUT[what].items()}
    code = f"REASON = {REASONS[what]!r}\nFIELDS = {FIELDS[what]!r}\n{ASKED}"
    assert in_new_process(code, **environment) == ""


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
def test_fork_before_first_use_leaves_child_usable():
    code = """
    import os, sys
    import dlbridge
    import numpy as np

    # None of this starts the driver, which couldn't be used in a process that forked after that.
    dlbridge.from_dlpack(np.ones(3)).tolist()
    dlbridge.ops.add(dlbridge.ones(3), dlbridge.ones(3))

    class Plain:
        def __dlpack_device__(self):
            return (1, 0)
        def __dlpack__(self, **keywords):
            return np.ones(3).__dlpack__(**keywords)

    dlbridge.from_dlpack(Plain())
    sys.path.insert(0, FOLDER)
    import double
    assert double.calls() == 0, double.journal()
    child = os.fork()
    if child == 0:
        status = 0 if dlbridge.ones(3, device="cuda").tolist() == [1, 1, 1] and double.mistakes() == "" else 1
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert dlbridge.zeros(3, device="cuda").tolist() == [0, 0, 0]
    print("both")
    """
    assert in_new_process(f"FOLDER = {FOLDER!r}\n{textwrap.dedent(code)}") == "both\n"


def test_exit_with_live_gpu_tensors_succeeds():
    code = """
    import sys
    sys.path.insert(0, FOLDER)
    from double_frameworks import KINDS, given
    import dlbridge
    sys.kept = []
    for name, kind in KINDS.items():
        x = kind().fill(1)
        tensor = dlbridge.from_dlpack(x)
        ours = dlbridge.zeros(16, "uint8", device="cuda")
        stream = dlbridge.cuda.Stream()
        sys.kept += [x, tensor, ours, given(name, ours), stream, tensor.__dlpack__(stream=1, max_version=(1, 3))]
    sys.kept.append(dlbridge.cuda.Stream().__enter__())
    print("kept")
    """
    assert in_new_process(f"FOLDER = {FOLDER!r}\n{textwrap.dedent(code)}") == "kept\n"
