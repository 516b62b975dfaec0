"""The tables: which calls are compared, and what their results must be."""

import importlib

from contestants import OURS
from frameworks import framework
from timing import Case, equals, numbers, table, writes

A = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
B = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
SUM = [10.0, 21.0, 32.0, 43.0, 54.0, 65.0]
# 2 to the power of 8: enough for 8 dimensions, none of which is 1.
ELEMENTS = 256
PLACES = 5


def _package(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _add_cases(functions, one, out_of, shape, a=A, b=B, total=SUM):
    """A case for each function, on two arrays of `one` and an `out` of its own."""
    cases = []
    for label, function in functions:
        out = out_of.make([0.0] * len(a), shape)
        args = (one.make(a, shape), one.make(b, shape), out)
        cases.append(Case(label, function, args, _flat(out, total)))
    return cases


def _flat(out, expected):
    return lambda result: equals(expected)(out.reshape((len(expected),)))


def calls(one, contestants, rounds):
    """out = a + b. `out` is a NumPy array where the framework's own must not be written to."""
    out_of = one if one.writable else framework("numpy")
    functions = contestants.functions("add", "add_1d", "add_unchecked", "add_released")
    cases = _add_cases(functions, one, out_of, (6,))
    if one.name in ("torch", "numpy"):
        functions = [(f"{one.name}.add(out=)", importlib.import_module(one.name).add)]
        cases += _add_cases(functions, one, out_of, (6,))
        cases[-1].out_by_name = True
    arrays = f"3 {one.name} arrays" if one.writable else f"2 {one.name} arrays, out is NumPy's,"
    table(f"out = a + b: {arrays} of 6 floats", cases, rounds)


def strided(one, contestants, rounds):
    """out = a + b on transposed matrices of 2 x 3, which are in no contiguous order."""
    functions = contestants.functions("add_strided")
    cases = []
    for label, function in functions:
        a, b, out = (one.make(v, (2, 3)).T for v in (A, B, [0.0] * 6))
        expected = [[SUM[0], SUM[3]], [SUM[1], SUM[4]], [SUM[2], SUM[5]]]
        cases.append(Case(label, function, (a, b, out), writes(out, expected)))
    table(f"out = a + b: 3 {one.name} arrays of 3 x 2 floats, transposed", cases, rounds)


def ranks(one, contestants, rounds):
    """Our own calls on the same elements, in 1 to 8 dimensions.

    Of each number of dimensions there are some arrays, as where one lies makes a difference as
    large as that which is looked for.
    """
    for name in ("add", "add_strided"):
        functions = contestants.functions(name, only={OURS})
        cases = []
        a = [float(i) for i in range(ELEMENTS)]
        total = [2 * i for i in a]
        for rank in range(1, 9):
            shape = (2,) * (rank - 1) + (ELEMENTS >> (rank - 1),)
            named = [(f"{OURS}.{name}, rank {rank}", function) for _, function in functions]
            for _ in range(PLACES):
                cases += _add_cases(named, one, one, shape, a, a, total)
        table(f"Ranks: {name} of 3 {one.name} arrays of {ELEMENTS} floats", cases, rounds)


def many(one, contestants, rounds):
    """16 arguments: the last is the sum of the others."""
    if one.name != "torch":
        return
    cases = []
    for label, function in contestants.functions("sum16"):
        args = tuple(one.make([x + i for x in A], (6,)) for i in range(15))
        out = one.make([0.0] * 6, (6,))
        # 15 times x, and the sum of 0 to 14.
        expected = [15 * x + 105 for x in A]
        cases.append(Case(label, function, (*args, out), writes(out, expected)))
    table(f"16 {one.name} arrays of 6 floats", cases, rounds)


def fresh(one, contestants, rounds):
    """A new buffer of 6 floats, made in the extension, handed to Python and dropped there."""
    check = equals(A)
    cases = [
        Case(label, function, (), check)
        for label, function in contestants.functions(f"fresh_{one.name}")
    ]
    argument = one.make(A, (6,))
    for label, function in contestants.functions("fresh_like"):
        if one.name == "torch":
            cases.append(Case(f"{label}, returned like its argument", function, (argument,), check))
    for label, function in contestants.functions("fresh"):
        name = f"{label}, then {one.name}.from_dlpack"
        cases.append(Case(name, function, (), check, then=one.imports[0]))
    if one.name == "torch":
        for label, function in contestants.functions("fresh_from_framework"):
            name = f"{label}, in memory of torch's allocator"
            cases.append(Case(name, function, (argument,), check))
    cases.append(_empty(one))
    table(f"A fresh buffer of 6 floats to {one.name}", cases, rounds)


def _empty(one):
    """What the framework itself takes for memory that it doesn't fill."""
    module = importlib.import_module(one.name)

    def check(result):
        assert tuple(result.shape) == (6,)

    args = (6,) if one.name == "torch" else (6, module.float32)
    return Case(f"{one.name}.empty", module.empty, args, check)


def ops(one, rounds):
    """The package's op `add` and the framework's own function."""
    package = _package("dlbridge")
    if package is None or one.name not in ("numpy", "torch"):
        return
    module = importlib.import_module(one.name)
    total = [a + b for a, b in zip(A, B)]
    for is_given in (True, False):
        cases = []
        for name, function in (
            ("dlbridge.ops.add", package.ops.add),
            (f"{one.name}.add", module.add),
        ):
            a, b, out = one.make(A, (6,)), one.make(B, (6,)), one.make([0.0] * 6, (6,))
            if is_given:
                args, check = (a, b, out), writes(out, total)
                cases.append(Case(name, function, args, check, out_by_name=True))
            else:
                cases.append(Case(name, function, (a, b), equals(total)))
        how = "out given" if is_given else "the result made"
        table(f"The op add: {one.name} arrays of 6 floats, {how}", cases, rounds)


def imports(one, contestants, rounds):
    """One array of the framework, imported and dropped."""
    source = one.make(A, (6,))
    cases = []
    for name, label in (("import_view", "borrowed"), ("import_one", "owned")):
        for _, function in contestants.functions(name, only={OURS}):
            cases.append(Case(f"{OURS}, {label}", function, (source,), lambda result: None))
    package = _package("dlbridge")
    if package is not None:
        call = package.from_dlpack
        cases.append(Case("the package's dlbridge.from_dlpack", call, (source,), _elements))
    for name in ("tvm_ffi", "numpy", "torch"):
        module = _package(name)
        if module is not None:
            label = f"{name}.from_dlpack"
            cases.append(Case(label, module.from_dlpack, (source,), equals(A)))
    if one.imports is not None and one.name not in ("numpy", "torch"):
        label = f"{one.name}'s own from_dlpack"
        call, then = one.imports
        cases.append(Case(label, call, (source,), equals(A), then=then))
    assert numbers(source) == A
    table(f"Importing one {one.name} array", cases, rounds)


def _elements(tensor):
    assert tensor.tolist() == A


def conversions(names, rounds):
    """From one framework to another, and dropped there: the package, and the frameworks
    themselves.
    """
    package = _package("dlbridge")
    if package is None:
        return
    for source in names:
        for target in names:
            if source == target:
                continue
            one, other = framework(source), framework(target)
            x = one.make(A, (6,))
            cases = [
                Case("dlbridge.convert", package.convert, (x, target), equals(A)),
                Case(f"{target}.from_dlpack", other.imports[0], (x,), equals(A)),
            ]
            table(f"One {source} array of 6 floats becomes one of {target}", cases, rounds)
