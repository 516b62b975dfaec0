"""Functions over one kind of tensors as functions over another."""

from __future__ import annotations

from . import _core
from ._errors import with_fields
from ._readonly import checked

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .typing import Policy


def wrap(
    function: Callable[..., Any],
    framework: str,
    *,
    over: str = "dlbridge",
    readonly: Policy | None = None,
) -> Callable[..., Any]:
    """A function over dlbridge's tensors as one over a framework's.

    Its arguments, and those in tuples, lists and dicts, are handed over where they are tensors, and
    its results back, without copies: what the function writes to is what it was called with. What
    isn't a tensor stays as it is. A list or dict with tensors is another one for the function, so
    that what it adds to it stays there. A coroutine function becomes one. No gradient follows what the
    function does, also where TensorFlow records on a tape. `over` is whose tensors the function takes and gives, if not
    dlbridge's. `readonly` is as of `convert`, and holds both ways; without it, the policy at the
    time of each call does.

    add = dlbridge.wrap(lambda a, b, out: dlbridge.ops.add(a, b, out=out), "torch")
    """

    # Here, as the package is imported more often than functions are wrapped.
    import functools
    import inspect

    if readonly is not None:
        checked(readonly)
    # Of an object that is called, its method tells.
    both = function, getattr(function, "__call__", None)
    kinds = inspect.isgeneratorfunction, inspect.isasyncgenfunction
    if any(is_kind(one) for is_kind in kinds for one in both):
        name = getattr(function, "__qualname__", None) or repr(function)
        found = f"the generator function {name}"
        error = TypeError(f"expected a function that returns its results, got {found}")
        raise with_fields(error, "argument", found=found, wanted="a function")

    def there(value: Any) -> Any:
        return _each(value, lambda tensor: _hand_over(tensor, over, readonly))

    def back(value: Any) -> Any:
        return _each(value, lambda tensor: _hand_over(tensor, framework, readonly))

    @functools.wraps(function, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return back(function(*there(args), **there(kwargs)))

    @functools.wraps(function, updated=())
    async def wrapped_coroutine(*args: Any, **kwargs: Any) -> Any:
        return back(await function(*there(args), **there(kwargs)))

    is_coroutine = any(map(inspect.iscoroutinefunction, both))
    return wrapped_coroutine if is_coroutine else wrapped


def to_pytorch_func(
    function: Callable[..., Any], *, over: str = "dlbridge", readonly: Policy | None = None
) -> Callable[..., Any]:
    """A function over dlbridge's tensors, or those of `over`, as one over PyTorch's."""
    return wrap(function, "torch", over=over, readonly=readonly)


def to_mxnet_func(
    function: Callable[..., Any], *, over: str = "dlbridge", readonly: Policy | None = None
) -> Callable[..., Any]:
    """A function over dlbridge's tensors, or those of `over`, as one over MXNet's."""
    return wrap(function, "mxnet", over=over, readonly=readonly)


def _hand_over(tensor: Any, framework: str, readonly: Policy | None) -> Any:
    if framework == "dlbridge":
        return _core.from_dlpack(tensor)
    return _core.convert(tensor, framework, readonly=readonly)


def _is_tensor(value: Any) -> bool:
    if isinstance(value, type):
        return False  # It has the methods that its objects have.
    return hasattr(value, "__dlpack__") or hasattr(value, "to_dlpack_for_write")


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with each tensor in it changed; itself where there is none."""
    if _is_tensor(value):
        return change(value)
    if not isinstance(value, (tuple, list, dict)):
        return value
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    changes = [(key, one, _each(one, change)) for key, one in parts]
    changed = {key: new for key, old, new in changes if new is not old}
    if not changed:
        return value
    if isinstance(value, tuple):
        return _remade(value, [new for _, _, new in changes])
    import copy  # Here, as in `wrap`.

    result = copy.copy(value)  # Of its class, with what that has beside the items.
    for key, new in changed.items():
        result[key] = new
    return result


def _remade(value: tuple[Any, ...], parts: list[Any]) -> Any:
    """A tuple of the same class with other parts."""
    kind = type(value)
    if hasattr(kind, "n_sequence_fields"):  # Such as `torch.return_types.max`.
        return kind(parts)
    result = tuple.__new__(kind, parts)  # Its own `__new__` may take something else.
    if hasattr(value, "__dict__"):
        result.__dict__.update(value.__dict__)
    return result
