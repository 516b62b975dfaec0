"""Buffers of tensors larger than memory, requests of every kind, and buffers that lie about
themselves.
"""

import ctypes
import itertools
import pickle

import dlbridge
import pytest
from support import framework, in_new_process, refused
from test_buffers import Buffer, lent

np = framework("numpy")

HUGE = 2**61


def broadcast(size=HUGE, dtype="int64"):
    return dlbridge.zeros((1,), dtype).broadcast_to((size,))


def test_buffer_longer_than_address_space_is_refused():
    assert (
        in_new_process("""
        import dlbridge
        from support import refused
        t = dlbridge.zeros((1,), "int64").broadcast_to((2**61,))
        for act in (bytearray, bytes, memoryview):
            with refused(BufferError, "a broadcast tensor of 2305843009213693952"):
                act(t)
        print("done")
    """)
        == "done\n"
    )


@pytest.mark.parametrize(
    "shape", [(HUGE,), (2**31, 2**31), (2**33,), (2, HUGE // 2), (2**62,), (2**20, 2**20, 2**20)]
)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "complex128"])
def test_buffer_of_more_elements_than_memory_is_refused(shape, dtype):
    t = dlbridge.zeros((1,) * len(shape), dtype).broadcast_to(shape)
    for flags in (0, 0x8, 0x18, 0x38, 0x98, 0x11C):
        with pytest.raises(BufferError), lent(t, flags):
            pass
    assert t.shape == shape and t[0, ...].ndim == len(shape) - 1


def test_broadcast_buffer_that_fits_memory_is_exported():
    t = dlbridge.arange(3).broadcast_to((4, 3))
    view = memoryview(t)
    assert (
        view.tolist() == [[0, 1, 2]] * 4
        and view == memoryview(t)
        and bytes(t) == np.asarray(t).tobytes()
    )
    with lent(dlbridge.zeros((1,), "uint8").broadcast_to((2**32,)), 0x18) as buffer:
        assert buffer.len == 2**32


def interrupted(code):
    """Runs code in a process that gets a signal after a second, and says whether it ended
    by that.
    """
    return in_new_process(f"""
        import signal, sys, time
        import dlbridge, numpy as np
        t = dlbridge.zeros((1,), "uint8").broadcast_to((2**61,))
        b = dlbridge.zeros((1,), "bool").broadcast_to((2**61,))
        row = dlbridge.zeros((2**21, 1), "uint8").broadcast_to((2**21, 2**21))
        column = dlbridge.zeros((1, 2**21), "uint8").broadcast_to((2**21, 2**21))
        class Late(Exception): pass
        def late(*_): raise Late
        signal.signal(signal.SIGALRM, late)
        begin = time.monotonic()
        signal.alarm(1)
        try:
            {code}
            print("ended")
        except Late:
            print("interrupted")
        except (MemoryError, BufferError, ValueError, OverflowError) as error:
            print("refused")
        assert time.monotonic() - begin < 60
    """).split()[-1]


@pytest.mark.parametrize(
    "code",
    [
        "t.equals(t)",
        "t.allclose(t)",
        "row.equals(column)",
        "row.allclose(column)",
        "sum(1 for _ in t)",
    ],
)
def test_endless_operation_is_interruptible(code):
    assert interrupted(code) == "interrupted"


@pytest.mark.parametrize(
    "code",
    [
        "t == t",
        "t != 0",
        "t == 0",
        "t.copy()",
        "bytes(t)",
        "memoryview(t) == memoryview(t)",
        "t.__array__(copy=True)",
        "__import__('pickle').dumps(t)",
        "__import__('pickle').dumps(t, 2)",
        "t.to('numpy', copy=True)",
        "float(t)",
        "np.array(t)",
    ],
)
def test_copy_larger_than_memory_is_refused(code):
    assert interrupted(code) == "refused"


@pytest.mark.parametrize(
    "code",
    [
        "str(t), repr(t), t._repr_html_(), hash(t), t.nbytes, t.size, t.shape, t[5], t[::2**50], t.strides, t.itemsize",
        "t[2**60:].shape, len(t), t.T.shape, t.reshape(2**30, 2**31).shape, bool(t[1]), t.is_contiguous",
    ],
)
def test_operations_on_few_elements_of_huge_tensor_end(code):
    assert interrupted(code) == "ended"


