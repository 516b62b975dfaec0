"""Types that lie about what their objects are, or change: none is read as what it isn't, and none
spoils another.

Each attack runs in a process of its own, which it would end, or whose types it would spoil.
"""

import pytest
from support import framework, in_fork, in_new_process

framework("numpy")

START = """
import sys
import dlbridge_testing as ext, numpy as np
from made import Made, capsule_of, producer
from made_tables import NAME, Exchanged, table, type_of, type_with

API = "__dlpack_c_exchange_api__"
USES = (ext.read_f32, ext.own_f32, ext.describe, ext.describe_out, ext.describe_owned, ext.identity)

def said(use, x):
    try:
        return use(x)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def all_refuse(x, kind="TypeError"):
    for use in USES:
        answer = said(use, x)
        assert isinstance(answer, str) and answer.startswith(kind + ":"), answer
"""

DONE = "\nprint('done')"


def run(code):
    assert in_new_process(START + code + DONE).splitlines()[-1] == "done"


def run_with_torch(code):
    framework("torch")
    code = "import torch\n" + code
    assert in_fork("torch", START + code + DONE).splitlines()[-1] == "done"


def test_number_as_table_is_ignored():
    run("""
real = table()
for number in (4096, real, real + 8, 2**63, -8, True):
    for name in (API, "__c_dlpack_exchange_api__"):
        all_refuse(type_with(number, name)())
    x, made = producer()
    kind = type_with(number, __dlpack__=lambda self, **keywords: x.__dlpack__(**keywords))
    assert ext.describe(kind())["ptr"] == made.data
class Index:
    def __index__(self): return real
all_refuse(type_with(Index())())
""")


def test_table_of_the_metaclass_is_ignored():
    run("""
capsule = capsule_of(table(), NAME)
class Meta(type):
    __dlpack_c_exchange_api__ = property(lambda cls: capsule)
    def __getattr__(cls, name):
        if name == "__dlpack__": return lambda self, **keywords: 1/0
        raise AttributeError(name)
class Kind(Exchanged, metaclass=Meta): pass
assert getattr(Kind, API) is capsule
all_refuse(Kind())
class Descriptor:
    def __get__(self, thing, kind): return capsule
class Like:
    __class__ = type(capsule)
    def __getattr__(self, name): return getattr(capsule, name)
for lie in (Descriptor(), Like(), property(lambda cls: capsule), classmethod(lambda cls: capsule), [capsule]):
    all_refuse(type_with(lie)())
""")


BORROWED_TABLE = """
import dlbridge_testing as ext, numpy as np, {module}
capsule = {module}.Tensor.__dlpack_c_exchange_api__
class Plain: __dlpack_c_exchange_api__ = capsule
class Bytes(bytearray): __dlpack_c_exchange_api__ = capsule
class Slots:
    __slots__ = tuple("abcdefghijkl")
    __dlpack_c_exchange_api__ = capsule
Named = type("Tensor", (), dict(__module__="{module}", __dlpack_c_exchange_api__=capsule, stop_gradient=True))
class Array(np.ndarray): __dlpack_c_exchange_api__ = capsule
for x in (Plain(), Bytes(b"abcd"), Slots(), Named(), np.arange(3, dtype="f4").view(Array)):
    for use in (ext.describe, ext.describe_out, ext.describe_owned, ext.identity):
        try:
            answer = use(x)
        except (TypeError, BufferError) as error:
            answer = type(error).__name__
        # What they are without the table is all that they are.
        expected = dict(Array=dict, Bytes=dict).get(type(x).__name__, str)
        assert use is ext.identity or isinstance(answer, expected), (type(x), answer)
    if isinstance(x, Array):
        assert ext.read_f32(x) == [0, 1, 2]
# Derived from the class that the table is for, it is for them.
class Derived({module}.Tensor): pass
print("done")
"""


@pytest.mark.parametrize("module", ["torch", "paddle"])
def test_table_of_a_framework_on_another_type_is_refused(module):
    framework(module)
    # Paddle warns when it is imported.
    assert "done" in in_fork(module, BORROWED_TABLE.format(module=module)).splitlines()


