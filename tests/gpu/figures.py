"""Times on a GPU, and ratios to peers: of calls, of memory, of matrices. Prints markdown, and
changes nothing.

The status is 1 where a part failed; the others' figures are printed nevertheless.
"""

import statistics
import sys
import time
import traceback

import torch

import dlbridge

try:
    import cupy
except ImportError:
    cupy = None

ops = dlbridge.ops
ROUNDS = 21
MILLISECOND = 2_000_000  # in cycles of the GPU's, about
AXPY = r"""
extern "C" __global__ void axpy(float a, const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += a * x[i];
}
"""


def cpu_times(contestants, number=500):
    """Microseconds of the CPU's time for a call, the least of interleaved rounds. The calls of a
    round are fewer than a stream takes before it blocks the caller."""
    times = {name: [] for name in contestants}
    for call in contestants.values():
        call()
    for _ in range(ROUNDS):
        for name, call in contestants.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(number):
                call()
            times[name].append((time.perf_counter() - begin) / number * 1e6)
    return {name: min(of) for name, of in times.items()}


def gpu_times(contestants, number=20):
    """Microseconds of the GPU's time for a call, the median of interleaved rounds. All calls of a
    round are made before the GPU comes to the first of them, or small ones would take as long as
    the CPU takes to make them."""
    times = {name: [] for name in contestants}
    for call in contestants.values():
        call()
    for _ in range(ROUNDS):
        for name, call in contestants.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(MILLISECOND)
            begin.record()
            for _ in range(number):
                call()
            end.record()
            torch.cuda.synchronize()
            times[name].append(begin.elapsed_time(end) / number * 1e3)
    return {name: statistics.median(of) for name, of in times.items()}


def table(title, times, goal=None, invert=False):
    """The first line is ours; the last column says how many times ours another one takes, or how
    fast ours is.
    """
    print(
        f"### {title}\n\n| | µs | {'ours is so fast' if invert else 'ours / this'} |\n|---|---:|---:|"
    )
    ours = next(iter(times.values()))
    for name, took in times.items():
        ratio = took / ours if invert else ours / took
        print(f"| {name} | {took:.2f} | {ratio:.3f} |")
    print(f"\nGoal: {goal}\n" if goal else "", flush=True)


def calls():
    n = 256
    x, y, out = (torch.ones(n, device="cuda") for _ in range(3))
    ours = dlbridge.cuda.compile(AXPY).kernel("axpy")
    contestants = {
        "dlbridge kernel": lambda: ours(1, 256, 0.0, x, y, n),
        "torch.add, out=": lambda: torch.add(x, y, out=out),
    }
    if cupy:
        theirs = cupy.RawKernel(AXPY, "axpy")
        cx, cy = cupy.ones(n, dtype="float32"), cupy.ones(n, dtype="float32")
        count, factor = cupy.int32(n), cupy.float32(0)
        contestants["cupy.RawKernel, cupy arrays"] = lambda: theirs(
            (1,), (256,), (factor, cx, cy, count)
        )
    table(
        "A kernel with two torch tensors and two numbers, processor's time",
        cpu_times(contestants),
        "at most 0.7 of cupy.RawKernel, at most 1.0 of torch.add",
    )
    table(
        "add of torch tensors, processor's time",
        cpu_times(
            {
                "dlbridge.ops.add, out=": lambda: ops.add(x, y, out=out),
                "torch.add, out=": lambda: torch.add(x, y, out=out),
                "dlbridge.ops.add": lambda: ops.add(x, y),
                "torch.add": lambda: torch.add(x, y),
            }
        ),
    )


def bandwidth():
    n = 1 << 28  # Bytes; caches hold less.
    source, target = (torch.empty(n, dtype=torch.uint8, device="cuda") for _ in range(2))
    copy = gpu_times({"cudaMemcpy": lambda: target.copy_(source)})["cudaMemcpy"]
    device = 2 * n / copy
    print(
        f"### Memory: bytes read and written per µs, as a share of the device copy's {device / 1e6:.3f} TB/s\n"
    )
    print("| | share | goal |\n|---|---:|---:|")

    def row(name, goal, moved, call):
        took = gpu_times({name: call})[name]
        print(f"| {name} | {moved / took / device:.3f} | {goal} |", flush=True)

    floats, sums = source.view(torch.float32), target.view(torch.float32)
    halves = torch.empty(n // 4, dtype=torch.float16, device="cuda")
    half = n // 4 // 2
    row("copy", 0.9, 2 * n, lambda: ops.copy(floats, out=sums))
    row("cast f32 to f16", 0.9, n + n // 2, lambda: ops.cast(floats, dtype="float16", out=halves))
    row(
        "add f32", 0.9, 3 * half * 4, lambda: ops.add(floats[:half], floats[half:], out=sums[:half])
    )
    side = 8192
    square, turned = floats[: side * side].view(side, side), sums[: side * side].view(side, side)
    row("transposed copy f32", 0.8, 2 * side * side * 4, lambda: ops.copy(square.t(), out=turned))
    wide = floats[: side * side // 2].view(torch.float16).view(side, side)
    out16 = sums[: side * side // 2].view(torch.float16).view(side, side)
    row("transposed copy f16", 0.8, 2 * side * side * 2, lambda: ops.copy(wide.t(), out=out16))
    row("sum f32", "-", n, lambda: ops.sum(floats))
    print()


def against_torch():
    for dtype in (torch.float16, torch.float32):
        for shape in [(4096, 1024), (4096, 4096), (512, 65536)]:
            x = torch.randn(shape, device="cuda", dtype=dtype)
            out = torch.empty_like(x)
            weight = torch.ones(shape[-1], device="cuda", dtype=dtype)
            name = f"{tuple(shape)} {str(dtype).removeprefix('torch.')}"
            table(
                f"softmax {name}",
                gpu_times(
                    {
                        "dlbridge": lambda: ops.softmax(x, out=out),
                        "torch": lambda: torch.softmax(x, -1),
                    }
                ),
                "at most 1.0",
            )
            norm = torch.nn.functional.rms_norm
            table(
                f"rms_norm {name}",
                gpu_times(
                    {
                        "dlbridge": lambda: ops.rms_norm(x, weight, out=out),
                        "torch": lambda: norm(x, (shape[-1],), weight),
                    }
                ),
                "at most 1.0",
            )
    for size in (1024, 4096, 8192):
        a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        out = torch.empty_like(a)
        table(
            f"matmul bf16 {size}",
            gpu_times(
                {
                    "dlbridge": lambda: ops.matmul(a, b, out=out),
                    "torch": lambda: torch.mm(a, b, out=out),
                }
            ),
            "at most 1 / 0.95",
        )


def main():
    cupys = f"cupy {cupy.__version__}" if cupy else "no cupy"
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {cupys}, Python {sys.version.split()[0]}\n"
    )
    status = 0
    for part in (calls, bandwidth, against_torch):
        try:
            part()
        except Exception as error:  # What fails is part of the report, and the rest goes on.
            status = 1
            print(f"\n{part.__name__} failed: {type(error).__name__}: {error}\n", flush=True)
            traceback.print_exc()
    return status


if __name__ == "__main__":
    sys.exit(main())
