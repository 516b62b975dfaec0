"""Files of NumPy: bytes as it writes them, and arrays that share the mapped file."""

import io
import os
import sys
import zipfile

import dlbridge
import files_cases
import numpy as np
import pytest
from files_cases import NATIVE, array, arrays, same
from support import in_new_process, refused


def saved(x):
    file = io.BytesIO()
    np.save(file, x)
    return file.getvalue()


@pytest.mark.parametrize("name", NATIVE)
def test_npy_equals_numpy_when_read_and_written(name, tmp_path):
    for x in arrays(name):
        assert dlbridge.dumps(x, "npy") == saved(x)
        back = dlbridge.loads(saved(x), "numpy").only
        assert same(back, x)
        assert back.flags.f_contiguous or not x.flags.f_contiguous
        assert dlbridge.save(tmp_path / "x.npy", x) == []
        assert (tmp_path / "x.npy").read_bytes() == saved(x)
        assert same(np.load(tmp_path / "x.npy"), x)


def test_paths_may_be_bytes(tmp_path):
    path = tmp_path / "x.npy"
    dlbridge.save(os.fsencode(path), np.ones(3))
    assert dlbridge.load(os.fsencode(path)).only.tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="not int"):
        dlbridge.load(3)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser becomes others"
)
def test_permissions_of_a_group_stay_with_that_group():
    in_new_process(
        """
        import os, tempfile
        import dlbridge, numpy as np
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            path = os.path.join(folder, "x.npy")
            for groups, kept in (([2000], (1000, 2000, 0o660)), ([], (1000, 1000, 0o600))):
                dlbridge.save(path, np.ones(1))
                os.chown(path, 1000, 2000)
                os.chmod(path, 0o6660)
                if child := os.fork():
                    assert os.waitpid(child, 0)[1] == 0
                else:
                    os.setgroups(groups), os.setgid(1000), os.setuid(1000)
                    dlbridge.save(path, np.ones(2))
                    os._exit(0)
                about = os.stat(path)
                assert (about.st_uid, about.st_gid, about.st_mode & 0o7777) == kept, about
            # The superuser gives it back to its owner.
            os.chown(path, 1000, 2000), os.chmod(path, 0o640)
            dlbridge.save(path, np.ones(3))
            about = os.stat(path)
            assert (about.st_uid, about.st_gid, about.st_mode & 0o7777) == (1000, 2000, 0o640)
        """
    )


