"""Tests of `quantize` and `dequantize`: bit for bit against PyTorch, ONNX's reference and
ml_dtypes.
"""

import pytest
from dlbridge import ops
from support import framework, refused

np = framework("numpy")
torch = framework("torch")
import dlbridge  # noqa: E402
import ml_dtypes  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
QUINT = {"int8": torch.qint8, "uint8": torch.quint8}
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
ENDS = {"int8": (-128, 127), "uint8": (0, 255), "int4": (-8, 7), "uint4": (0, 15)}


def floats(shape, dtype=torch.float32):
    """Floats of many sizes, halves of scales among them."""
    generator = torch.Generator().manual_seed(sum(shape))
    x = torch.randn(shape, generator=generator) * torch.logspace(-2, 2, shape[-1])
    return torch.where(x.abs() > 3, (x * 2).round() / 4, x).to(dtype)


def layouts(x):
    wide = torch.zeros([2 * n for n in x.shape], dtype=x.dtype)[(slice(None, None, 2),) * x.ndim]
    return [x, wide.copy_(x), x.movedim(0, -1).contiguous().movedim(-1, 0)]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("of_x", FLOATS)
def test_quantize_with_one_scale_equals_torch(dtype, of_x):
    for shape in [(1,), (3, 70), (2, 3, 40), (300, 401)]:
        x = floats(shape, of_x)
        for scale in (0.5, 0.1, 0.037, 3.0):
            for zero_point in (0, 5, 100):
                expected = torch.quantize_per_tensor(x.float(), scale, zero_point, QUINT[dtype])
                for seen in layouts(x):
                    found = ops.quantize(seen, scale, zero_point, dtype=dtype)
                    assert found.dtype == getattr(torch, dtype)
                    assert torch.equal(found, expected.int_repr())
                    back = ops.dequantize(found, scale, zero_point)
                    assert torch.equal(back, expected.dequantize())


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantize_along_an_axis_equals_torch(dtype):
    for shape in [(4, 70), (3, 5, 40), (200, 301)]:
        x = floats(shape)
        for axis in range(len(shape)):
            scale = torch.rand(shape[axis]) + 0.01
            zero_point = torch.arange(shape[axis], dtype=torch.int32) % 100
            expected = torch.quantize_per_channel(x, scale, zero_point, axis, QUINT[dtype])
            for seen in layouts(x):
                found = ops.quantize(seen, scale, zero_point, dtype=dtype, axis=axis)
                assert torch.equal(found, expected.int_repr())
                back = ops.dequantize(found, scale, zero_point, axis=axis - len(shape))
                assert torch.equal(back, expected.dequantize())


def test_quantize_rounds_halves_to_even_and_saturates():
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 128.0, -1e9, torch.inf, -torch.inf])
    expected = [0, 2, 2, 0, -2, 126, 127, 127, -128, 127, -128]
    assert ops.quantize(x, 1, 0).tolist() == expected
    assert ops.quantize(x, 1).tolist() == expected
    numbers = torch.quantize_per_tensor(x, 1.0, 0, torch.qint8).int_repr()
    assert numbers[:-2].tolist() == expected[:-2]
    # PyTorch's result for NaN depends on the CPU.
    nan = torch.tensor([torch.nan, 0.0])
    for zero_point in (0, -7, 9):
        assert ops.quantize(nan, 0.1, zero_point).tolist() == [zero_point] * 2
    assert ops.quantize(torch.zeros(2), 0.0, 3).tolist() == [3, 3]


def in_groups(x, scale, zero_point, axis, group, ends):
    """The definition, in NumPy."""
    scale, zero_point = [np.repeat(array, group, axis) for array in (scale, zero_point)]
    numbers = np.rint(x * (np.float32(1) / scale)) + zero_point
    numbers = np.clip(numbers, *ends).astype("i4")
    return numbers, (numbers - zero_point).astype("f4") * scale


