"""NumPy's element types and arrays that aren't what they are called."""

import dlbridge_testing as ext
import pytest
from support import framework, in_new_process, refused

np = framework("numpy")
import ml_dtypes  # noqa: E402

LOOKS = (ext.describe, ext.describe_out, ext.describe_owned)


def scalar_class(name, module="ml_dtypes", base=np.void):
    return type(name, (base,), {"__module__": module})


@pytest.mark.parametrize(
    "name",
    ["float32", "float64", "complex128", "bfloat16", "float8_e5m2", "int4", "float32x4", "handle"],
)
def test_structured_dtype_named_like_ml_dtype_is_refused(name):
    for fields in (
        [("a", "u1")],
        [("a", "u1"), ("b", "u1")],
        [("a", "f4")],
        [("a", "f8"), ("b", "f8")],
    ):
        dtype = np.dtype((scalar_class(name), fields))
        x = np.zeros(16, dtype)
        for look in LOOKS:
            with refused(BufferError, "has no DLPack equivalent"):
                look(x)


def test_swapped_byte_order_of_ml_dtype_is_refused():
    for name in ("bfloat16", "complex32"):
        native = np.dtype(getattr(ml_dtypes, name))
        x = np.zeros(3, native.newbyteorder(">"))
        assert ext.describe(np.zeros(3, native))["dtype"] == name
        for look in LOOKS:
            with refused(BufferError, "has no DLPack equivalent", "newbyteorder"):
                look(x)
        assert ext.describe(np.zeros(3, native.newbyteorder("=")))["dtype"] == name


def test_ml_dtype_with_metadata_or_in_struct_is_checked():
    struct = np.zeros(3, np.dtype([("a", ml_dtypes.bfloat16), ("b", ml_dtypes.bfloat16)]))
    assert ext.describe(struct["b"])["strides"] == [2]
    for look in LOOKS:
        with refused(BufferError, "has no DLPack equivalent"):
            look(struct)


def test_replaced_ml_dtypes_attributes_are_refused():
    assert (
        in_new_process("""
        import dlbridge_testing as ext, ml_dtypes, numpy as np
        real = ml_dtypes.bfloat16
        for lie in (np.float64, np.float16, np.uint16, np.void, object, "f8", [("a", "f8")], 5, ml_dtypes.float8_e5m2):
            ml_dtypes.bfloat16 = lie
            try:
                print(ext.to(ext.zeros([2], "bfloat16"), "numpy").dtype)
            except BufferError as error:
                assert "bfloat16" in str(error), error
        ml_dtypes.bfloat16 = real
        genuine, np.dtype = np.dtype, lambda scalar: genuine("f8") if scalar is real else 5
        try:
            print(ext.to(ext.zeros([2], "bfloat16"), "numpy").dtype)
        except BufferError as error:
            assert "bfloat16" in str(error), error
        np.dtype = genuine
        assert ext.to(ext.zeros([2], "bfloat16"), "numpy").dtype == real
        print("done")
    """)
        == "done\n"
    )


@pytest.mark.skipif(
    not hasattr(np.dtypes, "register_dlpack_dtype"), reason="NumPy 2.5 is the first that registers"
)
def test_registered_dtypes_are_exchanged():
    # In a process of its own, since what is registered stays.
    assert (
        in_new_process("""
        import ctypes
        import dlbridge_testing as ext, ml_dtypes, numpy as np
        from support import refused

        moments = np.dtype("M8[s]")
        x = np.arange(4).astype(moments)
        with refused(BufferError, "has no DLPack equivalent"):
            ext.describe(x)
        with refused(BufferError, "NumPy has no handle"):
            ext.to(ext.zeros([2], "handle"), "numpy")
        np.dtypes.register_dlpack_dtype((3, 64), moments)
        for look in (ext.describe, ext.describe_out, ext.describe_owned):
            seen = look(x[::2])
            assert (seen["dtype"], seen["strides"], seen["ptr"], seen["readonly"]) == ("handle", [2], x.ctypes.data, False)
        y = ext.to(ext.identity(x), "numpy")
        assert y.dtype == moments and y.ctypes.data == x.ctypes.data and (y == x).all() and y.flags.writeable
        assert ext.to(ext.zeros([2], "handle"), "numpy").dtype == moments
        # The other byte order isn't what was registered.
        with refused(BufferError, "has no DLPack equivalent"):
            ext.describe(x.astype(">M8[s]"))

        # Without ml_dtypes' own name, what was registered does.
        bfloat16 = np.dtype(ml_dtypes.bfloat16)
        np.dtypes.register_dlpack_dtype((4, 16), bfloat16)
        del ml_dtypes.bfloat16
        assert ext.to(ext.zeros([2], "bfloat16"), "numpy").dtype == bfloat16

        # Numbers in place of references to objects would end the process.
        np.dtypes.register_dlpack_dtype((1, 64), np.dtype(object))
        x = np.array([[], {}], dtype=object)
        for look in (ext.describe, ext.describe_out, ext.describe_owned):
            with refused(BufferError, "has no DLPack equivalent"):
                look(x)
        assert ext.to(ext.zeros([2], "uint64"), "numpy").dtype == "uint64"
        print("done")
    """)
        == "done\n"
    )


def masked():
    class Derived(np.ma.MaskedArray):
        pass

    x = np.ma.masked_array(np.ones(2, "f4"), [True, False])
    return [
        x,
        x.view(Derived),
        x[:1],
        np.ma.masked,
        np.ma.masked_array(np.ones(2, "f4")),
        np.ma.zeros((2, 2)),
    ]


def test_masked_arrays_are_refused():
    for x in masked():
        for look in (*LOOKS, ext.read_f32, ext.own_f32, ext.identity):
            with refused(BufferError, "without a mask", "x.filled(value)", "x.data"):
                look(x)
    x = masked()[0]
    assert ext.read_f32(x.filled(5)) == [5, 1] and ext.read_f32(x.data) == [1, 1]


def test_masked_array_with_own_dlpack_is_accepted():
    class Filled(np.ma.MaskedArray):
        def __dlpack__(self, **keywords):
            return self.filled(9).__dlpack__(**keywords)

    x = masked()[0].view(Filled)
    assert ext.read_f32(x) == [9, 1] == ext.own_f32(x)


def test_derived_classes_share_memory():
    x = np.arange(4, dtype="f4").reshape(2, 2)

    class Image(np.ndarray):
        mask = None

    class Quantity(np.ndarray):
        unit = "m"

    for y in (np.asmatrix(x), x.view(np.recarray), x.view(Image), x.view(Quantity)):
        assert ext.read_f32(y) == [0, 1, 2, 3] and ext.describe(y)["ptr"] == x.ctypes.data
    record = np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])
    for look in LOOKS:
        with refused(BufferError, "DLPack"):
            look(record)


def test_dtype_with_raising_repr_is_refused():
    assert (
        in_new_process("""
        import dlbridge_testing as ext, numpy as np
        import numpy._core._dtype as text
        def fail(*arguments): raise RuntimeError("no text")
        text.__repr__ = text.__str__ = fail
        try:
            ext.describe(np.zeros(2, [("a", "f4")]))
        except BufferError as error:
            assert "has no DLPack equivalent" in str(error)
            print("refused")
    """)
        == "refused\n"
    )
