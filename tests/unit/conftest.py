"""What tests of documents and deployment share: parsing a command without running it."""

from collections.abc import Callable
from typing import Any

import pytest
import typer.main

from orchestrator.cli import app


def _parse(command: list[str]) -> None:
    program, *arguments = command
    assert program == "orchestrator"
    current: Any = typer.main.get_command(app)
    while hasattr(current, "resolve_command"):
        context = current.make_context(program, list(arguments))
        # A group may rewrite its words while it parses them; what it then runs is kept here.
        words = [*context._protected_args, *context.args]
        program, current, arguments = current.resolve_command(context, words)
    current.make_context(program, list(arguments))


@pytest.fixture
def parse_command() -> Callable[[list[str]], None]:
    """Parses `["orchestrator", ...]` as the CLI would; raises what the CLI would refuse it with."""
    return _parse
