"""Descriptors that make no sense: each is refused, left in its capsule, and released once."""

import ctypes
import mmap
import sys

import dlbridge_testing as ext
import pytest
from made import INT4, IS_SUBBYTE_TYPE_PADDED, UINT8, Made, Producer, capsule_of, name_of, numbers
from support import refused

BORROWING = [ext.describe, ext.describe_out, ext.read_f32, ext.any_device]
OWNING = [
    ext.identity,
    ext.describe_owned,
    ext.own_f32,
    ext.import_,
    lambda x: ext.import_(x, copy=True),
]

LARGE = 2**31
HOSTILE = {
    "negative rank": (dict(ndim=-1), "can't have -1 dimensions"),
    "lowest rank": (dict(ndim=-(2**31)), "can't have -2147483648 dimensions"),
    "negative rank, NULL shape": (dict(shape=None, ndim=-1), "can't have -1 dimensions"),
    "large rank": (dict(ndim=256), "256 dimensions are more than the 255"),
    "largest rank": (dict(ndim=2**31 - 1), "2147483647 dimensions are more than the 255"),
    "NULL shape": (dict(shape=None, ndim=1), "the shape is NULL, though there are 1 dimensions"),
    "NULL shape of large rank": (
        dict(shape=None, ndim=9),
        "the shape is NULL, though there are 9 dimensions",
    ),
    "NULL shape, NULL strides": (
        dict(shape=None, strides=None, ndim=2),
        "the shape is NULL, though there are 2",
    ),
    "negative size": (dict(shape=(2, -3)), "dimension 1 has the negative size -3"),
    "negative size, NULL strides": (
        dict(shape=(-1,), strides=None),
        "dimension 0 has the negative size -1",
    ),
    "lowest size": (
        dict(shape=(-(2**63),)),
        "dimension 0 has the negative size -9223372036854775808",
    ),
    "negative beside 0": (dict(shape=(-1, 0)), "dimension 0 has the negative size -1"),
    "two negative sizes": (dict(shape=(-2, -3)), "has the negative size"),
    "many elements": (
        dict(shape=(LARGE, LARGE, 4), strides=(1, 1, 1)),
        "multiply to more elements than memory",
    ),
    "product that wraps to 0": (
        dict(shape=(2**32, 2**32), strides=None),
        "multiply to more elements than memory",
    ),
    "product that wraps to 1": (
        dict(shape=(3, 12297829382473034411 % 2**63), strides=None),
        "multiply to more elements",
    ),
    "many elements beside 0": (
        dict(shape=(LARGE, 0, LARGE, 4), strides=(1, 1, 1, 1)),
        "multiply to more elements",
    ),
    "many bytes": (dict(shape=(2**62,), strides=None), "reach further than memory has addresses"),
    "many bits": (dict(shape=(2**61,), dtype=UINT8), "reach further than memory has addresses"),
    "far elements": (
        dict(shape=(3,), strides=(2**62,)),
        "lead to elements further away than memory",
    ),
    "far elements ahead": (
        dict(shape=(2,), strides=(-(2**63),)),
        "lead to elements further away than memory",
    ),
    "far apart": (
        dict(shape=(2, 2), strides=(2**62, -(2**62) - 1)),
        "lead to elements further away",
    ),
    "far bytes": (dict(shape=(2,), strides=(2**61,)), "reach further than memory has addresses"),
    "NULL data": (dict(data=0), "the data pointer is NULL, though there are 6 elements"),
    "NULL data with an offset": (
        dict(data=0, byte_offset=64),
        "the data pointer is NULL, though there are 6",
    ),
    "NULL data of a scalar": (
        dict(shape=(), data=0),
        "the data pointer is NULL, though there are 1",
    ),
    "last address": (dict(data=2**64 - 4), "leads out of the address space"),
    "large offset": (dict(byte_offset=2**64 - 1), "leads out of the address space"),
    "before address 0": (dict(shape=(2,), strides=(-2,), data=4), "leads out of the address space"),
    "code": (dict(dtype=(18, 8, 1)), "DLPack 1.3 has no element type of code 18"),
    "largest code": (dict(dtype=(255, 255, 65535)), "DLPack 1.3 has no element type of code 255"),
    "bits": (dict(dtype=(2, 80, 1)), "an element of kind Float can't be 80 bits wide"),
    "no bits": (dict(dtype=(0, 0, 1)), "an element of kind Int can't be 0 bits wide"),
    "wide bool": (dict(dtype=(6, 1, 1)), "an element of kind Bool can't be 1 bits wide"),
    "no lanes": (dict(dtype=(2, 32, 0)), "an element type needs at least one lane"),
    "no device": (dict(device=(0, 0)), "DLPack 1.3 has no device type 0"),
    "device in a gap": (dict(device=(5, 0)), "DLPack 1.3 has no device type 5"),
    "device of the future": (dict(device=(19, 0)), "DLPack 1.3 has no device type 19"),
    "largest device": (dict(device=(2**32 - 1, 0)), "DLPack 1.3 has no device type 4294967295"),
    "negative device": (dict(device=(2, -1)), "cuda device -1: device numbers are not negative"),
}


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("case", HOSTILE)
def test_invalid_descriptor_is_refused(case, versioned):
    fields, message = HOSTILE[case]
    for use in BORROWING + OWNING:
        made = Made(versioned=versioned, **fields)
        capsule = made.capsule()
        with refused(BufferError, message):
            use(capsule)
        # It can still be taken, or be released with its capsule.
        assert name_of(capsule) == ("dltensor_versioned" if versioned else "dltensor")
        assert made.deleted == 0
        del capsule
        assert made.deleted == 1


