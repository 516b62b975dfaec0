"""Elementwise ops as universal functions of NumPy."""

import gc
import threading

import dlbridge
import dlbridge_testing
import numpy as np
import pytest
from dlbridge import ops
from dlbridge._hosts.definition import comparable
from support import in_new_process, in_threads, refused, resident_kilobytes

if not hasattr(ops, "testing"):
    dlbridge_testing.publish_ops()
add, exp = dlbridge.ufunc("add"), dlbridge.ufunc("exp")
PAIRS = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "equal")
DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")


def numbers(*shape, dtype="f4"):
    return (np.arange(np.prod(shape)) * 37 % 23 + 1).reshape(shape).astype(dtype)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_it_is_one_of_numpy_with_a_loop_for_each_dtype():
    assert type(add) is np.ufunc and (add.nin, add.nout, add.identity) == (2, 1, None)
    assert add.__name__ == "add" and add.ntypes == 11 and "ff->f" in add.types
    less = [one.replace("->" + one[-1], "->?") for one in add.types]
    assert dlbridge.ufunc("less").types == ["??->?", *less]
    assert dlbridge.ufunc("where").types[0] == "???->?"
    assert dlbridge.ufunc("add") is add


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_equal_those_of_the_op(name, dtype):
    function, x, y = dlbridge.ufunc(name), numbers(6, 5, dtype=dtype), numbers(6, 5, dtype=dtype)
    if f"{x.dtype.char * 2}->" not in str(function.types):
        result = function(x, y)
        x, y = x.astype(result.dtype), y.astype(result.dtype)
        assert name == "divide" and same(result, ops.divide(x, y))
        return
    assert same(function(x, y), getattr(ops, name)(x, y))
    for a, b in ((x.T, y.T), (x[::2, ::-1], y[1::2, ::-1]), (x[:, 1:3], y[:, ::3])):
        assert same(function(a, b), np.asarray(getattr(ops, name)(a, b)))


def test_arguments_are_broadcast_and_cast():
    x = numbers(3, 1, 4)
    assert same(add(x, numbers(5, 1)), x + numbers(5, 1))
    assert same(add(x, 2), x + np.float32(2)) and same(add(x, np.int8(2)), x + np.float32(2))
    assert same(add(numbers(3, dtype="f8"), numbers(3)), numbers(3, dtype="f8") + numbers(3))
    assert add(1, 2) == 3 and type(add(np.float32(1), np.float32(2))) is np.float32
    assert same(add(x, x, dtype="f8"), x.astype("f8") * 2)
    assert same(add(x.astype(">f4"), x), x + x)
    out = np.zeros((3, 1, 4), "f8")
    assert add(x, x, out=out) is out and (out == x + x).all()
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        add(x, x, out=np.zeros((3, 1, 4), "i4"))
    with pytest.raises(ValueError, match="broadcast"):
        add(numbers(3), numbers(4))
    with pytest.raises(TypeError, match="ufunc 'add'"):
        add("a", "b")


def test_where_writes_no_other_elements():
    x, mask = numbers(1000), numbers(1000, dtype="i4") % 3 == 0
    out = np.full(1000, -1, "f4")
    add(x, x, out=out, where=mask)
    assert (out[mask] == 2 * x[mask]).all() and (out[~mask] == -1).all()


def test_memory_is_that_of_the_arrays():
    x, out = numbers(64), np.empty(64, "f4")
    with dlbridge.record() as calls:
        add(x, x, out=out)
    (call,) = calls
    address = [array.__array_interface__["data"][0] for array in (x, x, out)]
    assert call.op == "add" and call.addresses == address


