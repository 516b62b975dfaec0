"""Ops in programs of TVM's Relax, called by its virtual machine."""

import dlbridge
import numpy as np
from support import framework

tvm = framework("tvm")
relax = tvm.relax
assert dlbridge.publish("tvm") == {}
TYPE = getattr(relax, "TensorType", None) or relax.TensorStructInfo
#: The keyword of a call's type, which is called otherwise in older releases.
OUT = "out_ty" if hasattr(relax, "TensorType") else "out_sinfo"


def run(body, *arrays):
    builder = relax.BlockBuilder()
    of = [
        relax.Var(f"x{at}", TYPE(array.shape, str(array.dtype))) for at, array in enumerate(arrays)
    ]
    with builder.function("main", of):
        with builder.dataflow():
            result = builder.emit_output(body(builder, *of))
        builder.emit_func_output(result)
    machine = relax.VirtualMachine(tvm.compile(builder.get(), target="llvm"), tvm.cpu())
    return machine["main"](*map(tvm.runtime.tensor, arrays)).numpy()


def call(name, tensors, shape, dtype="float32"):
    out = {OUT: TYPE(shape, dtype)}
    return relax.op.call_dps_packed(f"dlbridge.{name}", relax.Tuple(tensors), **out)


def test_ops_are_called_between_others():
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)

    def body(builder, a, b):
        sine = builder.emit(relax.op.sin(a))
        added = builder.emit(call("add", [sine, b], (8,)))
        return relax.op.multiply(added, b)

    with dlbridge.record() as calls:
        result = run(body, x, y)
    assert np.allclose(result, np.sin(x) + 1) and [call.op for call in calls] == ["add"]


def test_ops_with_other_shapes():
    x, y = np.random.rand(3, 4).astype("f4"), np.random.rand(4, 5).astype("f4")

    def body(builder, a, b):
        product = builder.emit(call("matmul", [a, b], (3, 5)))
        return call("softmax", [product], (3, 5))

    expected = dlbridge.ops.softmax(dlbridge.ops.matmul(x, y))
    assert np.array_equal(run(body, x, y), expected)
