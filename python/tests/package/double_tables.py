"""Frameworks with an exchange table that returns their stream: an unknown one, and one that poses
as PyTorch.
"""

import ctypes
import sys
import types
from ctypes import c_void_p

import double_driver as driver
from double_arrays import Array, Foreign, Work
from made import CUDA, UINT8, DLPackExchangeAPI, DLTensor, Made, api
from made_tables import FROM_OBJECT, NAME, STREAM, capsule_of, table, write


def _own(array, out):
    write(out, array.export().address)


def _borrow(array, out):
    array.lent = Made(
        (array.count,), data=array.address, dtype=UINT8, device=(CUDA, array.device_id), values=()
    )
    ctypes.memmove(out, ctypes.addressof(array.lent.descriptor), ctypes.sizeof(DLTensor))


def _with_table(kind, **functions):
    """Gives a type a table."""

    def make(address, out):
        array = kind.around(Foreign(address))
        api.Py_IncRef(array)
        write(out, id(array))

    def stream(device_type, device, out):
        assert device_type == CUDA
        kind.work.asked.append(device)
        write(out, kind.work.handle(device))

    address = table(own=_own, borrow=_borrow, make=make, stream=stream, **functions)
    kind.__dlpack_c_exchange_api__ = capsule_of(address, NAME)
    return kind


class Told(Work):
    """Notes when it is asked."""

    def __init__(self):
        super().__init__()
        self.asked = []


@lambda kind: _with_table(kind)
class Strange(Array):
    """Of an unknown framework, whose streams have an unknown lifetime."""

    work = Told()

    @classmethod
    def of(cls, x):
        """Another library's tensor, by its table: it is ready on the stream that the table
        tells.
        """
        table = DLPackExchangeAPI.from_address(
            api.PyCapsule_GetPointer(type(x).__dlpack_c_exchange_api__, NAME)
        )
        managed, stream = c_void_p(), c_void_p()
        own = FROM_OBJECT(table.managed_tensor_from_py_object_no_sync)
        assert own(x, ctypes.addressof(managed)) == 0
        memory = Foreign(managed.value)
        device = memory.struct.dl_tensor.device
        assert (
            STREAM(table.current_work_stream)(
                device.device_type, device.device_id, ctypes.addressof(stream)
            )
            == 0
        )
        driver.wait(cls.work.handle(device.device_id), stream.value or 0, device.device_id)
        return cls.around(memory)


def pose_as_torch():
    """A module `torch` whose tensors are plain ones on a GPU."""
    module = types.ModuleType("torch")

    class Tensor(Array):
        work = Told()
        is_conjugated = False

        @property
        def requires_grad(self):
            return False

        @property
        def device(self):
            return types.SimpleNamespace(type="cuda", index=self.device_id)

        def is_conj(self):
            return self.is_conjugated

        def is_neg(self):
            return False

    class Stream:
        def __init__(self, device=0):
            self.device_index, self.cuda_stream = device, driver.stream(device)

    Tensor.__module__ = "torch"
    module.Tensor = _with_table(Tensor)
    keys = "DispatchKeySet(CUDA, ADInplaceOrView, AutogradCUDA, AutocastCUDA)"
    module._C = types.SimpleNamespace(
        _disabled_torch_dispatch_impl=None, _dispatch_keys=lambda tensor: keys
    )
    external = set()

    def current_stream(device):
        handle = Tensor.work.handle(device)
        return types.SimpleNamespace(
            cuda_stream=handle, stream_id=handle if handle in external else 3
        )

    module.cuda = types.SimpleNamespace(
        Stream=Stream, current_stream=current_stream, external=external
    )
    sys.modules["torch"] = module
    return module
