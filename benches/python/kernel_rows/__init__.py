"""The rows of `./dev bench kernels`: one module for each kind of op."""


def all_rows(inputs):
    """Yields functions that make a row each, so that one row's tensors are in memory at a time."""
    # Here, as the report needs none of the libraries that they import.
    from . import elementwise, gathering, layouts, matrices, reductions

    for module in (layouts, elementwise, reductions, matrices, gathering):
        yield from module.rows(inputs)
