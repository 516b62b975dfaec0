"""A row of the tables: one computation, done by several libraries on the same tensors."""

import timeit
from dataclasses import dataclass, field
from typing import Any

#: The first is what the others are compared with.
OURS = "dlbridge"
LIBRARIES = (OURS, "torch", "numpy", "jax")
#: Copies by the benchmark's extension, timed among the libraries: the memory's bandwidth.
COPIES = ("memcpy", "stream")


class Call:
    """A call as a program would write it, with all names local."""

    def __init__(self, function, *args, then=None, **keywords):
        self.function, self.args, self.then, self.keywords = function, args, then, keywords

    def timer(self, clock):
        names = [f"x{at}" for at in range(len(self.args))]
        given = names + [f"{name}={name}_" for name in self.keywords]
        statement = f"call({', '.join(given)})"
        if self.then is not None:
            statement = f"then({statement})"
        scope = dict(zip(names, self.args), call=self.function, then=self.then)
        scope |= {f"{name}_": value for name, value in self.keywords.items()}
        # As names of the setup they are local to the timed loop.
        setup = "\n".join(f"{name} = SCOPE[{name!r}]" for name in scope)
        return timeit.Timer(statement, setup, clock, globals={"SCOPE": scope})

    def once(self):
        result = self.function(*self.args, **self.keywords)
        return result if self.then is None else self.then(result)


@dataclass
class Row:
    """One line of a table."""

    table: str
    name: str
    size: str
    calls: dict[str, Call]
    #: The least speed, as a multiple of a library's, or as a share of a limit of the machine.
    bars: dict[str, float] = field(default_factory=dict)
    #: Bytes that are read and written, and two tensors that a copy takes as long for.
    nbytes: int = 0
    memory: tuple[Any, Any] | None = None
    #: Floating point operations, and which peak they are compared with.
    flops: int = 0
    peak: str = "f32"
    #: Of the comparison with PyTorch's result.
    rtol: float = 1e-5
    atol: float = 1e-5
    #: For the plot: the curve's name and the number of elements.
    curve: tuple[str, int] | None = None


def op(name):
    """Returns the op of the package, or None if it isn't there."""
    import dlbridge

    return getattr(dlbridge.ops, name, None)


def size_text(count):
    """Powers of ten from 10,000 on as such."""
    digits = str(count)
    if count >= 10_000 and digits == "1" + "0" * (len(digits) - 1):
        return f"10^{len(digits) - 1}"
    return f"{count:,}"


def shape_text(*shape):
    return "x".join(map(str, shape))


#: Bars by kind of row.
STREAMING = {"torch": 1.0, "bandwidth": 0.9}
SAME = {"torch": 1.0}
SMALL = {"torch": 2.0}
SMALL_NUMPY = {"numpy": 1.0}
