"""What `from orchestrator import ...` gives."""

import ast
from pathlib import Path

import pytest

import orchestrator

_API = Path(__file__).parents[1] / "typing" / "api.py"


@pytest.mark.parametrize("name", orchestrator.__all__)
def test_a_public_name_is_there(name: str) -> None:
    """Each is found in its module, where it is defined under that name."""
    found = getattr(orchestrator, name)

    assert found.__name__ == name or name == "StepDecision"


def test_every_public_name_is_checked_as_typed() -> None:
    """tests/typing/api.py, which mypy reads, imports them all."""
    imported = {
        alias.name
        for node in ast.parse(_API.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module == "orchestrator"
        for alias in node.names
    }

    assert imported == set(orchestrator.__all__)
