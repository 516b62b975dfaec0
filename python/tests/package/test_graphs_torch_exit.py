"""Ops of PyTorch's dispatcher while the process ends."""

import weakref

import graph_torch  # noqa: F401, publishes ops
from support import framework, in_new_process

torch = framework("torch")


def test_ops_are_there_until_the_process_ends():
    # Functions for the exit run in reverse order: this one after those that PyTorch has.
    output = in_new_process("""
        import atexit

        def late():
            x = torch.ones(2, requires_grad=True)
            ops.exp(x).sum().backward()
            print(x.grad.tolist(), torch.ops.dlbridge.relu(torch.ones(2)).tolist())

        atexit.register(late)
        import torch
        from dlbridge import ops
        ops.exp(torch.ones(2, requires_grad=True))
    """)
    assert output.strip().startswith("[2.718")
    assert output.strip().endswith("[1.0, 1.0]")


def test_the_library_of_ops_is_kept():
    from dlbridge._hosts.torch import op

    finalizers = [
        finalizer
        for finalizer, info in weakref.finalize._registry.items()
        if info.weakref() is op._LIBRARY
    ]
    assert len(finalizers) == 1
    assert not any(finalizer.atexit for finalizer in finalizers)
