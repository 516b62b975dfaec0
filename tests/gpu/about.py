"""Prints what machine this is, in one line. Where no GPU can be used, it says why, and ends with
status 1.
"""

import importlib.metadata
import platform
import shutil
import subprocess
import sys

import dlbridge

PACKAGES = [
    "torch",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "jax",
    "jaxlib",
    "numba",
    "numba-cuda",
    "numpy",
    "pytest",
]


def main():
    versions = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    try:
        gpu = dlbridge.cuda.properties().name
    except Exception as error:  # Whatever it is, the report has it.
        print(f"no GPU: {' '.join(str(error).split())}; {', '.join(versions)}")
        return 1
    print(f"{gpu}, {', '.join([*driver(), *versions])}")
    return 0


def driver():
    if tool := shutil.which("nvidia-smi"):
        command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.split()
        return [f"driver {said[0]}"] if said else []
    return []


if __name__ == "__main__":
    sys.exit(main())
