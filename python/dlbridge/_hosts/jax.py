"""Ops as custom calls of XLA, for jax.jit, scan, vmap, grad, shard_map and jax.export.

XLA calls kernels for the CPU without Python. What JAX calls while it traces, differentiates or
vectorises is here, and generated of the ops' definitions.
"""

from __future__ import annotations

import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from . import batching, gradients
from .definition import Definition, flat

try:
    from jax import ffi
except ImportError:  # before 0.5
    from jax.extend import ffi

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ops: dict[str, PublishedOp] = {}
#: Keywords of calls that have no place in a traced one.
_OTHER_KEYWORDS = ("like", "label", "memory", "threads")
#: Dtypes that XLA may or may not pack.
_SMALL = {"int1", "int2", "int4", "uint1", "uint2", "uint4", "float4_e2m1fn"}


def publish(names: list[str]) -> dict[str, str]:
    """Publishes ops, and returns why some can't be, by name."""
    refused = {}
    for name in names:
        if name in _ops:
            continue
        try:
            op = PublishedOp(name)
        except RuntimeError as error:
            refused[name] = str(error)
            continue
        _ops[name] = op
    return refused


def follows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether JAX traces an array among arguments."""
    return any(isinstance(item, jax.core.Tracer) for item in flat(args, kwargs))


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls an op with the arguments of the function in `dlbridge.ops`."""
    if name not in _ops:
        return NotImplemented
    return _ops[name](*args, **kwargs)


def _dtype(dtype: Any) -> str | None:
    """The name of a dtype."""
    if dtype is None or isinstance(dtype, str):
        return dtype
    try:
        return jnp.dtype(dtype).name
    except TypeError:
        return str(dtype).removeprefix("torch.")


