"""Shared tests of ops: results are of the caller's framework, and written in place where possible."""

import dlbridge
import numpy as np
import pytest
from dlbridge import ops
from support import refused


class OpsCalls:
    """Calls with tensors of one framework. `of(array)` makes one, `values(x)` reads it."""

    name = kind = None
    dtypes = "float32 float64 float16 int8 int16 int32 int64 uint8".split()
    writable = True  # Whether others may write to its tensors.
    takes_ours = True  # Whether it makes tensors of ours into its own, without a copy.

    def values(self, x):
        return x.tolist()

    def array(self, shape, dtype="float32", first=0):
        count = int(np.prod(shape, dtype=int))
        return np.arange(first, first + count).astype(dtype).reshape(shape)

    def is_ours(self, x):
        return isinstance(x, self.kind)

    def test_results_are_of_the_framework_and_equal_numpy(self):
        for dtype in self.dtypes:
            a, b = self.array((2, 3), dtype), self.array((3,), dtype, 5)
            x, y = self.of(a), self.of(b)
            for result, expected in [
                (ops.add(x, y), a + b),
                (ops.add(y, b=x), a + b),
                (ops.add(x, 2), a + np.array(2, dtype)),
                (ops.add(2, x), a + np.array(2, dtype)),
                (ops.sum(x, axis=0, dtype=dtype), np.sum(a, axis=0)),
                (ops.sum(x, keepdims=True, dtype=dtype), np.sum(a, keepdims=True)),
                (ops.mul(x, y), a * b),
                (ops.max(x, axis=1), np.max(a, axis=1)),
                (ops.copy(x), a),
                (ops.cast(self.of(self.array((2, 3))), dtype=dtype), a),
                (ops.matmul(x, self.of(a.T.copy())), a @ a.T),
            ]:
                assert self.is_ours(result) and dtype in str(result.dtype)
                assert self.values(result) == expected.tolist()
            assert self.values(x) == a.tolist() and self.values(y) == b.tolist()

    def test_results_after_arguments_are_dropped_keep_memory(self):
        x = self.of(self.array((64,)))
        results = [ops.add(x, i) for i in range(20)]
        assert [self.values(result)[1] for result in results] == [*range(1, 21)]

    def test_out_is_written_in_place_or_refused_as_read_only(self):
        a, b = self.array((2, 3)), self.array((2, 3), first=5)
        x, y, out = self.of(a), self.of(b), self.of(np.zeros((2, 3), "f4"))
        if not self.writable:
            for call, argument in [
                (lambda: ops.add(x, y, out=out), "out"),
                (lambda: ops.add(x, y, out=x), "out"),
                (lambda: ops.axpy(2, x, out), "y"),
            ]:
                with refused(BufferError, f'argument "{argument}"'):
                    call()
            assert self.values(out) == [[0] * 3] * 2 and self.values(x) == a.tolist()
            return
        assert ops.add(x, y, out=out) is out and self.values(out) == (a + b).tolist()
        assert ops.matmul(x, self.of(b.T.copy()), out=self.of(np.zeros((2, 2), "f4"))) is not None
        assert ops.axpy(2, x, out) is out and self.values(out) == (a + b + 2 * a).tolist()
        assert ops.add(x, x, out=x) is x and self.values(x) == (2 * a).tolist()
        with refused(ValueError, 'argument "y" is to be written, and shares memory with "x"'):
            ops.axpy(1, x, x)
        with refused(ValueError, 'argument "out" has shape [2, 3]; the result has [2, 2]'):
            ops.matmul(x, self.of(b.T.copy()), out=out)

    def test_mixed_arguments_return_framework_of_the_first(self):
        a = self.array((3,))
        x, ours = self.of(a), dlbridge.from_dlpack(a)
        assert self.is_ours(ops.add(x, a)) and self.is_ours(ops.add(x, ours))
        assert type(ops.add(a, x)) is np.ndarray and type(ops.add(ours, x)) is dlbridge.Tensor
        assert self.is_ours(ops.add(a, a, like=x)) and self.is_ours(ops.add(ours, x, like=x))
        assert type(ops.add(x, x, like=a)) is np.ndarray
        assert type(ops.add(x, x, like=ours)) is dlbridge.Tensor
        assert self.is_ours(ops.add(1, 2, like=x)) and self.values(ops.add(1, 2.5, like=x)) == 3.5
        out = np.zeros(3, "f4")
        assert ops.add(x, x, out=out) is out and out.tolist() == [0, 2, 4]
        assert ops.add(x, out, out=out) is out and out.tolist() == [0, 3, 6]

    def test_every_layout_and_rank_equals_numpy(self):
        a = self.array((2, 3, 4))
        assert (
            self.values(ops.add(self.of(a), self.of(a[:1, :, :1].copy())))
            == (a + a[:1, :, :1]).tolist()
        )
        deep = self.array((1, 2) * 4)
        assert self.values(ops.sum(self.of(deep), axis=(0, 3))) == deep.sum(axis=(0, 3)).tolist()
        one = self.of(np.array(3, "f4"))
        assert self.values(ops.add(one, one)) == 6 and self.values(ops.sum(one)) == 3

    def test_results_in_caller_memory_equal_numpy(self):
        x = self.of(self.array((3,)))
        y = ops.add(x, x, memory="caller")
        assert self.is_ours(y) and self.values(y) == [0, 2, 4]
        assert ops.add(x, x, memory="caller", like=dlbridge.zeros(1)).tolist() == [0, 2, 4]

    def test_unsupported_dtype_raises_lookup_error(self):
        x = self.of(np.array([True, False]))
        with refused(LookupError, "no kernel for (a: bool of rank 1 on cpu", "there are:"):
            ops.add(x, x)
        with refused(TypeError, "is of kind ints | None, not"):
            ops.sum(x, axis=1.5)

    def test_arguments_after_an_error_stay_usable(self):
        x = self.of(self.array((3,)))
        for _ in range(3):
            with pytest.raises(ValueError):
                ops.add(x, self.of(self.array((2,))))
            with pytest.raises(TypeError):
                ops.add(x, "x")
        assert self.values(ops.add(x, 1)) == [1, 2, 3]