def test_own_table_on_another_type_is_refused():
    run("""
class Plain: __dlpack_c_exchange_api__ = getattr(type(ext.from_list([1.0], [1])), API)
all_refuse(Plain())
""")


def test_table_on_a_derived_class_replaces_the_inherited():
    run_with_torch("""
class Mixed(torch.Tensor): pass
x = torch.arange(3.0).as_subclass(Mixed)
assert ext.read_f32(x) == [0, 1, 2]
# One made by hand is believed where a class gives it itself, as it takes C to make one.
calls = []
setattr(Mixed, API, capsule_of(table(calls=calls, borrow=lambda thing, out: -1), NAME))
assert "BufferError" in said(ext.read_f32, x) and calls == ["borrow"]
delattr(Mixed, API)
assert ext.read_f32(x) == [0, 1, 2] and calls == ["borrow"]
""")


def test_table_with_dropped_capsule_is_kept():
    run("""
import ctypes, gc
from made import api
gone = []
@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def destroy(capsule): gone.append(capsule)
calls = []
capsule = capsule_of(table(calls=calls), NAME)
api.PyCapsule_SetDestructor(capsule, ctypes.cast(destroy, ctypes.c_void_p))
kind = type_with(capsule)
x = kind()
assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5]
class Deleting(kind):
    def __delitem__(self, out): pass
del capsule
delattr(kind, API)
gc.collect()
assert gone == [], "the table may be in use"
all_refuse(x)
assert calls == ["borrow"]
""")


SWAPPING = """
class Swapped:
    def __dlpack__(self, **keywords): return np.full(3, 7, "f4").__dlpack__(**keywords)
    def __dlpack_device__(self): return (1, 0)

class Other(Exchanged): pass
setattr(Other, API, capsule_of(table(), NAME))

x = None

def swap(name):
    if x is not None and type(x) is not Swapped and name in (API, "__c_dlpack_exchange_api__", "__dlpack__", "__module__", "__mro__", "__name__"):
        object.__setattr__(x, "__class__", Swapped)

class Meta(type):
    def __getattribute__(cls, name):
        swap(name)
        return super().__getattribute__(name)
    def __eq__(cls, other): swap("__dlpack__"); return cls is other
    __hash__ = type.__hash__
    def mro(cls): return super().mro()
    __module__ = property(lambda cls: (swap("__module__"), "torch")[1])

class Key(str):
    def __hash__(self): return hash(str(self))
    def __eq__(self, other): swap(str(self)); return False

class Base(Exchanged):
    def __getattribute__(self, name):
        swap(name)
        return object.__getattribute__(self, name)
"""


@pytest.mark.parametrize(
    "kind",
    [
        'Meta("Kind", (Exchanged,), {API: capsule_of(table(), NAME)})',
        'type("Kind", (Exchanged,), {Key(API): 1, Key("__dlpack__"): 2, API: capsule_of(table(), NAME)})',
        'type("Kind", (Exchanged,), {Key(API): 1, Key("__dlpack__"): 2})',
        'Meta("Kind", (Base,), {API: capsule_of(table(), NAME)})',
        'Meta("Kind", (Base,), {"__dlpack__": lambda self, **keywords: np.zeros(1, "f4").__dlpack__(**keywords)})',
    ],
)
def test_object_that_changes_its_class_is_not_misread(kind):
    run(f"""
{SWAPPING}
Kind = {kind}
for turn in range(3):
    x = Kind()
    for use in USES:
        said(use, x)
    # None of the types was taken for another one.
    plain = Swapped.__new__(Swapped)
    assert ext.read_f32(plain) == [7, 7, 7] == ext.own_f32(plain)
    assert ext.read_f32(Other()) == [0, 1, 2, 3, 4, 5]
    assert ext.read_f32(np.arange(3, dtype="f4")) == [0, 1, 2]
""")


def test_lying_class_attribute_is_ignored():
    run_with_torch("""
for lie in (np.ndarray, torch.Tensor, type(ext.from_list([1.0], [1])), type(capsule_of(1, b"dltensor"))):
    class Liar: __class__ = property(lambda self: lie)
    assert isinstance(Liar(), lie)
    all_refuse(Liar())
""")


