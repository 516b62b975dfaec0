"""The driver of GPUs as a framework calls it."""

from contextlib import contextmanager
from ctypes import byref, c_int, c_uint64, c_void_p

import double

# What the default stream is called in the array API standard, and each thread's own.
DEFAULT, PER_THREAD = 1, 2
_NON_BLOCKING, _NO_TIMING, _RELAXED = 1, 2, 2


class DriverError(RuntimeError):
    def __init__(self, function, code):
        super().__init__(f"{function} answered {code}")
        self.code = code


def call(name, *arguments):
    """Calls a function of the driver's, which must succeed."""
    wide = [c_uint64(argument) if isinstance(argument, int) else argument for argument in arguments]
    code = getattr(double.library, name)(*wide)
    if code:
        raise DriverError(name, code)


def _given(kind, name, *arguments):
    """What a function writes to where its first argument points."""
    value = kind()
    call(name, byref(value), *arguments)
    return value.value or 0


call("cuInit", 0)
_contexts = {}


def context(device=0):
    """The context of a GPU in which everyone works."""
    if device not in _contexts:
        _contexts[device] = _given(
            c_void_p, "cuDevicePrimaryCtxRetain", _given(c_int, "cuDeviceGet", device)
        )
    return _contexts[device]


def current_context():
    return _given(c_void_p, "cuCtxGetCurrent")


@contextmanager
def on(device=0):
    """Has a GPU's context be current."""
    call("cuCtxPushCurrent_v2", context(device))
    try:
        yield
    finally:
        call("cuCtxPopCurrent_v2", byref(c_void_p()))


def stream(device=0):
    """A new stream's handle."""
    with on(device):
        return _given(c_void_p, "cuStreamCreate", _NON_BLOCKING)


def destroy(handle):
    call("cuStreamDestroy_v2", handle)


def wait(waiting, awaited, device=0):
    """Has a stream wait for what another one has to do by now."""
    if waiting == awaited:
        return
    with on(device):
        event = _given(c_void_p, "cuEventCreate", _NO_TIMING)
        call("cuEventRecord", event, awaited)
        call("cuStreamWaitEvent", waiting, event, 0)
        call("cuEventDestroy_v2", event)


def allocate(count, handle=0, device=0):
    """Memory in the order of a stream."""
    with on(device):
        return _given(c_uint64, "cuMemAllocAsync", count, handle)


def free(address, handle=0, device=0):
    with on(device):
        call("cuMemFreeAsync", address, handle)


def fill(address, byte, count, handle=0, device=0):
    """What stands for a kernel that writes."""
    with on(device):
        call("cuMemsetD8Async", address, byte, count, handle)


def copy(to, source, count, handle=0, device=0):
    """What stands for a kernel that reads and writes."""
    with on(device):
        call("cuMemcpyAsync", to, source, count, handle)


def synchronize(device=0):
    with on(device):
        call("cuCtxSynchronize")


def devices():
    return _given(c_int, "cuDeviceGetCount")


class Graph:
    """The work enqueued on a stream while this was entered, to be done any number of times."""

    def __init__(self, handle, device=0, mode=_RELAXED):
        self.handle, self.device, self.mode = handle, device, mode
        self.graph, self.executable = c_void_p(), c_void_p()

    def __enter__(self):
        with on(self.device):
            call("cuStreamBeginCapture_v2", self.handle, self.mode)
        return self

    def __exit__(self, *exception):
        with on(self.device):
            call("cuStreamEndCapture", self.handle, byref(self.graph))
            call("cuGraphInstantiateWithFlags", byref(self.executable), self.graph, 0)

    def launch(self):
        with on(self.device):
            call("cuGraphLaunch", self.executable, self.handle)

    def destroy(self):
        call("cuGraphExecDestroy", self.executable)
        call("cuGraphDestroy", self.graph)
