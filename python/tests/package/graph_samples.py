"""A call of each op that comes with the package, for tests of frameworks' compilers: arguments of
NumPy arrays, and attributes.
"""

import dlbridge
import numpy as np
from dlbridge import ops

F = np.float32


def numbers(*shape, dtype=F):
    count = int(np.prod(shape))
    return (np.arange(count) * 37 % 23 / 8 + 0.25).reshape(shape).astype(dtype)


X, Y = numbers(3, 4), numbers(3, 4)[::-1].copy()
PAIR = ((X, Y), {})
ONE = ((X,), {})
REDUCED = ((X,), {"axis": [1], "keepdims": True})
CALLS = {
    **dict.fromkeys(["add", "subtract", "multiply", "divide", "maximum", "minimum"], PAIR),
    **dict.fromkeys(["equal", "not_equal", "less", "less_equal"], PAIR),
    **dict.fromkeys(["greater", "greater_equal"], PAIR),
    **dict.fromkeys(["negative", "abs", "relu", "sqrt", "rsqrt", "exp", "log", "tanh"], ONE),
    **dict.fromkeys(["sigmoid", "silu", "copy", "softmax", "log_softmax"], ONE),
    **dict.fromkeys(["sum", "mean", "max", "min", "var", "std"], REDUCED),
    "argmax": ((X,), {"axis": 1}),
    "argmin": ((X,), {}),
    "axpy": ((np.array(2, F), X, Y), {}),
    "broadcast_like": ((numbers(4), X), {}),
    "cast": ((X,), {"dtype": "float16"}),
    "concat": (([X, Y, X],), {"axis": 1}),
    "dequantize": ((np.ones((3, 4), np.int8), np.array(0.5, F)), {}),
    "expand_dims": ((X,), {"axis": 1}),
    "fma": ((X, Y, X), {}),
    "gelu": ((X,), {"approximate": "tanh"}),
    "image_to_tensor": ((np.ones((5, 4, 3), np.uint8), numbers(3), numbers(3)), {"height": 2}),
    "index_add": ((X, np.array([0, 2]), Y[:2]), {}),
    "layer_norm": ((X, numbers(4), numbers(4)), {}),
    "matmul": ((X, numbers(4, 5)), {}),
    "matrix_transpose": ONE,
    "mean_backward": ((numbers(3), X), {"axis": [1]}),
    "nv12_to_rgb": ((np.ones((4, 4), np.uint8), np.ones((2, 2, 2), np.uint8)), {}),
    "quantize": ((X, np.array(0.5, F)), {}),
    "rms_norm": ((X, numbers(4)), {}),
    "rms_norm_backward": ((X, Y, numbers(4)), {}),
    "rms_norm_factor": ONE,
    "sum_backward": ((numbers(3), X), {"axis": [1]}),
    "sum_to_like": ((X, numbers(4)), {}),
    "take": ((X, np.array([0, 2])), {}),
    "topk": ((X,), {"k": 2}),
    "where": ((X > 1, X, Y), {}),
}

#: Ops of the tests' extension with a dtype that not all frameworks have.
RARE = {"testing.rare_default", "testing.rare_input"}
#: Those that a framework may refuse.
REFUSED = {"testing.kinds", *RARE}
#: Functions with gradients, and shapes of their arguments.
GRADIENTS = {
    "add": (lambda a, b: ops.add(a, b), (3, 4), (4,)),
    "subtract": (lambda a, b: ops.subtract(a, b), (3, 1), (2, 1, 4)),
    "multiply": (lambda a, b: ops.multiply(a, b), (3, 4), ()),
    "divide": (lambda a, b: ops.divide(a, b), (3, 4), (3, 1)),
    "axpy": (lambda alpha, x, y: ops.axpy(alpha, x, y * 1), (), (3,), (3,)),
    "matmul": (lambda a, b: ops.matmul(a, b), (2, 3, 4), (4, 5)),
    "matmul of vectors": (lambda a, b: ops.matmul(a, b), (4,), (4,)),
    "matmul of a row": (lambda a, b: ops.matmul(a, b), (4,), (2, 4, 3)),
    "matmul of a column": (lambda a, b: ops.matmul(a, b), (2, 3, 4), (4,)),
    "softmax": (lambda x: ops.softmax(x, axis=0), (3, 4)),
    "log_softmax": (lambda x: ops.log_softmax(x), (3, 4)),
    "rms_norm": (lambda x, weight: ops.rms_norm(x, weight), (2, 3, 4), (4,)),
    "rms_norm without weight": (lambda x: ops.rms_norm(x, eps=0.1), (3, 4)),
    "rms_norm_backward": (
        lambda g, x, w: ops.rms_norm_backward(g, x, w),
        *((2, 3, 4), (2, 3, 4), (4,)),
    ),
    "rms_norm_backward without weight": (
        lambda g, x: ops.rms_norm_backward(g, x, eps=0.1),
        *((3, 4), (3, 4)),
    ),
    "rms_norm_factor": (lambda x: ops.rms_norm_factor(x, eps=0.1), (3, 4)),
    "sum": (lambda x: ops.sum(x, axis=(0, 2)), (2, 3, 4)),
    "sum of all": (lambda x: ops.sum(x), (2, 3)),
    "mean": (lambda x: ops.mean(x, axis=1, keepdims=True), (2, 3, 4)),
    "cast": (lambda x: ops.multiply(ops.cast(x, dtype="float64"), 2.0), (3,)),
    "exp": (lambda x: ops.log(ops.sqrt(ops.exp(ops.negative(x)))), (3,)),
    "sigmoid": (lambda x: ops.tanh(ops.sigmoid(x)), (3,)),
    "copy": (lambda x: ops.matrix_transpose(ops.copy(x)), (3, 4)),
}
#: Functions, the axes of their arguments that vmap takes, shapes, and the calls that it makes for
#: three indices.
VECTORISED = {
    "add": (lambda a, b: ops.add(a, b), (0, None), (3, 4), (4,), 1),
    "add of ranks": (lambda a, b: ops.add(a, b), (0, 0), (3, 4), (3, 2, 4), 1),
    "add of another axis": (lambda a, b: ops.add(a, b), (1, None), (4, 3), (4,), 1),
    "exp": (lambda a: ops.exp(a), (0,), (3, 4), 1),
    "sum": (lambda a: ops.sum(a), (0,), (3, 4, 5), 1),
    "mean": (lambda a: ops.mean(a, axis=0, keepdims=True), (0,), (3, 4, 5), 1),
    "softmax": (lambda a: ops.softmax(a, axis=0), (0,), (3, 4, 5), 1),
    "matmul": (lambda a, b: ops.matmul(a, b), (0, None), (3, 4, 5), (5, 2), 1),
    "matmul of batches": (lambda a, b: ops.matmul(a, b), (0, 0), (3, 7, 4, 5), (3, 5, 2), 1),
    "rms_norm": (lambda a, w: ops.rms_norm(a, w), (0, None), (3, 4, 5), (5,), 1),
    "topk": (lambda a: ops.topk(a, k=2)[0], (0,), (3, 4, 5), 1),
    "concat": (lambda a, b: ops.concat(a, b, axis=0), (0, None), (3, 4, 5), (2, 5), 1),
    "argmax": (lambda a: ops.argmax(a), (0,), (3, 4, 5), 3),
    "matmul of rows": (lambda a, b: ops.matmul(a, b), (0, 0), (3, 5), (3, 5, 2), 3),
    "sum_backward": (lambda g, x: ops.sum_backward(g, x), (0, None), (3,), (4, 5), 1),
    "mean_backward": (
        lambda g, x: ops.mean_backward(g, x, axis=-1, keepdims=True),
        *((None, 1), (4, 1), (4, 3, 5), 1),
    ),
}