def test_tolist_of_huge_tensor_is_interruptible():
    # Lists of elements grow until then.
    assert (
        in_new_process("""
        import resource, signal
        import dlbridge
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        t = dlbridge.zeros((1,), "uint8").broadcast_to((2**61,))
        def late(*_): raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            t.tolist()
        except KeyboardInterrupt:
            print("interrupted")
    """)
        == "interrupted\n"
    )


BITS = {
    "WRITABLE": 0x1,
    "FORMAT": 0x4,
    "ND": 0x8,
    "STRIDES": 0x18,
    "C": 0x38,
    "F": 0x58,
    "ANY": 0x98,
    "INDIRECT": 0x118,
}
LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.T,
    "gaps": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1],
    "one row": lambda x: x[:1],
    "one column": lambda x: x[:, :1],
    "one": lambda x: x[:1, :1],
    "scalar": lambda x: x[0, 0, ...],
    "vector": lambda x: x[0],
    "empty": lambda x: x[:0],
    "broadcast": lambda x: np.broadcast_to(x[:1], (3, 4)),
    "deep": lambda x: x.reshape(2, 1, 3, 2),
    "turned": lambda x: x.reshape(2, 3, 2).transpose(1, 0, 2),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("writable", [True, False])
def test_every_buffer_request_is_answered_like_numpy(name, writable):
    array = LAYOUTS[name](np.arange(12, dtype="i4").reshape(3, 4))
    if not writable:
        array = array.view()
        array.flags.writeable = False
    t = dlbridge.from_dlpack(array)
    for count in range(len(BITS) + 1):
        for parts in itertools.combinations(BITS, count):
            flags = 0
            for part in parts:
                flags |= BITS[part]
            assert answer(t, flags) == answer(array, flags), (name, parts)


def answer(exporter, flags):
    try:
        with lent(exporter, flags) as buffer:
            # Where nothing is one element or less apart, a stride says nothing.
            shape = buffer.shape[: buffer.ndim] if buffer.shape else None
            told = buffer.strides[: buffer.ndim] if buffer.strides else None
            strides = (
                told and shape and [s for s, n in zip(told, shape) if n > 1]
                if 0 not in (shape or [])
                else bool(told)
            )
            # Python reads the shape for that, also where none was requested.
            orders = (
                [is_contiguous(buffer, order) for order in (b"C", b"F", b"A")]
                if buffer.shape
                else None
            )
            return (
                buffer.buf,
                buffer.len,
                buffer.itemsize,
                buffer.readonly,
                buffer.ndim,
                buffer.format,
                shape,
                strides,
                orders,
            )
    except (BufferError, ValueError):
        return "refused"


def is_contiguous(buffer, order):
    function = ctypes.pythonapi.PyBuffer_IsContiguous
    function.argtypes = [ctypes.POINTER(Buffer), ctypes.c_char]
    return function(buffer, order)


def test_huge_bool_buffer_is_refused():
    assert (
        in_new_process("""
        import dlbridge, numpy as np
        from support import refused
        import dlbridge_testing as ext
        for shape, strides, wrong in [((2**61,), (0,), 0), ((2**40, 8), (0, 1), 7), ((2**26, 2**26), (1, 1), 2**26 - 1), ((2**20, 2**20), (2, 3), 8)]:
            x = np.zeros(2**27 if shape[0] == 2**26 else 6 << 20, "u1")
            t = np.lib.stride_tricks.as_strided(x.view(bool), shape, strides)
            for look in (ext.bool_shape, ext.own_bool_shape):
                assert look(t) == list(shape)
            x[wrong] = 2
            for look in (ext.bool_shape, ext.own_bool_shape):
                with refused(ValueError, "0x02"):
                    look(t)
        print("done")
    """)
        == "done\n"
    )


LIES = {
    "length": dict(len=10**9),
    "negative length": dict(len=-1),
    "short length": dict(len=1),
    "no dimensions": dict(ndim=0),
    "negative rank": dict(ndim=-1),
    "huge rank": dict(ndim=2**31 - 1),
    "rank beyond": dict(ndim=65),
    "negative size": dict(shape=(-6,)),
    "huge size": dict(shape=(2**62,)),
    "sizes that wrap": dict(ndim=2, shape=(2**32, 2**32), strides=(4, 4), len=0),
    "no shape": dict(shape=None),
    "other item": dict(itemsize=1),
    "no item": dict(itemsize=0),
    "negative item": dict(itemsize=-4),
    "other format": dict(format=b"d"),
    "long format": dict(format=b"f" * 1000),
    "no format": dict(format=None),
    "odd stride": dict(strides=(3,)),
    "far stride": dict(strides=(2**62,)),
    "lowest stride": dict(strides=(-(2**63),)),
    "suboffsets": dict(suboffsets=(0,)),
    "NULL": dict(buf=0),
    "last address": dict(buf=2**64 - 8),
}


