"""Measures the package's ops against PyTorch, NumPy and JAX, and the machine's limits.

Usage: python kernels.py [--only TEXT] [--threads 1,2] [--seconds S] [--cpu-time] [--plot FILE]
    [--peers FOLDER]

Prints markdown. Each number of threads has a process of its own, in which all libraries use as many
and the process as many CPUs. Every result is compared with PyTorch's before it is timed; the calls
of one row are timed in turns, and of each the fastest round counts. build.py builds the extension
that measures the machine.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import kernel_report
from calls import DEFAULT, processor

PACKAGES = ("torch", "numpy", "jax", "ml_dtypes")
VARIABLES = (
    "DLBRIDGE_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="measure rows with this text in table, name or size")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, by default 1,2")
    parser.add_argument("--seconds", type=float, default=0.25, help="time for each row")
    parser.add_argument(
        "--cpu-time", action="store_true", help="time of the CPU: for 1 thread, on a busy machine"
    )
    parser.add_argument("--plot", type=Path, help="write a plot of speed against size, as SVG")
    parser.add_argument("--peers", type=Path, default=DEFAULT, help="what build.py filled")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.threads = [int(number) for number in given.threads.split(",")]
    return given


def environment(threads):
    """The variables of a process in which libraries use this number of threads."""
    changed = {name: str(threads) for name in VARIABLES}
    changed["JAX_PLATFORMS"] = "cpu"
    changed["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    return {**os.environ, **changed}


def measure(threads, given):
    """Measures in a process of its own. Returns what `child` wrote."""
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    if len(cpus) < threads:
        raise SystemExit(f"expected {threads} CPUs, got {len(cpus)}")
    command = [sys.executable, __file__, "--child", str(threads)]
    command += ["--seconds", str(given.seconds), "--peers", str(given.peers.resolve())]
    command += ["--cpu-time"] * given.cpu_time
    if given.only:
        command += ["--only", given.only]
    ended = subprocess.run(
        command,
        env=environment(threads),
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
    )
    if ended.returncode != 0:
        raise SystemExit(f"the process with {threads} threads ended with {ended.returncode}")
    return json.loads(ended.stdout)


def child(given):
    """Measures all rows with the threads of this process, and writes them as JSON."""
    import kernel_timing

    json.dump(kernel_timing.measure_all(given), sys.stdout)


def print_versions():
    print(f"Measured on {processor()}, {platform.machine()}, {os.cpu_count()} CPUs, with ", end="")
    print(f"Python {platform.python_version()}", end="")
    for package in PACKAGES:
        print(f", {package} {importlib.metadata.version(package)}", end="")
    rustc = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True)
    print(f", {' '.join(rustc.stdout.split()[:2])}.", flush=True)


def main():
    given = arguments()
    if given.child:
        child(given)
        return
    print_versions()
    measured = [measure(threads, given) for threads in given.threads]
    kernel_report.print_all(measured)
    if given.plot:
        import kernel_plot

        kernel_plot.write(measured[-1], given.plot)


if __name__ == "__main__":
    main()
