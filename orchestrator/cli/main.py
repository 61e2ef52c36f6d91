"""The command tree, and the one place where an error becomes a line and an exit code."""

import atexit
import errno
import gc
import logging
import os
import sys
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from orchestrator.cli.clean_errors import clean_usage_errors, install_clean_hooks, print_error
from orchestrator.core import errors

WORK_FAILED = 1
WRONG_USAGE = 2

COMMANDS: Final = {
    "demo": "Run three missions: a success, a rollback, a killed worker.",
    "dev": "Run Temporal, the sandbox, a worker and the inbox, until Ctrl-C.",
    "mission": "Start missions, follow them, answer and roll back.",
    "confirm": "Read confirmation cards and decide on them.",
    "rollback": "List parked obligations, resolve them, and sweep.",
    "workflow": "Check and show written missions: workflows of Arazzo documents.",
    "tools": "Check, list and try the tools of OpenAPI documents.",
    "agents": "Check the tools that agent profiles may use.",
    "report": "Show what guards would have caught in observed calls.",
    "route": "Route a request, measure the router, and calibrate it.",
    "chaos": "Test rollback: missions and workers under planned faults.",
    "pii": "Store, list and forget personal values in the encrypted vault.",
    "key": "Make a key for approvals, payloads or the vault.",
    "token": "Make an API token for `orchestrator serve`.",
    "serve": "Serve the HTTP API and the inbox.",
    "mcp": "Serve missions and guarded tools to MCP clients.",
    "worker": "Run missions and their tool calls until SIGTERM.",
    "settings": "List all settings with their defaults and current values.",
    "proxy": "Forward requests to a model with the few tools that fit.",
    "codec-server": "Decrypt histories for the Temporal UI and the temporal command.",
    "sandbox": "Serve OpenAPI documents as HTTP services with a ledger.",
}
"""The first line of each command's help. A command is `app` of the module `NAME_commands`, or
`NAME_app` of its module in `_HOMES`; `_` in place of `-`."""
_HOMES: Final = {
    "demo": "dev",
    "sandbox": "dev",
    "mcp": "serve",
    "agents": "settings",
    "pii": "data",
    "key": "data",
    "token": "data",
    "worker": "service",
    "proxy": "service",
    "codec-server": "service",
}


class _OnDemand(TyperGroup):
    """Imports a command when it is run, without the imports of the others."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command, on one screen."""
        usage = f"{ctx.command_path} COMMAND --help shows a command's options and an example."
        lines = [f"  {name:<13} {help_line}" for name, help_line in COMMANDS.items()]
        formatter.write("\n".join([str(self.help), usage, *lines, ""]))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command without its code, for help and completion."""
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is run, with its code."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(str(name)), rest

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the command line up to the name of a command."""
        with clean_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the rest of the command line, and run the command."""
        with clean_usage_errors():
            return super().invoke(ctx)


def load_command(name: str) -> Any:
    """Import a command of the table."""
    own = name.replace("-", "_")
    module = import_module(f"orchestrator.cli.{_HOMES.get(name, own)}_commands")
    command = typer.main.get_command(getattr(module, f"{own}_app", None) or module.app)
    command.name = name
    command.help = command.help or COMMANDS[name]
    if isinstance(command, TyperGroup):
        command.epilog = f"orchestrator {name} COMMAND --help shows its options and an example."
    return command


app = typer.Typer(
    cls=_OnDemand,
    name="orchestrator",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes a tenth of a second to load, and help is plain text
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


_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_NEW_OBJECTS = 200_000
"""Threshold of the garbage collector: with Python's own, the objects that imports make are looked
through hundreds of times before a command begins."""

_INTERRUPTED = 130
"""Exit code of a process that Ctrl-C ended, as shells count it."""


def main() -> None:
    """Run the command line; every error and warning of ours is one line on standard error."""
    gc.set_threshold(_NEW_OBJECTS)
    # Read by NumPy when it is first imported: our matrix products are small, and one thread takes
    # as long as several, at a fraction of the CPU.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    install_clean_hooks()
    try:
        try:
            "".join(sys.argv).encode()
        except UnicodeEncodeError:  # bytes that are no text: no message and no file can hold them
            raise errors.UsageError(
                "an argument is not UTF-8: set a UTF-8 locale, such as LANG=C.UTF-8"
            ) from None
        app()
    except errors.OrchestratorError as error:
        print_error(str(error))
        sys.exit(WRONG_USAGE if isinstance(error, _USAGE) else WORK_FAILED)
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        where = f" at {error.filename}" if error.filename else ""
        print_error(
            f"nothing can be written{where}: {error.strerror}; make room, or choose another folder "
            "(ORCHESTRATOR_STATE_DIR, or the command's own option)"
        )
        sys.exit(WORK_FAILED)


def run() -> None:
    """Run the command line as this process, and end it without the interpreter's teardown.

    A thread of the Temporal client that is cut off by the teardown aborts the process although all
    work is done (temporalio/sdk-python #300). The teardown also takes longer than most commands.
    """
    codes: list[int] = []
    # Registered first, and so run last: whatever else is registered has its turn.
    atexit.register(_end_process, codes)
    try:
        main()
    except SystemExit as ended:
        codes.append(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
        raise
    except KeyboardInterrupt:
        codes.append(_INTERRUPTED)
        raise
    codes.append(0)


def _end_process(codes: list[int]) -> None:
    code = codes[-1] if codes else WORK_FAILED  # an error that `main` does not know
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # its reader is gone, or the disk is full
            code = code or WORK_FAILED
    os._exit(code)
