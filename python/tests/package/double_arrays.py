"""Arrays on a GPU as frameworks have them, made by hand: their memory comes and goes in the order
of a stream, and their kernels are fills and copies on the stream that is the framework's current
one."""

from contextlib import contextmanager

import double
import double_driver as driver
from made import CUDA, UINT8, Deleter, DLManagedTensor, DLManagedTensorVersioned, Made, api, name_of

MANAGED = 13
NUMBERS = {driver.DEFAULT: 0}


def number_of(handle):
    """A stream's number in the array API standard, which has none of 0."""
    return handle or driver.DEFAULT


def handle_of(number):
    return NUMBERS.get(number, number)


class Work:
    """On which stream of each GPU a framework works. Its streams are never destroyed."""

    def __init__(self):
        self.current = {}

    def handle(self, device=0):
        return self.current.get(device, 0)

    def new(self, device=0):
        """A stream to work on."""
        return driver.stream(device)

    @contextmanager
    def on(self, stream, device=0):
        before = self.current.pop(device, None)
        self.current[device] = stream
        try:
            yield
        finally:
            del self.current[device]
            if before is not None:
                self.current[device] = before


class Memory:
    """A framework's own memory, which is used again in the order of the stream that it was
    allocated for.
    """

    def __init__(self, count, handle, device):
        self.handle, self.device = handle, device
        self.address = driver.allocate(count, handle, device)

    def __del__(self):
        driver.free(self.address, self.handle, self.device)


class Foreign:
    """Foreign memory in a managed tensor, released when this object is collected."""

    def __init__(self, address, kind=DLManagedTensorVersioned):
        self.struct = kind.from_address(address)
        self.managed = address
        self.address = self.struct.dl_tensor.data

    def __del__(self):
        if self.struct.deleter:
            Deleter(self.struct.deleter)(self.managed)


def taken(capsule):
    """What is in a capsule, taken as frameworks take it."""
    name = name_of(capsule)
    kind = {"dltensor": DLManagedTensor, "dltensor_versioned": DLManagedTensorVersioned}[name]
    address = api.PyCapsule_GetPointer(capsule, name.encode())
    api.PyCapsule_SetName(capsule, USED[name])
    return Foreign(address, kind)


# Capsules keep the pointer to their name.
USED = {"dltensor": b"used_dltensor", "dltensor_versioned": b"used_dltensor_versioned"}


class Array:
    """Bytes on a GPU."""

    work = Work()

    def __init__(self, count=16, device=0, memory=None):
        self.count, self.device_id = count, device
        self.memory = memory or self.allocate(count, device)
        self.exports = []

    @classmethod
    def allocate(cls, count, device):
        return Memory(count, cls.work.handle(device), device)

    @classmethod
    def around(cls, memory):
        """An array over foreign memory."""
        tensor = memory.struct.dl_tensor
        assert tensor.device.device_type in (CUDA, MANAGED)
        shape = tensor.shape[: tensor.ndim]
        count = tensor.dtype.bits // 8
        for size in shape:
            count *= size
        return cls(count, tensor.device.device_id, memory)

    @property
    def address(self):
        return self.memory.address

    def handle(self):
        return self.work.handle(self.device_id)

    def fill(self, byte):
        """A kernel that writes."""
        driver.fill(self.address, byte, self.count, self.handle(), self.device_id)
        return self

    def copy_from(self, address):
        """A kernel that reads what is at an address."""
        driver.copy(self.address, address, self.count, self.handle(), self.device_id)
        return self

    def peek(self):
        """The bytes that are there at this moment."""
        return double.peek(self.address, self.count)

    def values(self):
        """The bytes once the framework's stream has done its work."""
        with driver.on(self.device_id):
            driver.call("cuStreamSynchronize", self.handle())
        return list(self.peek())

    def export(self, *, versioned=True):
        """A managed tensor, which keeps the memory until it is deleted, and no longer."""
        made = Made(
            (self.count,),
            data=self.address,
            dtype=UINT8,
            device=(CUDA, self.device_id),
            values=(),
            versioned=versioned,
        )
        kept = [self.memory]
        made.when_deleted = kept.clear
        self.exports.append(made)
        return made

    @property
    def deleted(self):
        """How often each managed tensor was given back."""
        return [made.deleted for made in self.exports]
