"""Measures one more op in a framework's graph: ours, the framework's, and C++ and Python peers.

Usage: python graphs.py [--peers FOLDER] [--rounds N] [--only FRAMEWORK]. Prints markdown.

build.py builds the peers. Each framework has a process of its own. The time of one op is that of a
graph of many ops less that of a graph of few, over how many more there are; the graphs are timed in
turns, and of each the least round counts. Results are checked before.
"""

import argparse
import ctypes
import os
import subprocess
import sys
from pathlib import Path

from calls import DEFAULT, processor
from timing import ROUND_SECONDS, calls_per_round

# How many ops the graphs have. What PyTorch compiles takes seconds for each graph of many.
FEW_AND_MANY = {"torch": (4, 36)}
USUAL = (8, 264)
SIZES = (8, 1_000_000)


def chain(op, count):
    """A function of a graph in which each op needs the one before."""

    def function(x, y):
        for _ in range(count):
            x = op(x, y)
        return x

    # Tracers keep what they compiled by the code, up to a number.
    function.__code__ = function.__code__.replace()
    return function


def least_of(timers, rounds):
    """Seconds of one call of each, timed in turns."""
    numbers = [calls_per_round(timer) for timer in timers]
    least = [float("inf")] * len(timers)
    for turn in range(rounds):
        order = range(len(timers)) if turn % 2 == 0 else reversed(range(len(timers)))
        for at in order:
            least[at] = min(least[at], timers[at].timeit(numbers[at]) / numbers[at])
    return least


def of_torch(peers):
    import torch

    from dlbridge import ops

    torch.set_num_threads(1)
    torch.ops.load_library(peers / "torch_stable_op.so")
    fake = torch.library.register_fake("bench_peer::add")
    fake(lambda a, b: torch.empty_like(a))

    @torch.library.custom_op("bench_peer::add_in_python", mutates_args=())
    def in_python(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.add(a, b)

    in_python.register_fake(lambda a, b: torch.empty_like(a))
    calls = {
        "dlbridge": ops.add,
        "C++, PyTorch's stable API": torch.ops.bench_peer.add,
        "aten, not fused (cumsum)": lambda x, y: torch.cumsum(x, 0),
        "Python, custom_op": in_python,
    }

    def graph(function):
        return torch.compile(function, fullgraph=True)

    def arguments(size):
        return torch.ones(size), torch.full((size,), 0.5)

    return calls, graph, arguments, lambda x: float(x[-1]), lambda result: None


def of_jax(peers):
    import dlbridge
    import jax
    import jax.numpy as jnp
    import numpy as np
    from dlbridge import ops

    jax.config.update("jax_platforms", "cpu")
    dlbridge.publish("jax")
    library = ctypes.CDLL(str(peers / "xla_ffi_op.so"))
    jax.ffi.register_ffi_target("bench_add", jax.ffi.pycapsule(library.bench_add), platform="cpu")

    def in_cpp(x, y):
        return jax.ffi.ffi_call("bench_add", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)

    def in_python(x, y):
        return jax.pure_callback(np.add, jax.ShapeDtypeStruct(x.shape, x.dtype), x, y)

    calls = {
        "dlbridge": ops.add,
        "C++, XLA's header": in_cpp,
        "XLA, not fused (cumsum)": lambda x, y: jnp.cumsum(x),
        "Python, pure_callback": in_python,
    }

    def arguments(size):
        return jnp.ones(size), jnp.full((size,), 0.5)

    return calls, jax.jit, arguments, lambda x: float(x[-1]), lambda x: x.block_until_ready()


def of_tensorflow(peers):
    import dlbridge
    import tensorflow as tf
    from dlbridge import ops

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    dlbridge.publish("tensorflow")
    peer = tf.load_op_library(str(peers / "tensorflow_op.so"))

    def in_python(x, y):
        result = tf.numpy_function(lambda x, y: x + y, [x, y], tf.float32)
        result.set_shape(x.shape)
        return result

    calls = {
        "dlbridge": ops.add,
        "C++, TensorFlow's headers": peer.bench_add,
        "TensorFlow's own, not fused (AddV2)": lambda x, y: tf.raw_ops.AddV2(x=x, y=y),
        "Python, numpy_function": in_python,
    }

    def arguments(size):
        return tf.ones(size), tf.fill([size], 0.5)

    return calls, tf.function, arguments, lambda x: float(x[-1]), lambda result: None


def of_tvm(peers):
    import dlbridge
    import torch
    import tvm_ffi

    dlbridge.publish("tvm")
    peer = tvm_ffi.load_module(str(peers / "tvm_ffi_peer.so"))

    def into(add):
        # Of the calls of a loop, which is what calls global functions.
        def call(x, y):
            add(x, y, x)
            return x

        return call

    calls = {
        "dlbridge": into(tvm_ffi.get_global_func("dlbridge.add")),
        "C++, tvm-ffi's headers": into(peer["add"]),
    }

    def arguments(size):
        return torch.zeros(size), torch.zeros(size)

    return calls, lambda function: function, arguments, None, lambda result: None


FRAMEWORKS = {"torch": of_torch, "jax": of_jax, "tensorflow": of_tensorflow, "tvm": of_tvm}
#: Not as many rounds for what takes long.
SLOW = "Python"


def measure(framework, given):
    import timeit

    calls, graph, arguments, last, wait = FRAMEWORKS[framework](given.peers)
    few, many = FEW_AND_MANY.get(framework, USUAL)
    for size in SIZES:
        x, y = arguments(size)
        timers, names = [], []
        for name, op in calls.items():
            if size > 1000 and ("not fused" in name or SLOW in name):
                continue
            for count in (few, many):
                function = graph(chain(op, count))
                result = function(x, y)
                if last and "not fused" not in name:
                    assert last(result) == 1 + count / 2, (name, last(result))
                run = (lambda function: lambda: wait(function(x, y)))(function)
                timers.append(timeit.Timer(run))
                names.append(name)
        least = least_of(timers, given.rounds)
        print(f"\n### {framework}: one more op in a graph, {size} float32\n")
        print("| op | ns | ratio |\n|---|---:|---:|")
        first = None
        for at in range(0, len(timers), 2):
            nanoseconds = (least[at + 1] - least[at]) / (many - few) * 1e9
            first = first or nanoseconds
            print(f"| {names[at]} | {nanoseconds:.0f} | {nanoseconds / first:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, default=DEFAULT, help="what build.py filled")
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--only", choices=FRAMEWORKS, help="measure one, in this process")
    given = parser.parse_args()
    given.peers = given.peers.resolve()
    if given.only:
        return measure(given.only, given)
    print(f"{processor()}, rounds of {ROUND_SECONDS * 1e3:.0f} ms")
    failed = []
    for framework in FRAMEWORKS:
        command = [sys.executable, __file__, "--only", framework, "--rounds", str(given.rounds)]
        if subprocess.run([*command, "--peers", given.peers]).returncode != 0:
            failed.append(framework)
    return f"failed: {', '.join(failed)}" if failed else None


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("DLBRIDGE_NUM_THREADS", "1")
    sys.exit(main())
