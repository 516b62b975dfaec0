"""The environments: releases of a framework, each with a Python that it has wheels for.

The oldest release of a framework is its extra's floor in `python/pyproject.toml`.
"""

from dataclasses import dataclass

# What PyTorch imports of other packages; its wheel is installed without the libraries it names.
TORCH = ("filelock==3.16.1", "typing-extensions==4.12.2", "networkx==3.3", "jinja2==3.1.4")
TORCH += ("fsspec==2024.10.0", "setuptools==75.6.0")


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

    @property
    def name(self):
        return f"{self.framework} {self.release}{self.remark and ' with ' + self.remark}"


def torch(release, python, *packages, remark="", bare=(), is_oldest=False):
    packages = (*TORCH, *packages)
    bare = (f"torch=={release}", *bare)
    return Environment("torch", release, python, packages, bare, remark, is_oldest)


def paddle(release, python, *packages, is_oldest=False):
    packages = (f"paddlepaddle=={release}", "setuptools==75.6.0", *packages)
    return Environment("paddle", release, python, packages, is_oldest=is_oldest)


def jax(release, python, *packages, is_oldest=False):
    packages = (f"jax=={release}", f"jaxlib=={release}", *packages)
    return Environment("jax", release, python, packages, is_oldest=is_oldest)


def tensorflow(release, python, is_oldest=False):
    packages = (f"tensorflow-cpu=={release}", "setuptools==75.6.0")
    return Environment("tensorflow", release, python, packages, is_oldest=is_oldest)


def plain(framework, package, release, python, *packages, is_oldest=False):
    packages = (f"{package}=={release}", *packages)
    return Environment(framework, release, python, packages, is_oldest=is_oldest)


ENVIRONMENTS = (
    plain("numpy", "numpy", "1.23.5", "3.10", is_oldest=True),
    plain("numpy", "numpy", "2.0.2", "3.11"),
    torch("2.3.0", "3.10", "numpy==1.26.4", "sympy==1.12", is_oldest=True),
    torch("2.6.0", "3.13", "numpy==2.2.0", "sympy==1.13.1"),
    torch("2.9.1", "3.12", "numpy==2.2.0", "sympy==1.13.3"),
    torch(
        "2.9.1",
        "3.12",
        "numpy==2.2.0",
        "sympy==1.13.3",
        "apache-tvm-ffi==0.1.15.post2",
        remark="torch-c-dlpack-ext",
        bare=("torch-c-dlpack-ext==0.1.5",),
    ),
    torch("2.10.0", "3.11", "numpy==2.2.0", "sympy==1.13.3"),
    jax("0.4.31", "3.10", "numpy==1.26.4", "ml-dtypes==0.4.0", is_oldest=True),
    jax("0.7.2", "3.12", "numpy==2.2.0"),
    tensorflow("2.15.1", "3.11"),
    tensorflow("2.16.1", "3.12", is_oldest=True),
    tensorflow("2.19.0", "3.12"),
    paddle("3.0.0", "3.12", is_oldest=True),
    paddle("3.2.2", "3.13"),
    plain("pyarrow", "pyarrow", "15.0.0", "3.10", "numpy==1.26.4", is_oldest=True),
    plain("pyarrow", "pyarrow", "25.0.0", "3.13", "numpy==2.2.0"),
    plain("mlx", "mlx", "0.32.0", "3.12", "mlx-cpu==0.32.0", "numpy==2.2.0", is_oldest=True),
    plain("tvm_ffi", "apache-tvm-ffi", "0.1.3", "3.12", "numpy==2.2.0", is_oldest=True),
)
