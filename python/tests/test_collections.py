"""Collections of tensors: errors that name the element, and work without the GIL."""

from collections import OrderedDict, UserDict
from types import MappingProxyType

import dlbridge_testing as ext
import pytest
from support import framework, refused

np = framework("numpy")
torch = framework("torch")


def ones(*shape):
    return np.ones(shape, "f4")


def test_lists_take_what_vectors_take():
    tensors = [ones(2), torch.ones(3), ones(2, 2)[:, :1]]
    for function in (ext.list_sums, ext.vec_sums):
        assert function(tensors) == function(tuple(tensors)) == [2, 3, 2]
        assert function([]) == [] and function(ones(2, 3)) == [3, 3]
        assert function(torch.nn.ParameterList(torch.ones(3).split(1)).requires_grad_(False)) == [
            1,
            1,
            1,
        ]
    for wrong in (3, "ab", {"a": ones(1)}, {1, 2}, None):
        with refused(TypeError, "expected a sequence of tensors, got ") as error:
            ext.list_sums(wrong)
        assert (error.value.kind, error.value.wanted) == ("type", "a sequence of tensors")


def test_wrong_element_of_list_is_named():
    with refused(TypeError, "expected a tensor of float32") as error:
        ext.list_sums([ones(1), ones(2), np.zeros(3), ones(1)])
    assert error.value.__notes__ == ["while processing '[2]'", "while processing 'tensors'"]
    assert error.value.found == "float64"
    with refused(TypeError, "expected a tensor, got NoneType") as error:
        ext.nested_sums([[ones(1)], [ones(1), None]])
    assert error.value.__notes__ == [
        "while processing '[1]'",
        "while processing '[1]'",
        "while processing 'tensors'",
    ]


def test_dicts_of_every_kind_are_taken_and_wrong_entry_is_named():
    entries = {"weight": ones(2, 2), "bias": torch.ones(2)}
    for mapping in (entries, OrderedDict(entries), UserDict(entries), MappingProxyType(entries)):
        assert ext.dict_sums(mapping) == {"weight": 4, "bias": 2}
    layer = torch.nn.Linear(2, 1)
    assert ext.dict_sums({key: value.detach() for key, value in layer.state_dict().items()}).keys()
    with refused(TypeError, "expected a tensor of float32") as error:
        ext.dict_sums({**entries, "bias": np.zeros(2, "i4")})
    assert error.value.__notes__ == ["while processing '[\"bias\"]'", "while processing 'weights'"]
    with refused(TypeError, "expected names that are strings, got int"):
        ext.dict_sums({1: ones(1)})
    for wrong in ([ones(1)], ones(1), 3):
        with refused(TypeError, "expected a mapping of names to tensors, got "):
            ext.dict_sums(wrong)


def test_items_that_change_or_raise_are_safe():
    class Broken(UserDict):
        def items(self):
            raise KeyError("mine")

    class Odd(UserDict):
        def items(self):
            return [("a", ones(1), 3)]

    class Raising(list):
        def __iter__(self):
            yield ones(1)
            raise RuntimeError("mine")

    with refused(KeyError, "mine"):
        ext.dict_sums(Broken(a=ones(2)))
    with refused(ValueError, "expected tuple of length 2"):
        ext.dict_sums(Odd(a=ones(2)))
    with refused(RuntimeError, "mine"):
        ext.list_sums(Raising())


def test_list_of_written_tensors_excludes_aliases():
    x = ones(4)
    ext.fill_list([x[:2], x[2:]], 3)
    assert x.tolist() == [3] * 4
    with refused(ValueError, "memory that is to be written is also in use") as error:
        ext.fill_list([x[:3], x[2:]], 0)
    assert error.value.__notes__[0] == "while processing '[1]'"
    ext.fill_list([x], 1)  # nothing is left in use
    assert x.tolist() == [1] * 4


@pytest.mark.parametrize("make", [ones, torch.ones], ids=["numpy", "torch"])
def test_arguments_of_every_shape_are_used_without_the_gil(make):
    x = make(1)
    arguments = (
        [x, x],
        (x, x),
        {"a": x},
        {"b": x, "c": x},
        2.5,
        [x, np.int64([4, 5])],
        [(x, None), (x, x)],
    )
    assert ext.all_shapes_detached(*arguments) == 22.5
    assert ext.all_shapes_detached(*arguments, maybe=x) == 23.5
    outs = [make(2), make(3)]
    ext.fill_all_detached(outs, None, 7)
    assert [out.tolist() for out in outs] == [[7, 7], [7, 7, 7]]
    ext.fill_all_detached([], outs[0], 8)
    assert outs[0].tolist() == [8, 8]
