"""Exchange tables made by hand, which we use: where they are found, which functions are called,
what they may do.
"""

import dlbridge_testing as ext
import made_tables
import pytest
from made import CUDA, INT32, IS_COPIED, READ_ONLY, Made, capsule_of, producer
from made_tables import DELETE_ITEM, NAME, Exchanged, header, table, type_of, type_with, write
from support import in_new_process, refused


def kind_with(**functions):
    """A type, and the calls of its table's functions."""
    calls = []
    return type_of(table(calls=calls, **functions)), calls


def test_read_argument_is_borrowed_and_written_or_kept_argument_is_owned():
    kind, calls = kind_with()
    x = kind()
    assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5] and ext.describe(x)["ptr"] == x.lent.data
    assert calls == ["borrow"] * 2 and x.made == []
    ext.write_f32(x, 7)
    assert calls == ["borrow"] * 2 + ["own"] and x.deleted == [1] and x.lent.values()[:6] == [7] * 6
    assert ext.describe_out(x)["ptr"] == x.lent.data
    tensor = ext.identity(x)
    assert calls == ["borrow"] * 2 + ["own"] * 3 and x.deleted == [1, 1, 0]
    assert tensor.data_ptr == x.lent.data
    del tensor
    assert x.deleted == [1, 1, 1]


def test_written_argument_is_kept_until_the_call_returns():
    kind, _ = kind_with()
    x = kind()
    assert ext.writing(x, lambda: x.deleted) == [0] and x.deleted == [1]
    # What is only borrowed is owned before other threads may run.
    x = kind()
    assert ext.reading(x, lambda: x.deleted) == []
    seen = []
    assert ext.call_while_detached(x, lambda: seen.extend(x.deleted)) == 15
    assert seen == [0] and x.deleted == [1]


@pytest.mark.parametrize("spelled", ["__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"])
def test_table_is_found_on_the_type(spelled):
    calls = []
    kind = type_with(capsule_of(table(calls=calls), NAME), spelled)
    assert ext.read_f32(kind()) == [0, 1, 2, 3, 4, 5] and calls == ["borrow"]


def test_table_is_found_on_a_derived_type():
    kind, calls = kind_with()

    class Derived(kind):
        pass

    assert ext.read_f32(Derived()) == [0, 1, 2, 3, 4, 5] and calls == ["borrow"]


def test_table_of_an_instance_is_ignored():
    x = Exchanged()
    calls = []
    x.__dlpack_c_exchange_api__ = capsule_of(table(calls=calls), NAME)
    with refused(TypeError, "expected a tensor, got", "Exchanged"):
        ext.read_f32(x)
    assert calls == []


class Raises:
    def __get__(self, thing, kind):
        raise RuntimeError("no table here")


def in_capsule(address):
    return capsule_of(address, NAME)


UNUSABLE = {
    "0": lambda: 0,
    "the address as a number": lambda: table(),
    "None": lambda: None,
    "text": lambda: "table",
    "negative": lambda: -8,
    "huge": lambda: 2**64,
    "not aligned": lambda: in_capsule(table() + 1),
    "another capsule": lambda: capsule_of(table(), b"dltensor"),
    "raises": Raises,
    "foreign major": lambda: capsule_of(header((2, 0)), NAME),
    "older major": lambda: capsule_of(header((0, 8)), NAME),
    "chain of foreign majors": lambda: in_capsule(header((4, 0), header((3, 0), header((2, 0))))),
    "without the owned call": lambda: in_capsule(table(own=None)),
    "without the call that makes": lambda: in_capsule(table(make=None)),
    "without any function": lambda: in_capsule(
        table(**dict.fromkeys(["own", "make", "borrow", "allocate", "stream"]))
    ),
}


def circle():
    first = header((2, 0))
    last = header((3, 0), first)
    made_tables.DLPackExchangeAPIHeader.from_address(first).prev_api = last
    return in_capsule(first)


UNUSABLE["circle"] = circle


@pytest.mark.parametrize("case", UNUSABLE)
def test_invalid_table_is_ignored(case):
    # There may be another way to ask.
    x, made = producer()
    kind = type_with(UNUSABLE[case](), __dlpack__=lambda self, **keywords: x.__dlpack__(**keywords))
    assert ext.describe(kind())["ptr"] == made.data and made.deleted == 1
    with refused(
        TypeError, "expected a tensor, got", "Exchanged, which has neither __dlpack__ nor a buffer"
    ):
        ext.describe(type_with(UNUSABLE[case]())())


def test_table_under_the_older_name_is_found():
    kind = type_with(0, __c_dlpack_exchange_api__=capsule_of(table(), NAME))
    assert ext.read_f32(kind()) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("version", [(1, 0), (1, 2), (1, 3), (1, 99)])
def test_newer_minor_versions_are_accepted(version):
    assert ext.read_f32(type_of(table(version=version))()) == [0, 1, 2, 3, 4, 5]


def test_first_usable_table_of_a_chain_is_used():
    first, last = [], []
    ours = table(calls=first, prev=table(calls=last))
    kind = type_of(header((3, 0), header((2, 1), ours)))
    assert ext.own_f32(kind()) == [0, 1, 2, 3, 4, 5] and first == ["own"] and last == []


def test_table_without_borrowed_call_uses_the_owned():
    kind, calls = kind_with(borrow=None)
    x = kind()
    assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5] and calls == ["own"] and x.deleted == [1]
    assert ext.reading(x, lambda: list(x.deleted)) == [1, 0] and x.deleted == [1, 1]
    # It is owned already.
    assert ext.sum_detached(x) == 15 and calls == ["own"] * 3


