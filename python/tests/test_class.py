"""Our class `Tensor`: what its objects say of themselves."""

import copy
import gc
import pickle
import sys
import weakref

import dlbridge_testing as ext
import pytest
from made import CUDA, CUDA_HOST, READ_ONLY, Made
from support import refused


def far():
    return ext.identity(Made(device=(CUDA, 1)).capsule())


def test_attributes_describe_the_tensor():
    x = ext.zeros([2, 3], "float32")
    assert (x.shape, x.strides, x.ndim, x.size, x.nbytes) == ((2, 3), (3, 1), 2, 6, 24)
    assert type(x.shape) is type(x.strides) is tuple and not x.readonly
    assert x.data_ptr % 64 == 0 and x.data_ptr == ext.describe(x)["ptr"]
    turned = ext.transposed(x)
    assert (turned.shape, turned.strides, turned.data_ptr) == ((3, 2), (1, 3), x.data_ptr)


@pytest.mark.parametrize(
    "shape, dtype, size, nbytes",
    [
        ([], "float32", 1, 4),
        ([0], "float64", 0, 0),
        ([3, 0], "int8", 0, 0),
        ([3], "complex128", 3, 48),
        ([3], "int4", 3, 2),
        ([9], "uint1", 9, 2),
        ([3], "float32x4", 3, 48),
        ([1] * 12, "bool", 1, 1),
    ],
)
def test_size_and_nbytes_of_every_shape_are_correct(shape, dtype, size, nbytes):
    x = ext.zeros(shape, dtype)
    assert (x.shape, x.ndim, x.size, x.nbytes, str(x.dtype)) == (
        tuple(shape),
        len(shape),
        size,
        nbytes,
        dtype,
    )


def test_nbytes_of_strided_view_counts_its_elements():
    x = ext.identity(Made((2,), (30,)).capsule())
    assert (x.size, x.nbytes) == (2, 8)


def test_readonly_reports_the_source():
    assert ext.counted(2).readonly and not ext.counted_mut(2).readonly
    assert ext.read_only(ext.from_list([1], [1])).readonly
    assert ext.identity(Made(flags=READ_ONLY).capsule()).readonly


DTYPES = "bool int8 int16 uint64 float16 float32 float64 bfloat16 complex64 float8_e4m3fn int4 float4_e2m1fn float32x4".split()


@pytest.mark.parametrize("name", DTYPES)
def test_dtype_of_every_name_compares_and_hashes_by_name(name):
    x = ext.zeros([2], name).dtype
    assert str(x) == x.name == name and repr(x) == f'DType("{name}")'
    assert x == name and not x != name and name == x
    assert x == ext.zeros([3], name).dtype and hash(x) == hash(ext.zeros([3], name).dtype)
    for other in DTYPES:
        if other != name:
            assert x != other and x != ext.zeros([2], other).dtype
    for other in (
        None,
        3,
        object(),
        [name],
        name.encode(),
        ext.zeros([2], name),
        ext.zeros([2], name).device,
    ):
        assert x != other and not x == other


def test_dtype_reports_bits_and_lanes():
    for name, bits, lanes in [
        ("float32", 32, 1),
        ("int4", 4, 1),
        ("bool", 8, 1),
        ("complex128", 128, 1),
        ("float32x4", 32, 4),
    ]:
        x = ext.zeros([2], name).dtype
        assert (x.bits, x.lanes) == (bits, lanes)


def test_equal_dtypes_and_devices_have_equal_hashes():
    # So that either can be looked up where the other is the key.
    x = ext.zeros([2], "float32")
    assert hash(x.dtype) == hash("float32")
    assert {"float32": 1}[x.dtype] == {x.dtype: 1}["float32"] == 1
    assert hash(x.device) == hash("cpu")
    assert {"cpu": 1}[x.device] == {x.device: 1}["cpu"] == 1


