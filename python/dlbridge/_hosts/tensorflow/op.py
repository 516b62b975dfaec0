"""An op of TensorFlow's, called in graphs and eagerly."""

from __future__ import annotations

import functools

import tensorflow as tf

from ... import _core
from ..._errors import with_fields
from ..definition import Definition, dtype_name, is_usual
from .gradient import gradient
from .private import private

# As of the module `typing`, which takes longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What stands for None among integers.
_NO_INT = -(2**63)
#: Keywords of calls that don't change what a call of TensorFlow's op does.
_OTHER_KEYWORDS = ("out", "like", "label", "memory", "threads")


def to_dtype(dtype: Any) -> tf.DType | None:
    """Returns the dtype of TensorFlow of a name, or of one of another library."""
    if dtype is None or isinstance(dtype, tf.DType):
        return dtype
    name = dtype_name(dtype)
    try:
        return tf.as_dtype(name)
    except TypeError:
        error = TypeError(f"TensorFlow has no dtype {name}")
        raise with_fields(error, "dtype", found=name) from None


class PublishedOp(Definition):
    """An op of TensorFlow's."""

    def __init__(self, name: str, published: dict[str, PublishedOp]) -> None:
        """Defines an op in TensorFlow, whose gradient calls others that are published."""
        super().__init__(name, to_dtype)
        self.published = published
        row = self.row
        # Attributes that are given in each call, as results have their dtypes.
        self.result_dtypes = {
            kind[1]: kind
            for kind in (output["dtype"] for output in row["outputs"])
            if kind[0] in ("attribute_or", "attribute_or_sum")
        }
        self.name = self.op._tensorflow_publish()
        if row["gradients"]:
            tf.RegisterGradient(self.name)(functools.partial(gradient, self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the op with the arguments of the function in `dlbridge.ops`."""
        row = self.row["name"]
        for name in _OTHER_KEYWORDS:
            if not is_usual(kwargs.pop(name, None)):
                error = TypeError(f"{row}: a call of TensorFlow's op has no argument {name!r}")
                raise with_fields(error, "argument", found=name)
        inputs, attributes = self.bind(args, kwargs)
        return self.call(self.tensors(inputs, _tensor, tf.constant), attributes)

    def call(self, tensors: list[list[tf.Tensor]], given: dict[str, Any]) -> Any:
        """Calls the op with a list of tensors for each input."""
        attributes = self.op._attributes(given)
        for name, kind in self.kinds.items():
            if kind.startswith("dtype"):
                attributes[name] = to_dtype(attributes[name])
        arguments = [
            of if row["optional"] or row["variadic"] else of[0]
            for of, row in zip(tensors, self.row["inputs"])
        ]
        if tf.executing_eagerly():
            encoded = self._all_encoded(attributes, tensors)
            try:
                results = self._run(arguments, encoded)
            except (tf.errors.OpError, RuntimeError):
                self._check(tensors, attributes)
                raise
        else:
            # Before there is a node.
            shapes = self._check(tensors, attributes)
            encoded = self._all_encoded(attributes, tensors)
            try:
                results = self._add_node(arguments, encoded)
            except (TypeError, ValueError):
                # Kernels are for dtypes, and few for ranks.
                self._check(tensors, attributes, rank=1)
                raise
            for result, shape in zip(results[len(self.written) :], shapes):
                if shape is not None:
                    result.set_shape(shape)
        return results[0] if len(results) == 1 else tuple(results)

    def _run(self, arguments: list[Any], attributes: dict[str, Any]) -> list[tf.Tensor]:
        functions = private()
        rest = [item for pair in attributes.items() for item in pair]
        try:
            results = functions.execute(functions.context(), self.name, None, *arguments, *rest)
        except functions.failure as error:
            functions.fail(error, None)
        except functions.fallback as cause:
            error = RuntimeError(f"{self.row['name']}: TensorFlow refused its arguments")
            raise with_fields(error, "exchange") from cause
        return list(results) if isinstance(results, list | tuple) else [results]

    def _add_node(self, arguments: list[Any], attributes: dict[str, Any]) -> list[tf.Tensor]:
        functions = private()
        inputs = dict(zip(self.inputs, arguments))
        _, _, node, results = functions.add_node(self.name, name=None, **inputs, **attributes)
        results = list(results)
        if functions.must_record():
            names = [attribute.name for attribute in node.op_def.attr]
            values = [item for name in names for item in (name, node.get_attr(name))]
            functions.record(self.name, node.inputs, tuple(values), results)
        return results

    def _check(self, tensors: Any, attributes: dict[str, Any], rank: int | None = None) -> Any:
        """Returns what the rule of sizes says of the results' shapes, and raises what an eager call
        raises. Whether there is a kernel is checked if ranks are known, or taken to be `rank`.
        """
        shapes = [[_sizes_of(tensor) for tensor in of] for of in tensors]
        given = {name: _plain(value) for name, value in attributes.items() if value is not None}
        sizes = [
            size for of in shapes for shape in of for size in ([None] if shape is None else shape)
        ]
        described = [
            [(shape, tensor.dtype.base_dtype.name) for shape, tensor in zip(*both)]
            for both in zip(shapes, tensors)
        ]
        infer = self.op._infer_partial if None in sizes else self.op._infer
        results = infer(described, given)
        ranks = [
            [(rank if shape is None else len(shape), dtype) for shape, dtype in of]
            for of in (*described, *([result] for result in results))
        ]
        if all(count is not None for of in ranks for count, _ in of):
            self.op._check_kernel(ranks, given)
        return [shape for shape, _ in results]

    def _all_encoded(self, attributes: dict[str, Any], tensors: Any) -> dict[str, Any]:
        """Returns the values of all attributes as TensorFlow has them."""
        for name, kind in self.kinds.items():
            is_optional = kind in ("int | None", "ints | None")
            if is_optional and attributes[name] in (_NO_INT, [_NO_INT]):
                self._check(tensors, attributes)
                text = f'{self.row["name"]}: attribute "{name}" is out of bounds: {_NO_INT}'
                error = IndexError(f"{text} stands for None in TensorFlow")
                raise with_fields(error, "index", found=str(_NO_INT), wanted="a larger number")
        return {name: self._encoded(name, attributes[name], tensors) for name in self.kinds}

    def _encoded(self, name: str, value: Any, tensors: Any) -> Any:
        """Returns an attribute's value as TensorFlow has it."""
        kind = self.kinds[name]
        if kind == "float":
            return repr(float(value))
        if kind == "int | None":
            return _NO_INT if value is None else value
        if kind == "ints | None":
            return [_NO_INT] if value is None else list(value)
        if kind == "dtype | None":
            if name in self.result_dtypes:
                return value or self._dtype(self.result_dtypes[name], tensors)
            return [] if value is None else [value]
        return list(value) if kind == "ints" else value

    def decoded(self, name: str, value: Any) -> Any:
        """Returns an attribute's value of what TensorFlow has."""
        kind = self.kinds[name]
        if kind in ("float", "str"):
            text = value.decode() if isinstance(value, bytes) else value
            return float(text) if kind == "float" else text
        if kind == "int | None":
            return None if value == _NO_INT else value
        if kind == "ints | None":
            return None if list(value) == [_NO_INT] else list(value)
        if kind == "dtype | None" and name not in self.result_dtypes:
            return value[0] if value else None
        return list(value) if kind == "ints" else value

    def _dtype(self, kind: Any, tensors: Any) -> tf.DType:
        """Returns the dtype of a result for which no attribute is given."""
        for row, of in zip(self.row["inputs"], tensors):
            if row["dtype"] == ("variable", kind[2]) and of:
                dtype = of[0].dtype
                is_same = dtype.is_floating or dtype.is_complex or dtype.is_bool
                if kind[0] == "attribute_or" or is_same:
                    return dtype
                return tf.uint64 if dtype.is_unsigned else tf.int64
        raise AssertionError(f"{self.row['name']}: nothing says a result's dtype")


def _sizes_of(tensor: tf.Tensor) -> list[int | None] | None:
    return None if tensor.shape.rank is None else tensor.shape.as_list()


def _plain(value: Any) -> Any:
    return value.name if isinstance(value, tf.DType) else value


@functools.cache
def _is_known(dtype: tf.DType) -> bool:
    try:
        _core.DType(dtype.name)
    except (TypeError, ValueError, LookupError):
        return False
    return True


def _tensor(value: Any) -> tf.Tensor:
    """Returns a tensor of TensorFlow of a tensor, array or buffer."""
    if isinstance(value, private().tensor):
        tensor = tf.convert_to_tensor(value)
        if not _is_known(tensor.dtype.base_dtype):
            name = tensor.dtype.base_dtype.name
            error = BufferError(f"TensorFlow's {name} has no DLPack equivalent")
            raise with_fields(error, "exchange")
        return tensor
    # Imported as of eager calls, and copied: what a tape or a graph keeps doesn't change. By NumPy,
    # as TensorFlow takes more dtypes that way than by DLPack, of which old releases lack bool.
    return tf.constant(_core.convert(_core.from_dlpack(value), "numpy", copy=True))
