"""MLX's arrays, to and from the package. It copies all that it takes."""

import dlbridge
import numpy as np
from round_trips import COMMON, NO_NEGATIVE_STRIDES, WIDE_UNSIGNED, RoundTrips, aligned, check_flat
from support import framework, refused

mx = framework("mlx.core")
from made import content_of  # noqa: E402


class TestMlx(RoundTrips):
    name, title, owner, copies = "mlx", "MLX", "mlx.core.array", True
    dtypes = [*COMMON, *WIDE_UNSIGNED, "bfloat16", "complex64"]
    copied = NO_NEGATIVE_STRIDES
    has_views = False  # Its views are worked out later; see below.

    def of(self, array):
        if array.dtype.name == "bfloat16":
            return mx.array(array.astype("f4")).astype(mx.bfloat16)
        array = array.copy()  # It takes no negative strides.
        return mx.array(array, dtype=mx.float64) if array.dtype == "f8" else mx.array(array)

    def pointer(self, x):
        return content_of(x.__dlpack__()).dl_tensor.data

    def values(self, x):
        return x.tolist()


def test_export_keeps_dtypes():
    # Left alone, it makes float32 of float64.
    for name in TestMlx.dtypes:
        for copy in (None, True):
            x = dlbridge.zeros((2, 3), name).to("mlx", copy=copy)
            assert str(x.dtype).removeprefix("mlx.core.").removesuffix("_") == name and x.shape == (
                2,
                3,
            )


def test_mlx_views_are_imported():
    x = mx.arange(12).reshape(3, 4)
    for view in (x.T, x[1:], x[:, ::2], x[::-1], x[1, 2], mx.broadcast_to(x[:1], (5, 4))):
        ours = dlbridge.from_dlpack(view)
        assert ours.tolist() == np.array(view).tolist()
    assert dlbridge.from_dlpack(x.T).strides == (1, 4)
    assert dlbridge.from_dlpack(mx.arange(3) + 1).tolist() == [
        1,
        2,
        3,
    ]  # Computed on demand.


def test_write_to_imported_memory_is_visible_in_mlx():
    x = mx.zeros(3)
    mx.eval(x)
    ours = dlbridge.from_dlpack(x)
    ours.to("numpy")[1] = 5
    assert x.tolist() == [0, 5, 0]
    dlbridge.from_dlpack(x, copy=True).to("numpy")[2] = 7
    assert x.tolist() == [0, 5, 0]


def test_write_to_mlx_copy_leaves_the_source_unchanged():
    base = aligned("float32")
    for copy in (None, True):
        x = dlbridge.convert(base, "mlx", copy=copy)
        x[0, 0] = 9
        assert base[0, 0] == 1 and x[0, 0].item() == 9
    explained = dlbridge.explain(base, "mlx")
    assert not explained and explained.remedy == "pass copy=None to have it copied"
    with refused(BufferError, "MLX copies all that it takes; pass copy=None"):
        dlbridge.convert(base, "mlx")


def test_read_only_memory_is_copied():
    base = aligned("float32")
    base.flags.writeable = False
    assert dlbridge.convert(base, "mlx", copy=None).tolist() == base.tolist()


def test_conversion_in_a_loop_does_not_leak():
    check_flat("mlx", "import mlx.core as mx\nmake = lambda: mx.zeros(16)", copy=None)
