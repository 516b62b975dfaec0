"""Ops as ops of PyTorch's dispatcher, for torch.compile, torch.export, autograd and torch.func.

Kernels for the CPU are called without Python. What PyTorch calls while it traces, differentiates or
vectorises is here, and generated of the ops' definitions.
"""

from __future__ import annotations

import functools
import sys

import torch

from . import _sizes, ops

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Kept for ever: an op goes with its library.
_LIBRARY = torch.library.Library("dlbridge", "FRAGMENT")  # noqa: TOR901
_ops: dict[str, PublishedOp] = {}
#: Keywords of calls that don't change what a traced call does.
_OTHER_KEYWORDS = ("like", "label", "memory", "threads")


def publish(names: list[str]) -> dict[str, str]:
    """Publishes ops, and returns why some can't be, by name."""
    refused = {}
    for name in names:
        if name in _ops:
            continue
        # The function that callers have.
        function = functools.reduce(getattr, name.split("."), ops)
        try:
            op = PublishedOp(function)
        except RuntimeError as error:
            refused[name] = str(error)
            continue
        _ops[name] = op
        op.register()
    if "torch._dynamo" in sys.modules:
        trace()
    return refused


def trace() -> None:
    """Has torch.compile trace the functions in `dlbridge.ops` as calls of PyTorch's ops."""
    for op in _ops.values():
        if not op.is_traced:
            op.is_traced = True
            substitute = torch.compiler.substitute_in_graph
            substitute(op.eager, skip_signature_check=True)(op.function)


def follows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether PyTorch follows or traces a tensor among arguments."""
    tensors = [item for item in _flat(args, kwargs) if isinstance(item, torch.Tensor)]
    # Ops have no forward-mode derivatives: their tangents stay refused.
    unpack = torch.autograd.forward_ad.unpack_dual
    if any(not _is_transformed(item) and unpack(item).tangent is not None for item in tensors):
        return False
    return any(map(_is_followed, tensors))


def _flat(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    items = [*args, *kwargs.values()]
    return items + [item for item in items if isinstance(item, list | tuple) for item in item]


def _is_followed(tensor: torch.Tensor) -> bool:
    return (
        tensor.requires_grad
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        or type(tensor).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl
    )


def _is_transformed(tensor: Any) -> bool:
    """Whether a transform of torch.func, such as vmap or grad, follows a tensor."""
    functorch = torch._C._functorch
    return isinstance(tensor, torch.Tensor) and (
        functorch.is_gradtrackingtensor(tensor) or functorch.is_batchedtensor(tensor)
    )


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls an op of PyTorch with the arguments of the function in `dlbridge.ops`."""
    if name not in _ops:
        return NotImplemented
    op = _ops[name]
    function = op.transformed if any(map(_is_transformed, _flat(args, kwargs))) else op.function
    return function(*args, **kwargs)


def _dtype(dtype: Any) -> torch.dtype | None:
    """The dtype of PyTorch of a name, or of one of another library."""
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    return getattr(torch, str(dtype).removeprefix("torch."))


