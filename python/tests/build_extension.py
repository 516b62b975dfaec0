"""Builds an extension for the Python that runs this, and says where it is: the one that the tests call, or another."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

CRATE = Path(__file__).resolve().parent / "extension"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", CRATE.parents[2] / "target")).resolve() / "python-tests"
NAME = "dlbridge_testing"
# Another crate, so that its class, its exchange table and its list of borrows are others, too.
APART = CRATE.parent / "apart"
APART_NAME = "dlbridge_apart"
# One that can do something with GPUs, which the first one can't.
CUDA = CRATE.parent / "extension_cuda"
CUDA_NAME = "dlbridge_cuda_testing"


def build(crate=CRATE, name=NAME):
    """The folder with the extension module in it. Cargo builds it only if something changed."""
    environment = {
        **os.environ,
        "PYO3_PYTHON": sys.executable,
        "PYO3_BUILD_EXTENSION_MODULE": "1",
    }
    target = TARGET / sys.implementation.cache_tag
    command = ["cargo", "build", "--quiet", "--manifest-path", crate / "Cargo.toml", "--target-dir", target]
    subprocess.run(command, check=True, env=environment)
    libraries = [target / "debug" / f"lib{name}{suffix}" for suffix in (".so", ".dylib")]
    libraries.append(target / "debug" / f"{name}.dll")
    built = next(library for library in libraries if library.exists())
    folder = target / "module"
    module = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    if not module.exists() or module.stat().st_mtime < built.stat().st_mtime:
        folder.mkdir(exist_ok=True)
        # A new file, put in place at once, since a running process may have the old one mapped.
        partial = module.with_name(f"{module.name}.{os.getpid()}")
        shutil.copy(built, partial)
        os.replace(partial, module)
    return folder


def build_apart():
    """The folder with the other module in it."""
    return build(APART, APART_NAME)


def build_cuda():
    """The folder with the one for GPUs in it."""
    return build(CUDA, CUDA_NAME)


if __name__ == "__main__":
    print(build())