class PublishedOp(Definition):
    """An op, and what JAX calls for it."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _dtype)
        self.name = self.row["name"]
        target = getattr(self.op, "_xla_target", None)
        if target is None:
            raise RuntimeError(f"{self.name}: its extension was built without feature hosts")
        self.target, handler = target()
        try:
            ffi.register_ffi_target(self.target, handler, platform="cpu")
        except Exception as error:
            raise RuntimeError(f"{self.name}: {error}") from error

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the op with arrays that JAX traces."""
        for name in (*_OTHER_KEYWORDS, "out"):
            if kwargs.pop(name, None) not in (None, "", "own", "caller"):
                raise TypeError(f"{self.name}: a traced call has no argument {name!r}")
        if self.variadic:
            first = args[: len(self.inputs) - 1]
            rest = args[len(self.inputs) - 1 :]
            is_list = len(rest) == 1 and isinstance(rest[0], list | tuple)
            args = (*first, list(rest[0]) if is_list else list(rest))
        elif len(args) > len(self.inputs):
            raise TypeError(f"{self.name}: expected {len(self.inputs)} tensors, got {len(args)}")
        inputs, attributes = self.bind(args, kwargs)
        key = self._key(attributes)
        counts = tuple(map(len, inputs))
        arrays = _varying([array for of in self._arrays(inputs) for array in of])
        results = _traceable(self.name, counts, key)(*arrays)
        return results[0] if len(results) == 1 else results

    def _arrays(self, inputs: list[list[Any]]) -> list[list[jax.Array]]:
        """The inputs as arrays, of which some may be numbers."""
        kinds = [tensor["dtype"] for tensor in self.row["inputs"]]
        dtypes: dict[Any, Any] = {}
        for kind, of in zip(kinds, inputs):
            for value in of:
                if not isinstance(value, bool | int | float):
                    dtypes.setdefault(kind, value.dtype)

        def array(kind: Any, value: Any) -> jax.Array:
            if isinstance(value, jax.Array):
                return value
            if isinstance(value, bool | int | float):
                return jnp.asarray(value, kind[1] if kind[0] == "is" else dtypes.get(kind))
            if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__dlpack__"):
                return jnp.asarray(value)
            return jax.dlpack.from_dlpack(value)

        return [[array(kind, value) for value in of] for kind, of in zip(kinds, inputs)]

    def _key(self, attributes: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
        """The values of attributes, to be compared and hashed."""
        values = []
        for name, value in attributes.items():
            kind = self.kinds.get(name)
            try:
                if value is None or kind is None:
                    pass
                elif kind == "float":
                    value = float(value).hex()  # -0.0 is another value than 0.0
                elif kind == "bool":
                    value = bool(value)
                elif kind.startswith("ints"):
                    many = value if isinstance(value, list | tuple) else [value]
                    value = tuple(map(operator.index, many))
                elif kind.startswith("int"):
                    value = operator.index(value)
                elif kind.startswith("dtype"):
                    value = _dtype(value)
            except (TypeError, ValueError):
                raise ValueError(f"{self.name}: wrong value for {name}") from None
            values.append((name, value))
        return tuple(sorted(values))

    def attributes(self, key: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
        """The values of attributes of a key."""
        values = dict(key)
        for name, kind in self.kinds.items():
            if kind == "float" and isinstance(values.get(name), str):
                values[name] = float.fromhex(values[name])
        return values

    def split(self, counts: tuple[int, ...], items: Any) -> list[list[Any]]:
        """Returns a list of items for each input."""
        rest = iter(items)
        return [[next(rest) for _ in range(count)] for count in counts]

    def run(self, counts: tuple[int, ...], attributes: dict[str, Any], arrays: Any) -> Any:
        """The custom call."""
        inputs = self.split(counts, arrays)
        described = [
            [(array.shape, self._whole(array.dtype.name)) for array in of] for of in inputs
        ]
        known = {name: value for name, value in attributes.items() if value is not None}
        results = [(inputs[at][0].shape, inputs[at][0].dtype) for at in self.written]
        for shape, dtype in self.op._infer(described, known):
            results.append((shape, self._kept(str(dtype))))
        more = _axes_of(arrays[0]) if arrays else {}
        places = [at for at, count in enumerate(counts) for _ in range(count)]
        aliases = {places.index(at): number for number, at in enumerate(self.written)}
        given = {name: self._attribute(name, value) for name, value in attributes.items()}
        is_given = [count > 0 for count in counts]
        if is_given != sorted(is_given, reverse=True):
            given["_given"] = np.int64(sum(1 << at for at, is_one in enumerate(is_given) if is_one))
        called = ffi.ffi_call(
            self.target,
            tuple(jax.ShapeDtypeStruct(tuple(shape), dtype, **more) for shape, dtype in results),
            input_output_aliases=aliases or None,
        )
        return tuple(called(*arrays, **given))

    def _whole(self, dtype: str) -> str:
        if dtype in _SMALL:
            whole = "float8_e4m3fn" if dtype.startswith("f") else dtype.rstrip("124") + "8"
            raise TypeError(
                f"{self.name}: expected elements of whole bytes, got {dtype}; cast it with "
                f"x.astype({whole!r})"
            )
        return dtype

    def _kept(self, name: str) -> Any:
        """The dtype of a result, unless JAX narrows it."""
        dtype = jnp.dtype(self._whole(name))
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise TypeError(
                f"{self.name}: a result is {name}, which JAX would narrow; "
                "turn jax_enable_x64 on"
            )
        return dtype

    def _attribute(self, name: str, value: Any) -> Any:
        """A value as XLA's attribute."""
        kind = self.kinds[name]
        if value is None:
            return "None"
        if kind == "bool":
            return np.bool_(value)
        if kind == "float":
            return np.float64(value)
        if kind.startswith("ints"):
            return np.array(value, np.int64)
        return np.int64(value) if kind.startswith("int") else value

    def vmap(self, counts: Any, attributes: Any, size: int, has_axis: Any, arrays: Any) -> Any:
        """Calls for each index of the first axis of some arrays: one call where the op can."""
        inputs, has = self.split(counts, arrays), self.split(counts, has_axis)
        ranks = [
            [array.ndim - one for array, one in zip(of, has_of)] for of, has_of in zip(inputs, has)
        ]
        plan = batching.plan(self, ranks, has, attributes)
        if plan is None:
            function = _traceable(self.name, counts, self._key(attributes))

            def one(with_axis: Any) -> Any:
                rest = iter(with_axis)
                return function(*(next(rest) if h else a for a, h in zip(arrays, has_axis)))

            return jax.lax.map(one, [array for array, h in zip(arrays, has_axis) if h])
        moved = []
        for at, (of, has_of) in enumerate(zip(inputs, has)):
            for array, has_one in zip(of, has_of):
                repeats = plan.expands or at in self.written
                if at in plan.ranks and repeats and not has_one:
                    array = jnp.broadcast_to(array, (size, *array.shape))
                if at in plan.ranks and (repeats or has_one):
                    ones = [1] * (plan.ranks[at] - (array.ndim - 1))
                    array = array.reshape((size, *ones, *array.shape[1:]))
                moved.append(array)
        return _traceable(self.name, counts, self._key(plan.attributes))(*moved)

    def keep(self, counts: tuple[int, ...], values: Any, results: Any) -> tuple[Any, _Static]:
        """What the gradient is calculated from: tensors, and what is known without them."""
        inputs = self.split(counts, values)
        tensors = {"input": [of[0] if of else None for of in inputs], "output": results}
        kept = [tensors[kind][at] for kind, at in gradients.needed(self.row["gradients"])]
        return kept, _Static(tuple((value.shape, value.dtype.name) for value in values))

    def backward(self, counts: Any, attributes: Any, kept: Any, grads: Any) -> tuple[Any, ...]:
        """The gradients of inputs; zeros where none is declared, of which `_without` tells."""
        tensors, static = kept
        declared = self.row["gradients"]
        inputs = self.split(counts, static.value)
        if all(map(_is_zero, grads)):
            return (None,) * len(static.value)
        known = dict(zip(gradients.needed(declared), tensors))
        for at, grad in enumerate(grads):
            is_zero = _is_zero(grad) and grad.dtype != jax.dtypes.float0
            known["gradient", at] = jnp.zeros(grad.shape, grad.dtype) if is_zero else grad
        chosen = gradients.chosen(self.row, [[len(shape) for shape, _ in of] for of in inputs])
        found: list[Any] = []
        for name, of in zip(self.inputs, inputs):
            values = declared.get(name)
            for shape, dtype in of:
                if not jnp.issubdtype(dtype, jnp.inexact):
                    found.append(None)
                elif values is None:
                    found.append(jnp.zeros(shape, dtype))
                else:
                    value = values[chosen if len(values) > 1 else 0]
                    found.append(gradients.evaluate(value, known, attributes, _kinds_of, _call))
        return tuple(found)


class _Static:
    """What is known without elements, among what a gradient is calculated from."""

    def __init__(self, value: Any) -> None:
        self.value = value


jax.tree_util.register_pytree_node(
    _Static, lambda static: ((), static.value), lambda value, _: _Static(value)
)


def _is_zero(grad: Any) -> bool:
    return isinstance(grad, SymbolicZero) or grad.dtype == jax.dtypes.float0


def _kinds_of(name: str) -> dict[str, str]:
    if name not in _ops:
        raise RuntimeError(f"a gradient calls the op {name}, which isn't published")
    return _ops[name].kinds


def _call(name: str, tensors: list[Any], attributes: dict[str, Any]) -> Any:
    return _ops[name](*tensors, **attributes)


@functools.lru_cache(maxsize=4096)
def _traceable(
    name: str, counts: tuple[int, ...], key: tuple[tuple[str, Any], ...]
) -> Callable[..., Any]:
    """The function of an op's arrays, for JAX's transforms: of so many arrays for each input, and
    attributes.
    """
    op = _ops[name]
    attributes = op.attributes(key)

    def plain(*arrays: Any) -> Any:
        return op.run(counts, attributes, arrays)

    vectorised = custom_vmap(plain)

    @vectorised.def_vmap
    def vmap(size: int, has_axis: Any, *arrays: Any) -> Any:
        results = tuple(op.vmap(counts, attributes, size, has_axis, arrays))
        return results, (True,) * len(results)

    def function(*arrays: Any) -> Any:
        return vectorised(*arrays)

    def forward(*primals: Any) -> Any:
        values = [primal.value for primal in primals]
        # This is differentiated for second gradients.
        results = differentiable(*values)
        return results, op.keep(counts, values, results)

    def backward(kept: Any, grads: Any) -> Any:
        return op.backward(counts, attributes, kept, grads)

    function.__name__ = function.__qualname__ = op.target
    differentiable = jax.custom_vjp(function)
    differentiable.defvjp(forward, backward, symbolic_zeros=True)
    declared = op.row["gradients"]
    guards = [
        None if name in declared else _without(f"{op.target} declares no gradient of {name!r}")
        for name, count in zip(op.inputs, counts)
        for _ in range(count)
    ]

    def traceable(*arrays: Any) -> Any:
        guarded = [guard(array) if guard else array for guard, array in zip(guards, arrays)]
        return differentiable(*guarded)

    traceable.__name__ = traceable.__qualname__ = op.target
    return jax.jit(traceable, inline=True)


@functools.cache
def _without(problem: str) -> Any:
    """The identity, whose gradient is an error.

    Whether an input needs a gradient isn't known in the gradient of an op: JAX tells that to the
    half before alone, of which it may use the results of another call.
    """

    def identity(array: Any) -> Any:
        return array

    def backward(_: Any, grad: Any) -> Any:
        if _is_zero(grad):
            return (None,)
        raise RuntimeError(problem)

    guard = jax.custom_vjp(identity)
    guard.defvjp(lambda primal: (guard(primal.value), None), backward, symbolic_zeros=True)
    return guard


def _axes_of(array: Any) -> dict[str, Any]:
    """What a result's type says of the axes of a mesh over which shard_map knows that an array
    varies, as a keyword.
    """
    of = jax.typeof(array) if hasattr(jax, "typeof") else None
    # Its name changed in 0.12.
    for name in ("manual_axis_type", "vma"):
        if hasattr(of, name):
            return {name: getattr(of, name)}
    return {}


def _varying(arrays: list[Any]) -> list[Any]:
    """The arrays, all of which vary over the axes over which one does."""
    axes_of = []
    for array in arrays:
        axes = next(iter(_axes_of(array).values()), frozenset())
        axes_of.append(frozenset(getattr(axes, "varying", axes)))
    all_axes = frozenset().union(*axes_of)
    varying = []
    for array, axes in zip(arrays, axes_of):
        missing = tuple(sorted(all_axes - axes))
        if missing and hasattr(jax.lax, "pcast"):
            array = jax.lax.pcast(array, missing, to="varying")
        elif missing:
            array = jax.lax.pvary(array, missing)
        varying.append(array)
    return varying
