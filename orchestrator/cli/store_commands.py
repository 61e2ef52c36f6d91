"""`orchestrator store ...`: what workers keep beside histories, moved as a whole."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.drawing import line, table_of
from orchestrator.cli.output import AsJson, present, progress
from orchestrator.settings import load_settings

if TYPE_CHECKING:  # imports a database library
    from orchestrator.client.store_copying import CopiedStore

app = typer.Typer(add_completion=False, no_args_is_help=True)
_PLACE = "A folder with a store.db, a URL, or a file that holds a URL"


@app.callback()
def store() -> None:
    """What workers keep beside histories: copy it from a file to a server."""


@app.command()
def copy(
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACE", help=f"{_PLACE}; default: the state directory."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="PLACE", help="The same; default: the store that the settings name."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy all that one store holds to another, as a move from a file to PostgreSQL needs.

    Stop all workers and clients before, and start none on the old store again: a grant that is used
    there would be unknown in the new one. Begun again, it goes on; what is there already stays, and
    where it is something else, nothing is copied. A URL with a password is better in a file.

    Example: orchestrator store copy --from ~/.orchestrator --to store.url
    """
    from orchestrator.client.store_copying import copy_between

    copied = copy_between(source, target, load_settings())
    present(copied, draw_copied, as_json=as_json)
    if copied.lacks_vault_key:
        progress.print(
            line(
                "personal values are sealed as before: give every worker and client the key of "
                f"{copied.source} (of a SQLite store: pii/pii.key beside it) in "
                "ORCHESTRATOR_PII_KEY_FILE"
            )
        )


def draw_copied(console: Console, copied: "CopiedStore") -> None:
    """How many of each kind were copied, and how many were there."""
    table = table_of("what", "copied", "there before")
    for one in copied.parts:
        if one.copied or one.present:
            table.add_row(one.part, f"{one.copied:,}", f"{one.present:,}")
    console.print(table)
    console.print(line(f"{copied.target} holds all that {copied.source} holds"))