@pytest.mark.parametrize("count", [1, 2, 7, 1000, 20000])
def test_outputs_may_overlap_inputs(count):
    for start, stop in ((0, 0), (1, 0), (0, 1), (3, 5)):
        memory = numbers(count + 8)
        expected = memory.copy()
        np.add(expected[start:][:count], expected[stop:][:count], out=expected[stop:][:count])
        add(memory[start:][:count], memory[stop:][:count], out=memory[stop:][:count])
        assert same(memory, expected)
    table, expected = numbers(count, 2), numbers(count, 2)
    add(table[:, 0], 1, out=table[:, 1])
    np.add(expected[:, 0], 1, out=expected[:, 1])
    assert same(table, expected)
    flags = np.arange(count) % 2 == 0
    chosen = np.where(flags, ~flags, flags)
    where = dlbridge.ufunc("where")
    assert same(where(flags, ~flags, flags, out=flags), chosen)


def test_strides_that_are_no_whole_elements():
    table = np.zeros(9, [("a", "f8"), ("b", "f4"), ("c", "f8")])
    table["a"], table["c"] = np.arange(9), 5
    assert same(add(table["a"], table["c"]), table["a"] + table["c"])
    add(table["a"], 1, out=table["c"])
    assert (table["c"] == np.arange(9) + 1).all() and not table["b"].any()


def test_reductions_call_the_op_for_each_element():
    x = numbers(4, 5)
    subtract, maximum = dlbridge.ufunc("subtract"), dlbridge.ufunc("maximum")
    for axis in (0, 1):
        assert same(subtract.reduce(x, axis=axis), np.subtract.reduce(x, axis=axis))
        assert same(maximum.reduce(x, axis=axis), x.max(axis=axis))
        assert same(subtract.accumulate(x, axis=axis), np.subtract.accumulate(x, axis=axis))
        assert same(add.reduceat(x, [0, 2], axis=axis), np.add.reduceat(x, [0, 2], axis=axis))
    assert same(add.outer(x[0], x[1]), np.add.outer(x[0], x[1]))
    total = np.zeros(3, "f4")
    add.at(total, [0, 2, 0], np.float32([1, 2, 3]))
    assert total.tolist() == [4, 0, 2]
    with pytest.raises(ValueError, match="no identity"):
        add.reduce(np.zeros(0, "f4"))


def test_empty_and_single_elements():
    assert add(np.zeros((0, 3), "f4"), np.zeros(3, "f4")).shape == (0, 3)
    assert add(np.float32(1), numbers(1)).tolist() == [2]
    assert add(np.ones(()), np.ones(())) == 2


def test_subclasses_and_other_classes_take_part():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    assert type(exp(masked)) is np.ma.MaskedArray

    class Own(np.ndarray):
        pass

    assert type(exp(numbers(3).view(Own))) is Own

    class Other:
        def __array_ufunc__(self, ufunc, method, *args, **kwargs):
            return ufunc, method

    assert add(Other(), 1) == (add, "__call__")


def test_attributes_are_chosen_once():
    x = numbers(9) / 8 - 1
    tanh = dlbridge.ufunc("gelu", approximate="tanh")
    assert same(tanh(x), ops.gelu(x, approximate="tanh"))
    assert not same(tanh(x), dlbridge.ufunc("gelu")(x))
    half = dlbridge.ufunc("cast", dtype="float16")
    assert same(half(x), x.astype("f2")) and half(np.int8([1, 2])).dtype == "f2"
    with refused(TypeError, "cast: argument 'dtype' is missing"):
        dlbridge.ufunc("cast")
    with refused(TypeError, "gelu: there is no attribute 'axis'"):
        dlbridge.ufunc("gelu", axis=1)


