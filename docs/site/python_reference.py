"""The Python reference, generated from the stubs and docstrings of the package's sources."""

import ast
import inspect
import re

from pages import ROOT

PACKAGE = ROOT / "python/dlbridge"
#: The modules with a page, by the page's name.
MODULES = {"dlbridge": "__init__", "ops": "_ops", "cuda": "cuda", "typing": "typing"}


def write(folder):
    """Writes the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for page, module in MODULES.items():
        title = "dlbridge" if page == "dlbridge" else f"dlbridge.{page}"
        parts = [f"# {title}", prose(module_doc(page)), *members(page, module)]
        (folder / f"{page}.md").write_text("\n\n".join(parts) + "\n")


def module_doc(page):
    return ast.get_docstring(tree("ops" if page == "ops" else MODULES[page])) or ""


def tree(module):
    """Returns the parsed stub of a module, or its source."""
    files = [PACKAGE / f"{module}.pyi", PACKAGE / f"{module}.py", PACKAGE / module / "__init__.py"]
    return ast.parse(next(file for file in files if file.exists()).read_text())


def members(page, module):
    """Returns the text of each public name of a module."""
    if page == "ops":
        return [entry(name, *definitions(module, name)) for name in ops(module)]
    names = [name for name in public(module) if name not in MODULES]
    return [entry(name, *definitions(module, name)) for name in sorted(names, key=str.lower)]


def public(module):
    """Returns the names in a module's `__all__`."""
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
    raise LookupError(f"{module} has no __all__")


def ops(module):
    """Returns the ops that a stub names: its public functions and variables."""
    names = []
    for node in tree(module).body:
        if isinstance(node, ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.append(node.target.id)
    return sorted({name for name in names if not name.startswith("_")})


def definitions(module, name):
    """Returns the nodes that define a name, wherever a module imports it from, and its docstring."""
    body = tree(module).body
    for at, node in enumerate(body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            nodes = [each for each in body if getattr(each, "name", None) == name]
            docs = [ast.get_docstring(each) for each in nodes]
            return nodes, next((doc for doc in docs if doc), "")
        is_assigned = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name
        if is_assigned or (isinstance(node, ast.AnnAssign) and node.target.id == name):
            text = text_of(body[at + 1]) if at + 1 < len(body) else ""
            if text or not is_assigned:
                return [], text
            return definitions("_core", name)  # `Stream = _core.Stream`
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return definitions(node.module or alias.name, alias.name)
    raise LookupError(f"{module}.{name} is defined nowhere")


def text_of(node):
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return inspect.cleandoc(node.value.value) if is_text else ""


def entry(name, nodes, doc):
    """Returns a function or a class, with its signatures and members."""
    lines = doc.splitlines()
    if lines and re.match(rf"{name}\(.*\)( ->|$)", lines[-1]):
        # An op's docstring ends with its signature, which is shorter than those for checkers.
        heading = [f"## `{name}`", fenced(lines[-1])]
        return "\n\n".join([*heading, prose("\n".join(lines[:-1]))]).strip()
    if nodes and isinstance(nodes[0], ast.ClassDef):
        return "\n\n".join([f"## `{name}`", prose(doc), *methods(nodes[0])])
    parts = [f"## `{name}`", *[fenced(signature(node)) for node in nodes], prose(doc)]
    return "\n\n".join(part for part in parts if part)


def methods(node):
    """Returns the text of a class's public methods and properties."""
    shown = {}
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and is_shown(member.name):
            shown.setdefault(member.name, []).append(member)
    parts = []
    for name, nodes in shown.items():
        docs = [ast.get_docstring(each) for each in nodes]
        decorators = {ast.unparse(each) for each in nodes[0].decorator_list}
        if "property" in decorators:
            kind = ast.unparse(nodes[0].returns) if nodes[0].returns else "Any"
            signatures = [f"{name}: {kind}"]
        else:
            signatures = [signature(each) for each in nodes]
        parts += [f"### `{node.name}.{name}`", *map(fenced, signatures)]
        parts.append(prose(next((doc for doc in docs if doc), "")))
    return [part for part in parts if part]


def is_shown(name):
    return not name.startswith("_") or name in {
        "__call__",
        "__getitem__",
        "__setitem__",
        "__iter__",
    }


def signature(node):
    """Returns a function's signature, on several lines if it is long."""
    arguments = re.sub(r"(\w+: [^=]*?)=", r"\1 = ", ast.unparse(node.args))
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{node.name}({arguments}){result}"
    if len(line) <= 90:
        return line
    parts = re.split(r", (?![^\[(]*[\])])", arguments)
    return "\n".join([f"{node.name}(", *[f"    {part}," for part in parts], f"){result}"])


def fenced(code):
    return f"```python\n{code}\n```"


def prose(doc):
    """Returns a docstring as Markdown: indented sessions become blocks of code."""
    parts = []
    for paragraph in re.split(r"\n\n+", doc.strip("\n")):
        if paragraph.lstrip().startswith(">>>"):
            lines = [line.removeprefix("    ") for line in paragraph.splitlines()]
            parts.append("```pycon\n" + "\n".join(lines) + "\n```")
        else:
            parts.append(paragraph)
    return "\n\n".join(parts).strip()
