"""The environments: releases of a framework, each with a Python that it has wheels for.

The oldest release of a framework is its extra's floor in `python/pyproject.toml`; what is below it
says why.
"""

from dataclasses import dataclass

# What the tests of ops in graphs import.
GRAPHS = ("pytest==9.2.0", "ml-dtypes==0.6.0")
TENSORFLOW_GRAPHS = ("pytest==9.2.0",)
JAX_GRAPHS = ("pytest==9.2.0", "absl-py==2.1.0", "flatbuffers==24.3.25")
# What PyTorch imports of other packages; its wheel is installed without the libraries it names.
TORCH = ("filelock==3.16.1", "typing-extensions==4.15.0", "networkx==3.3", "jinja2==3.1.4")
TORCH += ("fsspec==2024.10.0", "setuptools==75.6.0", "sympy==1.13.3")


@dataclass(frozen=True)
class Environment:
    framework: str
    release: str
    python: str
    packages: tuple
    #: Installed without what they require.
    bare: tuple = ()
    #: Said of it in the table.
    remark: str = ""
    is_oldest: bool = False
    #: Why the floor is above this release.
    below: str = ""
    #: Whether its tensors come in, and none goes out.
    in_only: bool = False
    #: Whether ops are ops of its compiler: their tests run, too.
    has_graphs: bool = False
    #: Whether it is the oldest release for that, which is checked with the oldest ones.
    is_oldest_with_graphs: bool = False

    @property
    def name(self):
        return f"{self.framework} {self.release}{self.remark and ' with ' + self.remark}"


def torch(release, python, numpy, **fields):
    """PyTorch's wheel without the libraries it names, which are NVIDIA's."""
    others = fields.pop("packages", ())
    bare = (f"torch=={release}", *fields.pop("bare", ()))
    has_graphs = tuple(map(int, release.split("."))) >= (2, 8)
    packages = (*TORCH, f"numpy=={numpy}", *others, *(GRAPHS if has_graphs else ()))
    return Environment("torch", release, python, packages, bare, has_graphs=has_graphs, **fields)


def paddle(release, python, **fields):
    packages = (f"paddlepaddle=={release}", "setuptools==75.6.0", "numpy<2.3")
    return Environment("paddle", release, python, packages, **fields)


def jax(release, python, numpy, **fields):
    has_graphs = tuple(map(int, release.split("."))) >= (0, 4, 38)
    packages = (f"jax=={release}", f"jaxlib=={release}", f"numpy=={numpy}")
    packages += JAX_GRAPHS if has_graphs else ()
    return Environment("jax", release, python, packages, has_graphs=has_graphs, **fields)


def tensorflow(release, python, *packages, **fields):
    has_graphs = tuple(map(int, release.split("."))) >= (2, 15)
    packages = (f"tensorflow-cpu=={release}", "setuptools==75.6.0", *packages)
    packages += TENSORFLOW_GRAPHS if has_graphs else ()
    return Environment("tensorflow", release, python, packages, has_graphs=has_graphs, **fields)


def tvm_ffi(release, python, **fields):
    """With PyTorch, whose tensors the tests of ops in its graphs pass."""
    packages = (f"apache-tvm-ffi=={release}", *TORCH, "numpy==2.2.0", *GRAPHS)
    bare = ("torch==2.8.0",)
    return Environment("tvm_ffi", release, python, packages, bare, has_graphs=True, **fields)


def plain(framework, package, release, python, *packages, **fields):
    packages = (f"{package}=={release}", *packages)
    return Environment(framework, release, python, packages, **fields)


SLOW = "right both ways, but without the C functions an op takes many times PyTorch's own time"
PADDLE = "comes in alone: it copies what it takes, and ignores strides"

ENVIRONMENTS = (
    plain("numpy", "numpy", "1.21.2", "3.10", is_oldest=True),
    plain("numpy", "numpy", "2.0.2", "3.11"),
    torch("2.2.2", "3.10", "1.26.4", below=SLOW),
    torch("2.3.0", "3.10", "1.26.4", is_oldest=True),
    torch("2.4.1", "3.11", "1.26.4"),
    torch("2.6.0", "3.13", "2.2.0"),
    torch("2.8.0", "3.12", "2.2.0", is_oldest_with_graphs=True),
    torch("2.9.1", "3.12", "2.2.0"),
    torch(
        "2.9.1",
        "3.12",
        "2.2.0",
        packages=("apache-tvm-ffi==0.1.15.post2",),
        remark="torch-c-dlpack-ext",
        bare=("torch-c-dlpack-ext==0.1.5",),
    ),
    torch("2.10.0", "3.11", "2.2.0"),
    torch("2.12.1", "3.13", "2.2.0"),
    jax("0.4.31", "3.10", "1.26.4", is_oldest=True),
    jax("0.4.38", "3.12", "2.2.0", is_oldest_with_graphs=True),
    jax("0.5.3", "3.12", "2.2.0"),
    jax("0.6.2", "3.11", "2.2.0"),
    jax("0.7.2", "3.12", "2.2.0"),
    jax("0.8.0", "3.13", "2.2.0"),
    tensorflow("2.12.1", "3.10", is_oldest=True),
    tensorflow("2.15.1", "3.10", is_oldest_with_graphs=True),
    tensorflow("2.16.1", "3.12"),
    tensorflow("2.17.1", "3.12"),
    tensorflow("2.19.0", "3.12"),
    paddle("2.6.2", "3.12", below=PADDLE, in_only=True),
    paddle("3.0.0", "3.13", is_oldest=True),
    paddle("3.1.0", "3.12"),
    paddle("3.2.2", "3.13"),
    plain("pyarrow", "pyarrow", "15.0.0", "3.10", "numpy==1.26.4", is_oldest=True),
    plain("pyarrow", "pyarrow", "20.0.0", "3.11", "numpy==2.2.0"),
    plain("pyarrow", "pyarrow", "25.0.0", "3.13", "numpy==2.2.0"),
    plain("mlx", "mlx", "0.27.1", "3.12", "mlx-cpu==0.27.1", "numpy==2.2.0", is_oldest=True),
    plain("mlx", "mlx", "0.32.0", "3.12", "mlx-cpu==0.32.0", "numpy==2.2.0"),
    tvm_ffi("0.1.3", "3.12", is_oldest=True),
)
