"""Arguments whose memory is taken away while a later argument of the same call runs Python code."""

import sys
from collections.abc import Mapping

import dlbridge_testing as ext
import pytest
from made_tables import borrow, table, type_of
from support import framework, refused

np = framework("numpy")
torch = framework("torch")
_python_dispatch = pytest.importorskip("torch.utils._python_dispatch")
TorchDispatchMode = _python_dispatch.TorchDispatchMode
_disable_current_modes = _python_dispatch._disable_current_modes

CHANGED = "Python code that ran meanwhile has resized or re-pointed a "
LARGE = 1 << 16


def numpy_array():
    return np.ones(LARGE, "f4")


def torch_tensor():
    return torch.ones(LARGE)


def shrink(x):
    x.resize(1, refcheck=False)


def grow(x):
    x.resize(64 * LARGE, refcheck=False)


def set_(x):
    x.set_()


def data(x):
    x.data = torch.zeros(3)


def resize_(x):
    x.resize_(64 * LARGE)


def transpose(x):
    x.unsqueeze_(0).t_()


def swap(x):
    torch.utils.swap_tensors(x, torch.zeros(2))


CHANGES = [(numpy_array, change) for change in (shrink, grow)]
CHANGES += [(torch_tensor, change) for change in (set_, data, resize_, transpose)]


class Later:
    """A tensor of ones that runs a function when it is imported."""

    def __init__(self, function):
        self.function, self.ones = function, np.ones(LARGE, "f4")

    def __dlpack__(self, **keywords):
        self.function()
        return self.ones.__dlpack__(**keywords)


class LaterBuffer:
    def __init__(self, function):
        self.function, self.ones = function, np.ones(LARGE, "f4")

    def __buffer__(self, flags):
        self.function()
        return memoryview(self.ones)


def later_by_type(function):
    """An object of a new type, whose class would run the function if it was asked what it
    offers.
    """

    class Kind(type):
        def __getattribute__(self, name):
            if name == "__dlpack__":
                function()
            return super().__getattribute__(name)

    class Fresh(metaclass=Kind):
        def __dlpack__(self, **keywords):
            return np.ones(LARGE, "f4").__dlpack__(**keywords)

    return Fresh()


def later_tensor(function):
    """A tensor of a class that answers PyTorch's questions itself."""

    class Answering(torch.Tensor):
        @classmethod
        def __torch_function__(cls, called, types, args=(), kwargs=None):
            function()
            return super().__torch_function__(called, types, args, kwargs or {})

    return torch.ones(LARGE).as_subclass(Answering)


LATER = [Later]
if sys.version_info >= (3, 12):
    LATER.append(LaterBuffer)


@pytest.mark.parametrize("make, change", CHANGES)
@pytest.mark.parametrize("later", LATER)
def test_borrowed_argument_changed_during_the_call_is_refused(make, change, later):
    x, out = make(), np.ones(LARGE, "f4")
    kind = f"{type(x).__module__}.{type(x).__qualname__}"
    with refused(BufferError, CHANGED + kind, "pass a copy"):
        ext.add(x, later(lambda: change(x)), out)
    # The first argument is the written one.
    x = make()
    with refused(BufferError, CHANGED + kind):
        ext.copy_owned_backwards(x, later(lambda: change(x)))
    # It is kept, and not borrowed.
    x = make()
    with refused(BufferError, CHANGED + kind):
        ext.like(x, later(lambda: change(x)))
    assert (out == 1).all()
    x = make()
    ext.add(x, later(lambda: None), out)
    assert (out == 2).all()


def test_metaclass_of_a_later_argument_is_not_called():
    x, out, calls = np.ones(LARGE, "f4"), np.ones(LARGE, "f4"), []
    ext.add(x, later_by_type(lambda: calls.append(1)), out)
    assert (out == 2).all() and calls == []


@pytest.mark.parametrize("make, change", CHANGES)
def test_later_torch_tensor_that_runs_python_triggers_a_recheck(make, change):
    x, out, calls = make(), np.ones(LARGE, "f4"), []

    def once():
        if not calls:
            calls.append(1)
            with torch._C.DisableTorchFunctionSubclass():
                change(x)

    with refused(BufferError, CHANGED):
        ext.add(x, later_tensor(once), out)
    assert calls and (out == 1).all()


@pytest.mark.parametrize("make, change", CHANGES)
def test_later_number_that_runs_python_triggers_a_recheck(make, change):
    x = make()

    class Number(complex):
        @property
        def real(self):
            change(x)
            return 1.0

    with refused(BufferError, CHANGED):
        ext.sum_beside_number(x, Number(1))
    x = make()
    assert ext.sum_beside_number(x, 1j) == LARGE


@pytest.mark.parametrize("make, change", CHANGES)
def test_later_table_that_runs_python_triggers_a_recheck(make, change):
    x, out, is_armed = make(), np.ones(LARGE, "f4"), []

    def borrow_and_change(thing, address):
        if is_armed:
            change(x)
        borrow(thing, address)

    later = type_of(table(borrow=borrow_and_change))(shape=(LARGE,))
    ext.add(x, later, out)
    is_armed.append(True)
    with refused(BufferError, CHANGED):
        ext.add(x, later, out)


def test_recheck_covers_outer_calls():
    x = numpy_array()
    with refused(BufferError, CHANGED):
        ext.reading(x, lambda: ext.read_f32(Later(lambda: shrink(x))))
    assert ext.read_f32(x) == [1]


class Changing:
    """A sequence, and a mapping, that changes its first tensor when the next one is read."""

    def __init__(self, x, change):
        self.x, self.change = x, change

    def __len__(self):
        return 2

    def __getitem__(self, index):
        if index == 0:
            return self.x
        if index > 1:
            raise IndexError
        self.change(self.x)
        return np.ones(2, "f4")

    def items(self):
        yield "a", self[0]
        yield "b", self[1]


Mapping.register(Changing)


class ChangingList(list):
    def __iter__(self):
        return iter(self[0])


@pytest.mark.parametrize("make, change", CHANGES)
def test_element_changed_while_a_collection_is_read_is_refused(make, change):
    kind = f"{type(make()).__module__}.{type(make()).__qualname__}"
    for function in (ext.list_sums, ext.dict_sums):
        with refused(BufferError, CHANGED + kind, "pass a copy"):
            function(Changing(make(), change))
    with refused(BufferError, CHANGED + kind):
        ext.list_sums(ChangingList([Changing(make(), change)]))
    assert ext.list_sums(Changing(make(), lambda x: None)) == [LARGE, 2]
    assert ext.dict_sums(Changing(make(), lambda x: None)) == {"a": LARGE, "b": 2}


class Allocating(TorchDispatchMode):
    """Changes a tensor when memory is allocated."""

    def __init__(self, x, change):
        super().__init__()
        self.x, self.change = x, change

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **kwargs or {})
        if "aten.empty." in str(function):
            with _disable_current_modes():
                self.change(self.x)
        return result


@pytest.mark.parametrize("change", [set_, data, resize_, transpose])
@pytest.mark.parametrize("function", [ext.relu_either, lambda x: ext.zeros_like(x, [3], "float32")])
def test_argument_changed_while_a_result_is_allocated_is_refused(function, change):
    function(torch_tensor())  # What is asked once was asked.
    x = torch_tensor()
    with refused(BufferError, CHANGED + "torch.Tensor"), Allocating(x, change):
        function(x)
    x = torch_tensor()
    with Allocating(x, lambda x: None):
        function(x)
