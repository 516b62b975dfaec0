"""DLPack's structs, written from its header, and tensors made by hand whose deleter counts its
calls.
"""

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)

api = ctypes.pythonapi

READ_ONLY, IS_COPIED, IS_SUBBYTE_TYPE_PADDED = 1, 2, 4
CPU, CUDA, CUDA_HOST = 1, 2, 3
FLOAT32, FLOAT64, BOOL = (2, 32, 1), (2, 64, 1), (6, 8, 1)
INT64, INT32, INT4, UINT8 = (0, 64, 1), (0, 32, 1), (0, 4, 1), (1, 8, 1)


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", c_uint32), ("device_id", c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLPackVersion(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


class DLPackExchangeAPIHeader(ctypes.Structure):
    _fields_ = [("version", DLPackVersion), ("prev_api", c_void_p)]


class DLPackExchangeAPI(ctypes.Structure):
    _fields_ = [
        ("header", DLPackExchangeAPIHeader),
        ("managed_tensor_allocator", c_void_p),
        ("managed_tensor_from_py_object_no_sync", c_void_p),
        ("managed_tensor_to_py_object_no_sync", c_void_p),
        ("dltensor_from_py_object_no_sync", c_void_p),
        ("current_work_stream", c_void_p),
    ]


NAMES = {DLManagedTensor: b"dltensor", DLManagedTensorVersioned: b"dltensor_versioned"}
Deleter = ctypes.CFUNCTYPE(None, c_void_p)
SetError = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)

api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = (c_void_p, c_char_p, c_void_p), py_object
api.PyCapsule_GetName.argtypes, api.PyCapsule_GetName.restype = (py_object,), c_char_p
api.PyCapsule_SetName.argtypes, api.PyCapsule_SetName.restype = (py_object, c_char_p), c_int
api.PyCapsule_GetPointer.argtypes, api.PyCapsule_GetPointer.restype = (
    (py_object, c_char_p),
    c_void_p,
)
api.PyCapsule_SetDestructor.argtypes, api.PyCapsule_SetDestructor.restype = (
    (py_object, c_void_p),
    c_int,
)
api.Py_IncRef.argtypes, api.Py_IncRef.restype = (py_object,), None

# Capsules keep the pointer to their name.
_names = {
    name: ctypes.create_string_buffer(name) for name in (b"dlpack_exchange_api", *NAMES.values())
}


def capsule_of(address, name):
    return api.PyCapsule_New(
        address, _names.setdefault(name, ctypes.create_string_buffer(name)), None
    )


def name_of(capsule):
    return api.PyCapsule_GetName(capsule).decode()


def content_of(capsule):
    """The struct in a capsule, which stays the capsule's."""
    name = api.PyCapsule_GetName(capsule)
    kind = {name: kind for kind, name in NAMES.items()}[name]
    struct = kind.from_address(api.PyCapsule_GetPointer(capsule, name))
    struct.capsule = capsule  # which keeps it
    return struct


def numbers(values):
    return None if values is None else (c_int64 * max(len(values), 1))(*values)


def row_major(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


_out = {}


@Deleter
def _delete(address):
    _out[address].delete()


_DELETE = ctypes.cast(_delete, c_void_p).value
DEFAULT = object()


class Made:
    """A managed tensor of 0, 1, 2, ... (float32, unless said otherwise)."""

    def __init__(
        self,
        shape=(2, 3),
        strides=DEFAULT,
        *,
        versioned=True,
        values=None,
        data=None,
        dtype=FLOAT32,
        device=(CPU, 0),
        ndim=None,
        byte_offset=0,
        version=(1, 3),
        flags=0,
        deleter=True,
    ):
        self.deleted = 0
        self.when_deleted = lambda: None
        values = range(64) if values is None else values
        number = {FLOAT32: ctypes.c_float, FLOAT64: ctypes.c_double, INT64: c_int64}.get(
            dtype, c_uint8
        )
        self.room = (number * max(len(values), 1))(*values)
        self.shape = numbers(shape)
        self.strides = numbers(row_major(shape or ()) if strides is DEFAULT else strides)
        tensor = DLTensor(
            data=ctypes.addressof(self.room) if data is None else data,
            device=DLDevice(*device),
            ndim=(0 if shape is None else len(shape)) if ndim is None else ndim,
            dtype=DLDataType(*dtype),
            shape=self.shape,
            strides=self.strides,
            byte_offset=byte_offset,
        )
        if versioned:
            self.struct = DLManagedTensorVersioned(
                version=DLPackVersion(*version), flags=flags, dl_tensor=tensor
            )
        else:
            self.struct = DLManagedTensor(dl_tensor=tensor)
        self.struct.deleter = _DELETE if deleter else None
        self.address = ctypes.addressof(self.struct)
        # Until it is deleted, or for good.
        _out[self.address] = self

    @property
    def data(self):
        return ctypes.addressof(self.room)

    @property
    def descriptor(self):
        return self.struct.dl_tensor

    def values(self):
        return list(self.room)

    def delete(self):
        self.deleted += 1
        if self.deleted == 1:
            # Code that reads it afterwards finds garbage. It isn't freed, so
            # that a second call is counted, too.
            ctypes.memset(self.address, 0xDD, ctypes.sizeof(self.struct))
            ctypes.memset(self.data, 0xDD, ctypes.sizeof(self.room))
        self.when_deleted()

    def capsule(self):
        """In a capsule, which releases it if no code takes it."""
        capsule = capsule_of(self.address, NAMES[type(self.struct)])
        api.PyCapsule_SetDestructor(capsule, _RELEASE)
        return capsule


# A capsule that is being destroyed has no references, so it comes as an address.
_is_valid = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", api))
_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", api))


@ctypes.CFUNCTYPE(None, c_void_p)
def _release(capsule):
    for kind, name in NAMES.items():
        if _is_valid(capsule, name):
            struct = kind.from_address(_pointer(capsule, name))
            if struct.deleter:
                Deleter(struct.deleter)(ctypes.addressof(struct))


_RELEASE = ctypes.cast(_release, c_void_p).value


class Producer:
    """Answers with what a function gives for the keywords, and notes how it was asked."""

    def __init__(self, answer, device=(CPU, 0)):
        self.answer, self.device, self.asked = answer, device, []

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return self.answer(**keywords)

    def __dlpack_device__(self):
        return self.device


class OldProducer(Producer):
    """Of the time before the keywords."""

    def __dlpack__(self, stream=None):
        self.asked.append({"stream": stream})
        return self.answer()


def producer(**fields):
    """A producer of one tensor, and the tensor."""
    made = Made(**fields)
    return Producer(lambda **keywords: made.capsule()), made
