"""An op, called with arrays that JAX traces."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ... import _core
from ..._errors import with_fields
from .. import definition, sizes
from ..definition import Definition, comparable, is_usual
from . import custom_call, primitive

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Keywords of calls that have no place in a traced one.
_OTHER_KEYWORDS = ("like", "label", "memory", "threads", "out")


def dtype_name(dtype: Any) -> str | None:
    """Returns the name of a dtype."""
    if dtype is None:
        return None
    return definition.dtype_name(dtype)


class PublishedOp(Definition):
    """An op, and what JAX calls for it."""

    def __init__(self, name: str, ops: dict[str, PublishedOp]) -> None:
        """Publishes an op. `ops` has all of them, by name."""
        super().__init__(name, dtype_name)
        self.ops = ops
        self.name = self.row["name"]
        target = getattr(self.op, "_xla_target", None)
        if target is None:
            error = RuntimeError(f"{self.name}: its extension was built without feature hosts")
            raise with_fields(error, "kernel")
        self.target, handler = target()
        try:
            custom_call.ffi.register_ffi_target(self.target, handler, platform="cpu")
        except Exception as cause:
            raise with_fields(RuntimeError(f"{self.name}: {cause}"), "exchange") from cause

    def __repr__(self) -> str:
        return str(self.target)  # In the text of jaxprs.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the op with the arguments of its function in `dlbridge.ops`."""
        for name in _OTHER_KEYWORDS:
            if not is_usual(kwargs.pop(name, None)):
                error = TypeError(f"{self.name}: a traced call has no argument {name!r}")
                raise with_fields(error, "argument", found=name)
        inputs, attributes = self.bind(args, kwargs)
        counts = tuple(map(len, inputs))
        function = primitive.traceable(self, counts, self.key(attributes))
        tensors = self._of_one_dtype(inputs, self.tensors(inputs, _array, _number))
        self._check_narrowed(inputs, tensors)
        arrays = [jnp.asarray(array) for of in tensors for array in of]
        results = function(*custom_call.varying(arrays))
        return results[0] if len(results) == 1 else results

    def _of_one_dtype(self, inputs: list[list[Any]], tensors: list[list[Any]]) -> list[list[Any]]:
        """Returns tensors of which numbers that JAX traces have the dtype of others of their kind,
        as numbers that it doesn't trace have.
        """
        kinds = [tensor["dtype"] for tensor in self.row["inputs"]]
        wanted = {kind: jnp.dtype(str(kind[1])) for kind in kinds if kind[0] == "is"}
        for kind, of, values in zip(kinds, tensors, inputs):
            for array, value in zip(of, values):
                if not _is_traced_number(value) and not definition.is_plain_number(value):
                    wanted.setdefault(kind, array.dtype)
        for at, (kind, values) in enumerate(zip(kinds, inputs)):
            for place, value in enumerate(values):
                dtype = wanted.get(kind)
                if dtype is not None and _is_traced_number(value) and _takes(dtype, value.dtype):
                    tensors[at][place] = jax.lax.convert_element_type(value, dtype)
        return tensors

    def _check_narrowed(self, inputs: list[list[Any]], tensors: list[list[Any]]) -> None:
        """Checks that JAX narrows no elements but indices, whose values still fit."""
        kinds = [tensor["dtype"] for tensor in (*self.row["inputs"], *self.row["outputs"])]
        for at, (of, arrays) in enumerate(zip(inputs, tensors)):
            for place, (value, array) in enumerate(zip(of, arrays)):
                if isinstance(value, jax.Array):
                    continue
                is_number = definition.is_plain_number(value)
                found = array.dtype.name if is_number else _dtype_of(value)
                kept = jax.dtypes.canonicalize_dtype(array.dtype).name
                if found == kept or not jnp.issubdtype(found, np.number):
                    continue
                is_index = kinds.count(kinds[at]) == 1 and jnp.issubdtype(found, jnp.integer)
                if is_index:
                    values = array if is_number else _numpy(value)
                    if np.array_equal(values, values.astype(kept)):
                        continue
                argument = self.argument(at, place)
                text = f'{self.name}: argument "{argument}" has elements of {found}'
                error = TypeError(f"{text}, which JAX would narrow to {kept}")
                way = f"pass an array of {kept}" if is_number else f"cast it to {kept}"
                remedy = f"{way}, or turn jax_enable_x64 on"
                raise with_fields(error, "dtype", found=found, wanted=kept, remedy=remedy)

    def key(self, attributes: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
        """Returns the values of attributes, to be compared and hashed."""
        return tuple(
            (name, comparable(value)) for name, value in self.op._attributes(attributes).items()
        )

    def attributes(self, key: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
        """Returns the values of attributes of a key."""
        values = dict(key)
        for name, kind in self.kinds.items():
            if kind == "float" and isinstance(values.get(name), str):
                values[name] = float.fromhex(values[name])
        return values

    def split(self, counts: tuple[int, ...], items: Any) -> list[list[Any]]:
        """Returns a list of items for each input."""
        rest = iter(items)
        return [[next(rest) for _ in range(count)] for count in counts]

    def results(
        self, inputs: list[list[jax.Array]], attributes: dict[str, Any]
    ) -> list[tuple[Any, str]]:
        """Returns the shapes and dtypes of outputs."""
        known = {name: value for name, value in attributes.items() if value is not None}
        shapes = [[array.shape for array in of] for of in inputs]
        described = [[(array.shape, array.dtype.name) for array in of] for of in inputs]
        if sizes.are_known(shapes):
            results = self.op._infer(described, known)
        elif self.row["sizes"] is None:
            error = ValueError(
                f"{self.name}: it has no rule of sizes, and some are symbols: {shapes}"
            )
            remedy = "pass arrays whose sizes are numbers"
            raise with_fields(error, "shape", found=shapes, wanted="numbers", remedy=remedy)
        else:
            dtypes = sizes.dtypes(self.op, described, known)
            results = [*zip(self._symbolic(shapes, attributes), dtypes)]
        arguments = [*described, *([result] for result in results)]
        ranks = [[(len(shape), dtype) for shape, dtype in of] for of in arguments]
        self.op._check_kernel(ranks, known)
        return [(shape, str(dtype)) for shape, dtype in results]

    def _symbolic(self, shapes: list[list[Any]], attributes: dict[str, Any]) -> Any:
        """Returns the shapes of outputs where some sizes are symbols of jax.export."""

        def check(holds: Any, why: str) -> None:
            if not holds:
                error = ValueError(f"{self.name}: expected that {why}, got {shapes}")
                raise with_fields(error, "shape", found=shapes, wanted=why)

        def broadcast(*shapes: Any) -> Any:
            try:
                return jnp.broadcast_shapes(*shapes)
            except ValueError as cause:
                found = list(map(tuple, shapes))
                error = ValueError(f"{self.name}: expected shapes that broadcast, got {found}")
                raise with_fields(error, "shape", found=found) from cause

        return sizes.evaluate(self.row["sizes"], shapes, attributes, check, broadcast)


def _array(value: Any) -> jax.Array:
    """Returns an array of JAX of a tensor, array or buffer, of which it has the elements as they are
    now: JAX may read them later, and keeps them for derivatives.
    """
    if isinstance(value, jax.Array):
        if jnp.issubdtype(value.dtype, jax.dtypes.extended):
            error = TypeError(f"expected elements that are numbers, got {value.dtype}")
            raise with_fields(error, "dtype", found=str(value.dtype), wanted="numbers")
        return value
    return jnp.asarray(np.array(_numpy(value), order="C"))


def _is_traced_number(value: Any) -> bool:
    """Whether a value was a Python number before JAX traced it."""
    return isinstance(value, jax.core.Tracer) and value.ndim == 0 and value.aval.weak_type


def _takes(dtype: Any, number: Any) -> bool:
    """Whether elements of a dtype may be made of numbers of another one without a loss of parts."""
    of = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
    places = [[jnp.issubdtype(one, kind) for kind in of].index(True) for one in (dtype, number)]
    return places[0] >= places[1]


def _dtype_of(value: Any) -> str:
    """Returns the name of the dtype of a tensor, array or buffer."""
    dtype = getattr(value, "dtype", None)
    return definition.dtype_name(_core.asarray(value).dtype if dtype is None else dtype)


def _numpy(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray | np.generic):
        _core.from_dlpack(value)  # Refuses what eager calls refuse.
        return np.asarray(value)
    return _core.convert(value, "numpy")


def _number(value: Any, dtype: str) -> np.ndarray[Any, Any]:
    return np.asarray(value, jnp.dtype(dtype))
