"""Builds what calls.py and graphs.py compare. Usage: python build.py [FOLDER] [--only NAME], by default
target/peers.

For Linux. The Python that runs this is built for, with the packages that it has. A peer whose
package is missing is left out. What is up to date is not built again.
"""

import argparse
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
DEFAULT = HERE.parent.parent / "target" / "peers"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
CXX = os.environ.get("CXX", "g++")
# The same for every peer, whatever its own default is.
CXXFLAGS = ["-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", f"-I{sysconfig.get_path('include')}"]


def run(command):
    print("  " + shlex.join(map(str, command)), flush=True)
    subprocess.run(command, check=True)


def compile_if_needed(output, sources, command, versions):
    """Runs the command unless the output is newer than its sources and was made the same way."""
    stamp = output.with_name(output.name + ".stamp")
    way = json.dumps([list(map(str, command)), versions])
    inputs = [PEERS / "kernel.h", *sources]
    if output.exists() and stamp.exists() and stamp.read_text() == way:
        if all(source.stat().st_mtime < output.stat().st_mtime for source in inputs):
            return
    run(command)
    stamp.write_text(way)


def compiler():
    text = subprocess.run([CXX, "--version"], capture_output=True, text=True, check=True).stdout
    return text.splitlines()[0]


def pybind11_version(folders):
    """The version that the headers of the first folder that has them say."""
    headers = (Path(folder) / "pybind11" / "detail" / "common.h" for folder in folders)
    text = next(header for header in headers if header.exists()).read_text()
    parts = ("MAJOR", "MINOR", "MICRO", "PATCH")
    found = [re.search(rf"define PYBIND11_VERSION_{part}\s+(\w+)", text) for part in parts]
    return ".".join(match[1] for match in found if match)


