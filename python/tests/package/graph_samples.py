"""A call of each op that comes with the package, for tests of frameworks' compilers: arguments of
NumPy arrays, and attributes.
"""

import numpy as np

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
    "sum_backward": ((numbers(3), X), {"axis": [1]}),
    "sum_to_like": ((X, numbers(4)), {}),
    "take": ((X, np.array([0, 2])), {}),
    "topk": ((X,), {"k": 2}),
    "where": ((X > 1, X, Y), {}),
}
