"""Functions over dlbridge's tensors as functions over MXNet's arrays."""

import sys

import pytest

if sys.version_info >= (3, 12):
    pytest.skip("MXNet is for Python before 3.12, and NumPy before 1.24", allow_module_level=True)
import numpy as np

if tuple(int(part) for part in np.__version__.split(".")[:2]) >= (1, 24):
    pytest.skip(
        f"MXNet is for NumPy before 1.24, and this is {np.__version__}", allow_module_level=True
    )
import dlbridge  # noqa: E402
from dlbridge import ops  # noqa: E402
from support import framework, refused  # noqa: E402

mx = framework("mxnet")


def random_matrix(*shape):
    return mx.nd.random.uniform(shape=shape)


def test_wrapped_matmul_equals_mxnet():
    matmul = dlbridge.to_mxnet_func(ops.matmul)
    a, b, out = random_matrix(20, 30), random_matrix(30, 10), mx.nd.zeros((20, 10))
    result = matmul(a, b, out=out)
    expected = mx.nd.dot(a, b).asnumpy()
    assert isinstance(result, mx.nd.NDArray)
    for product in (result, out, matmul(a, b)):
        np.testing.assert_allclose(product.asnumpy(), expected, rtol=1e-5)


def test_writes_reach_the_callers_arrays():
    def clear(tensors, *, last):
        for tensor in (*tensors, last):
            assert isinstance(tensor, dlbridge.Tensor)
            ops.add(tensor, 1, out=tensor)

    tensors, last = [mx.nd.zeros(2), mx.np.zeros(3)], mx.nd.zeros((2, 2))
    dlbridge.to_mxnet_func(clear)(tensors, last=last)
    assert [x.asnumpy().tolist() for x in (*tensors, last)] == [[1, 1], [1, 1, 1], [[1, 1], [1, 1]]]


def test_function_over_numpy_shares_memory():
    def centre(x):
        assert type(x) is np.ndarray
        x -= x.mean()
        return x

    x = mx.nd.array([1, 2, 3])
    y = dlbridge.to_mxnet_func(centre, over="numpy")(x)
    assert x.asnumpy().tolist() == y.asnumpy().tolist() == [-1, 0, 1]
    back = dlbridge.wrap(lambda x: mx.nd.dot(x, x), "numpy", over="mxnet")(
        np.eye(3, dtype="f4") * 2
    )
    assert type(back) is np.ndarray and back.tolist() == (np.eye(3) * 4).tolist()


def test_sparse_arrays_are_refused():
    with refused(BufferError, "the array is sparse"):
        dlbridge.to_mxnet_func(lambda x: x)(mx.nd.sparse.zeros("csr", (3, 4)))
