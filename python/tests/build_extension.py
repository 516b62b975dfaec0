"""Builds the extensions that the tests call, for the Python that runs this, and says where they
are.

    import build_extension
    sys.path.insert(0, str(build_extension.build()))  # dlbridge_testing and dlbridge_apart
    sys.path.insert(0, str(build_extension.build_cuda()))  # dlbridge_cuda_testing
"""

import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PROFILE = "ci"
# The same library twice: a copy is loaded apart, so that its class, its exchange table and its list
# of borrows are others, too.
NAMES = ("dlbridge_testing", "dlbridge_apart")
# Of its own, as it has `unsafe` code.
CUDA_NAMES = ("dlbridge_cuda_testing",)
SIGNATURE = "{}-{}.{}-{}bit".format(
    sys.implementation.name, *sys.version_info[:2], 64 if sys.maxsize > 2**32 else 32
)
# As the package is built, so that `dlbridge` is compiled once for all.
ABI3 = ["--features", "pyo3/abi3-py312"] if sys.version_info >= (3, 12) else []


def has_driver():
    try:
        return bool(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        return False


# Whether the extension is built without the package's features, as those of most authors are: its
# tests expect no GPU. Processes that this one starts do the same, some with a double of the driver.
IS_LIGHT = os.environ.setdefault("DLBRIDGE_LIGHT_EXTENSION", str(int(has_driver()))) == "1"


def build():
    """Builds the extension under both names."""
    folder = sys.implementation.cache_tag + "-light" * IS_LIGHT
    return install("dlbridge-test-extension", NAMES, folder, ["--no-default-features"] * IS_LIGHT)


def build_cuda():
    """Builds the extension for GPUs."""
    return install("dlbridge-test-extension-cuda", CUDA_NAMES, sys.implementation.cache_tag)


def install(package, names, folder, options=()):
    """Builds an extension, and puts it under each name into a folder, which is returned. Cargo
    builds it only if something changed.
    """
    environment = {
        **os.environ,
        "PYO3_PYTHON": sys.executable,
        "PYO3_BUILD_EXTENSION_MODULE": "1",
        # As maturin sets it; pyo3 and all that uses it would be compiled again for another value.
        "PYO3_ENVIRONMENT_SIGNATURE": SIGNATURE,
    }
    if ABI3:
        # Maturin tells pyo3 so of the Python that it builds for; without it, pyo3 would be compiled
        # again, by turns.
        told = sorted((TARGET / "maturin").glob("pyo3-config-*-abi3.txt"))
        environment.update({"PYO3_CONFIG_FILE": str(told[0])} if told else {})
    command = [
        "cargo",
        "build",
        "--quiet",
        "--profile",
        PROFILE,
        "--manifest-path",
        ROOT / "Cargo.toml",
    ]
    subprocess.run(
        [*command, "--package", package, *options, *ABI3, "--target-dir", TARGET],
        check=True,
        env=environment,
    )
    library = names[0]
    files = [TARGET / PROFILE / f"lib{library}{suffix}" for suffix in (".so", ".dylib")]
    files.append(TARGET / PROFILE / f"{library}.dll")
    built = next(file for file in files if file.exists())
    folder = TARGET / "python-tests" / folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        put(built, folder / (name + sysconfig.get_config_var("EXT_SUFFIX")))
    return folder


def put(built, module):
    if not module.exists() or module.stat().st_mtime < built.stat().st_mtime:
        # A new file, put in place at once, since a running process may have the old one mapped.
        partial = module.with_name(f"{module.name}.{os.getpid()}")
        shutil.copy(built, partial)
        os.replace(partial, module)


if __name__ == "__main__":
    print(build())
