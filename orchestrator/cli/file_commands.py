"""`orchestrator mission file`: a file that a mission received."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.adapters.storage.files import create_file
from orchestrator.cli.drawing import line
from orchestrator.cli.output import progress, run
from orchestrator.core.errors import UsageError


def file(
    mission_id: Annotated[str, typer.Argument(metavar="ID", help="The mission's id.")],
    handle: Annotated[str, typer.Argument(help="file:sha256-..., as its answers and results say.")],
    out: Annotated[Path, typer.Option(help="Where it is written, a new file.")],
) -> None:
    """Write a file that a mission received; it is read from the store, and no server is asked.

    Example: orchestrator mission file ship-1a2b3c file:sha256-9f86d081884c --out label.pdf
    """
    from orchestrator.client.kept_file import mission_file
    from orchestrator.settings import load_settings

    kept = run(mission_file(load_settings(), mission_id, handle))
    try:
        is_new = create_file(out, kept.content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{out} cannot be written: {reason}") from None
    if not is_new:
        raise UsageError(f"{out} is there already: name a new file")
    progress.print(line(f"{out}: {kept}"), soft_wrap=True)
