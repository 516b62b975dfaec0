"""A CUDA graph with ops of dlbridge in it: captured once by PyTorch, replayed with new numbers.

Needs PyTorch and a GPU, and the extension: maturin develop --release
"""

import cuda_interop  # noqa: F401 (its op is in dlbridge.ops.interop from here on)
import torch

import dlbridge


def main():
    x = torch.zeros(1 << 16, device="cuda")
    hidden, y = torch.empty_like(x), torch.empty_like(x)

    def step():
        # Results are given, as no memory can be allocated while a graph is captured.
        dlbridge.ops.add(x, x, out=hidden)
        dlbridge.ops.interop.swish(hidden, out=y)

    step()  # As PyTorch advises: what is done for the first time only, such as to compile, is done before.
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for value in (-1.0, 0.5, 2.0):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        expected = torch.nn.functional.silu(torch.tensor(2 * value)).item()
        print(f"swish({2 * value:4}) = {y[0].item():.5f}")
        assert abs(y[0].item() - expected) < 1e-4


if __name__ == "__main__":
    main()
