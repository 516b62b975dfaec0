"""Contestants of the benchmarks: our extension and the peers, by the names in the tables.

A module that isn't there is noted in `missing`, and its lines are left out.
"""

import importlib
import sys
from pathlib import Path

OURS = "dlbridge"


class Contestants:
    """The functions of every module that could be loaded."""

    def __init__(self, folder):
        sys.path.insert(0, str(folder))
        self.missing = {}
        # Label, and the module or what stands for one.
        self.modules = {}
        self._load(OURS, lambda: importlib.import_module("dlbridge_bench"))
        self._load("pybind11", self._pybind11)
        self._load("tvm-ffi, GIL kept", lambda: _tvm_ffi(folder, release_gil=False))
        self._load("tvm-ffi, GIL released", lambda: _tvm_ffi(folder, release_gil=True))
        self._load("nanobind", lambda: importlib.import_module("nanobind_peer"))
        self._load("rust-numpy", lambda: importlib.import_module("rust_numpy_peer"))

    @staticmethod
    def _pybind11():
        # The extension's symbols are torch's.
        importlib.import_module("torch")
        return importlib.import_module("pybind11_torch")

    def _load(self, name, load):
        try:
            self.modules[name] = load()
        except Exception as error:
            self.missing[name] = f"{type(error).__name__}: {error}"

    def functions(self, *names, only=None):
        """(label, function) of all that have a function of one of these names, ours first."""
        found = []
        for label, module in self.modules.items():
            if only is not None and label not in only:
                continue
            for name in names:
                function = getattr(module, name, None)
                if function is not None:
                    found.append((_title(label, name, names), function))
        return found


def _title(label, name, names):
    """The label, with the function's name where it is not the first that was requested."""
    if name == names[0]:
        return label
    ending = name.removeprefix(names[0]).strip("_").replace("_", " ")
    words = {"released": "GIL released", "1d": "rank fixed", "unchecked": "borrows unchecked"}
    return f"{label}, {words.get(ending, ending)}"


class _Functions:
    """Functions of a tvm-ffi module, which can be told to keep the GIL."""

    # `add_released` is `add` of the other module.
    NAMES = ("add", "add_strided", "sum16", "fresh", "fresh_like", "fresh_from_framework")

    def __init__(self, module, release_gil):
        for name in self.NAMES:
            function = module.get_function(name)
            function.release_gil = release_gil
            setattr(self, name, function)


def _tvm_ffi(folder, release_gil):
    import tvm_ffi

    path = Path(folder) / "tvm_ffi_peer.so"
    if not path.exists():
        raise ImportError("tvm_ffi_peer.so is not built")
    return _Functions(tvm_ffi.load_module(str(path)), release_gil)
