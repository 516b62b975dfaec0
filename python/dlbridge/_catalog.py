"""All ops, those of other extensions too, and their kernels."""

from __future__ import annotations

from . import _core
from ._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

adopted: dict[str, Callable[..., Any]] = {}
adopted_kernels: list[dict[str, Any]] = []
# What watches calls: each extension has its own.
recorders: list[type[_core._Recorder]] = [_core._Recorder]
# What sets the number of threads: each extension has its own.
setters: list[Callable[[int | None], None]] = [_core._set_num_threads]


_number_set: int | None = None


class Kernels(list[dict[str, "Any"]]):
    """Rows of kernels, a dict each. Printed, they are a table."""

    def __str__(self) -> str:
        rows = [
            (
                kernel["op"],
                kernel["device"],
                ", ".join(
                    f"{name}: {'|'.join(types) or 'any'}" for name, types in kernel["types"].items()
                ),
                kernel["label"] or "-",
                str(kernel["priority"]),
                kernel["origin"] or "-",
            )
            for kernel in self
        ]
        return table([("op", "device", "types", "label", "priority", "from"), *rows])


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows in columns, the first of them above a line."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def kernels(op: str | None = None) -> Kernels:
    """Returns all kernels, or those of one op: a row for each op and device, with its element
    types.

    Kernels with another label, priority or origin have a row of their own. `descriptions` has a
    text for each kernel of the row.
    """
    if op is not None:
        if not isinstance(op, str):
            error = TypeError(f"op: expected a string, got {type(op).__name__}")
            raise with_fields(error, "argument", found=type(op).__name__, wanted="str")
        if op in _core._op_aliases():
            op = _core._op(op).__name__
    rows = _core._kernels() + adopted_kernels
    return Kernels(row for row in rows if op is None or row["op"] == op)


def adopt(
    functions: dict[str, Callable[..., Any]],
    rows: list[dict[str, Any]],
    recorder: type[_core._Recorder],
    setter: Callable[[int | None], None],
) -> None:
    """Takes the ops of another extension, each of which must be the first of its name."""
    known = {*adopted, *_core._op_names(), *_core._op_aliases()}
    taken = [name for name in functions if name in known]
    if taken:
        text = f"there are ops of these names already: {', '.join(taken)}"
        raise with_fields(ValueError(text), "name", found=taken[0])
    adopted.update(functions)
    adopted_kernels.extend(rows)
    recorders.append(recorder)
    setters.append(setter)
    setter(_number_set)


def set_num_threads(threads: int | None) -> None:
    """Sets how many threads a call of an op uses in this process; None returns to the default.

    The number of threads is the first of these that is given:

    1. `threads=`, an argument of every op;
    2. the number set by this function, or in Rust by `compute::threads::set_num_threads`;
    3. the environment variable `DLBRIDGE_NUM_THREADS`;
    4. the environment variable `OMP_NUM_THREADS`;
    5. the number of CPUs that the process may use, by its affinity and its control group.

    Calls of small tensors use one thread in any case. The thread that calls is one of them.
    """
    global _number_set
    for setter in setters:
        setter(threads)
    _number_set = threads


class Namespace:
    """Ops whose names begin alike, as in `dlbridge.ops.my_project.op`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = find(f"{self._prefix}.{name}")
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return names_after(self._prefix + ".")

    def __repr__(self) -> str:
        return f"<ops {self._prefix}: {', '.join(dir(self))}>"


def all_names() -> list[str]:
    return sorted({*_core._op_names(), *adopted})


def names_after(prefix: str) -> list[str]:
    ends = (name[len(prefix) :] for name in all_names() if name.startswith(prefix))
    return sorted({end.split(".")[0] for end in ends})


def op_of(name: str) -> Any:
    """The op of a name, as pickles of ops have it."""
    return find(name).__self__


def find(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name in adopted:
        return adopted[name]
    known = all_names()
    if name in known:
        return _core._op(name)
    if name in _core._op_aliases():
        from . import ops

        return getattr(ops, _core._op(name).__name__)  # One function of two names.
    if any(other.startswith(name + ".") for other in known):
        return Namespace(name)
    # A name that isn't valid text, such as a lone surrogate, is like none.
    near = _core._nearest_name(name, known) if name.isprintable() else None
    remedy = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
    error = AttributeError(f"there is no op {name!r}")
    raise with_fields(error, "name", found=name, remedy=remedy)
