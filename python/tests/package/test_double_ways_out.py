"""Ways out of a GPU by a copy: to the host's frameworks, into pickles, and the reverse."""

import copy
import pickle

import dlbridge
import double
import numpy as np
import pytest
from double_frameworks import KINDS, cupy, jax, torch
from support import refused

pytestmark = pytest.mark.usefixtures("settled")
HOST = ["numpy", "pyarrow", "mlx"]


@pytest.mark.parametrize("copying", [None, True])
def test_conversion_to_numpy_copies_to_the_host(copying):
    tensor = dlbridge.asarray([[1, 2], [3, 4]], "int16", device="cuda")
    for way in (
        lambda: tensor.to("numpy", copy=copying),
        lambda: dlbridge.convert(tensor, "numpy", copy=copying),
        lambda: dlbridge.convert(tensor.T, "numpy", copy=copying).T,
    ):
        array = way()
        assert type(array) is np.ndarray and array.tolist() == [[1, 2], [3, 4]]
        array[0, 0] = 9
        assert tensor.tolist() == [[1, 2], [3, 4]]


def test_conversion_to_numpy_without_copy_is_refused():
    tensor = dlbridge.zeros(3, device="cuda")
    for way in (
        lambda: tensor.to("numpy"),
        lambda: tensor.to("numpy", copy=False),
        lambda: dlbridge.convert(tensor, "numpy"),
        lambda: np.asarray(tensor),
        lambda: memoryview(tensor),
    ):
        with refused(BufferError, "cuda:0"):
            way()
    with refused(BufferError, "NumPy can't reach memory on cuda:0; copy it first"):
        tensor.to("numpy")
    assert np.array(tensor, copy=True).tolist() == [0] * 3
    assert np.from_dlpack(tensor, device="cpu").tolist() == [0] * 3


@pytest.mark.parametrize("name", KINDS)
def test_framework_tensor_to_numpy_copies_to_the_host(name):
    x = KINDS[name]().fill(5)
    assert dlbridge.convert(x, "numpy", copy=None).tolist() == [5] * 16


def test_explain_names_the_copy():
    tensor = dlbridge.zeros(3, device="cuda")
    explained = dlbridge.explain(tensor, "numpy")
    assert (explained.outcome, explained.reason) == ("copied", "NumPy can't reach memory on cuda:0")
    assert "copy=None" in explained.remedy
    assert dlbridge.explain(tensor, "torch").shares and dlbridge.explain(tensor, "cupy").shares
    host = dlbridge.explain(dlbridge.zeros(3), "cupy")
    assert (host.outcome, host.reason) == ("copied", "CuPy can't reach memory on cpu")
    # What isn't cured is said first.
    assert dlbridge.explain(dlbridge.zeros(3, "bfloat16", device="cuda"), "numpy").outcome in (
        "refused",
        "copied",
    )
    assert dlbridge.explain(dlbridge.zeros(3, "float64", device="cuda"), "jax").outcome == "refused"
    pinned = dlbridge.explain(dlbridge.zeros(3, device="cuda_host"), "torch")
    assert (pinned.outcome, pinned.reason) == (
        "copied",
        "PyTorch can't reach memory on cuda_host:0",
    )


def test_conversion_from_host_to_gpu_framework_copies():
    host = dlbridge.full(16, 4, "uint8")
    y = host.to("cupy", copy=None)
    assert type(y) is cupy.ndarray and y.values() == [4] * 16
    with refused(BufferError, "CuPy can't reach memory on cpu; copy it first"):
        host.to("cupy")
    managed = dlbridge.full(16, 6, "uint8", device="cuda_managed")
    assert managed.to("cupy").address == managed.data_ptr
    copied = managed.to("cupy", copy=True)
    assert copied.values() == [6] * 16


def test_requested_copy_stays_on_its_gpu():
    tensor = dlbridge.full(16, 4, "uint8", device="cuda")
    for name, kind in (("torch", torch.Tensor), ("cupy", cupy.ndarray), ("jax", jax.Array)):
        y = tensor.to(name, copy=True)
        assert type(y) is kind and y.address != tensor.data_ptr and y.values() == [4] * 16
        # What needs another arrangement is copied on the GPU.
        if name == "torch":
            y = tensor[::-1].to(name, copy=None)
            assert (y.device_id, y.values()) == (0, [4] * 16)


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", "cuda_host:0", "cuda_managed:0"])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_of_gpu_tensor_loads_on_cpu(protocol, device):
    tensor = dlbridge.asarray([[1.5, 2, 3], [4, 5, 6]], device=device)
    for view in (tensor, tensor.T, tensor[1], tensor[0, 0]):
        again = pickle.loads(pickle.dumps(view, protocol))
        assert (again.device, again.dtype, again.tolist()) == ("cpu", "float64", view.tolist())
    with dlbridge.cuda.stream(dlbridge.cuda.Stream()):
        late = dlbridge.full(16, 7, "uint8", device="cuda")
    assert pickle.loads(pickle.dumps(late, protocol)).tolist() == [7] * 16


def test_copies_stay_on_their_gpu():
    tensor = dlbridge.full(16, 7, "uint8", device="cuda:1")
    for copied in (tensor.copy(), copy.copy(tensor), copy.deepcopy(tensor)):
        assert (copied.device, copied.tolist()) == ("cuda:1", [7] * 16)
    assert double.mistakes() == ""
