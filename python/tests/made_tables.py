"""Types with an exchange table, made by hand."""

import ctypes
import traceback
from ctypes import c_int, c_int32, c_uint32, c_void_p, py_object

from made import (
    DLPackExchangeAPI,
    DLPackExchangeAPIHeader,
    DLPackVersion,
    DLTensor,
    Made,
    api,
    capsule_of,
)

NAME = b"dlpack_exchange_api"
FROM_OBJECT = ctypes.PYFUNCTYPE(c_int, py_object, c_void_p)
TO_OBJECT = ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p)
ALLOCATE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)
STREAM = ctypes.PYFUNCTYPE(c_int, c_uint32, c_int32, c_void_p)
FIELDS = {
    "allocate": ("managed_tensor_allocator", ALLOCATE),
    "own": ("managed_tensor_from_py_object_no_sync", FROM_OBJECT),
    "make": ("managed_tensor_to_py_object_no_sync", TO_OBJECT),
    "borrow": ("dltensor_from_py_object_no_sync", FROM_OBJECT),
    "stream": ("current_work_stream", STREAM),
}

# A type keeps its table for good, and so does each consumer.
_kept = []

# What a table holds in place of a function that calls `__delitem__` of the object, with the address
# of the answer. Python code called through ctypes can't leave an exception behind; this can.
DELETE_ITEM = ctypes.cast(api.PySequence_DelItem, c_void_p).value
# Ignores its arguments, leaves a MemoryError behind, and returns NULL.
NO_MEMORY = ctypes.cast(api.PyErr_NoMemory, c_void_p).value


def write(address, value):
    c_void_p.from_address(address).value = value


class Exchanged:
    """An object of a type with a table. Keywords are those of its tensors."""

    def __init__(self, **fields):
        self.fields, self.made, self.lent = fields, [], Made(**fields)

    def own(self):
        """A managed tensor of the same memory."""
        made = Made(**{"data": self.lent.data, **self.fields})
        self.made.append(made)
        return made

    @property
    def deleted(self):
        return [made.deleted for made in self.made]


def own(thing, out):
    write(out, thing.own().address)


def borrow(thing, out):
    ctypes.memmove(out, ctypes.addressof(thing.lent.descriptor), ctypes.sizeof(DLTensor))


class Taken(Exchanged):
    """Has taken over a managed tensor."""

    def __init__(self, address):
        self.address = address


def make(address, out):
    thing = Taken(address)
    api.Py_IncRef(thing)
    write(out, id(thing))


def allocate(prototype, out, context, set_error):
    wanted = DLTensor.from_address(prototype)
    shape = tuple(wanted.shape[: wanted.ndim])
    dtype = (wanted.dtype.code, wanted.dtype.bits, wanted.dtype.lanes)
    device = (wanted.device.device_type, wanted.device.device_id)
    # What was there before isn't 0.
    made = Made(shape, dtype=dtype, device=device, values=[1] * 64)
    allocated.append(made)
    write(out, made.address)


allocated = []


def no_stream(kind, number, out):
    write(out, None)


def table(*, version=(1, 3), prev=None, calls=None, **functions):
    """The address of a table. A function may be left out with None, or be an address."""
    result = DLPackExchangeAPI(header=DLPackExchangeAPIHeader(DLPackVersion(*version), prev))
    functions = {
        "own": own,
        "borrow": borrow,
        "make": make,
        "allocate": allocate,
        "stream": no_stream,
        **functions,
    }
    for name, function in functions.items():
        field, kind = FIELDS[name]
        if callable(function):
            function = kind(_told(name, function, calls))
            _kept.append(function)
            function = ctypes.cast(function, c_void_p).value
        setattr(result, field, function)
    _kept.append(result)
    return ctypes.addressof(result)


def _told(name, function, calls):
    """Notes the call. A function returns its status, or None for success."""

    def told(*arguments):
        if calls is not None:
            calls.append(name)
        try:
            return function(*arguments) or 0
        except Exception:
            traceback.print_exc()
            return -1

    return told


def header(version, prev=None):
    """The address of a table of another version, of which only the header is there."""
    result = DLPackExchangeAPIHeader(DLPackVersion(*version), prev)
    _kept.append(result)
    return ctypes.addressof(result)


def type_with(attribute, spelled="__dlpack_c_exchange_api__", base=Exchanged, **attributes):
    return type("Exchanged", (base,), {spelled: attribute, **attributes})


def type_of(address, **attributes):
    """A type whose table is at the address."""
    return type_with(capsule_of(address, NAME), **attributes)