def test_device_reports_kind_and_id():
    cpu, cuda, pinned = (
        ext.zeros([2], "int8").device,
        far().device,
        ext.identity(Made(device=(CUDA_HOST, 0)).capsule()).device,
    )
    assert (str(cpu), cpu.kind, cpu.id, repr(cpu)) == ("cpu", "cpu", 0, 'Device("cpu")')
    assert (str(cuda), cuda.kind, cuda.id, repr(cuda)) == ("cuda:1", "cuda", 1, 'Device("cuda:1")')
    assert (str(pinned), pinned.kind, pinned.id) == ("cuda_host:0", "cuda_host", 0)
    assert (
        cpu == "cpu"
        and cuda == "cuda:1"
        and cuda != "cuda"
        and cpu != cuda
        and cpu != "float32"
        and cpu != 0
    )
    assert cpu == ext.ones([1], "bool").device and hash(cuda) == hash(far().device)


def test_attributes_are_read_only():
    x = ext.zeros([2], "float32")
    for thing, names in [
        (
            x,
            [
                "shape",
                "strides",
                "dtype",
                "device",
                "ndim",
                "size",
                "nbytes",
                "data_ptr",
                "readonly",
                "other",
            ],
        ),
        (x.dtype, ["name", "bits", "lanes", "other"]),
        (x.device, ["kind", "id", "other"]),
    ]:
        for name in names:
            with refused(AttributeError):
                setattr(thing, name, 1)
            with refused(AttributeError):
                delattr(thing, name)
        assert not hasattr(thing, "__dict__")


def test_class_has_name_and_module():
    x = ext.zeros([2], "float32")
    assert type(x) is ext.Tensor and (ext.Tensor.__name__, ext.Tensor.__module__) == (
        "Tensor",
        "dlbridge",
    )
    with refused(TypeError):
        ext.Tensor()
    for kind in (ext.Tensor, type(x.dtype), type(x.device)):
        with refused(TypeError, "not an acceptable base type"):
            type("Derived", (kind,), {})
        with refused(TypeError):
            kind()


def test_copy_shares_and_deepcopy_copies():
    x = ext.from_list([1, 2], [2])
    assert copy.copy(x).data_ptr == x.data_ptr
    deep = copy.deepcopy(x)
    assert deep.data_ptr != x.data_ptr and deep.equals(x)


def test_pickle_without_the_package_is_refused():
    x = ext.zeros([2], "float32")
    saved = sys.modules.get("dlbridge")
    sys.modules["dlbridge"] = None  # as if it weren't installed
    try:
        with refused(TypeError, "pickling a tensor takes the package dlbridge"):
            pickle.dumps(x)
    finally:
        del sys.modules["dlbridge"]
        if saved:
            sys.modules["dlbridge"] = saved


def test_weak_reference_is_cleared_with_the_tensor(counted):
    x = ext.counted(3)
    gone = []
    reference = weakref.ref(x, lambda reference: gone.append(reference))
    assert reference() is x
    del x
    gc.collect()
    assert reference() is None and gone == [reference] and counted() == 0


def test_tensors_hash_by_identity_and_compare_by_elements():
    x, y = ext.zeros([2], "float32"), ext.zeros([2], "float32")
    assert (
        len({x, y, x}) == 2
        and (x == y).tolist() == [True, True]
        and (x != y).tolist() == [False, False]
    )


def test_repr_and_str_show_elements():
    assert repr(ext.from_list([1, 2.5], [2])) == "Tensor([1.0, 2.5], dtype=float32)"
    assert str(ext.from_list([1, 2.5], [2])) == "[1.0 2.5]"
    assert repr(ext.zeros([2, 2], "int8")) == "Tensor([[0, 0],\n        [0, 0]], dtype=int8)"
    assert str(ext.zeros([], "bool")) == "False"
    assert "read-only" in repr(ext.counted(1)) and "read-only" not in repr(ext.counted_mut(1))
    # Of memory that can't be reached, what is known.
    for text in (repr(far()), str(far())):
        assert "cuda:1" in text and "float32" in text and "2, 3" in text


def test_long_text_is_shortened():
    assert len(repr(ext.zeros([1000, 1000], "float32"))) < 1000


def test_text_after_a_write_shows_new_elements():
    x = ext.zeros([2], "float32")
    before = hash(x)
    ext.write_f32(x, 3)
    assert str(x) == "[3. 3.]" and hash(x) == before