@pytest.mark.parametrize("dtype", ENDS)
def test_quantize_in_groups_equals_numpy(dtype):
    least, most = ENDS[dtype]
    for shape, axis, group in [((6, 64), -1, 32), ((8, 5), 0, 2), ((2, 6, 34), 1, 3)]:
        x = floats(shape).numpy()
        shape_of_scales = list(shape)
        shape_of_scales[axis] //= group
        generator = np.random.default_rng(1)
        scale = (generator.random(shape_of_scales) + 0.05).astype("f4")
        zero_point = generator.integers(least, most, shape_of_scales, "i4", endpoint=True)
        expected, floats_again = in_groups(x, scale, zero_point, axis, group, (least, most))
        options = {"axis": axis, "group": group}
        q = ops.quantize(dlbridge.asarray(x), scale, zero_point, dtype=dtype, **options)
        assert q.dtype == dtype and q.tolist() == expected.tolist()
        back = ops.dequantize(q, scale, zero_point, **options)
        np.testing.assert_array_equal(np.asarray(back), floats_again)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_numbers_of_4_bits_equal_ml_dtypes(dtype):
    least, most = ENDS[dtype]
    # Every number, and an odd count.
    x = np.arange(-40, 41, dtype="f4") / 4
    expected = np.clip(np.rint(x), least, most).astype(getattr(ml_dtypes, dtype))
    q = ops.quantize(dlbridge.asarray(x), 1, 0, dtype=dtype)
    assert q.tolist() == expected.astype("i4").tolist()
    assert q.nbytes == (len(x) + 1) // 2
    back = ops.dequantize(q, 0.5, 1, dtype="float16")
    np.testing.assert_array_equal(np.asarray(back), ((expected.astype("f4") - 1) / 2).astype("f2"))
    for view in (q[::2], q[2:][::3]):
        assert ops.dequantize(view, 1, 0).tolist() == [float(number) for number in view.tolist()]


def test_quantize_equals_onnx():
    onnx = framework("onnx")
    from onnx.reference import ReferenceEvaluator

    def call(name, dtype, inputs, **attributes):
        kinds = {"float32": onnx.TensorProto.FLOAT, "int8": onnx.TensorProto.INT8}
        kinds |= {"uint8": onnx.TensorProto.UINT8}
        names = ["x", "scale", "zero"]
        values = [
            onnx.helper.make_tensor_value_info(name, kinds[str(array.dtype)], array.shape)
            for name, array in zip(names, inputs)
        ]
        node = onnx.helper.make_node(name, names, ["out"], **attributes)
        out = onnx.helper.make_tensor_value_info("out", kinds[dtype], None)
        graph = onnx.helper.make_graph([node], "graph", values, [out])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
        return ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))[0]

    x = floats((6, 64)).numpy()
    # Of powers of two, as ONNX divides by the scale.
    scales = 2.0 ** (np.arange(6 * 64, dtype="f4") % 5 - 3)
    for dtype in ("int8", "uint8"):
        for scale, options, attributes in [
            (scales[:1].reshape(()), {}, {}),
            (scales[:64], {"axis": 1}, {"axis": 1}),
            (scales[:6], {"axis": 0}, {"axis": 0}),
            (scales[:24].reshape(6, 4), {"group": 16}, {"axis": 1, "block_size": 16}),
        ]:
            scale = scale.astype("f4")
            zero_point = (np.arange(scale.size).reshape(scale.shape) * 3 % 50).astype(dtype)
            expected = call("QuantizeLinear", dtype, [x, scale, zero_point], **attributes)
            wide = zero_point.astype("i4")
            found = ops.quantize(x, scale, wide, dtype=dtype, **options)
            np.testing.assert_array_equal(found, expected)
            expected = call("DequantizeLinear", "float32", [found, scale, zero_point], **attributes)
            np.testing.assert_array_equal(ops.dequantize(found, scale, wide, **options), expected)


def test_quantize_writes_to_out_and_rejects_what_does_not_fit():
    x = torch.arange(8.0).reshape(2, 4)
    out = torch.zeros(4, 2, dtype=torch.int8).T
    assert ops.quantize(x, 1, 0, out=out) is out and out.tolist() == x.tolist()
    message = "quantize: expected scale of shape [4], one for each index of axis 1 of x, or []"
    with refused(ValueError, message):
        ops.quantize(x, torch.ones(2), 0)
    with refused(ValueError, "quantize: expected scale of shape [2, 2], one for each 2 elements"):
        ops.quantize(x, 1, 0, group=2)
    with refused(ValueError, "axis 1 of x has size 4, which isn't a multiple of group=3; pad x"):
        ops.quantize(x, torch.ones(2, 1), 0, group=3)
    with refused(ValueError, "zero_point 16 is out of bounds for uint4"):
        ops.quantize(x, 1, 16, dtype="uint4", like=dlbridge.zeros(1))
    with refused(TypeError, 'argument "zero_point" has elements of int8, and int32 is needed'):
        ops.quantize(x, 1, torch.tensor(0, dtype=torch.int8))
