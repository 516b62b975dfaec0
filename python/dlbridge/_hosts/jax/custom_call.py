"""The custom call of an op, by JAX's functions for XLA's FFI."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

try:
    from jax import ffi
except ImportError:  # before 0.5
    from jax.extend import ffi  # type: ignore[no-redef]

from ..._errors import with_fields

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .op import PublishedOp

try:
    jax.ShapeDtypeStruct((), np.float32, vma=frozenset())
    _TYPES_VARY = True
except TypeError:  # before 0.6.2, where arrays have it already
    _TYPES_VARY = False

#: Dtypes that XLA may or may not pack.
_SMALL = {"int1", "int2", "int4", "uint1", "uint2", "uint4", "float4_e2m1fn"}


def run(
    op: PublishedOp, counts: tuple[int, ...], attributes: dict[str, Any], arrays: Any
) -> tuple[Any, ...]:
    """Calls an op with some arrays for each of its inputs.

    Results are the new values of written inputs, and the outputs.
    """
    inputs = op.split(counts, arrays)
    for array in arrays:
        _check_whole(op, array.dtype.name)
    results: list[tuple[Any, Any]] = []
    for at in op.written:
        results.append((inputs[at][0].shape, inputs[at][0].dtype))
    for shape, dtype in op.results(inputs, attributes):
        results.append((shape, _kept(op, dtype)))
    given = {name: _attribute(op, name, value) for name, value in attributes.items()}
    is_given = [count > 0 for count in counts]
    if is_given != sorted(is_given, reverse=True):
        given["_given"] = np.int64(sum(1 << at for at, is_one in enumerate(is_given) if is_one))
    places = [at for at, count in enumerate(counts) for _ in range(count)]
    axes = _axes_of(arrays[0]) if arrays else {}
    if not _TYPES_VARY:
        axes.pop("vma", None)
    called = ffi.ffi_call(
        op.target,
        tuple(jax.ShapeDtypeStruct(tuple(shape), dtype, **axes) for shape, dtype in results),
        input_output_aliases={places.index(at): number for number, at in enumerate(op.written)},
    )
    return tuple(called(*arrays, **given))


def _check_whole(op: PublishedOp, dtype: str) -> None:
    if dtype in _SMALL:
        whole = "float8_e4m3fn" if dtype.startswith("f") else dtype.rstrip("124") + "8"
        error = TypeError(f"{op.name}: expected elements of whole bytes, got {dtype}")
        remedy = f"cast it with x.astype({whole!r})"
        raise with_fields(error, "dtype", found=dtype, wanted=whole, remedy=remedy)


def _kept(op: PublishedOp, name: str) -> Any:
    """Returns the dtype of a result, unless JAX narrows it."""
    _check_whole(op, name)
    dtype = jnp.dtype(name)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        error = TypeError(f"{op.name}: a result is {name}, which JAX would narrow")
        raise with_fields(error, "dtype", found=name, remedy="turn jax_enable_x64 on")
    return dtype


def _attribute(op: PublishedOp, name: str, value: Any) -> Any:
    """Returns a value as XLA's attribute."""
    kind = op.kinds[name]
    if value is None:
        return "None"
    if kind == "bool":
        return np.bool_(value)
    if kind == "float":
        return np.float64(value)
    if kind.startswith("ints"):
        return np.array(value, np.int64)
    return np.int64(value) if kind.startswith("int") else value


def _axes_of(array: Any) -> dict[str, Any]:
    """Returns what a result's type says of the axes of a mesh over which shard_map knows that an
    array varies, as keywords.
    """
    of = jax.typeof(array) if hasattr(jax, "typeof") else None
    if hasattr(of, "manual_axis_type"):  # from 0.12 on
        axes = {"manual_axis_type": of.manual_axis_type}
        if of.manual_axis_type.varying:
            mesh, spec = of.sharding.mesh, jax.sharding.PartitionSpec()
            axes["sharding"] = jax.sharding.NamedSharding(mesh, spec)
        return axes
    return {"vma": of.vma} if hasattr(of, "vma") else {}


def type_of(array: Any) -> Any:
    """Returns the type that JAX gives an array."""
    return jax.typeof(array) if hasattr(jax, "typeof") else jax.core.get_aval(array)


def spread(of: Any) -> Any:
    """Returns how an array of some type is spread over a mesh, if the type says so."""
    of = getattr(of, "sharding", None) if hasattr(jax, "reshard") else None
    explicit = of is not None and getattr(of.mesh, "explicit_axes", ())
    return of if explicit else None


def varying(arrays: list[Any]) -> list[Any]:
    """Returns the arrays, all of which vary over the axes over which one does."""
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
