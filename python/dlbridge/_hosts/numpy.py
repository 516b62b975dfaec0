"""Elementwise ops as universal functions of NumPy, whose loops are called without Python."""

from __future__ import annotations

import functools
import importlib
import itertools

from .._errors import with_fields
from .definition import comparable, function_of

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: NumPy's dtypes in the order of its own loops: a call takes the first that its arguments can be
#: cast to.
_DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
#: Each universal function by its op's name and the values of its attributes. They are kept for
#: ever. A lock would be held while objects' own methods are called, which may call `ufunc`.
_made: dict[Any, Any] = {}


def ufunc(name: str, **attributes: Any) -> Any:
    """Returns the universal function of an elementwise op."""
    function = _function_of(name)
    op = function.__self__
    make = getattr(op, "_ufunc", None)
    if make is None:
        error = RuntimeError(f"{name}: its extension was built without feature hosts")
        raise with_fields(error, "kernel")
    row = op._describe()
    if not row["elementwise"]:
        problem = "a universal function works by element, and this op doesn't"
        raise with_fields(RuntimeError(f"{row['name']}: {problem}"), "argument")
    if any(
        tensor["writes"] or tensor["optional"] or tensor["variadic"] for tensor in row["inputs"]
    ):
        problem = "a universal function has inputs that are all given and only read"
        raise with_fields(RuntimeError(f"{row['name']}: {problem}"), "argument")
    known = {attribute["name"]: attribute for attribute in row["attributes"]}
    for attribute in known.values():
        if attribute["required"] and attribute["name"] not in attributes:
            problem = f"{row['name']}: argument {attribute['name']!r} is missing"
            raise with_fields(TypeError(problem), "argument", wanted=attribute["name"])
    for given in attributes:
        if given not in known:
            problem = f"{row['name']}: there is no attribute {given!r}"
            raise with_fields(TypeError(problem), "argument", found=given)
    # Objects are read once, so that the key and the universal function have the same values.
    values = op._attributes(attributes)
    key = row["name"], *map(comparable, values.values())
    if key not in _made:
        # Threads may make it at once: the first one stays.
        _made.setdefault(key, make(_api(), _loops(op, row, values), values))
    return _made[key]


def _function_of(name: str) -> Any:
    try:
        function = function_of(name) if isinstance(name, str) else None
    except AttributeError as error:
        if hasattr(error, "kind"):
            raise
        function = None  # Of a name with a dot behind an op's.
    if not hasattr(getattr(function, "__self__", None), "_describe"):
        error = LookupError(f"expected the name of an op, got {name!r}")
        raise with_fields(error, "name", found=name)
    return function


@functools.cache
def _api() -> Any:
    """Returns the table of NumPy's C functions for universal functions."""
    import numpy

    core = "numpy._core" if hasattr(numpy, "_core") else "numpy.core"
    return importlib.import_module(f"{core}._multiarray_umath")._UFUNC_API


def _loops(op: Any, row: dict[str, Any], attributes: dict[str, Any]) -> list[Any]:
    """Returns the dtypes of inputs and outputs of each loop, each with NumPy's number of it."""
    import numpy

    numbers = {name: numpy.dtype(name).num for name in _DTYPES}
    kinds = [tensor["dtype"] for tensor in row["inputs"]]
    variables = list(dict.fromkeys(kind[1] for kind in kinds if kind[0] == "variable"))
    types = [_known(row["types"].get(variable)) for variable in variables]
    loops: list[Any] = []
    refusal: Exception | None = None
    foreign: str | None = None
    for chosen in itertools.product(*types):
        of = dict(zip(variables, chosen))
        inputs = [of[kind[1]] if kind[0] == "variable" else str(kind[1]) for kind in kinds]
        if not all(dtype in numbers for dtype in inputs):
            continue
        try:
            results = op._infer([[([1], dtype)] for dtype in inputs], attributes)
        except (TypeError, ValueError) as error:
            refusal = error  # Such as a cast of complex numbers to others.
            continue
        dtypes = [*inputs, *(str(dtype) for _, dtype in results)]
        if all(dtype in numbers for dtype in dtypes):
            loops.append([(dtype, numbers[dtype]) for dtype in dtypes])
        else:
            foreign = next(dtype for dtype in dtypes if dtype not in numbers)
    if loops:
        return loops
    if refusal is not None and foreign is None:
        raise refusal
    problem = f"{row['name']}: it has no kernel of NumPy's own dtypes"
    if foreign is not None:
        problem = f"{row['name']}: its result is {foreign}, which isn't one of NumPy's own dtypes"
    remedy = "call the op itself"
    raise with_fields(RuntimeError(problem), "dtype", found=foreign, remedy=remedy)


def _known(dtypes: Any) -> list[str]:
    """Returns the dtypes that are NumPy's, too, in order; all of them for any dtype."""
    names = None if dtypes is None else {str(dtype) for dtype in dtypes}
    return [name for name in _DTYPES if names is None or name in names]
