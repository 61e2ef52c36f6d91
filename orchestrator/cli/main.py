"""The command tree, and the one place where an error becomes a line and an exit code."""

import sys

import typer

from orchestrator import errors
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
    errors.MissionNotFound,
    errors.ConfirmationError,
)


def exit_code(error: errors.OrchestratorError) -> int:
    """2 when what was asked for cannot be, 1 when the work failed."""
    return WRONG_USAGE if isinstance(error, _USAGE) else WORK_FAILED


def main() -> None:
    """Run the command line; every error of ours is one line on standard error."""
    try:
        app()
    except errors.OrchestratorError as error:
        typer.echo(f"orchestrator: {error}", err=True)
        sys.exit(exit_code(error))