#: Dtypes, and numbers as arguments: some that they can represent, and some that they can't.
NUMBERS = [
    *(("bool", number) for number in (True, 1, 0.0)),
    *(("uint8", number) for number in (True, 255, 256, 300, -1, 2.0, 2.5)),
    *(("int32", number) for number in (False, 2**31 - 1, 2**31, -(2**31), 2**40, 2.5)),
    *(("int64", number) for number in (2**63 - 1, 2**63, -(2**63) - 1, float("nan"))),
    *(("float16", number) for number in (True, 0.1, 65519, 65520, -65520, 1e9, float("inf"))),
    *(("float16", number) for number in (65519.99, float("nan"), 2**100)),
    *(("bfloat16", number) for number in (1e9, 3.396e38, -3.3962e38, 2**70)),
    *(("float32", number) for number in (0.1, 1e39, 3.4e38, 2**70, 2**130, float("-inf"))),
    *(("float64", number) for number in (1e300, 2**1000, 10**400)),
]
#: Arguments that aren't tensors.
NOT_TENSORS = [[10.0, 20.0, 30.0], (10.0,), [np.ones(3, F)], "text", 2j, {}]
# The names of tests, without hundreds of digits.
NUMBER_NAMES = [f"{dtype}-{float(n) if abs(n) < 2**1000 else 'huge'}" for dtype, n in NUMBERS]


def calls_with(given):
    """Calls with a tensor, and an argument that isn't one."""
    return [
        lambda x: ops.multiply(x, given),
        lambda x: ops.multiply(x, b=given),
        lambda x: ops.multiply(given, x),
        lambda x: ops.rms_norm(x, given),
        lambda x: ops.concat([x, given]),
    ]


#: Calls with a tensor that are bound to the op's arguments, or refused.
BOUND = [
    lambda x: ops.add(x),
    lambda x: ops.add(x, None),
    lambda x: ops.add(x, x, b=x),
    lambda x: ops.concat(x, x, xs=x),
    lambda x: ops.concat([x, None]),
    lambda x: ops.cast(x),
    lambda x: ops.softmax(x, axis=None),
    lambda x: ops.add(x, memoryview(np.ones(3, F))),
    lambda x: ops.cast(x, dtype=dlbridge.zeros(1).dtype),
]


#: Calls with a matrix, whose attributes have types of Python's or of NumPy's.
OF_TYPES = [
    lambda x: ops.sum(x, axis=np.int64(1)),
    lambda x: ops.sum(x, axis=(np.int32(0), 1), keepdims=np.bool_(True)),
    lambda x: ops.sum(x, axis=np.array([0])),
    lambda x: ops.argmax(x, axis=np.int8(-1)),
    lambda x: ops.softmax(x, axis=np.uint8(0)),
    lambda x: ops.cast(x, dtype=float),
    lambda x: ops.cast(x, dtype=np.int16),
    lambda x: ops.cast(x, dtype=np.dtype("f8")),
]


def outcome(call):
    """The results of a call as lists, or the type, text and fields of its exception."""
    try:
        result = call()
    except (TypeError, ValueError) as error:
        text = str(error).rstrip().splitlines()[-1].strip()
        return type(error), text, *(getattr(error, name, None) for name in ("kind", "found"))
    array = np.asarray(result)
    return array.dtype.name, repr(array.astype("f8").tolist())


# Calls of a tensor that are refused whatever its first size is: attributes, error and its kind.
REFUSED_OF_ANY_SIZE = [
    ("sum", {"axis": (7,)}, IndexError, "index"),
    ("max", {"axis": (0, 0)}, ValueError, "value"),
    ("topk", {"k": -1}, ValueError, "value"),
]
