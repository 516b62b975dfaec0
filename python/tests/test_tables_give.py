"""Exchange tables made by hand, which make objects of our tensors, and memory for them."""

import dlbridge_testing as ext
import made_tables
import pytest
from made import (
    CUDA,
    FLOAT32,
    FLOAT64,
    READ_ONLY,
    Deleter,
    DLManagedTensorVersioned,
    Made,
    SetError,
)
from made_tables import NO_MEMORY, Taken, table, type_of, write
from support import refused


def instance(**functions):
    calls = []
    return type_of(table(calls=calls, **functions))(), calls


def release(thing):
    managed = DLManagedTensorVersioned.from_address(thing.address)
    Deleter(managed.deleter)(thing.address)


def test_result_is_of_the_tables_type(counted):
    x, calls = instance()
    tensor = ext.counted_mut(3)
    ext.describe(
        tensor
    )  # Its type is known from then on: finding out may run Python code, after which others are looked at again.
    y = ext.like(x, tensor)
    assert type(y) is Taken and calls == ["borrow", "make"]
    managed = DLManagedTensorVersioned.from_address(y.address)
    assert (managed.version.major, managed.version.minor, managed.flags) == (1, 3, 0)
    assert managed.dl_tensor.data == tensor.data_ptr
    del tensor
    assert counted() == 1
    release(y)
    assert counted() == 0


def test_read_only_result_is_flagged(counted):
    x, _ = instance()
    y = ext.like(x, ext.counted(3))
    assert DLManagedTensorVersioned.from_address(y.address).flags == 1
    release(y)


def test_table_that_makes_no_object_raises_buffer_error(counted):
    def refuse(address, out):
        Deleter(DLManagedTensorVersioned.from_address(address).deleter)(address)
        return -1

    def empty(address, out):
        Deleter(DLManagedTensorVersioned.from_address(address).deleter)(address)
        write(out, None)

    for make in (refuse, empty):
        x, calls = instance(make=make)
        tensor = ext.counted_mut(3)
        with refused(
            BufferError, "managed_tensor_to_py_object_no_sync failed, and doesn't say why"
        ):
            ext.like(x, tensor)
        assert calls == ["borrow", "make"] and counted() == 1
        del tensor
        assert counted() == 0


def test_error_of_table_that_makes_no_object_is_passed_on():
    # This one leaves an exception behind, and keeps what it was given.
    x, _ = instance(make=NO_MEMORY)
    y = ext.from_list([1], [1])
    with refused(MemoryError):
        ext.like(x, y)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (1,) * 9])
@pytest.mark.parametrize(
    "dtype, parts", [("float32", FLOAT32), ("float64", FLOAT64), ("bfloat16", (4, 16, 1))]
)
def test_zeros_like_uses_the_tables_allocator(shape, dtype, parts):
    x, calls = instance()
    where, y = ext.zeros_like(x, list(shape), dtype)
    made = made_tables.allocated[-1]
    # An allocator may run Python code, after which the argument is looked at again.
    assert calls == ["borrow", "allocate", "borrow", "make"] and where == made.data
    wanted = made.descriptor
    assert (wanted.dtype.code, wanted.dtype.bits, wanted.dtype.lanes) == parts
    bytes_ = parts[1] // 8
    for number in shape:
        bytes_ *= number
    # What was in the memory is gone, and nothing behind it.
    room = bytes(made.room)
    assert room[:bytes_] == bytes(bytes_) and any(room[bytes_:])
    assert made.deleted == 0
    release(y)
    assert made.deleted == 1


def test_zeros_like_without_allocator_uses_our_memory():
    x, calls = instance(allocate=None)
    where, y = ext.zeros_like(x, [2, 3], "float32")
    assert calls == ["borrow", "make"] and where % 64 == 0
    release(y)


ERRORS = [
    (b"MemoryError", MemoryError),
    (b"TypeError", TypeError),
    (b"ValueError", ValueError),
    (b"BufferError", BufferError),
    (b"RuntimeError", BufferError),
    (b"no such kind", BufferError),
    (b"", BufferError),
]


@pytest.mark.parametrize("name, kind", ERRORS)
def test_allocator_error_is_passed_on(name, kind):
    def fail(prototype, out, context, set_error):
        SetError(set_error)(context, name, b"no room for \xc3\xa9")
        return -1

    x, _ = instance(allocate=fail)
    with refused(kind, "no room for é"):
        ext.zeros_like(x, [2], "float32")


def test_unusual_allocator_errors_are_passed_on():
    def twice(prototype, out, context, set_error):
        SetError(set_error)(context, b"ValueError", b"first")
        SetError(set_error)(context, b"TypeError", b"second")
        return 1

    def null(prototype, out, context, set_error):
        SetError(set_error)(context, None, None)
        return -1

    def not_utf8(prototype, out, context, set_error):
        SetError(set_error)(context, b"ValueError", b"\xff!")
        return -1

    for fail, kind, part in [
        (twice, TypeError, "second"),
        (null, BufferError, ""),
        (not_utf8, ValueError, "!"),
    ]:
        x, _ = instance(allocate=fail)
        with refused(kind, part):
            ext.zeros_like(x, [2], "float32")
    for silent in (lambda *_: -1, lambda prototype, out, context, set_error: write(out, None)):
        x, _ = instance(allocate=silent)
        with refused(BufferError, "the framework's allocator failed"):
            ext.zeros_like(x, [2], "float32")


@pytest.mark.parametrize(
    "fields",
    [
        dict(shape=(3,)),
        dict(shape=(2, 1)),
        dict(dtype=FLOAT64),
        dict(shape=(2,), strides=(2,)),
        dict(shape=(2,), device=(CUDA, 0)),
    ],
    ids=str,
)
def test_allocator_with_another_shape_is_refused(fields):
    made = Made(**{"shape": (2,), **fields})
    x, _ = instance(allocate=lambda prototype, out, context, set_error: write(out, made.address))
    # Nothing was written to it.
    before, seen = made.values(), []
    made.delete = lambda: seen.append(made.values())
    with refused(BufferError, "the framework's allocator returned another tensor than requested"):
        ext.zeros_like(x, [2], "float32")
    assert seen == [before]


def test_allocator_with_invalid_tensor_is_refused():
    for fields, message in [
        (dict(data=0), "is NULL"),
        (dict(shape=None, ndim=1), "NULL"),
        (dict(version=(2, 0)), "2.0"),
    ]:
        made = Made(**{"shape": (2,), **fields})
        x, _ = instance(
            allocate=lambda prototype, out, context, set_error: write(out, made.address)
        )
        with refused(BufferError, message):
            ext.zeros_like(x, [2], "float32")
        assert made.deleted == 1


def test_allocator_with_read_only_memory_is_refused():
    made, seen = Made((2,), flags=READ_ONLY), []
    made.delete = lambda: seen.append(made.values()[:2])
    x, _ = instance(allocate=lambda prototype, out, context, set_error: write(out, made.address))
    with refused(BufferError, "the framework's allocator returned another tensor than requested"):
        ext.zeros_like(x, [2], "float32")
    assert seen == [[0, 1]]


def test_excessive_size_is_refused_before_the_allocator_is_called():
    x, calls = instance()
    with refused(ValueError, "more elements than memory has addresses"):
        ext.zeros_like(x, [2**40, 2**40], "float32")
    assert calls == ["borrow"]