@pytest.mark.parametrize("case", HOSTILE)
def test_invalid_descriptor_of_a_producer_is_refused(case):
    fields, message = HOSTILE[case]
    for use in BORROWING + OWNING:
        made = Made(**fields)
        with refused(BufferError, message):
            use(Producer(lambda **keywords: made.capsule()))
        assert made.deleted == 1


def test_unusual_valid_descriptor_is_accepted():
    for fields in [
        dict(shape=(0,), data=0),
        dict(shape=(3, 0), data=0, byte_offset=2**64 - 1),
        dict(shape=(0, LARGE), strides=(2**63 - 1, -(2**63))),
        dict(shape=(1,) * 255),
        dict(shape=None, strides=None, ndim=0),
        dict(dtype=(3, 64, 1), values=range(64)),
    ]:
        made = Made(**fields)
        capsule = made.capsule()
        shape = list(fields.get("shape", (2, 3)) or ())
        for look in (ext.describe, ext.describe_out, ext.describe_owned):
            assert look(capsule)["shape"] == shape
        assert made.deleted == 1


def test_padding_of_lanes_is_refused():
    made = Made((4,), dtype=(*INT4[:2], 3), flags=IS_SUBBYTE_TYPE_PADDED)
    capsule = made.capsule()
    for use in (ext.describe, ext.identity):
        with refused(BufferError, "int4x3 can't be padded"):
            use(capsule)
    del capsule
    assert made.deleted == 1


@pytest.fixture
def end_of_memory():
    """Puts a ctypes object at the end of a page behind which nothing may be read."""
    if sys.platform == "win32":
        pytest.skip("there is no mprotect on Windows")
    pages = []

    def put(thing, size=None):
        size = size or ctypes.sizeof(thing)
        page = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(page))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        assert libc.mprotect(start + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
        address = start + mmap.PAGESIZE - size
        ctypes.memmove(address, ctypes.addressof(thing), size)
        pages.append(page)
        return address

    return put


def test_missing_shape_and_strides_are_not_read(end_of_memory):
    for count in (1, 8, 9, 255):
        sizes = end_of_memory(numbers([1] * count))
        for ndim in (count, 256, 2**31 - 1, -1):
            made = Made(shape=(1,))
            for field in ("shape", "strides"):
                pointer = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
                setattr(made.struct.dl_tensor, field, pointer)
            made.struct.dl_tensor.ndim = ndim
            capsule = made.capsule()
            for use in (ext.describe, ext.describe_out, ext.identity):
                if ndim == count:
                    use(capsule)
                else:
                    with refused(BufferError, "dimensions"):
                        use(capsule)


@pytest.mark.parametrize("major", [0, 2, 3, 2**32 - 1])
def test_foreign_major_version_is_released_unread(end_of_memory, major):
    # Version, context and deleter are the same in every version; here nothing is behind them.
    made = Made(version=(major, 0))
    calls = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def delete(address):
        calls.append(address)

    made.struct.deleter = ctypes.cast(delete, ctypes.c_void_p).value
    address = end_of_memory(made.struct, 24)
    for use in BORROWING + OWNING:
        capsule = capsule_of(address, b"dltensor_versioned")
        with refused(BufferError, f"speaks DLPack {major}.0, and this library 1.3"):
            use(capsule)
        assert name_of(capsule) == "dltensor_versioned" and calls == []
    # The capsule's creator releases it if no consumer took it.
    made = Made(version=(major, 0))
    with refused(BufferError, f"DLPack {major}.0"):
        ext.identity(Producer(lambda **keywords: made.capsule()))
    assert made.deleted == 1
