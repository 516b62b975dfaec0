"""Importing the package: quick, of nothing but the standard library, and the version that is
installed.
"""

import importlib.metadata
import importlib.util

import dlbridge
import pytest
from support import in_new_process

FRAMEWORKS = "numpy ml_dtypes torch jax jaxlib tensorflow paddle mlx cupy pyarrow tvm tvm_ffi mxnet onnxruntime".split()

# What a bare Python has is there before, and so is whatever the environment hooks into its start.
IMPORT = """
    import sys
    before = set(sys.modules)
    import dlbridge
    def new():
        return {name.split(".")[0] for name in set(sys.modules) - before}
"""


def test_import_loads_only_the_standard_library():
    code = (
        IMPORT
        + """
    ours = {name for name in new() if name not in sys.stdlib_module_names}
    assert ours == {"dlbridge"}, ours
    """
    )
    in_new_process(code)


def test_import_loads_no_heavy_modules():
    # Of the standard library too, as each module takes its time.
    code = (
        IMPORT
        + """
    heavy = {
        "typing", "dataclasses", "inspect", "importlib.metadata", "multiprocessing", "ctypes", "json", "re", "enum",
    }
    assert not heavy & new(), new()
    """
    )
    in_new_process(code)


def test_using_the_package_imports_no_framework():
    code = (
        IMPORT
        + f"""
    import array, copy, pickle
    t = dlbridge.asarray([[1.5, 2], [3, 4]], "bfloat16")
    for view in (t[0], t.T, t.reshape(-1), t.broadcast_to(3, 2, 2), t.view("uint8"), t.copy(), copy.deepcopy(t)):
        str(view), repr(view), view._repr_html_(), view.tolist(), view == view, view.owner
        pickle.loads(pickle.dumps(view))
    memoryview(dlbridge.zeros(3))
    dlbridge.from_dlpack(array.array("d", [1.0]))
    dlbridge.from_dlpack(t.to_dlpack())
    dlbridge.from_dlpack(t.to_dlpack(max_version=(1, 0)))
    assert dlbridge.convert(t, "dlbridge").equals(t) and dlbridge.explain(t, "dlbridge")
    for wrong in (
        lambda: dlbridge.convert(t, "nothing"), lambda: dlbridge.from_dlpack("x"), lambda: dlbridge.asarray("x"),
    ):
        try:
            wrong()
        except (LookupError, TypeError):
            continue
        raise AssertionError("nothing was raised")
    assert not new() & set({FRAMEWORKS!r}), new()
    """
    )
    in_new_process(code)


@pytest.mark.parametrize("name", ["numpy", "pyarrow"])
def test_conversion_imports_its_framework_alone(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} isn't installed")
    code = (
        IMPORT
        + f"""
    t = dlbridge.zeros(3)
    assert {name!r} not in sys.modules
    t.to({name!r})
    assert {name!r} in sys.modules
    others = new() & set({FRAMEWORKS!r}) - {{{name!r}, "numpy", "ml_dtypes"}}
    assert not others, others
    """
    )
    in_new_process(code)


def test_conversion_to_missing_framework_raises_import_error():
    code = (
        IMPORT
        + """
    sys.modules["torch"] = None  # as if it weren't installed
    for copy in (False, None, True):
        try:
            dlbridge.convert(dlbridge.zeros(3), "torch", copy=copy)
        except ImportError as error:
            assert "torch" in str(error), error
        else:
            raise AssertionError("it was found")
    """
    )
    in_new_process(code)


def test_bfloat16_to_numpy_without_ml_dtypes_is_refused():
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("numpy isn't installed")
    code = (
        IMPORT
        + """
    sys.modules["ml_dtypes"] = None  # as if it weren't installed
    t = dlbridge.zeros(3, "bfloat16")
    assert not dlbridge.explain(t, "numpy") and "ml_dtypes" in dlbridge.explain(t, "numpy").reason
    try:
        t.to("numpy")
    except BufferError as error:
        assert "NumPy has no bfloat16 without the package ml_dtypes" in str(error), error
    else:
        raise AssertionError("it was found")
    assert dlbridge.zeros(3).to("numpy").tolist() == [0, 0, 0]
    """
    )
    in_new_process(code)


def test_version_equals_the_installed_one():
    assert dlbridge.__version__ == importlib.metadata.version("dlbridge")


def test_public_names_exist_with_docstrings():
    assert sorted(dlbridge.__all__) == dlbridge.__all__
    for name in dlbridge.__all__:
        value = getattr(dlbridge, name)
        assert value.__doc__
        # Modules say themselves where they are.
        assert getattr(value, "__module__", value.__name__).split(".")[0] == "dlbridge"
