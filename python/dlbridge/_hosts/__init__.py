"""Ops as ops of frameworks' compilers: which frameworks there are, and when ops are published.

A framework is never imported for that. An adapter is a module of this package, imported once its
framework is: it has `publish(names)`, which returns why ops can't be published, by their names, and
`follows(args, kwargs)`, which tells whether the framework follows or traces a tensor among them, and
`call(name, args, kwargs)`, which calls the framework's op with those.
"""

from __future__ import annotations

import sys
import threading
import warnings

from .. import _catalog
from .._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

#: The adapter's module, and the module of the framework, by the framework's name.
ADAPTERS = {
    "torch": ("torch", "torch"),
    "jax": ("jax", "jax"),
    "tensorflow": ("tensorflow", "tensorflow"),
    "tvm": ("tvm", "tvm_ffi"),
}
#: Frameworks whose symbols aren't tensors for other code.
UNLIKE_TENSORS = ("tensorflow",)
#: What imports the module of a framework that traces functions: ops are published by then.
TRACERS = {"torch._dynamo": "torch"}

#: Nothing is imported while it is held: another thread may hold the lock of that module, and wait
#: for this one.
_lock = threading.RLock()
_published: dict[str, dict[str, str]] = {}


def _adapter(framework: str) -> ModuleType:
    name = f"{__name__}.{ADAPTERS[framework][0]}"
    __import__(name)
    return sys.modules[name]


def publish(framework: str) -> dict[str, str]:
    """Makes all ops known to a framework's compiler, as its own ops: "torch", "jax", "tensorflow"
    or "tvm".

    Ops are published by themselves once a compiler of a framework is used, or a tensor that its
    framework follows is an argument; this is for programs that call them by the framework's names
    alone, such as `torch.ops.dlbridge.add`, or that load an exported program. The framework must be
    imported already. Returns the ops that it can't have, each with the reason.
    """
    if not isinstance(framework, str) or framework not in ADAPTERS:
        wanted = ", ".join(ADAPTERS)
        error = LookupError(f"expected one of {wanted}, got {framework!r}")
        raise with_fields(error, "name", found=framework, wanted=wanted)
    if (module := ADAPTERS[framework][1]) not in sys.modules:
        error = RuntimeError(f"{module} isn't imported")
        raise with_fields(error, "name", wanted=module, remedy="import it before ops are published")
    adapter = _adapter(framework)
    with _lock:
        refused = _published.get(framework)
        if refused is None:
            # Meanwhile ops are looked up, which would publish them again.
            _published[framework] = refused = {}
            try:
                refused.update(adapter.publish(_catalog.all_names()))
            except BaseException:
                del _published[framework]
                raise
        return dict(refused)


def ufunc(name: str, **attributes: Any) -> Any:
    """Returns the universal function of an elementwise op, such as `"add"`.

    It is one of NumPy's own, which this imports: it broadcasts, casts, takes `out=` and `where=`
    and subclasses of arrays, and has `outer` and, with two inputs, `reduce` and `accumulate`. Its
    loops are those dtypes of NumPy for which there are kernels for the CPU. Attributes of the op
    are chosen here: `dlbridge.ufunc("gelu", approximate="tanh")`.
    """
    from .numpy import ufunc

    return ufunc(name, **attributes)


def publish_more(names: list[str]) -> None:
    """Publishes ops that came later, where others are published."""
    with _lock:
        for framework, refused in _published.items():
            refused.update(_adapter(framework).publish(names))


def retry(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], is_tensor: bool) -> Any:
    """Calls the op of a framework with tensors that it follows or traces, or returns the text why
    the framework can't have the op. `is_tensor` is False if an argument was refused as none.
    """
    likely = ADAPTERS if is_tensor else UNLIKE_TENSORS
    found = next((of for of in likely if _follows(of, args, kwargs)), None)
    if found is None:
        return NotImplemented
    for other in ADAPTERS:
        if other != found and _follows(other, args, kwargs):
            both = " and ".join(sorted((found, other)))
            wanted = "tensors that one framework follows or traces"
            error = TypeError(f"{name}: expected {wanted}, got those of {both}")
            remedy = "detach one framework's, as by x.detach() or tf.stop_gradient(x)"
            raise with_fields(error, "argument", found=both, wanted=wanted, remedy=remedy)
    refused = publish(found)
    if name in refused:
        return f"{found} can't have the op: {refused[name]}"
    return _adapter(found).call(name, args, kwargs)


def _follows(framework: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if ADAPTERS[framework][1] not in sys.modules:
        return False
    try:
        return bool(_adapter(framework).follows(args, kwargs))
    except (ImportError, AttributeError):
        return False  # Not yet imported to its end, or something else of this name.


def publish_to_tracers() -> None:
    """Publishes all ops to the frameworks whose tracers are imported."""
    for module, framework in TRACERS.items():
        if module in sys.modules and framework not in _published:
            publish(framework)


def _warn(text: str) -> None:
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:  # Warnings may be errors, and this is an import of another package.
        pass


class _Tracers:
    """Finder of modules that has ops published once a framework's tracer is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in TRACERS or self not in sys.meta_path:
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        try:
            spec = find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        execute = getattr(spec and spec.loader, "exec_module", None)
        if spec is None or execute is None:
            return spec

        def exec_module(module: ModuleType) -> None:
            execute(module)
            try:
                publish(TRACERS[name])
                with _lock:
                    _adapter(TRACERS[name]).trace()
            except Exception as error:
                _warn(f"ops of dlbridge aren't published for {name}: {error}")

        try:
            spec.loader.exec_module = exec_module  # type: ignore[method-assign, union-attr]
        except AttributeError:
            pass
        return spec


sys.meta_path.insert(0, _Tracers())
