"""What `from orchestrator import ...` gives."""

import ast
from pathlib import Path

import orchestrator

_API = Path(__file__).parents[1] / "typing" / "api.py"


def test_each_public_name_is_there() -> None:
    """Each is found in its module, where it is defined under that name."""
    found = {name: getattr(orchestrator, name).__name__ for name in orchestrator.__all__}

    assert {name for name, own in found.items() if name != own} <= {"StepDecision"}


def test_every_public_name_is_checked_as_typed() -> None:
    """tests/typing/api.py, which mypy reads, imports them all."""
    imported = {
        alias.name
        for node in ast.parse(_API.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module == "orchestrator"
        for alias in node.names
    }

    assert imported == set(orchestrator.__all__)
