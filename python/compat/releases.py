"""The doctor's adapters, where an older release lacks what they use."""

import ctypes
import importlib

from dlbridge._doctor import capsules, elements, frameworks
from dlbridge._doctor.adapters.base import AbsentError
from dlbridge._doctor.adapters.paddle import Paddle
from dlbridge._doctor.adapters.tensorflow import TensorFlow
from dlbridge._doctor.adapters.tvm_ffi import TvmFfi
from dlbridge._doctor.memory import Look

# Those of less than a byte aren't what older releases are for.
DTYPES = [dtype for dtype, bits in elements.BITS.items() if bits >= 8]


class OlderPaddle(Paddle):
    """Views of another dtype end the process before 3.3, so the memory is NumPy's."""

    def _vector(self, dtype, patterns):
        numpy = importlib.import_module("numpy")
        # NumPy's 16-bit integers are Paddle's bfloat16.
        name = {"bfloat16": "uint16", "uint16": None}.get(dtype, dtype)
        if name is None or not hasattr(numpy, name):
            raise AbsentError(f"NumPy has no {dtype}")
        data = elements.to_bytes(dtype, patterns) or bytes(16)
        try:
            vector = self.lib.to_tensor(numpy.frombuffer(data, name).copy(), place="cpu")
        except Exception as error:
            raise AbsentError(f"Paddle has no {dtype}: {error}") from None
        if elements.canonical(str(vector.dtype)) != dtype:
            raise AbsentError(f"Paddle's {dtype} is {vector.dtype}")
        return vector

    def own_read(self, x, dtype):
        # `numpy()` of an older release forgets the strides of a view.
        return self.look(x).read(elements.BITS[dtype]) if x.size else []


class OlderTensorFlow(TensorFlow):
    """The address is told by a function, where tensors have no `__dlpack__`."""

    def look(self, x):
        seen = super().look(x)
        if seen.pointer is None:
            to_dlpack = self.lib.experimental.dlpack.to_dlpack
            declared = capsules.declared(Method(lambda: to_dlpack(x)))
            seen = seen._replace(pointer=declared and declared.pointer)
        return seen


class Method:
    """An object whose `__dlpack__` is a function."""

    def __init__(self, function):
        self.__dlpack__ = function


class OlderTvmFfi(TvmFfi):
    """The address and the strides are told by the capsule alone, before 0.1.4."""

    def look(self, x):
        if hasattr(x, "data_ptr"):
            return super().look(x)
        capsule = x.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = capsules._Managed.from_address(get(capsule, b"dltensor")).tensor
        code = tensor.code, tensor.bits, tensor.lanes
        name = next((name for name in elements.BITS if capsules.code_of(name) == code), str(code))
        pointer = (tensor.data or 0) + tensor.byte_offset
        strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim))
        return Look(name, tuple(x.shape), strides, pointer, elements.BITS.get(name, 8))


OLDER = {"paddle": OlderPaddle, "tensorflow": OlderTensorFlow, "tvm_ffi": OlderTvmFfi}


def adapter(name):
    """The adapter of a framework, for any release."""
    return (OLDER.get(name) or frameworks.adapter_class(frameworks.ADAPTERS[name]))()
