"""Every op once, in few sizes, to be watched by compute-sanitizer: with tensors of ours, each of
which has memory of its own, so that what is touched beside it isn't another one's."""

import numpy as np

import dlbridge

ops = dlbridge.ops


def main():
    generator = np.random.default_rng(0)
    for shape in [(5, 7), (64, 96), (3, 3000), (300, 33)]:
        for dtype in ("float32", "float16"):
            x, y = (there(generator.standard_normal(shape).astype(dtype)) for _ in range(2))
            for view in (lambda a: a, lambda a: a.T, lambda a: a[:, 1:-1], lambda a: a[:, ::2]):
                a, b = view(x), view(y)
                for name in ("add", "sub", "mul", "div"):
                    getattr(ops, name)(a, b)
                ops.copy(a)
                ops.axpy(2, a, ops.copy(b))
                for axis in ([], [0], [-1]):
                    ops.sum(a, axis=axis)
                    ops.mean(a, axis=axis)
                    ops.max(a, axis=axis)
                ops.softmax(a)
                ops.softmax(a, axis=0)
                ops.rms_norm(a, dlbridge.ones(a.shape[-1], dtype, device="cuda"))
                ops.matmul(a, ops.copy(b.T))
            ops.cast(x, dtype="int32")
    image = there(generator.integers(0, 256, (2, 30, 40, 3)).astype("uint8"))
    colours = dlbridge.full(3, 0.5, "float32", device="cuda")
    ops.image_to_tensor(image, colours, colours)
    ops.image_to_tensor(image, colours, colours, height=17, width=50, dtype="float16")
    dlbridge.cuda.synchronize()
    print("every op ran")


def there(array):
    return dlbridge.asarray(array, device="cuda")


if __name__ == "__main__":
    main()
