"""The command tree, and the one place where an error becomes a line and an exit code."""

import sys
import warnings
from typing import Any

import typer

from orchestrator import errors
from orchestrator.catalog.overlay import OverlayWarning
from orchestrator.cli import confirm, local, mission, operate, pii, route, tools

WORK_FAILED = 1
WRONG_USAGE = 2

app = typer.Typer(
    name="orchestrator",
    help="Durable multi-agent missions over OpenAPI tools, with confirmation and rollback.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("demo")(local.demo)
app.command("dev")(local.dev)
app.command("worker")(local.worker)
app.command("sandbox")(local.sandbox)
app.add_typer(mission.app, name="mission")
app.add_typer(confirm.app, name="confirm")
app.add_typer(tools.app, name="tools")
app.add_typer(route.app, name="route")
app.add_typer(operate.app, name="rollback")
app.add_typer(pii.app, name="pii")

_USAGE = (
    errors.UsageError,
    errors.DocumentUnreadable,
    errors.ToolNotFound,
    errors.ArgumentsInvalid,
    errors.MissionNotFound,
    errors.ConfirmationError,
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
        if issubclass(category, OverlayWarning):
            typer.echo(f"orchestrator: warning: {message}", err=True)
        else:
            otherwise(message, category, *place, **more)

    warnings.showwarning = show
    warnings.simplefilter("always", OverlayWarning)
