"""Builds what stands for the driver of GPUs, and says where it is: a folder to be found before any
other driver's.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "tests" / "libcuda"
# Apart from all else: what Cargo runs finds the libraries of its target folder, and would take this
# for the driver.
TARGET = ROOT / "target" / "doubles"
# Programs ask for either.
NAMES = ("libcuda.so", "libcuda.so.1")


def build():
    """The folder with the library under the driver's names. Cargo builds it only if something
    changed.
    """
    command = ["cargo", "build", "--quiet", "--lib", "--manifest-path", CRATE / "Cargo.toml"]
    subprocess.run([*command, "--target-dir", TARGET], check=True)
    folder = TARGET / "driver"
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        link = folder / f"{name}.{os.getpid()}"
        link.symlink_to(TARGET / "debug" / "libcuda.so")
        os.replace(link, folder / name)
    return folder


def environment():
    """What a process must be started with to find it; nothing where it can't be built."""
    if sys.platform != "linux":
        return {}
    folders = [str(build()), os.environ.get("LD_LIBRARY_PATH")]
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, folders))}


if __name__ == "__main__":
    print(build())