def test_changed_type_is_discovered_again():
    run("""
class Base(Exchanged): pass
class Kind(Base): pass
x = Kind()
first, second, third = [], [], []
def answer(number): return lambda self, **keywords: np.full(2, number, "f4").__dlpack__(**keywords)
for turn in range(4):
    all_refuse(x)
    Kind.__dlpack__ = answer(1)
    assert ext.read_f32(x) == [1, 1]
    Kind.__dlpack__ = answer(2)
    assert ext.read_f32(x) == [2, 2] == ext.own_f32(x)
    # A table of the base class doesn't take the place of what the class itself says.
    setattr(Base, API, capsule_of(table(calls=first), NAME))
    assert ext.read_f32(x) == [2, 2] and first == []
    setattr(Kind, API, capsule_of(table(calls=second), NAME))
    assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5] and second.pop() == "borrow"
    setattr(Kind, API, capsule_of(table(calls=third), NAME))
    assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5] and second == [] and third.pop() == "borrow"
    delattr(Kind, API)
    assert ext.read_f32(x) == [2, 2]
    del Kind.__dlpack__
    assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5] and first.pop() == "borrow"
    Kind.__bases__ = (Exchanged,)
    all_refuse(x)
    Kind.__bases__ = (Base,)
    assert ext.read_f32(x) == [0, 1, 2, 3, 4, 5] and first.pop() == "borrow"
    delattr(Base, API)
    class New(Kind): __dlpack__ = None
    all_refuse(New())
""")


def test_constantly_changing_type_stays_correct():
    run("""
calls = []
kind = type_of(table(calls=calls))
for turn in range(3000):
    kind.counter = turn
    assert ext.read_f32(kind(shape=(1,))) == [0]
other = type_of(table(calls=calls))
assert ext.read_f32(other(shape=(1,))) == [0] and len(calls) == 3001
""")


def test_replaced_numpy_ndarray_is_not_misread():
    run("""
class Fake:
    __slots__ = tuple("abcdefghijkl")
class Array(np.ndarray): pass
x = np.arange(3, dtype="f4")
real, np.ndarray = np.ndarray, Fake
Fake.__module__, Fake.__name__, Fake.__qualname__ = "numpy", "ndarray", "ndarray"
all_refuse(Fake())
assert ext.read_f32(x) == [0, 1, 2] == ext.read_f32(x.view(Array))
assert type(ext.to(x, "numpy")) is real
all_refuse(Fake())
""")


def test_replaced_numpy_function_table_is_not_misread():
    run("""
core = np._core._multiarray_umath
core._ARRAY_API = core._UFUNC_API
answer = said(lambda x: ext.to(x, "numpy"), ext.from_list([1.0], [1]))
assert answer.startswith("BufferError: expected the table of NumPy's C interface"), answer
""")


def test_class_named_like_a_frameworks_is_refused():
    run("""
for module, name in [("torch", "Tensor"), ("torch._C", "TensorBase"), ("paddle", "Tensor"), ("numpy", "ndarray"),
                     ("jaxlib._jax", "ArrayImpl"), ("tensorflow", "Tensor"), ("mlx.core", "array"), ("mxnet", "NDArray"),
                     ("cupy", "ndarray"), ("onnxruntime", "OrtValue"), ("pyarrow", "Array"), ("dlbridge", "Tensor")]:
    slots = dict(__module__=module, __slots__=tuple("abcdefghijklmnop"))
    all_refuse(type(name, (), slots)())
    # What they say themselves is a buffer's, or a capsule's.
    def capsule(self, **keywords): return np.arange(3, dtype="f4").__dlpack__(**keywords)
    speaking = type(name, (), dict(slots, __dlpack__=capsule, __dlpack_device__=lambda self: (1, 0), dtype=np.dtype("f4"),
                                   device="cpu", requires_grad=False, stop_gradient=True, _cdata=8))
    assert ext.read_f32(speaking()) == [0, 1, 2] == ext.own_f32(speaking()), (module, name)
    both = type(name, (bytearray,), dict(__module__=module, __dlpack__=capsule, __dlpack_device__=lambda self: (1, 0)))
    for use in USES:
        said(use, both(b"12345678"))
    if module in ("torch", "paddle"):
        assert ext.read_f32(type(name, (), dict(__module__=module, __dlpack__=capsule))()) == [0, 1, 2]
""")


