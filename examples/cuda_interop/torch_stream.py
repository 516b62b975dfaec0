"""A kernel that Rust launches, on PyTorch's stream: between two kernels of PyTorch's, and nothing
waits.

Needs PyTorch and a GPU, and the extension: maturin develop --release
"""

import cuda_interop  # noqa: F401 (its op is in dlbridge.ops.interop from here on)
import torch

import dlbridge


def main():
    stream = torch.cuda.Stream()
    x = torch.linspace(-3, 3, 1 << 20, device="cuda")
    expected = torch.nn.functional.silu(x * 2) + 1
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)  # The stream is busy for a while.
        doubled = x * 2
        y = dlbridge.ops.interop.swish(doubled)  # A torch.Tensor, made and computed on this stream.
        result = y + 1
        print("Python is here, and the GPU", "still busy" if not stream.query() else "done")
    stream.synchronize()
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
    print(f"{type(y).__name__} on {y.device}: as torch.nn.functional.silu has it")


if __name__ == "__main__":
    main()
