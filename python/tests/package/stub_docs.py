"""Docstrings of the stubs, which editors show: they are the runtime's. `python stub_docs.py` writes
them again.
"""

import ast
import inspect
import textwrap
from pathlib import Path

import dlbridge

FOLDER = Path(dlbridge.__file__).parent
WIDTH = 100


def runtime_docs(stub):
    """Returns the runtime docstring of each public thing that a stub names, by its path in the
    stub.
    """
    if stub == "_ops.pyi":
        return {
            name: inspect.getdoc(getattr(dlbridge.ops, name)) for name in dlbridge._core._op_names()
        }
    docs = {}
    for name in (name for name in dlbridge._core.__all__ if not name.startswith("_")):
        thing = getattr(dlbridge._core, name)
        docs[name] = inspect.getdoc(thing)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            members = [member for member in vars(thing) if not member.startswith("_")]
            docs.update(
                {f"{name}.{member}": inspect.getdoc(vars(thing)[member]) for member in members}
            )
    return docs


def places(tree):
    """Returns where the docstring of each function, class, method and variable is, or would be: the
    first overload's.
    """
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.setdefault(node.name, node)
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    found.setdefault(f"{node.name}.{member.name}", member)
    for node, after in zip(tree.body, [*tree.body[1:], None]):
        if isinstance(node, ast.AnnAssign):
            found[node.target.id] = (node, after)
    return found


def is_text(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def stub_doc(place):
    """Returns a docstring of a stub, or None."""
    if isinstance(place, tuple):
        _, after = place
        return inspect.cleandoc(after.value.value) if after is not None and is_text(after) else None
    return ast.get_docstring(place)


def words(text):
    """Returns a text without its line breaks, as stubs are indented and may break lines
    elsewhere.
    """
    return text and text.split()


def literal(text, indent):
    lines = []
    for paragraph in text.split("\n\n"):
        plain = not any(line.startswith((" ", ">>>", "-", "|")) for line in paragraph.splitlines())
        for line in [" ".join(paragraph.split())] if plain else paragraph.splitlines():
            lines += textwrap.wrap(line, WIDTH - len(indent) - 3, break_on_hyphens=False)
        lines.append("")
    lines.pop()
    raw = "r" if "\\" in text else ""
    if len(lines) == 1 and len(indent) + len(lines[0]) + 6 <= WIDTH:
        return f'{indent}{raw}"""{lines[0]}"""'
    first, *rest = lines
    rest = [indent + line if line else "" for line in rest]
    return "\n".join([f'{indent}{raw}"""{first}', *rest, f'{indent}"""'])


def with_docs(source, docs):
    """Returns a stub with these docstrings."""
    lines = source.splitlines()
    edits = []  # (first line, lines that are replaced, text before it, text)
    for path, place in places(ast.parse(source)).items():
        text = docs.get(path)
        if text is None:
            continue
        if isinstance(place, tuple):
            node, after = place
            old = (
                (after.lineno, after.end_lineno)
                if stub_doc(place) is not None
                else (node.end_lineno + 1, node.end_lineno)
            )
            edits.append((*old, None, literal(text, "")))
            continue
        first = place.body[0]
        indent = " " * (place.col_offset + 4)
        if is_text(first):
            edits.append((first.lineno, first.end_lineno, None, literal(text, indent)))
        elif isinstance(first, ast.Expr):  # The dots behind the colon.
            head = lines[first.lineno - 1][: first.col_offset].rstrip()
            edits.append((first.lineno, first.end_lineno, head, literal(text, indent)))
        else:
            start = min(
                [
                    first.lineno,
                    *(decorator.lineno for decorator in getattr(first, "decorator_list", [])),
                ]
            )
            edits.append((start, start - 1, None, literal(text, indent) + "\n"))
    for start, end, head, text in sorted(edits, reverse=True):
        lines[start - 1 : end] = ([head] if head else []) + text.split("\n")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for stub in ("_core.pyi", "_ops.pyi"):
        file = FOLDER / stub
        file.write_text(with_docs(file.read_text(), runtime_docs(stub)))