def test_tensor_of_hidden_module_is_checked():
    run_with_torch("""
class Sub(torch.Tensor): pass
for kind in (Sub, torch.nn.Parameter):
    x = torch.full((2,), 1 + 2j).conj().as_subclass(kind)
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "torch"}
    sys.modules["torch"] = None
    for use in (ext.describe, ext.identity):
        assert isinstance(said(use, x), str)
    sys.modules.update(hidden)
    for use in (ext.describe, ext.identity):
        assert "resolve_conj" in said(use, x), said(use, x)
    assert ext.describe(x.resolve_conj().detach())["dtype"] == "complex64"
""")


def test_derived_class_with_own_dlpack_is_asked():
    run_with_torch("""
class Refusing(torch.Tensor):
    def __dlpack__(self, *arguments, **keywords): raise BufferError("not mine to give")
class Zeros(torch.Tensor):
    def __dlpack__(self, *arguments, **keywords): return torch.zeros(2).__dlpack__(*arguments, **keywords)
class Silent(torch.Tensor): __dlpack__ = None
class Mixin:
    def __dlpack__(self, *arguments, **keywords): raise BufferError("mixed in")
class Mixed(Mixin, torch.Tensor): pass
class Derived(Refusing): pass
x = torch.ones(2)
for kind in (Refusing, Derived):
    for use in USES:
        assert said(use, x.as_subclass(kind)) == "BufferError: not mine to give"
assert said(ext.read_f32, x.as_subclass(Mixed)) == "BufferError: mixed in"
assert ext.read_f32(x.as_subclass(Zeros)) == [0, 0] == ext.own_f32(x.as_subclass(Zeros))
all_refuse(x.as_subclass(Silent))
class Array(np.ndarray):
    def __dlpack__(self, **keywords): raise BufferError("nor this")
assert said(ext.read_f32, np.ones(2, "f4").view(Array)) == "BufferError: nor this"
# A class that says nothing of it is as the one that it is derived from.
class Plain(torch.Tensor): pass
assert ext.read_f32(x.as_subclass(Plain)) == [1, 1]
""")


METHODS = """
    property(lambda self: 1/0)
    property(lambda self: 5)
    5
    "text"
    staticmethod(lambda **keywords: None)
    lambda self, **keywords: self
    lambda self, **keywords: object()
    lambda self, **keywords: 4096
    lambda self, **keywords: capsule_of(4096, b"no tensor")
    lambda self, **keywords: (_ for _ in ()).throw(KeyboardInterrupt)
    lambda self, **keywords: sys.exit(3)
    lambda self, **keywords: self.__dlpack__(**keywords)
    lambda self, **keywords: type(self).__delattr__(type(self), "__dlpack__")
    classmethod(type)
    type
"""


def test_dlpack_attribute_of_every_kind_raises_cleanly():
    lines = [f"check({line})" for line in METHODS.strip().splitlines()]
    run(
        """
def check(method):
    for use in USES:
        Kind = type("Kind", (), dict(__dlpack__=method, __dlpack_device__=lambda self: (1, 0)))
        try:
            use(Kind())
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            assert not isinstance(error, SystemError), error
        else:
            raise AssertionError("it isn't a tensor")
    assert ext.read_f32(np.arange(2, dtype="f4")) == [0, 1]
"""
        + "\n".join(line.strip().replace("check(    ", "check(") for line in lines)
    )


def test_type_with_unusual_name_is_reported():
    run("""
for name, module in [("n", "\\ud800"), ("x" * 100_000, "y" * 100_000), ("", ""), ("a.b", None), ("n", 5)]:
    kind = type(name, (), dict(__module__=module))
    all_refuse(kind())
    kind = type(name, (), dict(__module__=module, __dlpack__=lambda self, **k: np.ones(1, "f4").__dlpack__(**k)))
    assert ext.read_f32(kind()) == [1]
class Meta(type):
    __module__ = property(lambda cls: 1/0)
for use in USES:
    assert isinstance(said(use, Meta("Kind", (), {})()), str)
""")
