"""Ops of TVM's tensors."""

import dlbridge
from dlbridge import ops
from ops_calls import OpsCalls
from support import framework

tvm = framework("tvm")


class TestTvm(OpsCalls):
    kind = tvm.runtime.Tensor
    dtypes = [*OpsCalls.dtypes, "uint16", "uint32", "uint64"]

    def of(self, array):
        return tvm.runtime.tensor(array)

    def values(self, x):
        return x.numpy().tolist()


def test_op_writes_tvm_memory_in_place():
    x = tvm.runtime.tensor(dlbridge.ones((4, 4), "float32").to("numpy"))
    ours = dlbridge.from_dlpack(x)
    assert ops.add(ours, 1, out=ours) is ours and x.numpy().tolist() == [[2] * 4] * 4
