"""The classes DType and Device, and whatever else stands for an element type or a device."""

import enum

import dlbridge
import pytest
from support import framework, refused

np = framework("numpy")
import ml_dtypes  # noqa: E402

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
EXTENSIONS = """bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
    float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int2 int4 uint2 uint4""".split()
OTHERS = "complex32 int1 uint1 handle handle8 float32x4 int4x2 complex64x2".split()
# The numbers are DLPack's.
KINDS = {
    "cpu": 1,
    "cuda": 2,
    "cuda_host": 3,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "rocm_host": 11,
    "ext_dev": 12,
    "cuda_managed": 13,
    "oneapi": 14,
    "webgpu": 15,
    "hexagon": 16,
    "maia": 17,
    "trn": 18,
}


@pytest.mark.parametrize("name", NAMES + EXTENSIONS + OTHERS)
def test_every_dtype_name_is_accepted(name):
    dtype = dlbridge.empty(1, name).dtype
    assert type(dtype) is dlbridge.DType and str(dtype) == dtype.name == f"{dtype}" == name
    assert repr(dtype) == f'DType("{name}")'
    assert (
        dtype == name
        and name == dtype
        and not dtype != name
        and dtype != name + "x"
        and dtype != None
    )  # noqa: E711
    assert (
        dtype == dlbridge.empty(3, dtype).dtype
        and hash(dtype) == hash(name)
        and {name: 1}[dtype] == 1
    )
    others = set(NAMES + EXTENSIONS + OTHERS) - {name}
    assert all(dtype != other and dtype != dlbridge.empty(1, other).dtype for other in others)
    first, *lanes = name.rsplit("x", 1) if name.endswith(("x2", "x4")) else [name]
    assert (
        dtype.lanes == (int(lanes[0]) if lanes else 1)
        and dtype.bits == dlbridge.empty(1, first).dtype.bits
    )


@pytest.mark.parametrize("name", NAMES)
def test_numpy_dtypes_are_accepted(name):
    for given in (
        np.dtype(name),
        getattr(np, name),
        np.dtype(name).type,
        np.dtype(name).newbyteorder("="),
    ):
        assert dlbridge.empty(2, given).dtype == name
        assert (
            dlbridge.asarray([0, 1], given).dtype == dlbridge.arange(2, dtype=given).dtype == name
        )
        assert dlbridge.empty(2, name).view(given).dtype == name
    assert dlbridge.empty(2, name).dtype.bits == 8 * np.dtype(name).itemsize


@pytest.mark.parametrize("name", EXTENSIONS)
def test_ml_dtypes_are_accepted(name):
    kind = getattr(ml_dtypes, name)
    for given in (kind, np.dtype(kind)):
        assert dlbridge.full(2, 1, given).dtype == name
    x = np.ones(3).astype(kind)
    assert (dlbridge.asarray(x).dtype, dlbridge.asarray(x).data_ptr) == (name, x.ctypes.data)


@pytest.mark.parametrize(
    "code", np.typecodes["AllInteger"] + np.typecodes["Float"].replace("g", "") + "FD?"
)
def test_c_type_names_are_dtypes(code):
    # On most machines, "l" and "q" are of 64 bits both, and have scalars of their own.
    dtype = np.dtype(code)
    assert dlbridge.zeros(2, dtype).dtype == dtype.name
    assert dlbridge.zeros(2, dtype.type).dtype == dtype.name


def test_python_types_are_accepted_as_dtypes():
    for kind in (bool, int, float, complex):
        assert dlbridge.zeros(2, kind).dtype == np.dtype(kind).name


@pytest.mark.parametrize(
    "given",
    [
        "float31",
        "",
        "float",
        "f4",
        "float32x0",
        "float32x1",
        "int 8",
        object,
        str,
        bytes,
        np.str_,
        np.dtype("M8[s]"),
    ]
    + [
        np.dtype("U3"),
        np.dtype([("a", "f4")]),
        np.longdouble,
        3,
        object(),
        ["float32"],
        dlbridge.zeros(1),
    ],
    ids=repr,
)
def test_unknown_dtype_is_refused(given):
    for make in (
        dlbridge.zeros,
        dlbridge.ones,
        dlbridge.empty,
        lambda n, dtype: dlbridge.full(n, 1, dtype),
    ):
        with refused(LookupError, "no element type is called"):
            make(2, given)
    with refused(LookupError, "no element type is called"):
        dlbridge.asarray([1], given)
    with refused(LookupError, "no element type is called"):
        dlbridge.zeros(2).view(given)


@pytest.mark.parametrize("name", ["f4", "i2", "u8", "c16"])
def test_swapped_byte_order_is_refused(name):
    for given in (
        np.dtype(name).newbyteorder("S"),
        np.zeros(1, np.dtype(name).newbyteorder("S")).dtype,
    ):
        with pytest.raises((LookupError, ValueError, BufferError)):
            dlbridge.zeros(2, given)
        with pytest.raises((LookupError, ValueError, BufferError)):
            dlbridge.zeros(16, "uint8").view(given)
    assert dlbridge.zeros(2, np.dtype(">u1")).dtype == "uint8"


