"""An op of PyTorch's dispatcher, and what PyTorch calls for it."""

from __future__ import annotations

import weakref

import torch

from ..._errors import with_fields
from .. import sizes
from ..definition import Definition
from . import derivatives, transforms, written
from .function import function_of_op, to_dtype

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Kept for ever: an op goes with its library.
_LIBRARY = torch.library.Library("dlbridge", "FRAGMENT")  # noqa: TOR901


def keep(library: Any) -> None:
    """Keeps PyTorch from deleting a library when the interpreter begins to exit: ops are called by
    functions that run later, and by threads that are still there.
    """
    # PyTorch doesn't keep the finalizer that it makes.
    try:
        finalizers = list(weakref.finalize._registry.items())  # type: ignore[attr-defined]
        for finalizer, info in finalizers:
            if info.weakref() is library:
                finalizer.atexit = False
    except (AttributeError, TypeError):
        pass  # Python has no such registry: the library goes at exit.


keep(_LIBRARY)


class PublishedOp(Definition):
    """An op, and what PyTorch calls for it."""

    def __init__(self, name: str, published: dict[str, PublishedOp]) -> None:
        """Reads the definition of an op, whose gradient calls others that are published."""
        super().__init__(name, to_dtype)
        self.published = published
        row = self.row
        self.name = row["name"].replace(".", "_")
        schemas = getattr(self.op, "_torch_schemas", None)
        if schemas is None:
            error = RuntimeError(f"{row['name']}: its extension was built without feature hosts")
            raise with_fields(error, "kernel")
        self.schemas = schemas()
        for tensor in (*row["inputs"], *row["outputs"]):
            if tensor["dtype"][0] == "is":
                to_dtype(tensor["dtype"][1])
        self.forms = [self.name, self.name + "_functional"][: len(self.schemas)]
        for name in self.forms:
            if hasattr(torch.ops.dlbridge, name):
                error = RuntimeError(f"{row['name']}: there is an op dlbridge::{name} already")
                raise with_fields(error, "name", found=name)
        self.is_traced = False

    def register(self) -> None:
        """Registers all that PyTorch calls."""
        tags = [torch.Tag.pt2_compliant_tag]
        if self.row["elementwise"] and not self.written:
            tags.append(torch.Tag.pointwise)
        # PyTorch's tracers see the kernel, which takes no Python.
        kernels = [*self.forms[:-1], self.forms[-1] + "_kernel"]
        names = [*kernels, self.forms[-1]]
        for name, form in zip(names, (*self.forms, self.forms[-1])):
            schema = self.schemas[self.forms.index(form)]
            _LIBRARY.define(schema.replace(form, name, 1), tags=tags)
        is_native = self.op._torch_implement(names)
        for at, name in enumerate(names):
            is_functional = at > 0 and bool(self.written)
            for key in ("CUDA",) if is_native else ("CPU", "CUDA"):
                _LIBRARY.impl(name, self._implementation(is_functional), key)
            qualified = f"dlbridge::{name}"
            torch.library.register_fake(qualified, self.fake(is_functional), lib=_LIBRARY)
            if not self.written or is_functional:
                torch.library.register_vmap(qualified, self.vmap, lib=_LIBRARY)
        #: What returns the values that it writes, without gradients.
        self.kernel = getattr(torch.ops.dlbridge, kernels[-1]).default
        self.differentiable, self.in_transform, self.plain = derivatives.differentiable(self)
        self.call, self.functional = (
            getattr(torch.ops.dlbridge, self.forms[at]).default for at in (0, -1)
        )
        _LIBRARY.impl(self.forms[-1], transforms.followed(self), "Autograd", with_keyset=True)
        if self.written:
            written.register(_LIBRARY, self)
        self.function = function_of_op(self, self.call, self.functional)
        self.transformed = function_of_op(self, self.transform, self.transform)

    def _implementation(self, is_functional: bool) -> Callable[..., Any]:
        """The call through Python, where PyTorch's C functions don't do."""

        def implementation(*args: Any, **kwargs: Any) -> Any:
            def plain(value: Any) -> Any:
                if isinstance(value, torch.Tensor):
                    return value.detach()
                if isinstance(value, list | tuple):
                    return [plain(item) for item in value]
                return value

            args = tuple(plain(value) for value in args)
            news: tuple[Any, ...] = ()
            if is_functional:
                copied = list(args)
                for at in self.written:
                    copied[at] = args[at].clone()
                args = tuple(copied)
                news = tuple(args[at] for at in self.written)
            if self.variadic:
                args = (*args[:-1], *args[-1])
            dtypes = {name: kind for name, kind in self.kinds.items() if "dtype" in kind}
            for name in dtypes:
                if kwargs.get(name) is not None:
                    kwargs[name] = str(kwargs[name])
            result = self.eager(*args, memory="caller", **kwargs)
            if not self.written:
                return result
            results = result if isinstance(result, tuple) else (result,)
            results = (*news, *results[len(self.written) :])
            return results[0] if len(results) == 1 else results or None

        return implementation

    def fake(self, is_functional: bool) -> Callable[..., Any]:
        """The call without elements, of sizes that may be symbols."""

        def of_shapes(*args: Any, **kwargs: Any) -> Any:
            inputs, attributes = self.bind(args, kwargs)
            device = self.device(inputs)
            shapes, dtypes = self.results(inputs, attributes)
            made = [
                torch.empty(shape, dtype=dtype, device=device)
                for shape, dtype in zip(shapes, dtypes)
            ]
            if is_functional:
                made = [*(torch.empty_like(inputs[at][0]) for at in self.written), *made]
            if not made:
                return None
            return made[0] if len(made) == 1 else tuple(made)

        return of_shapes

    def device(self, inputs: list[list[Any]]) -> torch.device:
        """Returns the device of all inputs."""
        device: torch.device | None = None
        for at, all_of in enumerate(inputs):
            for place, tensor in enumerate(all_of):
                device = tensor.device if device is None else device
                if tensor.device != device:
                    found, wanted = str(tensor.device), str(device)
                    name = self.argument(at, place)
                    why = f'argument "{name}" is on {found}, and others are on {wanted}'
                    error = ValueError(f"{self.row['name']}: {why}")
                    raise with_fields(error, "device", found=found, wanted=wanted)
        assert device is not None, "an op has an input"
        return device

    def results(self, inputs: Any, attributes: Any) -> tuple[list[Any], list[torch.dtype]]:
        """Returns the shapes and dtypes of results."""
        rule = self.row["sizes"]
        shapes = [[tensor.shape for tensor in all_of] for all_of in inputs]
        described = [
            [([*tensor.shape], str(tensor.dtype)) for tensor in all_of] for all_of in inputs
        ]
        given = {
            name: str(value) if isinstance(value, torch.dtype) else value
            for name, value in attributes.items()
        }
        known = {name: value for name, value in given.items() if value is not None}
        if rule is None or sizes.are_known(shapes):
            results = self.op._infer(described, known)
            return [shape for shape, _ in results], [to_dtype(dtype) for _, dtype in results]
        dtypes = [to_dtype(dtype) for dtype in sizes.dtypes(self.op, described, known)]

        def check(holds: Any, why: str) -> None:
            torch._check(holds, lambda: f"{self.row['name']}: expected that {why}, got {shapes}")

        return sizes.evaluate(rule, shapes, attributes, check, torch.broadcast_shapes), dtypes

    def transform(self, *tensors: Any, **attributes: Any) -> Any:
        """The call of a function that takes part in transforms of torch.func."""
        return transforms.transform(self, tensors, attributes)

    def vmap(self, info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        """A call for each index of an axis, as one call where the op can."""
        return transforms.vmap(self, self.functional, info, in_dims, args, kwargs)
