"""Files of 1 GB loaded into each framework, compared with the package safetensors.

Each round is a process of its own, that loads a file which the system has in its cache, and reads
nothing of it. Times are minima; memory is what the process has more than before, without pages of
the file that it shares.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = int(os.environ.get("ROUNDS", "3"))
#: 64 tensors of 16 MiB.
COUNT, SIZE = 64, 4 << 20
THEIRS = {"numpy": "numpy", "torch": "torch", "jax": "flax", "tensorflow": "tensorflow"}


def resident():
    """Bytes of this process that aren't pages of files."""
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.split("RssAnon:")[1].split()[0])


def one(who, framework, path):
    import importlib

    os.environ["JAX_PLATFORMS"] = "cpu"
    name = THEIRS[framework]
    theirs = importlib.import_module(f"safetensors.{name}")
    import dlbridge
    import numpy as np

    # What a framework does once at first isn't measured.
    first = dlbridge.dumps({"x": np.ones((16, 4), "f4")}, "safetensors")
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as small:
        small.write(first)
        small.flush()
        load(who, theirs, framework, small.name)
    before, start = resident(), time.perf_counter()
    tensors = load(who, theirs, framework, path)
    seconds = time.perf_counter() - start
    copied = len(getattr(tensors, "copied", ()))
    print(json.dumps([seconds, resident() - before, copied]))


def load(who, theirs, framework, path):
    if who == "theirs":
        return theirs.load_file(path)
    import dlbridge

    return dlbridge.load(path, framework)


def measure(who, framework, path):
    command = [sys.executable, __file__, who, framework, path]
    rounds = []
    for _ in range(ROUNDS):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rounds.append(json.loads(done.stdout.splitlines()[-1]))
    return [min(column) for column in zip(*rounds, strict=True)]


def main():
    import dlbridge
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        tensors = {f"x{i}": np.full(SIZE, i, "f4") for i in range(COUNT)}
        paths = {name: f"{folder}/{name}.safetensors" for name in ("plain", "aligned")}
        dlbridge.save(paths["plain"], tensors)
        dlbridge.save(paths["aligned"], tensors, align=64)
        print("| framework | file | dlbridge s | MB | copied | safetensors s | MB | ratio |")
        print("|---|---|---|---|---|---|---|---|")
        for framework in THEIRS:
            for kind, path in paths.items():
                ours = measure("ours", framework, path)
                theirs = measure("theirs", framework, path)
                print(
                    f"| {framework} | {kind} | {ours[0]:.3f} | {ours[1] / 1e6:.0f} | {ours[2]}"
                    f" | {theirs[0]:.3f} | {theirs[1] / 1e6:.0f} | {ours[0] / theirs[0]:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()