def pybind11_torch(folder):
    import torch
    from torch.utils import cpp_extension

    source = PEERS / "pybind11_torch.cpp"
    output = folder / ("pybind11_torch" + SUFFIX)
    # The pybind11 that comes with torch, which is what torch's own build of extensions uses.
    defines = [
        "-DTORCH_EXTENSION_NAME=pybind11_torch",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
    ]
    folders = cpp_extension.include_paths()
    includes = [f"-isystem{path}" for path in folders]
    libraries = [f"-L{path}" for path in cpp_extension.library_paths()]
    rpaths = [f"-Wl,-rpath,{path}" for path in cpp_extension.library_paths()]
    link = [*libraries, *rpaths, "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    command = [CXX, "-std=c++20", *CXXFLAGS, *defines, *includes, "-shared", source, "-o", output]
    pybind11 = pybind11_version(folders)
    versions = {"torch": torch.__version__, "torch's pybind11": pybind11, "compiler": compiler()}
    compile_if_needed(output, [source], [*command, *link], versions)
    return versions


def torch_stable_op(folder):
    import torch
    from torch.utils import cpp_extension

    source, output = PEERS / "torch_stable_op.cpp", folder / "torch_stable_op.so"
    includes = [f"-isystem{path}" for path in cpp_extension.include_paths()]
    [libraries] = {str(Path(path)) for path in cpp_extension.library_paths()}
    link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-ltorch_cpu"]
    command = [CXX, "-std=c++20", *CXXFLAGS, *includes, "-shared", source, "-o", output, *link]
    versions = {"torch": torch.__version__, "compiler": compiler()}
    compile_if_needed(output, [source], command, versions)
    return versions


def tensorflow_op(folder):
    import tensorflow as tf

    source, output = PEERS / "tensorflow_op.cpp", folder / "tensorflow_op.so"
    flags = [*tf.sysconfig.get_compile_flags(), "-w"]
    link = [*tf.sysconfig.get_link_flags(), f"-Wl,-rpath,{tf.sysconfig.get_lib()}"]
    # The last -std counts.
    command = [CXX, *CXXFLAGS, *flags, "-std=c++20", "-shared", source, "-o", output, *link]
    versions = {"tensorflow": tf.__version__, "compiler": compiler()}
    compile_if_needed(output, [source], command, versions)
    return versions


def xla_ffi_op(folder):
    import jax
    import jaxlib

    source, output = PEERS / "xla_ffi_op.cpp", folder / "xla_ffi_op.so"
    include = f"-isystem{Path(jaxlib.__file__).parent / 'include'}"
    command = [CXX, "-std=c++17", *CXXFLAGS, include, "-shared", source, "-o", output]
    versions = {"jaxlib": jaxlib.__version__, "jax": jax.__version__, "compiler": compiler()}
    compile_if_needed(output, [source], command, versions)
    return versions


def tvm_ffi_peer(folder):
    from tvm_ffi import libinfo

    source = PEERS / "tvm_ffi_peer.cpp"
    output = folder / "tvm_ffi_peer.so"
    includes = [f"-I{libinfo.find_include_path()}", f"-I{libinfo.find_dlpack_include_path()}"]
    libraries = Path(libinfo.find_libtvm_ffi()).parent
    link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-ltvm_ffi"]
    command = [CXX, "-std=c++17", *CXXFLAGS, *includes, "-shared", source, "-o", output, *link]
    version = importlib.metadata.version("apache-tvm-ffi")
    versions = {"apache-tvm-ffi": version, "compiler": compiler()}
    compile_if_needed(output, [source], command, versions)
    return versions


def nanobind_peer(folder):
    import nanobind

    source = PEERS / "nanobind_peer.cpp"
    library = Path(nanobind.source_dir()) / "nb_combined.cpp"
    output = folder / ("nanobind_peer" + SUFFIX)
    include = Path(nanobind.include_dir())
    robin_map = include.parent / "ext" / "robin_map" / "include"
    includes = [f"-I{include}", f"-I{robin_map}"]
    # The flags that nb_combined.cpp asks for, with the library in the extension.
    flags = ["-std=c++17", *CXXFLAGS, "-DNB_COMPACT_ASSERTIONS", "-fno-strict-aliasing"]
    sections = ["-ffunction-sections", "-fdata-sections", "-Wl,-s", "-Wl,--gc-sections"]
    command = [CXX, *flags, *sections, *includes, "-shared", source, library, "-o", output]
    versions = {"nanobind": nanobind.__version__, "compiler": compiler()}
    compile_if_needed(output, [source], command, versions)
    return versions


def crate(folder, directory, name):
    """Builds a crate, which cargo does only if needed, and copies it as an extension module."""
    target = folder / "cargo"
    manifest = directory / "Cargo.toml"
    environment = {
        **os.environ,
        "PYO3_PYTHON": sys.executable,
        "PYO3_BUILD_EXTENSION_MODULE": "1",
    }
    command = ["cargo", "build", "--release", "--manifest-path", manifest, "--target-dir", target]
    subprocess.run(command, check=True, env=environment)
    built = target / "release" / f"lib{name}.so"
    output = folder / (name + SUFFIX)
    if not output.exists() or output.stat().st_mtime < built.stat().st_mtime:
        # A new file, since a running process may have the old one mapped.
        output.unlink(missing_ok=True)
        shutil.copy(built, output)
    command = ["cargo", "tree", "--manifest-path", manifest, "--depth", "1", "--prefix", "none"]
    command += ["--edges", "normal"]
    tree = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in tree.splitlines()[1:] if line and " " in line]
    versions = {f"crate {word[0]}": word[1].removeprefix("v") for word in words}
    rustc = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True)
    return {**versions, "compiler": rustc.stdout.strip()}


def rust_numpy(folder):
    return crate(folder, PEERS / "rust_numpy", "rust_numpy_peer")


def ours(folder):
    if not (HERE / "ours").exists():
        raise ImportError("the crate benches/python/ours is not there")
    return crate(folder, HERE / "ours", "dlbridge_bench")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--only", help="build one of them, by its function's name")
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    built, failed = {}, []
    builds = (ours, pybind11_torch, tvm_ffi_peer, nanobind_peer, rust_numpy)
    for build in (*builds, torch_stable_op, xla_ffi_op, tensorflow_op):
        if given.only not in (None, build.__name__):
            continue
        print(build.__name__, flush=True)
        try:
            built[build.__name__] = build(folder)
        except ImportError as error:
            print(f"  left out: {error}")
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(f"  failed: {error}")
            failed.append(build.__name__)
    if given.only is None:
        (folder / "built.json").write_text(json.dumps(built, indent=1))
    return f"failed: {', '.join(failed)}" if failed else None


if __name__ == "__main__":
    sys.exit(main())
