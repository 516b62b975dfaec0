"""Frameworks that are asked by `__dlpack__` on a GPU: one that poses as CuPy, and one as JAX."""

import sys
import types

import double_driver as driver
from double_arrays import Array, Memory, Work, handle_of, number_of, taken
from made import CUDA


class Asked(Array):
    """Has `__dlpack__` for its own current stream, and notes with what it was asked."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.asked = []

    def __dlpack_device__(self):
        return (CUDA, self.device_id)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append(stream)
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("it is shared, and where it is")
        if stream != -1:
            driver.wait(handle_of(stream or driver.DEFAULT), self.handle(), self.device_id)
        return self.export(versioned=max_version is not None).capsule()


class Streams(Work):
    """Current streams, which are objects."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.default = kind, kind(ptr=0)

    def new(self, device=0):
        return self.kind(device)

    def handle(self, device=0):
        return self.stream(device).ptr

    def stream(self, device):
        return self.current.get(device, self.default)


def pose_as_cupy():
    """A module `cupy`, whose streams are destroyed when their objects go."""
    module = types.ModuleType("cupy")

    class Stream:
        def __init__(self, device=0, ptr=None):
            self.is_made = ptr is None
            # As CuPy has it, the default stream is of no device.
            self.device_id = device if self.is_made else -1
            self.ptr = driver.stream(device) if self.is_made else ptr

        def __del__(self):
            if self.is_made:
                driver.destroy(self.ptr)

    class ndarray(Asked):
        work = Streams(Stream)

        @classmethod
        def allocate(cls, count, device):
            memory = Memory(count, cls.work.handle(device), device)
            memory.stream = cls.work.stream(device)
            return memory

        @property
        def __cuda_array_interface__(self):
            raise AssertionError("it has something newer")

    def from_dlpack(x):
        device = x.__dlpack_device__()[1]
        stream = number_of(ndarray.work.handle(device))
        return ndarray.around(taken(x.__dlpack__(stream=stream, max_version=(1, 0))))

    ndarray.__module__ = Stream.__module__ = "cupy"
    module.ndarray, module.from_dlpack = ndarray, from_dlpack
    current = lambda device=0: ndarray.work.stream(device)  # noqa: E731
    module.cuda = types.SimpleNamespace(Stream=Stream, get_current_stream=current)
    sys.modules["cupy"] = module
    return module


def pose_as_jax():
    """A module `jax`, whose stream is unknown. Memory is reused as soon as it is released."""
    module = types.ModuleType("jax")

    class ArrayImpl(Asked):
        work = Work()
        __dlpack__ = Asked.__dlpack__  # Its own, as JAX's class has it.

    def from_dlpack(x, copy=None):
        assert copy is False
        device = x.__dlpack_device__()[1]
        stream = number_of(ArrayImpl.work.handle(device))
        return ArrayImpl.around(taken(x.__dlpack__(stream=stream, max_version=(1, 0), copy=copy)))

    ArrayImpl.__module__ = "jaxlib._jax"
    module.Array = ArrayImpl
    module.dlpack = types.SimpleNamespace(from_dlpack=from_dlpack)
    module.config = types.SimpleNamespace(jax_enable_x64=False)
    sys.modules["jax"] = module
    return module


class NumbaStream:
    """A stream as Numba has it."""

    def __init__(self, handle):
        self.its_handle = handle

    def __int__(self):
        return self.its_handle


_numba = types.ModuleType("numba.cuda.cudadrv.driver")
_numba.Stream = NumbaStream
sys.modules[_numba.__name__] = _numba


class Numba(Array):
    """Has `__cuda_array_interface__` and nothing else for its memory, and the stream object that
    keeps its stream.
    """

    work = Work()
    version = 3
    read_only = False
    # As number, or nothing where there is nothing to be waited for.
    tells_stream = True

    @property
    def stream(self):
        return NumbaStream(self.handle())

    @property
    def __cuda_array_interface__(self):
        interface = {
            "shape": (self.count,),
            "typestr": "|u1",
            "data": (self.address, self.read_only),
            "version": self.version,
        }
        if self.version == 3:
            interface["strides"] = None
            interface["stream"] = number_of(self.handle()) if self.tells_stream else None
        return interface

    @classmethod
    def of(cls, x):
        """Another library's array, with the wait that the interface asks for."""
        interface = x.__cuda_array_interface__
        assert interface["version"] == 3
        if interface["stream"] is not None:
            driver.wait(cls.work.handle(), handle_of(interface["stream"]))
        (count,) = interface["shape"]
        return cls(count, memory=_Lent(interface["data"][0], x))


class _Lent:
    def __init__(self, address, keeper):
        self.address, self.keeper = address, keeper