def test_written_argument_refuses_read_only_memory():
    kind, calls = kind_with()
    x = kind(flags=READ_ONLY)
    with refused(BufferError, "read-only", "pass a copy", "Exchanged of float32"):
        ext.write_f32(x, 7)
    assert calls == ["own"] and x.deleted == [1] and x.lent.values()[:3] == [0, 1, 2]
    assert ext.identity(x).readonly is True
    assert ext.describe_owned(kind(flags=IS_COPIED))["copied"]


def test_metaclass_is_not_called():
    # In a new process, since there is room for a bounded number of types.
    output = in_new_process("""
        import dlbridge_testing as ext
        from made import capsule_of
        from made_tables import NAME, Exchanged, table

        class Lookup(type):
            def __getattribute__(cls, name):
                print(name)
                return super().__getattribute__(name)

        kind = Lookup("Exchanged", (Exchanged,), {"__dlpack_c_exchange_api__": capsule_of(table(), NAME)})
        for _ in range(3):
            print(ext.read_f32(kind(shape=(2,))))
    """)
    assert output.splitlines() == ["[0.0, 1.0]"] * 3


def test_more_types_than_cache_slots():
    output = in_new_process("""
        import dlbridge_testing as ext
        from made_tables import table, type_of

        calls = []
        kinds = [type_of(table(calls=calls)) for _ in range(100)]
        for kind in kinds * 2:
            assert ext.read_f32(kind(shape=(2,))) == [0, 1]
        print(len(calls), set(calls))
    """)
    assert output == "200 {'borrow'}\n"


HOSTILE = {
    "NULL shape": dict(shape=None, ndim=2),
    "negative rank": dict(ndim=-1),
    "huge rank": dict(ndim=2**31 - 1),
    "negative size": dict(shape=(2, -1)),
    "two negative sizes": dict(shape=(-2, -3)),
    "many elements": dict(shape=(2**40, 2**40)),
    "NULL data": dict(data=0),
    "no lanes": dict(dtype=(2, 32, 0)),
    "no code": dict(dtype=(18, 8, 1)),
    "no device": dict(device=(6, 0)),
    "last address": dict(data=2**64 - 4),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_invalid_descriptor_is_refused(case):
    kind, calls = kind_with()
    x = kind(**HOSTILE[case])
    for look in (ext.describe, ext.describe_out, ext.describe_owned):
        with pytest.raises(BufferError):
            look(x)
    assert calls == ["borrow", "own", "own"] and x.deleted == [1, 1]


def test_tensor_of_another_major_version_is_refused():
    kind, _ = kind_with()
    x = kind(version=(2, 0))
    for look in (ext.describe_out, ext.describe_owned):
        with refused(BufferError, "speaks DLPack 2.0, and this library 1.3"):
            look(x)
    assert x.deleted == [1, 1]
    assert (
        ext.read_f32(kind(version=(1, 9)))
        == [0, 1, 2, 3, 4, 5]
        == ext.own_f32(kind(version=(1, 9)))
    )


class Raising(Exchanged):
    def __delitem__(self, out):
        raise LookupError("mine")


@pytest.mark.parametrize(
    "function, looks", [("own", [ext.describe_out, ext.identity]), ("borrow", [ext.describe])]
)
def test_error_of_the_table_is_passed_on(function, looks):
    kind = type_of(table(**{function: DELETE_ITEM}), base=Raising)
    for look in looks:
        with refused(LookupError, "mine"):
            look(kind())


@pytest.mark.parametrize(
    "functions, looks",
    [(["own"], [ext.describe_out, ext.identity]), (["own", "borrow"], [ext.describe])],
)
def test_failure_without_exception_is_refused(functions, looks):
    for status in (-1, 1):
        kind, _ = kind_with(**{function: lambda thing, out: status for function in functions})
        for look in looks:
            with refused(BufferError, "py_object_no_sync failed, and doesn't say why"):
                look(kind())


def test_failed_borrow_falls_back_to_owning():
    kind, calls = kind_with(borrow=lambda thing, out: -1)
    x = kind()
    assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5] and calls == ["borrow", "own"] and x.deleted == [1]


def test_success_without_tensor_is_refused():
    kind, _ = kind_with(own=lambda thing, out: write(out, None))
    for look in (ext.describe_out, ext.identity):
        with refused(BufferError, "the pointer to the managed tensor is NULL"):
            look(kind())


@pytest.mark.parametrize(
    "fields",
    [
        dict(shape=(3, 2)),
        dict(shape=(6,)),
        dict(shape=(2, 3), strides=(1, 2)),
        dict(data=Made().data),
        dict(byte_offset=8),
        dict(dtype=INT32),
        dict(device=(CUDA, 0)),
    ],
    ids=str,
)
def test_tensor_changed_between_borrowing_and_owning_is_refused(fields):
    # Borrowed first, and owned before other threads run.
    kind, _ = kind_with()
    x = kind()
    x.fields = fields
    with refused(BufferError, "other code changed the tensor during the call"):
        ext.sum_detached(x)
    assert x.deleted == [1]


def test_tensor_invalid_on_owning_is_refused():
    # In a process of its own, which a number read at NULL would end.
    output = in_new_process("""
        import dlbridge_testing as ext
        from made_tables import table, type_of

        x = type_of(table())()
        x.fields = dict(shape=None, ndim=2)
        try:
            ext.sum_detached(x)
        except BufferError:
            print("refused", x.deleted)
    """)
    assert output == "refused [1]\n"
