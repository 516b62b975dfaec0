"""Stand-ins for NVIDIA's libraries, with which a CUDA build of PyTorch runs on the CPU alone.

A wheel of PyTorch names about fifteen libraries of several GB. The loader asks for their files,
the versions of their symbols and the functions; none of these is called for a tensor on the host.
So each library becomes a shared object of a few KB, with all of that, whose functions fail.
"""

import re
import subprocess
import tempfile
from pathlib import Path

# What the static initializers and error messages call; every other function returns "no device".
CODE = """
#define NO_DEVICE 100
static const char *text(void) { return "NVIDIA's library is a stand-in"; }
"""
# In place of an error number: what returns a string or nothing, and what registers kernels.
TEXTS = re.compile(r"(GetErrorString|GetErrorName|GetStatusName|GetStatusString|get_error_string)$")
REGISTERS = re.compile(r"^__cuda")
NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")
SYMBOL = re.compile(r"^\s*\d+:\s+\S+\s+\S+\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)\s+(\S+)")
FILE = re.compile(r"Version: 1\s+File: (\S+)")
VERSION = re.compile(r"Name: (\S+)\s+Flags: \S+\s+Version: (\d+)")
# Libraries that the system or the wheel has under another name.
NOT_NVIDIA = re.compile(r"^(ld-linux|lib(c|m|dl|rt|gcc_s|stdc\+\+|pthread|gomp|torch|c10|shm)[._])")
NVIDIA = re.compile(r"^(_*cu|nv|nccl|_*nv|CUPTI|cupti)", re.IGNORECASE)


def build(package, folder):
    """Builds the stand-ins for the libraries of `package`, the folder of PyTorch, into `folder`."""
    libraries = sorted({*package.glob("lib/*.so*"), *package.glob("_C*.so")})
    present = {library.name for library in libraries}
    needed, versioned, plain, defined = set(), {}, set(), set()
    for library in libraries:
        needed |= set(NEEDED.findall(readelf("-d", library)))
        homes = version_homes(library)
        for binding, place, name in symbols(library):
            base, _, version = name.partition("@")
            if place != "UND":
                defined.add(base)
            elif version.strip("@") in homes:
                versioned.setdefault(homes[version.strip("@")], {}).setdefault(
                    version.strip("@"), set()
                ).add(base)
            elif NVIDIA.match(base):
                plain.add(base)
    missing = {name for name in needed if name not in present and not NOT_NVIDIA.match(name)}
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(missing):
        versions = versioned.get(name, {})
        known = set().union(*versions.values())
        # A symbol without a version is in any of them.
        link(folder / name, versions, sorted(plain - defined - known))
    return sorted(missing)


def readelf(option, library):
    return subprocess.run(
        ["readelf", "-W", option, str(library)], capture_output=True, text=True, check=True
    ).stdout


def symbols(library):
    """The binding, the section and the name of each dynamic symbol."""
    for line in readelf("--dyn-syms", library).splitlines():
        if found := SYMBOL.match(line):
            _, binding, place, name = found.groups()
            yield binding, place, name


def version_homes(library):
    """Versions of symbols, and the library that has each."""
    homes, file = {}, None
    for line in readelf("-V", library).splitlines():
        if found := FILE.search(line):
            file = found[1]
        elif file and (found := VERSION.search(line)) and not NOT_NVIDIA.match(file):
            homes[found[1]] = file
    return homes


def function(name):
    if TEXTS.search(name):
        return f"const char *{name}(void) {{ return text(); }}"
    if REGISTERS.match(name):
        return f"void *{name}(void) {{ static void *handle; return &handle; }}"
    return f"int {name}(void) {{ return NO_DEVICE; }}"


def link(target, versions, plain):
    """Links a library with these symbols of each version, and these without one."""
    names = sorted(set().union(*versions.values()) | set(plain))
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder, "source.c"), Path(folder, "versions")
        source.write_text(CODE + "\n".join(map(function, names)) + "\n")
        nodes = (
            f"{version} {{ {' '.join(f'{name};' for name in sorted(of))} }};"
            for version, of in sorted(versions.items())
        )
        script.write_text("\n".join(nodes) + "\n")
        command = ["cc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{target.name}"]
        command += [f"-Wl,--version-script={script}"] if versions else []
        subprocess.run([*command, "-o", str(target), str(source)], check=True)
