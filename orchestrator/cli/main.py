"""The command tree, and the one place where an error becomes a line and an exit code."""

import sys
import warnings
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from orchestrator.core import errors

WORK_FAILED = 1
WRONG_USAGE = 2

COMMANDS = (
    "demo",
    "dev",
    "mission",
    "confirm",
    "rollback",
    "tools",
    "route",
    "chaos",
    "pii",
    "worker",
    "sandbox",
)
"""Each is a module `NAME_commands` of this package with an `app`, in the order of the help text."""


class _OnDemand(TyperGroup):
    """Imports a command when it is asked for: none starts with the weight of the others."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(import_module(f"orchestrator.cli.{cmd_name}_commands").app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=_OnDemand,
    name="orchestrator",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def orchestrator() -> None:
    """Durable multi-agent missions over OpenAPI tools, with confirmation and rollback."""


_USAGE = (
    errors.UsageError,
    errors.DocumentUnreadable,
    errors.ToolNotFound,
    errors.ArgumentsInvalid,
    errors.ConfirmationError,
    errors.QuestionError,
)


def exit_code(error: errors.OrchestratorError) -> int:
    """2 when what was asked for cannot be, 1 when the work failed."""
    return WRONG_USAGE if isinstance(error, _USAGE) else WORK_FAILED


def main() -> None:
    """Run the command line; every error and warning of ours is one line on standard error."""
    _tell_warnings_in_a_line()
    try:
        app()
    except errors.OrchestratorError as error:
        typer.echo(f"orchestrator: {error}", err=True)
        sys.exit(exit_code(error))


def _tell_warnings_in_a_line() -> None:
    """Print a warning of ours without the line of code that it came from."""
    otherwise = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, errors.OverlayWarning):
            typer.echo(f"orchestrator: warning: {message}", err=True)
        else:
            otherwise(message, category, *place, **more)

    warnings.showwarning = show
    warnings.simplefilter("always", errors.OverlayWarning)
