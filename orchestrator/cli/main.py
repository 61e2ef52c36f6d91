"""The command tree, and the one place where an error becomes a line and an exit code."""

import atexit
import errno
import gc
import os
import sys
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from orchestrator.cli.clean_errors import (
    clean_usage_errors,
    clean_what_python_prints,
    tell_error,
)
from orchestrator.core import errors

WORK_FAILED = 1
WRONG_USAGE = 2

COMMANDS: Final = {
    "demo": "Three missions on real parts: success, rollback, killed worker.",
    "dev": "Temporal with its UI, the sandbox and a worker, until Ctrl-C.",
    "mission": "Start missions and see what becomes of them.",
    "confirm": "Read confirmation cards and decide on them.",
    "rollback": "See what is parked, resolve it, and sweep.",
    "tools": "Look at the tools of OpenAPI documents.",
    "agents": "Check what agent profiles may touch before a worker runs with them.",
    "route": "Route a request, measure the router, and calibrate it.",
    "chaos": "Rollback tests: real missions and workers under planned trouble.",
    "telemetry": "Every span and measurement of missions, by name.",
    "pii": "Keep personal fields in the encrypted vault.",
    "store": "Copy what workers keep outside of histories to another store.",
    "payload-keys": "Make, change and list the keys that encrypt histories.",
    "worker": "One worker: runs missions and their tool calls until SIGTERM.",
    "settings": "All settings: each variable, its default and its value now.",
    "proxy": "Pass requests to a model on with the few of their tools that fit.",
    "codec-server": "Decrypt histories for the Temporal UI and the temporal command.",
    "sandbox": "Serve OpenAPI documents as real HTTP services with a memory.",
}
"""Each is a module `NAME_commands` of this package with an `app`, `_` in place of `-`; those of
`_HOMES` share one, where theirs is `NAME_app`. Its line here is the first of its help."""
_HOMES: Final = {
    "telemetry": "settings",
    "pii": "data",
    "store": "data",
    "payload-keys": "data",
}


class _OnDemand(TyperGroup):
    """Imports a command when it is run: none starts with the weight of the others."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the whole on one screen: a line for each command."""
        lines = [f"Usage: {ctx.command_path} COMMAND ...", str(self.help), ""]
        lines += [f"  {name:<13} {told}" for name, told in COMMANDS.items()]
        formatter.write("\n".join([*lines, "", "COMMAND --help shows its options and an example."]))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """What help and completion list of a command: its name and its line."""
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is run, with its code."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(str(name)), rest

    def make_context(self, *args: Any, **options: Any) -> Any:
        """The command line, read as far as the name of a command."""
        with clean_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """The rest of it read, and the command run."""
        with clean_usage_errors():
            return super().invoke(ctx)


def load_command(name: str) -> Any:
    """A command of the table, imported."""
    own = name.replace("-", "_")
    module = import_module(f"orchestrator.cli.{_HOMES.get(name, own)}_commands")
    command = typer.main.get_command(getattr(module, f"{own}_app", None) or module.app)
    command.name = name
    command.help = command.help or COMMANDS[name]
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


def _check_encoding(words: list[str]) -> None:
    """Refuse bytes that are no text: no message, and no file of ours, can hold them."""
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise errors.UsageError("an argument is not written in UTF-8") from None


_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_NEW_OBJECTS = 200_000
"""After how many the collector looks for garbage: what imports make stays, and with Python's own
700 it is looked through hundreds of times before a command begins."""

_THREADS_OF_PRODUCTS = "OPENBLAS_NUM_THREADS"
"""NumPy's products here are small: shared among a thread for each processor, they take as much time
and several times the processor, for threads that wait for each other do so by turning round."""


def main() -> None:
    """Run the command line; every error and warning of ours is one line on standard error."""
    gc.set_threshold(_NEW_OBJECTS)
    # What the process still holds goes with it: to look through all that was imported for garbage
    # takes an ending command longer than most take to do their work. First in, and so done last.
    atexit.register(gc.freeze)
    os.environ.setdefault(_THREADS_OF_PRODUCTS, "1")  # read by NumPy when it is first imported
    clean_what_python_prints()
    try:
        _check_encoding(sys.argv)
        app()
    except errors.OrchestratorError as error:
        tell_error(str(error))
        sys.exit(exit_code(error))
    except OSError as error:
        if error.errno not in _OF_DISKS:
            raise
        where = f" at {error.filename}" if error.filename else ""
        tell_error(
            f"nothing can be written{where}: {error.strerror}; make room, or choose another folder "
            "(ORCHESTRATOR_STATE_DIR, or the command's own option)"
        )
        sys.exit(WORK_FAILED)
