"""Tests that replaced attributes of PyTorch aren't trusted, and that overrides of a class are
respected.
"""

import textwrap

import dlbridge_testing as ext
import pytest
from support import framework, in_fork, refused

torch = framework("torch")

# Each is run before the first tensor is seen.
FAKES = {
    "_cdata of the class": "torch.Tensor._cdata = 8",
    "_cdata as a property": "torch.Tensor._cdata = property(lambda self: 0xDEAD0)",
    "_cdata of storages": "torch.UntypedStorage._cdata = property(lambda self: 0xDEAD0)",
    "the class": "torch.Tensor = type('Tensor', (), {'_cdata': 4096, '__dlpack_c_exchange_api__': 4096})",
    "the file": "torch.__file__ = '/no/such/file.py'",
    "another file": "torch.__file__ = 5",
    "factories": "torch.zeros = torch.empty = torch.frombuffer = lambda *a, **k: 5",
    "factories of fakes": "torch.zeros = lambda *a, **k: type('Tensor', (), {'_cdata': 8, 'conj': lambda s: s})()",
    "questions": "torch.Tensor.is_conj = torch.Tensor.is_neg = lambda self: False",
    "requires_grad": "torch.Tensor.requires_grad = False",
    "_version": "torch.Tensor._version = 0",
    "the module's name": "sys.modules['torch'] = type(sys)('torch')",
    "no module": "del sys.modules['torch']",
    "no modules": "[sys.modules.pop(name) for name in list(sys.modules) if name.split('.')[0] == 'torch']",
    "None": "sys.modules['torch'] = None",
}
# PyTorch is imported once; each process that is forked has another fake, and sees its first tensor.
LOOK = """
    import os, sys
    import torch, dlbridge_testing as ext
    plain, followed = torch.ones(3), torch.ones(3, requires_grad=True)
    conjugated = torch.ones(3, dtype=torch.complex64).conj()
    negated, base = conjugated.imag, torch.ones(6)
    view = base[3:]
    def outcome(look, x):
        try:
            look(x)
            return "taken"
        except Exception as error:
            return type(error).__name__
    for name, fake in {fakes!r}.items():
        for first in (plain, conjugated, negated, followed):
            if os.fork() == 0:
                exec(fake)
                lines = []
                for look in (ext.describe, ext.describe_out, ext.describe_owned) * 3:
                    tensors = first, plain, view, followed, conjugated, negated
                    lines.append([outcome(look, x) == "taken" for x in tensors])
                expected = [first is plain, True, True, False, False, False]
                values = ext.read_f32(plain), ext.own_f32(view)
                ext.write_f32(plain, 2)
                good = lines == [expected] * 9 and values == ([1, 1, 1], [1, 1, 1])
                print(name, "as expected" if good else (lines, values), sep=": ", flush=True)
                os._exit(0)
            status = os.wait()[1]
            if status:
                print(name, f"status {{status}}", sep=": ", flush=True)
"""


def test_fakes_of_torch_classes_have_the_expected_outcomes():
    said = in_fork("torch", textwrap.dedent(LOOK).format(fakes=FAKES))
    outcomes = {name: [] for name in FAKES}
    for line in said.splitlines():
        name, _, outcome = line.partition(": ")
        if name in outcomes:
            outcomes[name].append(outcome)
    assert outcomes == {name: ["as expected"] * 4 for name in FAKES}


def test_subclass_with_replaced_attributes_is_read_correctly():
    said = in_fork(
        "torch",
        """
        import torch, dlbridge_testing as ext
        class Fake(torch.Tensor):
            _cdata = 4096
            __basicsize__ = 1 << 20
        x = torch.ones(3).as_subclass(Fake)
        for _ in range(3):
            print(ext.read_f32(x), ext.own_f32(x))
        print(ext.read_f32(torch.ones(3)))
    """,
    )
    assert said.splitlines() == ["[1.0, 1.0, 1.0] [1.0, 1.0, 1.0]"] * 3 + ["[1.0, 1.0, 1.0]"]


def test_class_that_imitates_a_torch_tensor_is_not_one():
    class Fake:
        __module__, _cdata = "torch", 4096

    Fake.__qualname__ = Fake.__name__ = "Tensor"
    for look in (ext.describe, ext.describe_out, ext.describe_owned):
        with refused(TypeError):
            look(Fake())


class Refusing(torch.Tensor):
    def __dlpack__(self, **keywords):
        raise BufferError("refused by its class")


class Derived(Refusing):
    pass


class Intercepting(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.__dlpack__:
            raise BufferError("refused by its class")
        return super().__torch_function__(function, types, args, kwargs or {})


class Elsewhere(torch.Tensor):
    """Exports other memory than its own."""

    def __dlpack__(self, **keywords):
        return self.other.__dlpack__(**keywords)


@pytest.mark.parametrize("kind", [Refusing, Derived, Intercepting])
def test_class_with_raising_dlpack_is_refused(kind):
    x = torch.ones(3).as_subclass(kind)
    for look in (ext.describe, ext.describe_out, ext.describe_owned):
        for _ in range(2):
            with refused(BufferError, "refused by its class"):
                look(x)
    assert ext.read_f32(x.as_subclass(torch.Tensor)) == [1, 1, 1]


def test_class_that_exports_other_memory_is_read_from_there():
    x = torch.ones(3).as_subclass(Elsewhere)
    x.other = torch.arange(3.0)
    assert ext.read_f32(x) == ext.own_f32(x) == [0, 1, 2]


def test_lazy_tensor_of_class_with_own_dlpack_is_refused():
    class Other(torch.Tensor):
        def __dlpack__(self, **keywords):
            return super().__dlpack__(**keywords)

    x = torch.ones(3).as_subclass(Other)
    assert ext.read_f32(x) == ext.own_f32(x) == [1, 1, 1]
    negated = torch._neg_view(x)
    assert type(negated) is Other
    with refused(BufferError, "resolve_neg()"):
        ext.describe(negated)
    with refused(BufferError, "detach()"):
        ext.describe_owned(torch.ones(3, requires_grad=True).as_subclass(Other))


def test_array_class_with_raising_dlpack_is_refused():
    import numpy as np

    class Refusing(np.ndarray):
        def __dlpack__(self, **keywords):
            raise BufferError("refused by its class")

    for look in (ext.describe, ext.describe_out, ext.describe_owned):
        with refused(BufferError, "refused by its class"):
            look(np.ones(3, "f4").view(Refusing))
