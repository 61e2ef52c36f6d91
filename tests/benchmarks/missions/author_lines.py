"""How many lines of a program its author wrote."""

import ast
from pathlib import Path

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def author_lines(program: Path) -> int:
    """Its lines without blank ones, comments and docstrings."""
    text = program.read_text(encoding="utf-8")
    told = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = enumerate(text.splitlines(), 1)
    return sum(
        bool(t.strip()) and not t.strip().startswith("#") and n not in told for n, t in lines
    )
