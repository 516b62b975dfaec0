"""Hand-made capsules as arguments: consumed once, borrowed, released by their owner."""

import dlbridge_testing as ext
import pytest
from made import (
    BOOL,
    CPU,
    CUDA,
    CUDA_HOST,
    INT4,
    IS_COPIED,
    IS_SUBBYTE_TYPE_PADDED,
    READ_ONLY,
    Made,
    capsule_of,
    name_of,
)
from support import refused

BOTH = pytest.mark.parametrize("versioned", [True, False])
BORROWING = [ext.describe, ext.describe_out, ext.read_f32, ext.dense, lambda x: ext.write_f32(x, 1)]
OWNING = [ext.describe_owned, ext.own_f32, ext.import_, lambda x: ext.import_(x, copy=True)]


@BOTH
def test_capsule_is_consumed_and_released(versioned):
    made = Made(versioned=versioned)
    capsule = made.capsule()
    before = name_of(capsule)
    tensor = ext.identity(capsule)
    assert name_of(capsule) == "used_" + before
    assert (tensor.data_ptr, tensor.shape, tensor.strides) == (made.data, (2, 3), (3, 1))
    assert ext.read_f32(tensor) == [0, 1, 2, 3, 4, 5]
    del capsule
    assert made.deleted == 0
    del tensor
    assert made.deleted == 1


@BOTH
def test_memory_is_released_with_the_last_user(versioned):
    made = Made(versioned=versioned)
    capsule = made.capsule()
    tensor = ext.identity(capsule)
    turned, key = ext.transposed(tensor), ext.keep(tensor)
    exported = tensor.__dlpack__(max_version=(1, 3))
    del capsule, tensor
    assert made.deleted == 0 and ext.read_f32(turned) == [0, 3, 1, 4, 2, 5]
    del turned
    assert ext.release_on_thread(key) and made.deleted == 0
    del exported
    assert made.deleted == 1


@BOTH
@pytest.mark.parametrize("borrow", BORROWING)
def test_borrowed_argument_leaves_the_capsule(versioned, borrow):
    made = Made(versioned=versioned)
    capsule = made.capsule()
    for _ in range(3):
        borrow(capsule)
    assert name_of(capsule) == ("dltensor_versioned" if versioned else "dltensor")
    assert made.deleted == 0
    del capsule
    assert made.deleted == 1


@BOTH
@pytest.mark.parametrize("own", OWNING)
def test_owned_argument_consumes_the_capsule(versioned, own):
    made = Made(versioned=versioned)
    capsule = made.capsule()
    if own is ext.own_f32:
        # It is looked at as a borrowed argument is, before it is taken.
        assert own(capsule) == [0, 1, 2, 3, 4, 5]
    else:
        own(capsule)
    assert name_of(capsule).startswith("used_") and made.deleted == 1
    del capsule
    assert made.deleted == 1


@BOTH
def test_consumed_capsule_is_refused(versioned):
    made = Made(versioned=versioned)
    capsule = made.capsule()
    tensor = ext.identity(capsule)
    for use in [ext.identity, *BORROWING, *OWNING]:
        with refused(BufferError, "this capsule's tensor was already taken by another consumer"):
            use(capsule)
    assert made.deleted == 0 and ext.read_f32(tensor) == [0, 1, 2, 3, 4, 5]
    del tensor
    assert made.deleted == 1


@pytest.mark.parametrize(
    "name", [b"", b"dltensor2", b"DLTensor", b"used_", b"arrow_array", b"dlpack_exchange_api"]
)
def test_capsule_of_another_name_is_refused(name):
    made = Made()
    capsule = capsule_of(made.address, name)
    for use in [ext.identity, *BORROWING, *OWNING]:
        with refused(TypeError, "expected a capsule of a DLPack tensor, got PyCapsule"):
            use(capsule)
    assert name_of(capsule) == name.decode() and made.deleted == 0


@BOTH
@pytest.mark.parametrize(
    "use, kind",
    [(ext.rank_1, ValueError), (ext.read_i32, TypeError), (ext.on_cuda, BufferError)],
    ids=["rank", "dtype", "device"],
)
def test_refused_argument_leaves_the_capsule(versioned, use, kind):
    made = Made(versioned=versioned)
    capsule = made.capsule()
    with pytest.raises(kind, match="expected a tensor.* got PyCapsule of float32"):
        use(capsule)
    with refused(ValueError, "expected a tensor of float32, of rank 1"):
        ext.owned_vector(capsule)
    assert not name_of(capsule).startswith("used_") and made.deleted == 0
    assert ext.own_f32(capsule) == [0, 1, 2, 3, 4, 5]
    assert made.deleted == 1


@BOTH
def test_capsule_without_deleter_is_accepted(versioned):
    made = Made(versioned=versioned, deleter=False)
    capsule = made.capsule()
    tensor = ext.identity(capsule)
    assert ext.read_f32(tensor) == [0, 1, 2, 3, 4, 5]
    del tensor, capsule
    capsule = made.capsule()
    assert ext.read_f32(capsule) == [0, 1, 2, 3, 4, 5]
    assert made.deleted == 0


@BOTH
def test_null_strides_are_row_major(versioned):
    for shape, strides in [((), []), ((3,), [1]), ((2, 3, 4), [12, 4, 1]), ((2, 0, 4), [4, 4, 1])]:
        capsule = Made(shape, None, versioned=versioned).capsule()
        for look in (ext.describe, ext.describe_out, ext.describe_owned):
            seen = look(capsule)
            assert (seen["shape"], seen["strides"]) == (list(shape), strides)
            capsule = Made(shape, None, versioned=versioned).capsule()