def no_gpu(kind, name):
    """Why there is none of this number, where there may be others."""
    if not kind.startswith("cuda"):
        return None
    count = dlbridge.cuda.device_count()
    if int(name[-1]) < count:
        pytest.skip(f"{name} is there")
    return "there is no CUDA driver" if count == 0 else f"there is no device cuda:{name[-1]}"


@pytest.mark.parametrize("kind", KINDS)
def test_device_names_of_every_kind_are_accepted(kind):
    for given, name in [
        (kind, f"{kind}:0"),
        (f"{kind}:0", f"{kind}:0"),
        ((KINDS[kind], 3), f"{kind}:3"),
        (f"{kind}:3", f"{kind}:3"),
    ]:
        name = "cpu" if name == "cpu:0" else name
        if name == "cpu":
            assert dlbridge.zeros(2, device=given).device == "cpu"
            continue
        why = no_gpu(kind, name)
        for make in (
            lambda device: dlbridge.zeros(2, device=device),
            lambda device: dlbridge.empty(2, device=device),
            lambda device: dlbridge.ones(2, device=device),
            lambda device: dlbridge.full(2, 1, device=device),
            lambda device: dlbridge.arange(2, device=device),
            lambda device: dlbridge.asarray(1, device=device),
            lambda device: dlbridge.asarray([1], device=device),
        ):
            with refused(BufferError, why or f"dlbridge makes no tensors on {name}"):
                make(given)
        for make in (dlbridge.asarray, dlbridge.from_dlpack):
            with refused(
                BufferError, why or f"the tensor is on cpu, and dlbridge can't copy it to {name}"
            ):
                make(np.zeros(2), device=given)


def test_cpu_device_equals_its_name():
    device = dlbridge.zeros(1).device
    assert (
        type(device) is dlbridge.Device and str(device) == "cpu" and repr(device) == 'Device("cpu")'
    )
    assert (
        (device.kind, device.id) == ("cpu", 0) and device == "cpu" and hash(device) == hash("cpu")
    )
    assert device != "cpu:1" and device != "cuda" and device != (1, 0) and device != None  # noqa: E711
    assert (
        device
        == dlbridge.zeros(2, device=device).device
        == dlbridge.from_dlpack(np.zeros(1), device=device).device
    )
    assert dlbridge.zeros(1).__dlpack_device__() == (1, 0)


def test_names_may_be_of_classes_with_another_str():
    class Named(str, enum.Enum):
        CPU = "cpu"
        NUMPY = "numpy"

    t = dlbridge.zeros(2)
    assert dlbridge.Device(Named.CPU) == t.to_device(Named.CPU).device == t.to(Named.CPU).device
    assert type(t.to(Named.NUMPY)) is np.ndarray


def test_name_that_is_no_unicode_is_unknown():
    t = dlbridge.zeros(2)
    for call, what in (
        (t.to_device, "device"),
        (dlbridge.Device, "device"),
        (dlbridge.DType, "element type"),
        (t.to, "framework"),
        (lambda name: dlbridge.convert(t, name), "framework"),
    ):
        with refused(LookupError, f"no {what} is called"):
            call("\ud800")


def test_unknown_device_is_refused():
    for given in ("gpu", "", "cpu:", "cuda:-1", "cuda:x", 1, object(), dlbridge.zeros(1).dtype):
        with refused(LookupError, "no device is called"):
            dlbridge.zeros(2, device=given)
    for given, text in [
        ((99, 0), "no device type 99"),
        ((0, 0), "no device type 0"),
        ((2, -1), "not negative"),
    ]:
        with refused(ValueError, text):
            dlbridge.zeros(2, device=given)


def test_dtypes_and_devices_are_immutable():
    for value, names in [
        (dlbridge.zeros(1).dtype, ["name", "bits", "lanes"]),
        (dlbridge.zeros(1).device, ["kind", "id"]),
    ]:
        with refused(TypeError):
            type(value)()
        assert type(value)(str(value)) == value
        for name in names:
            with refused(AttributeError):
                setattr(value, name, 1)


def test_dtypes_that_can_change_are_read_each_time():
    import types

    class Named:
        """A type whose objects have any name."""

        __slots__ = ("name",)

    class OfTorch:
        def __str__(self):
            return f"torch.{self.short}"

    array = np.array("float32")
    named, of_torch = Named(), OfTorch()
    scalar = type("float32", (), {})
    for name in ("float32", "int8", "float32"):
        named.name = of_torch.short = scalar.__name__ = name
        array[()] = name
        for given in (named, types.SimpleNamespace(name=name), of_torch, scalar, array):
            assert dlbridge.empty(2, given).dtype == name


def test_kept_dtypes_are_those_of_their_objects():
    # More objects than are kept, and at the addresses of those that went.
    wanted = ["float32", "int8", "float32", "complex64"]
    given = [np.dtype(name, metadata={"at": at}) for at in range(200) for name in wanted]
    for _ in range(2):
        assert [str(dlbridge.empty(0, dtype).dtype) for dtype in given] == wanted * 200
    del given
    for at in range(1000):
        name = wanted[at % 4]
        assert dlbridge.empty(0, np.dtype(name, metadata={"at": at})).dtype == name