@pytest.mark.parametrize("case", LIES)
def test_buffer_with_inconsistent_fields_is_refused_and_released(case):
    lying = Lying(**LIES[case])
    for act in (dlbridge.from_dlpack, dlbridge.asarray):
        with refused(BufferError):
            act(lying.object())
    assert lying.lent == lying.released >= 2


def test_buffer_with_unusual_valid_fields_is_accepted():
    for fields in (
        dict(suboffsets=(-1,)),
        dict(strides=None),
        dict(format=b"=f"),
        dict(ndim=2, shape=(2, 3), strides=(12, 4)),
    ):
        lying = Lying(**fields)
        t = dlbridge.from_dlpack(lying.object())
        assert t.reshape(6).tolist() == [0, 1, 2, 3, 4, 5] and not t.readonly
        del t
        assert lying.lent == lying.released == 1


class Lying:
    """The buffer protocol of a class, replaced in its struct by functions made with ctypes."""

    # Behind the head of a type that was made in Python: a struct of slots, found by its known first
    # function.
    def __init__(self, **fields):
        self.fields, self.lent, self.released = fields, 0, 0
        self.room = (ctypes.c_float * 6)(*range(6))
        self.kept = []

        @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int)
        def get(thing, view, flags):
            self.lent += 1
            values = dict(
                buf=ctypes.addressof(self.room),
                len=24,
                itemsize=4,
                readonly=0,
                ndim=1,
                format=b"f",
                shape=(6,),
                strides=(4,),
                suboffsets=None,
                internal=None,
            )
            for name, value in {**values, **self.fields}.items():
                if isinstance(value, tuple):
                    value = (ctypes.c_ssize_t * 64)(*value)
                    self.kept.append(value)
                setattr(view.contents, name, value)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
            view.contents.obj = id(thing)
            return 0

        @ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.POINTER(Buffer))
        def release(thing, view):
            self.released += 1

        self.functions = (get, release)

        class Slot(ctypes.Structure):
            _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]

        class Spec(ctypes.Structure):
            _fields_ = [
                ("name", ctypes.c_char_p),
                ("basicsize", ctypes.c_int),
                ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_uint),
                ("slots", ctypes.POINTER(Slot)),
            ]

        pointer = lambda function: ctypes.cast(function, ctypes.c_void_p)  # noqa: E731
        slots = (Slot * 3)(Slot(1, pointer(get)), Slot(2, pointer(release)), Slot(0, None))
        spec = Spec(b"made.Lying", object.__basicsize__, 0, 1 << 18, slots)
        make = ctypes.pythonapi.PyType_FromSpec
        make.argtypes, make.restype = [ctypes.POINTER(Spec)], ctypes.py_object
        self.kind = make(spec)
        self.kept += [slots, spec]

    def object(self):
        return self.kind()


def test_pickled_broadcast_round_trips():
    t = dlbridge.arange(3).broadcast_to((4, 3))
    assert pickle.loads(pickle.dumps(t)).tolist() == [[0, 1, 2]] * 4


def test_object_of_an_unfinished_type_is_refused():
    # C code may use a type without PyType_Ready: Python finishes it when an attribute is read.
    printed = in_new_process("""
        import dlbridge
        try:
            from _testbuffer import ND_PIL, ndarray
        except ImportError:
            raise SystemExit(print("there is no such type"))
        x = ndarray([1, 2], shape=[2], format="i", flags=ND_PIL)
        if type.__dict__["__mro__"].__get__(ndarray) is not None:
            raise SystemExit(print("there is no such type"))
        for _ in range(2):
            try:
                dlbridge.from_dlpack(x)
            except TypeError as error:
                print(error)
        x.shape
        try:
            dlbridge.from_dlpack(x)
        except BufferError as error:
            print(error)
    """)
    if printed == "there is no such type\n":
        pytest.skip("this Python has no type that isn't finished")
    text = (
        "expected an object of a finished type, got one of ndarray, which has no method resolution "
        "order; call PyType_Ready for the type, or read an attribute of the object"
    )
    *refusals, after = printed.splitlines()
    assert refusals == [text, text]
    assert after == "ndarray cannot be represented without suboffsets"