class PublishedOp:
    """An op, and what PyTorch calls for it."""

    def __init__(self, eager: Any) -> None:
        self.eager = eager
        self.op = eager.__self__
        row = self.op._describe()
        self.row = row
        self.name = row["name"].replace(".", "_")
        self.inputs = [tensor["name"] for tensor in row["inputs"]]
        self.written = [at for at, tensor in enumerate(row["inputs"]) if tensor["writes"]]
        self.variadic = bool(row["inputs"]) and row["inputs"][-1]["variadic"]
        self.kinds = {attribute["name"]: attribute["kind"] for attribute in row["attributes"]}
        self.defaults = {
            attribute["name"]: _dtype(attribute["default"])
            if "dtype" in attribute["kind"]
            else attribute["default"]
            for attribute in row["attributes"]
            if not attribute["required"]
        }
        schemas = getattr(self.op, "_torch_schemas", None)
        if schemas is None:
            raise RuntimeError(f"{row['name']}: its extension was built without feature hosts")
        self.schemas = schemas()
        if hasattr(getattr(torch.ops, "dlbridge"), self.name):
            raise RuntimeError(f"{row['name']}: there is an op dlbridge::{self.name} already")
        self.is_traced = False
        self.transformable: Any = None

    def register(self) -> None:
        """Registers all that PyTorch calls."""
        tags = [torch.Tag.pt2_compliant_tag]
        if self.row["elementwise"] and not self.written:
            tags.append(torch.Tag.pointwise)
        for schema in self.schemas:
            _LIBRARY.define(schema, tags=tags)
        self.call = getattr(torch.ops.dlbridge, self.name).default
        forms = [(self.name, False)]
        self.functional = self.call
        if self.written:
            functional = self.name + "_functional"
            forms.append((functional, True))
            self.functional = getattr(torch.ops.dlbridge, functional).default
        self.function = self._function(self.call, self.functional)
        self.transformed = self._function(self._transform, self._transform)
        is_native = self.op._torch_implement()
        for name, is_functional in forms:
            implementation = self._implementation(is_functional)
            for key in ("CUDA",) if is_native else ("CPU", "CUDA"):
                _LIBRARY.impl(name, implementation, key)
            qualified = f"dlbridge::{name}"
            fake = self._fake(is_functional)
            torch.library.register_fake(qualified, fake, lib=_LIBRARY)
            if not self.written or is_functional:
                if self.row["gradients"]:
                    backward, setup = self._autograd()
                    torch.library.register_autograd(
                        qualified, backward, setup_context=setup, lib=_LIBRARY
                    )
                torch.library.register_vmap(qualified, self._vmap, lib=_LIBRARY)

    def bind(self, args: Any, kwargs: Any) -> tuple[list[list[Any]], dict[str, Any]]:
        """Returns a list of tensors for each input, and all attributes."""
        given = dict(zip(self.inputs, args))
        given.update(kwargs)
        inputs = []
        for name in self.inputs:
            value = given.pop(name, None)
            many = isinstance(value, list | tuple)
            inputs.append(list(value) if many else [] if value is None else [value])
        return inputs, {**self.defaults, **given}

    def _function(self, call: Any, functional: Any) -> Callable[..., Any]:
        """The function that takes the place of that in `dlbridge.ops`."""
        # What it refers to is what torch.compile can trace: ops, constants, and lists of them.
        is_transform = call == functional != self.call
        inputs, variadic = self.inputs, self.variadic
        dtypes = [name for name, kind in self.kinds.items() if "dtype" in kind]
        lists = [name for name, kind in self.kinds.items() if kind.startswith("ints")]
        written, row, others = self.written, self.row["name"], _OTHER_KEYWORDS
        kinds = [tensor["dtype"] for tensor in self.row["inputs"]]
        variables = [kind[1] if kind[0] == "variable" else None for kind in kinds]
        fixed = [_dtype(kind[1]) if kind[0] == "is" else None for kind in kinds]
        single = len(inputs) - 1 if variadic else len(inputs)

        def function(*args: Any, **kwargs: Any) -> Any:
            out = kwargs.pop("out", None)
            for name in others:
                if kwargs.pop(name, None) not in (None, "", "own", "caller"):
                    raise TypeError(f"{row}: a traced call has no argument {name!r}")
            if variadic:
                rest = args[single:]
                if len(rest) == 1 and isinstance(rest[0], list | tuple):
                    rest = rest[0]
                tensors = [*args[:single], list(rest)]
            else:
                if len(args) > single:
                    raise TypeError(f"{row}: expected {single} tensors, got {len(args)}")
                tensors = list(args)
                for name in inputs[len(args) :]:
                    tensors.append(kwargs.pop(name, None))
            for at, tensor in enumerate(tensors):
                if isinstance(tensor, bool | int | float):
                    like = [
                        other
                        for other, variable in zip(tensors, variables)
                        if isinstance(other, torch.Tensor)
                        and (variables[at] is None or variable == variables[at])
                    ]
                    dtype = like[0].dtype if variables[at] is not None and like else fixed[at]
                    device = like[0].device if like else None
                    tensors[at] = torch.full((), tensor, dtype=dtype, device=device)
            for name in dtypes:
                if name in kwargs:
                    kwargs[name] = _dtype(kwargs[name])
            for name in lists:
                if isinstance(kwargs.get(name), int):
                    kwargs[name] = [kwargs[name]]
            if not written:
                result = call(*tensors, **kwargs)
                if out is None:
                    return result
                if not isinstance(out, tuple):
                    return out.copy_(result)
                for to, one in zip(out, result):
                    to.copy_(one)
                return out
            if out is not None:
                raise TypeError(f"{row}: a traced call that writes inputs has no out")
            follows = [
                isinstance(tensor, torch.Tensor) and tensor.requires_grad for tensor in tensors
            ]
            if is_transform or torch.is_grad_enabled() and any(follows):
                news = functional(*tensors, **kwargs)
                news = news if isinstance(news, tuple | list) else (news,)
                for at, new in zip(written, news):
                    tensors[at].copy_(new)
                more = tuple(news[len(written) :])
            else:
                more = call(*tensors, **kwargs)
                more = () if more is None else more if isinstance(more, tuple) else (more,)
            results = (*(tensors[at] for at in written), *more)
            return results[0] if len(results) == 1 else results

        return function

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

    def _fake(self, is_functional: bool) -> Callable[..., Any]:
        """The call without elements, of sizes that may be symbols."""

        def fake(*args: Any, **kwargs: Any) -> Any:
            inputs, attributes = self.bind(args, kwargs)
            tensors = [tensor for all_of in inputs for tensor in all_of]
            shapes, dtypes = self.results(inputs, attributes)
            device = tensors[0].device
            made = [
                torch.empty(shape, dtype=dtype, device=device)
                for shape, dtype in zip(shapes, dtypes)
            ]
            if is_functional:
                made = [*(torch.empty_like(inputs[at][0]) for at in self.written), *made]
            if not made:
                return None
            return made[0] if len(made) == 1 else tuple(made)

        return fake

    def results(self, inputs: Any, attributes: Any) -> tuple[list[Any], list[torch.dtype]]:
        """Returns the shapes and dtypes of results."""
        rule = self.row["sizes"]
        sizes = [size for all_of in inputs for tensor in all_of for size in tensor.shape]
        if rule is None or all(isinstance(size, int) for size in sizes):
            described = [
                [([int(size) for size in tensor.shape], str(tensor.dtype)) for tensor in all_of]
                for all_of in inputs
            ]
            given = {
                name: str(value) if isinstance(value, torch.dtype) else value
                for name, value in attributes.items()
            }
            known = {name: value for name, value in given.items() if value is not None}
            results = self.op._infer(described, known)
            return [shape for shape, _ in results], [_dtype(dtype) for _, dtype in results]
        shapes = [[tensor.shape for tensor in all_of] for all_of in inputs]

        def check(holds: Any, why: str) -> None:
            torch._check(holds, lambda: f"{self.row['name']}: expected that {why}, got {shapes}")

        found = _sizes.evaluate(rule, shapes, attributes, check, torch.broadcast_shapes)
        return found, [
            self.dtype(output["dtype"], inputs, attributes) for output in self.row["outputs"]
        ]

    def dtype(self, kind: Any, inputs: Any, attributes: Any) -> Any:
        """Returns the dtype of a result."""
        if kind[0] == "is":
            return _dtype(kind[1])
        if kind[0].startswith("attribute"):
            chosen = attributes[kind[1]]
            if chosen is not None:
                return chosen
        variable = ("variable", kind[-1])
        for tensor, all_of in zip(self.row["inputs"], inputs):
            if tensor["dtype"] == variable and all_of:
                dtype = all_of[0].dtype
                if kind[0] != "attribute_or_sum" or dtype.is_floating_point or dtype.is_complex:
                    return dtype
                if dtype == torch.bool:
                    return dtype
                return torch.int64 if dtype.is_signed else torch.uint64
        raise AssertionError(f"{self.row['name']}: nothing says a result's dtype")

    def _autograd(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The gradient's functions: what it keeps of a call, and the gradient."""
        gradients = self.row["gradients"]
        needed: set[tuple[str, int]] = set()
        for values in gradients.values():
            for value in values:
                _find_needed(value, needed)
        kept = sorted(needed)

        def setup(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
            results = output if isinstance(output, tuple | list) else (output,)
            # Inputs that were left out may be missing at the end, here and in the gradient.
            inputs = (*inputs, *[None] * (len(self.inputs) - len(inputs)))
            tensors = {"input": inputs, "output": results}
            ctx.save_for_backward(*(tensors[kind][at] for kind, at in kept))
            ctx.attributes = {**self.defaults, **(keyword_only_inputs or {})}
            ctx.chosen = 0
            if any(len(values) > 1 for values in gradients.values()):
                ranks = [[] if tensor is None else [tensor.dim()] for tensor in inputs]
                ctx.chosen = _sizes.alternative(self.row["sizes"], ranks)

        def backward(ctx: Any, *grads: Any) -> Any:
            known = {key: tensor for key, tensor in zip(kept, ctx.saved_tensors)}
            known.update({("gradient", at): grad for at, grad in enumerate(grads)})
            found = []
            for at, name in enumerate(self.inputs[: len(ctx.needs_input_grad)]):
                needs = ctx.needs_input_grad[at]
                if not needs:
                    found.append(None)
                    continue
                values = gradients.get(name)
                if values is None:
                    raise RuntimeError(f"dlbridge::{self.name} declares no gradient of {name!r}")
                value = values[ctx.chosen if len(values) > 1 else 0]
                found.append(_evaluate(value, known, ctx.attributes))
            return tuple(found) if len(found) > 1 else found[0]

        return backward, setup

    def _transform(self, *tensors: Any, **attributes: Any) -> Any:
        """The call of a function that takes part in transforms of torch.func."""
        if self.variadic:
            layers = torch._C._functorch.get_interpreter_stack() or []
            keys = {layer.key() for layer in layers}
            if keys - {torch._C._functorch.TransformType.Vmap}:
                raise RuntimeError(f"{self.row['name']} declares no gradient")
            return self.functional(*tensors, **attributes)
        if self.transformable is None:
            self.transformable = self._transformable()
        values = {**self.defaults, **attributes}
        return self.transformable.apply(*tensors, *(values[name] for name in self.kinds))

    def _transformable(self) -> Any:
        backward, setup = self._autograd()
        count, names, op = len(self.inputs), list(self.kinds), self

        class Call(torch.autograd.Function):
            @staticmethod
            def forward(*values: Any) -> Any:
                return op.functional(*values[:count], **dict(zip(names, values[count:])))

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                setup(ctx, inputs[:count], output, dict(zip(names, inputs[count:])))

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                found = backward(ctx, *grads)
                found = found if isinstance(found, tuple) else (found,)
                return (*found, *[None] * len(names))

            @staticmethod
            def vmap(info: Any, in_dims: Any, *values: Any) -> Any:
                attributes = dict(zip(names, values[count:]))
                return op._vmap(info, in_dims[:count], *values[:count], **attributes)

        return Call

    def _vmap(self, info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        """A call for each index of an axis, as one call where the op can."""
        # Another transform may follow the tensors, too.
        follows = any(map(_is_transformed, _flat(args, {})))
        call = self._transform if follows else self.functional
        moved = self._batched(info, in_dims, args, kwargs)
        if moved is not None:
            args, kwargs = moved
            result = call(*args, **kwargs)
        else:
            results = []
            for at in range(info.batch_size):
                one = [_selected(value, dim, at) for value, dim in zip(args, in_dims)]
                results.append(call(*one, **kwargs))
            if isinstance(results[0], tuple | list):
                result = tuple(torch.stack(parts) for parts in zip(*results))
            else:
                result = torch.stack(results)
        return result, (0,) * len(result) if isinstance(result, tuple | list) else 0

    def _batched(self, info: Any, in_dims: Any, args: Any, kwargs: Any) -> Any:
        """The arguments of one call for all indices; None if there is no such call."""
        row = self.row
        many = [list(arg) if isinstance(arg, list | tuple) else [arg] for arg in args]
        dims = [
            list(dim) if isinstance(dim, list | tuple) else [dim] * len(of)
            for of, dim in zip(many, in_dims)
        ]
        ranks = [
            [
                tensor.dim() - (dim is not None)
                for tensor, dim in zip(of, dim_of)
                if tensor is not None
            ]
            for of, dim_of in zip(many, dims)
        ]
        rule, attributes = row["sizes"], dict(kwargs)
        if row["elementwise"] and (row["broadcasts"] or len(args) == 1):
            most = max(rank for of in ranks for rank in of)
            lead = {at: most for at in range(len(args))}
            expands = False
        elif row["batches"] and rule is not None:
            chosen = _sizes.alternative(rule, ranks)
            if chosen is None:
                return None
            items_of = rule[chosen][0]
            lead, most = {}, 0
            for at, of in enumerate(ranks):
                items = items_of.get(at)
                if items and items[0][0] in _sizes.MANY:
                    fixed = len(items) - 1 if items[0][0] == "batch" else None
                    for rank in of:
                        most = max(most, rank - fixed) if fixed is not None else most
                    lead[at] = fixed
                elif any(dim is not None for dim in dims[at]):
                    return None
            lead = {
                at: (most + fixed if fixed is not None else (ranks[at] or [0])[0])
                for at, fixed in lead.items()
            }
            all_of = {**self.defaults, **kwargs}
            for items in [*items_of.values(), *rule[chosen][1]]:
                for item in items:
                    name = item[2] if item[0] in ("axis", "reduce") else None
                    if name is None:
                        continue
                    axes, first = all_of[name], (ranks[0] or [0])[0]
                    if axes is None:
                        if self.kinds[name] != "ints | None":
                            return None
                        attributes[name] = list(range(1, first + 1))
                    elif isinstance(axes, int):
                        attributes[name] = axes + 1 if axes >= 0 else axes
                    else:
                        attributes[name] = [axis + 1 if axis >= 0 else axis for axis in axes]
            expands = True
        else:
            return None
        moved = []
        for at, (of, dim_of) in enumerate(zip(many, dims)):
            new = []
            for tensor, dim in zip(of, dim_of):
                if tensor is not None and at in lead:
                    if dim is not None:
                        tensor = tensor.movedim(dim, 0)
                    elif expands:
                        tensor = tensor.expand(info.batch_size, *tensor.shape)
                    if dim is not None or expands:
                        ones = lead[at] - (tensor.dim() - 1)
                        shape = (tensor.shape[0], *([1] * ones), *tensor.shape[1:])
                        tensor = tensor.reshape(shape)
                new.append(tensor)
            moved.append(new if isinstance(args[at], list | tuple) else new[0])
        return moved, attributes


def _selected(value: Any, dim: Any, at: int) -> Any:
    if isinstance(value, list | tuple):
        dims = dim if isinstance(dim, list | tuple) else [dim] * len(value)
        return [_selected(item, dim, at) for item, dim in zip(value, dims)]
    return value if dim is None else value.select(dim, at)


def _find_needed(value: Any, needed: set[tuple[str, int]]) -> None:
    if value[0] in ("input", "output"):
        needed.add(value)
    elif value[0] == "call":
        for tensor in value[2]:
            _find_needed(tensor, needed)
        for _, attribute in value[3]:
            if attribute[0] == "dtype":
                _find_needed(attribute[1], needed)


def _evaluate(value: Any, known: dict[Any, Any], attributes: dict[str, Any]) -> Any:
    """Returns a gradient, as calls of ops."""
    if value[0] == "zero":
        return None
    if value[0] != "call":
        return known[value]
    _, name, inputs, given = value
    tensors = [_evaluate(tensor, known, attributes) for tensor in inputs]
    published = _ops.get(name)
    if published is None:
        raise RuntimeError(f"a gradient calls the op {name}, which isn't published")
    keywords = {}
    for keyword, (kind, argument) in given:
        if kind == "same":
            argument = attributes[argument]
        elif kind == "dtype":
            argument = known[argument].dtype
        if published.kinds[keyword].startswith("ints") and isinstance(argument, int):
            argument = [argument]
        keywords[keyword] = argument
    # Calls that give back what they are given.
    if name == "cast" and tensors[0].dtype == keywords["dtype"]:
        return tensors[0]
    if name == "sum_to_like" and _have_same_numbers(*tensors):
        return tensors[0]
    call = published._transform if any(map(_is_transformed, tensors)) else published.call
    return call(*tensors, **keywords)


def _have_same_numbers(x: torch.Tensor, y: torch.Tensor) -> bool:
    return all(isinstance(size, int) for size in (*x.shape, *y.shape)) and x.shape == y.shape


assert sys.modules["torch"] is torch