@pytest.mark.parametrize("name", NATIVE)
def test_npz_equals_numpy_when_read_and_written(name, tmp_path):
    path = tmp_path / "x.npz"
    named = {f"{i}/é" if i % 2 else f"x{i}": x for i, x in enumerate(arrays(name))}
    np.savez(path, **named)
    assert dlbridge.dumps(named, "npz") == path.read_bytes()
    loaded = dlbridge.load(path, "numpy")
    assert list(loaded) == list(named) and all(same(loaded[key], named[key]) for key in named)
    np.savez_compressed(path, **named)
    loaded = dlbridge.load(path, "numpy")
    assert all(same(loaded[key], named[key]) for key in named)
    assert loaded.copied == dict.fromkeys(named, "compressed in the file")
    dlbridge.save(path, named, align=64)
    assert dlbridge.load(path).copied == {}
    with np.load(path) as theirs:
        assert all(same(theirs[key], named[key]) for key in named)
    assert zipfile.ZipFile(path).testzip() is None


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_of_every_version_is_read(version):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.arange(6).reshape(2, 3), version=version)
    assert same(dlbridge.loads(file.getvalue(), "numpy").only, np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("name", ["int16", "uint32", "float64", "complex64", "complex128"])
def test_big_endian_is_copied(name):
    x = array(name, (2, 3))
    swapped = saved(x.astype(x.dtype.newbyteorder(">")))
    loaded = dlbridge.loads(swapped, "numpy")
    assert same(loaded.only, x) and loaded.copied == {"tensor": "big-endian in the file"}


def test_tensors_share_the_mapped_file(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(1 << 16))
    file = dlbridge.open_file(path)
    (first, copied), (second, _) = file.load(), file.load(None, "numpy")
    assert first["x"].data_ptr == second["x"].ctypes.data and copied == {}
    assert first["x"].readonly and not second["x"].flags.writeable
    del file, first
    assert second["x"][-1] == (1 << 16) - 1


def test_writes_to_mapped_tensor_leave_the_file_unchanged(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(10))
    before = path.read_bytes()
    file = dlbridge.open_file(path, writable=True)
    x = file.load(None, "numpy")[0]["x"]
    x[3] = 77
    assert file.load()[0]["x"][3].item() == 77
    assert path.read_bytes() == before and np.load(path)[3] == 3


def test_loads_shares_the_bytes():
    data = np.frombuffer(saved(np.arange(10)), "u1").copy()
    x = dlbridge.loads(data, "numpy").only
    inside = x.ctypes.data - data.ctypes.data
    assert 0 < inside < data.nbytes and not x.flags.writeable
    data[inside] = 9
    assert x[0] == 9


def test_save_replaces_mapped_file(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(1000))
    x = dlbridge.load(path, "numpy").only
    dlbridge.save(path, np.zeros(3))
    assert same(x, np.arange(1000)) and same(np.load(path), np.zeros(3))
    assert [file.name for file in tmp_path.iterdir()] == ["x.npy"]


def test_describe_reads_no_elements():
    file = dlbridge._core._open_bytes(dlbridge.dumps({"a": np.zeros((2, 3), "f4")}, "npz"), None)
    assert (file.format, file.names, file.metadata, len(file)) == ("npz", ["a"], None, 1)
    assert file.describe("a") == ("float32", [2, 3]) and "a" in file and "b" not in file
    assert 1 not in file and None not in file
    assert repr(file) == "TensorFile(Npz, 1 tensors)"


def test_loads_of_missing_name_lists_the_names():
    data = dlbridge.dumps({name: np.arange(3) for name in "abc"}, "npz")
    assert list(dlbridge.loads(data, names=("c", "a"))) == ["c", "a"]
    with refused(LookupError, 'no tensor is called "x"; there are ["a", "b", "c"]'):
        dlbridge.loads(data, names=["x"])
    with refused(ValueError, "expected 1 tensor, got 3"):
        _ = dlbridge.loads(data).only


def test_file_errors_are_os_errors(tmp_path):
    path = tmp_path / "missing.npy"
    with pytest.raises(FileNotFoundError) as error:
        dlbridge.load(path)
    assert error.value.filename == str(path)
    with pytest.raises(FileNotFoundError):
        dlbridge.save(tmp_path / "no" / "x.npy", np.zeros(1))
    with refused(ValueError, "can't tell the format of"):
        dlbridge.save(tmp_path / "x", np.zeros(1))
    with refused(LookupError, 'no format is called "zip"; there are safetensors, npy, npz'):
        dlbridge.loads(b"", format="zip")
    with refused(ValueError, "truncated npy: the version needs 8 bytes, and there are 0"):
        dlbridge.loads(b"", format="npy")
    with refused(ValueError, "expected a power of two up to 4096 as align, got 3"):
        dlbridge.dumps(np.zeros(1), "npy", align=3)
    with refused(TypeError, "elements of type |O of npy have no DLPack equivalent") as error:
        dlbridge.loads(saved(np.array([{}])))
    assert (error.value.kind, error.value.found) == ("dtype", "|O")
    with refused(TypeError, "npy has no bfloat16 elements") as error:
        dlbridge.dumps(array("bfloat16", (3,)), "npy")
    assert error.value.remedy == "write it to safetensors, or cast it"
    for metadata in ({"a": "b"}, {}):
        with refused(ValueError, "npz: the format has no metadata") as error:
            dlbridge.dumps({}, "npz", metadata=metadata)
        assert error.value.remedy == "write it to safetensors"


def test_dumps_of_non_tensor_is_refused():
    with pytest.raises(TypeError):
        dlbridge.dumps({"x": "text"}, "npz")
    with pytest.raises(TypeError):
        dlbridge.loads("text")
    assert files_cases.dtype_of("bfloat16").name == "bfloat16"


@pytest.mark.parametrize("align", [0, -1, 3, 8192, 2**70, -(2**70)])
def test_save_refuses_align_other_than_power_of_two(align, tmp_path):
    text = f"expected a power of two up to 4096 as align, got {align}"
    with refused(ValueError, text) as caught:
        dlbridge.save(tmp_path / "x.npy", np.ones(2), align=align)
    error = caught.value
    assert (error.kind, error.found) == ("argument", str(align))
    assert error.wanted == "a power of two up to 4096"
    assert list(tmp_path.iterdir()) == []


def test_load_of_folder_is_oserror(tmp_path):
    with pytest.raises(IsADirectoryError):
        dlbridge.load(tmp_path, "numpy", format="npy")


def test_names_are_several():
    data = dlbridge.dumps({name: np.arange(3) for name in "abc"}, "npz")
    file = dlbridge._core._open_bytes(data, None)
    for load in (lambda: dlbridge.loads(data, names="abc"), lambda: file.load("abc")):
        with refused(TypeError, "expected several names, got a str; pass a list") as caught:
            load()
        error = caught.value
        assert (error.kind, error.found, error.wanted) == ("argument", "str", "several names")
    assert list(file.load(name for name in "cb")[0]) == ["c", "b"]
    with pytest.raises(TypeError):
        file.load([1])


@pytest.mark.parametrize("descr", ["f4", "=f4", "|f4"])
def test_descr_of_native_order_is_read(descr):
    x = np.arange(3, dtype="f4")
    data = saved(x).replace(b"'<f4'", f"'{descr}'".ljust(5).encode())
    assert same(np.load(io.BytesIO(data)), x) and same(dlbridge.loads(data, "numpy").only, x)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names or files")
def test_single_tensor_is_saved_to_a_path_that_is_not_utf_8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.npz"
    dlbridge.save(os.fsdecode(path), np.arange(3))
    assert list(dlbridge.load(os.fsdecode(path))) == ["tensor"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such files")
def test_load_of_what_is_no_regular_file_is_refused(tmp_path):
    pipe = str(tmp_path / "x.npy")
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero", "/proc/version"):
        with refused(OSError, f"{path}: expected a regular file"):
            dlbridge.load(path, format="npy")