class Named:
    """A dtype of another package, whose repr says nothing of it."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "dtype"


class Changing:
    """A dtype that has another name each time it is read."""

    def __init__(self, *names):
        self.names = iter(names)

    @property
    def name(self):
        return next(self.names)


def test_cache_tells_dtypes_apart_by_name():
    for name in ("float16", "int8", "int16", "float32"):
        cast = dlbridge.ufunc("cast", dtype=Named(name))
        assert cast(np.ones(1)).dtype == name
        assert dlbridge.ufunc("cast", dtype=name) is cast
        assert dlbridge.ufunc("cast", dtype=np.dtype(name)) is cast
    cast = dlbridge.ufunc("cast", dtype="int8", saturate=True)
    assert dlbridge.ufunc("cast", saturate=np.bool_(True), dtype=Named("int8")) is cast
    assert dlbridge.ufunc("cast", dtype="int8", saturate=False) is not cast


def test_attributes_are_read_once():
    cast = dlbridge.ufunc("cast", dtype=Changing("uint16", "float32", "int8", "int8"))
    assert cast(np.ones(1)).dtype == "u2" and dlbridge.ufunc("cast", dtype="uint16") is cast


def key(name, attribute, value):
    return comparable(getattr(ops, name).__self__._attributes({attribute: value})[attribute])


def test_key_has_the_exact_value():
    class Rounded(float):
        def __repr__(self):
            return "0.1"

    assert key("std", "correction", Rounded(0.1)) != key("std", "correction", Rounded(0.125))
    assert key("std", "correction", Rounded(0.125)) == key("std", "correction", np.float32(0.125))
    assert key("std", "correction", 2) == key("std", "correction", 2.0)
    assert key("std", "correction", 0.0) != key("std", "correction", -0.0)
    assert key("std", "correction", np.nan) == key("std", "correction", float("nan"))
    assert key("sum", "axis", [0, np.int64(1)]) == key("sum", "axis", np.array([0, 1])) == (0, 1)
    assert key("sum", "axis", None) is None and key("sum", "axis", 1) == (1,)
    assert key("argmax", "axis", np.int8(-1)) == -1


def test_attributes_that_are_not_given_have_their_defaults():
    cast = dlbridge.ufunc("cast", dtype="int8", saturate=False)
    assert dlbridge.ufunc("cast", dtype="int8") is cast
    read = ops.sum.__self__._attributes({"axis": np.int64(1)})
    assert read == {"axis": [1], "keepdims": False, "dtype": None}


def test_wrong_value_has_fields():
    with refused(TypeError, 'gelu: attribute "approximate" is of kind str, not 3') as raised:
        dlbridge.ufunc("gelu", approximate=3)
    error = raised.value
    assert (error.kind, error.found, error.wanted) == ("argument", "3", "str")


def test_reading_an_attribute_may_call_ufunc():
    in_new_process(
        """
        import threading
        import dlbridge

        def make():
            made.append(dlbridge.ufunc("cast", dtype="int16"))

        class Caller:
            @property
            def name(self):
                make()
                thread = threading.Thread(target=make)
                thread.start()
                thread.join()
                return "int16"

        made = []
        made.append(dlbridge.ufunc("cast", dtype=Caller()))
        assert len(made) == 3 and made[0] is made[1] is made[2]
        """,
        timeout=60,
    )


def test_threads_get_the_same_ufunc():
    made, gate = [], threading.Barrier(8)

    def make():
        gate.wait()
        made.append(dlbridge.ufunc("gelu", approximate="a text of one test"))

    in_threads(make)
    assert len(made) == 8 and len(set(map(id, made))) == 1


def test_errors_of_loops_are_those_of_the_op():
    gelu = dlbridge.ufunc("gelu", approximate="another text")
    for count in (3, 100_000):
        x = np.ones(count, "f4")
        with pytest.raises(LookupError) as of_op:
            dlbridge.ops.gelu(x, approximate="another text")
        with refused(LookupError, "gelu", "another text") as of_loop:
            gelu(x)
        errors = [raised.value for raised in (of_op, of_loop)]
        fields = [(e.kind, e.found, e.wanted, e.remedy, type(e), str(e)) for e in errors]
        assert fields[0] == fields[1]


def test_ops_that_cannot_be_one_are_refused():
    with refused(RuntimeError, "softmax: a universal function works by element"):
        dlbridge.ufunc("softmax")
    with refused(RuntimeError, "axpy: a universal function works by element"):
        dlbridge.ufunc("axpy")
    with refused(RuntimeError, "cast: its result is bfloat16, which", "; call the op") as raised:
        dlbridge.ufunc("cast", dtype="bfloat16")
    assert (raised.value.kind, raised.value.found) == ("dtype", "bfloat16")
    with pytest.raises(AttributeError, match="there is no op 'nothing'"):
        dlbridge.ufunc("nothing")
    for name in ("kernels", "__name__", "add.", "add.more"):
        with pytest.raises(LookupError, match=f"expected the name of an op, got '{name}'"):
            dlbridge.ufunc(name)


@pytest.mark.parametrize("count", [3, 100_000])
def test_failures_and_panics_of_kernels_are_exceptions(count):
    panics = dlbridge.ufunc("testing.panics")
    x = np.ones(count, "f4")
    assert same(panics(x), x)
    for _ in range(3):
        with refused(RuntimeError, "testing.panics: -1 is negative"):
            panics(-x)
        with pytest.raises(RuntimeError):
            panics(-x[None], out=np.empty((2, count), "f4"))
    assert same(panics(x), x)


def test_memory_stays_flat():
    x, y = numbers(1000), numbers(1000, 2)[:, 0]
    gelu = dlbridge.ufunc("gelu", approximate="another text")

    def calls(count):
        for _ in range(count):
            add(x, y)
            add(x, y, out=x)
            dlbridge.ufunc("exp")
            try:
                gelu(x)
            except LookupError:
                pass

    calls(1000)
    gc.collect()
    before = resident_kilobytes()
    calls(10_000)
    assert resident_kilobytes() - before < 8000  # KB


def test_threads_run_at_once():
    x, failures = numbers(50_000), []
    expected = x + x
    gelu = dlbridge.ufunc("gelu", approximate="another text")

    def run():
        for _ in range(50):
            if not same(add(x, x), expected):
                failures.append("another result")
            try:
                gelu(x)
                failures.append("no error")
            except LookupError:
                pass

    in_threads(run)
    assert failures == []


def test_loops_leave_no_notes_of_the_cpu():
    """NumPy would warn of what loops for several elements at once calculate besides."""
    nan = np.full(40, np.nan, "f4")
    tiny, large = np.full(40, 1e-30, "f4"), np.full(40, 100, "f4")
    zeros = np.zeros(10**6, "f4")
    with np.errstate(all="raise"):
        for name in ("maximum", "minimum"):
            dlbridge.ufunc(name)(nan, 1)
        for name in ("relu", "silu", "gelu", "sigmoid", "tanh", "exp"):
            for x in (nan, tiny, large, -large):
                dlbridge.ufunc(name)(x)
        assert dlbridge.ufunc("log")([0.0, -1.0])[0] == -np.inf
        assert (dlbridge.ufunc("divide")(1, zeros) == np.inf).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.divide(1, zeros)


@pytest.mark.parametrize("call", ["ufunc('gelu', approximate='bogus')", "ops.gelu"])
def test_first_error_may_come_as_python_ends(call):
    keywords = ", approximate='bogus'" if call == "ops.gelu" else ""
    said = in_new_process(
        f"""
        import dlbridge, numpy as np
        # What an op would import for its message isn't there any more.
        class Last:
            errors = TypeError, ImportError
            def __del__(self, function=dlbridge.{call}, x=np.ones(2)):
                try:
                    function(x{keywords})
                except self.errors:
                    print("caught", flush=True)
        last = Last()
        """
    )
    assert said.split() == ["caught"]


def test_numpy_is_not_imported_before():
    in_new_process(
        """
        import sys
        import dlbridge
        assert "numpy" not in sys.modules
        add = dlbridge.ufunc("add")
        del dlbridge
        assert add(1.0, 2.0) == 3
        """
    )
