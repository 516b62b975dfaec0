"""One tensor, several frameworks and a Rust function: the same memory all the way.

    ./dev demo

builds what this needs and runs it. The function is in examples/python_extension: Rust without a
line of unsafe code, which is linked to none of the frameworks.
"""

import importlib
import os
import sys
import time
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import dlbridge  # noqa: E402
import tensor_math  # noqa: E402

# Paddle and TensorFlow crash each other in one process, so each has a tour of its own.
TOURS = {
    "tensorflow": ["torch", "jax", "tensorflow", "mlx", "pyarrow", "tvm_ffi", "numpy"],
    "paddle": ["paddle", "torch", "jax", "numpy"],
}


# Tensors that these frameworks make themselves.
FROM_ZERO = {
    "tensorflow": lambda: importlib.import_module("tensorflow").range(8.0),
    "jax": lambda: importlib.import_module("jax.numpy").arange(8.0),
}


def main():
    tour = TOURS[sys.argv[1] if len(sys.argv) > 1 else "tensorflow"]
    found = [name for name in tour if is_there(name)]
    missing = [name for name in tour if name not in found]
    first = found[0]
    print(f"A tensor of {first}:")
    x = dlbridge.asarray([[-1, 2, -3, 4], [5, -6, 7, -8]], "float32").to(first)
    show(first, x)

    print("\nThrough a Rust function, which returns a new tensor of the same framework:")
    y = tensor_math.relu(x)
    show("relu(x)", y)

    print("\nThat one as a tensor of every other framework, without a copy:")
    where = dlbridge.from_dlpack(y).data_ptr
    others = {}
    for name in found[1:]:
        explanation = dlbridge.explain(y, name)
        others[name] = dlbridge.convert(y, name, copy=None)
        show(name, others[name], "" if explanation.shares else str(explanation))

    print("\nA Rust function writes 10 times each element in place, and all see it:")
    tensor_math.scale_(y, 10.0)
    for name, other in others.items():
        if address(other) == where:
            show(name, other)

    print("\nThe same function, called with each of them, returns what it was called with:")
    for name, other in [(first, y), *others.items()]:
        result = tensor_math.relu(other)
        kind = type(result)
        print(f"  {name:12} relu -> {kind.__module__}.{kind.__qualname__}")
    if "torch" in found:
        print(
            "\nFrom frameworks whose tensors are read-only, to PyTorch, which has no such tensors, and back:"
        )
        for name in ("tensorflow", "jax"):
            if name in found:
                to_torch(name)
    if missing:
        print(f"\nNot installed: {', '.join(missing)}")
    shared = sum(address(other) == where for other in others.values())
    copied = len(others) - shared
    print(
        f"\n{shared} conversions shared the memory at {where:#x}, {copied} copied it, as was said."
    )
    return 0


def to_torch(name):
    x = FROM_ZERO[name]()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", dlbridge.ReadOnlyWarning)
        t = dlbridge.convert(x, "torch")
    back = dlbridge.convert(t, name)
    assert address(x) == t.data_ptr() == address(back)
    print(f"  {name:12} {address(x):#x}  torch {t.data_ptr():#x}  {name} {address(back):#x}")
    print(f"  {'':12} {str(warned[0].message).partition(': what')[0]}.")


def is_there(name):
    begin = time.perf_counter()
    try:
        importlib.import_module("mlx.core" if name == "mlx" else name)
    except ImportError:
        return False
    seconds = time.perf_counter() - begin
    if seconds > 2:
        print(f"  ({name} took {seconds:.0f} s to be imported)", file=sys.stderr)
    return True


def address(x):
    return dlbridge.from_dlpack(x).data_ptr


def show(name, x, remark=""):
    t = dlbridge.from_dlpack(x)
    numbers = " ".join(f"{number:g}" for row in t.tolist() for number in row)
    print(f"  {name:12} {t.data_ptr:#x}  {numbers}  {remark}")


if __name__ == "__main__":
    sys.exit(main())