@BOTH
def test_strides_are_respected(versioned):
    def seen(shape, strides, **fields):
        capsule = Made(shape, strides, versioned=versioned, **fields).capsule()
        assert ext.read_f32(capsule) == (values := ext.own_f32(capsule))
        return values

    assert seen((2, 2), (1, 2)) == [0, 2, 1, 3]
    assert seen((3,), (5,)) == [0, 5, 10]
    assert seen((3,), (0,)) == [0, 0, 0]
    assert seen((3,), (-2,), byte_offset=16) == [4, 2, 0]
    # Of dimensions smaller than 2, and of empty tensors, strides say nothing.
    assert seen((1, 2), (-(2**63), 1)) == [0, 1]
    assert seen((2, 0), (2**63 - 1, 7)) == []


@BOTH
def test_byte_offset_is_added_to_the_address(versioned):
    made = Made((3,), versioned=versioned, byte_offset=8)
    capsule = made.capsule()
    assert ext.describe(capsule)["ptr"] == made.data + 8
    assert ext.read_f32(capsule) == [2, 3, 4]
    assert ext.identity(capsule).data_ptr == made.data + 8


@pytest.mark.parametrize("minor", [0, 1, 3, 4, 2**32 - 1])
def test_newer_minor_versions_are_accepted(minor):
    made = Made(version=(1, minor))
    capsule = made.capsule()
    assert ext.read_f32(capsule) == [0, 1, 2, 3, 4, 5] == ext.own_f32(capsule)
    assert made.deleted == 1


def test_read_only_capsule_refuses_writes():
    made = Made(flags=READ_ONLY)
    capsule = made.capsule()
    assert ext.describe(capsule)["readonly"] and ext.read_f32(capsule) == [0, 1, 2, 3, 4, 5]
    for write in (ext.describe_out, lambda x: ext.write_f32(x, 1)):
        with refused(BufferError, "read-only", "pass a copy"):
            write(capsule)
    tensor = ext.identity(capsule)
    assert tensor.readonly
    with refused(BufferError, "read-only"):
        ext.write_f32(tensor, 1)
    assert made.values()[:3] == [0, 1, 2]


@BOTH
def test_writes_are_visible_to_the_framework(versioned):
    made = Made((3,), (2,), versioned=versioned)
    capsule = made.capsule()
    ext.write_f32(capsule, -1)
    assert made.values()[:6] == [-1, 1, -1, 3, -1, 5]
    tensor = ext.identity(capsule)
    ext.write_f32(tensor, -2)
    assert made.values()[:6] == [-2, 1, -2, 3, -2, 5]


def test_copied_flag_is_imported():
    copied, shared = Made(flags=IS_COPIED).capsule(), Made().capsule()
    assert ext.describe_owned(copied)["copied"] and not ext.describe_owned(shared)["copied"]


def test_unknown_flags_are_ignored():
    capsule = Made(flags=2**63 | 2**20).capsule()
    seen = ext.describe(capsule)
    assert (seen["readonly"], seen["padded"]) == (False, False)
    assert ext.own_f32(capsule) == [0, 1, 2, 3, 4, 5]


def test_padded_flag_is_imported_for_sub_byte_dtypes():
    for dtype, flags, padded in [
        (INT4, IS_SUBBYTE_TYPE_PADDED, True),
        (INT4, 0, False),
        ((17, 4, 1), IS_SUBBYTE_TYPE_PADDED, True),
        # Whole bytes have nothing to be padded.
        ((2, 32, 1), IS_SUBBYTE_TYPE_PADDED, False),
        ((17, 4, 2), IS_SUBBYTE_TYPE_PADDED, False),
    ]:
        capsule = Made((4,), dtype=dtype, flags=flags).capsule()
        assert ext.describe(capsule)["padded"] is padded
        tensor = ext.identity(capsule)
        assert ext.describe(tensor)["padded"] is padded
    capsule = Made((4,), dtype=INT4, versioned=False, flags=IS_SUBBYTE_TYPE_PADDED).capsule()
    assert not ext.describe(capsule)["padded"]


@BOTH
def test_capsule_of_every_device_reports_it(versioned):
    for device, name in [
        ((CPU, 0), "cpu"),
        ((CUDA, 3), "cuda:3"),
        ((CUDA_HOST, 0), "cuda_host:0"),
        ((8, 0), "metal:0"),
    ]:
        made = Made(device=device, versioned=versioned)
        capsule = made.capsule()
        assert ext.any_device(capsule) == name
        if device[0] in (CUDA, 8):
            for look in (ext.read_f32, ext.own_f32, ext.any_on_host):
                with refused(BufferError, "in memory that the CPU reaches", f"on {name}"):
                    look(capsule)
        else:
            assert ext.read_f32(capsule) == [0, 1, 2, 3, 4, 5]
        assert str(ext.identity(capsule).device) == name
        assert made.deleted == 1


@BOTH
def test_invalid_bools_are_refused(versioned):
    made = Made((3,), dtype=BOOL, values=[0, 1, 2], versioned=versioned)
    capsule = made.capsule()
    for read in (ext.read_bool, ext.own_bool):
        with refused(ValueError, "byte 0x02 is not a valid bool"):
            read(capsule)
    assert name_of(capsule).startswith("dltensor") and made.deleted == 0
