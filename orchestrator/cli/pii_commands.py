"""`orchestrator pii ...`: the personal fields that tool calls may use; values are never printed."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.adapters.storage.files import create_file
from orchestrator.adapters.storage.pii_vault import PiiVault
from orchestrator.adapters.storage.vault_key import new_key
from orchestrator.cli.connected import ask
from orchestrator.cli.drawing import line
from orchestrator.cli.output import AsJson, console, print_json
from orchestrator.client.stores import open_vault
from orchestrator.core.errors import UsageError
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False, no_args_is_help=True)


def _vault() -> PiiVault:
    return open_vault(load_settings())


@app.command("set")
def set_field(
    name: Annotated[str, typer.Argument(help="The field, e.g. traveler_name.")],
    value: Annotated[
        str, typer.Option(prompt=True, hide_input=True, help="Asked for when left out.")
    ],
) -> None:
    """Store a value; it is asked for, so that it stays out of your shell's history.

    Calls that were prepared before keep the value that they were prepared with.

    Example: orchestrator pii set traveler_name
    """
    _vault().put(name, value)
    console.print(line(f"stored {name}"))


@app.command("list")
def list_fields(as_json: AsJson = False) -> None:
    """Names of the fields that have a value, and of those that missions brought.

    Example: orchestrator pii list
    """
    held = _vault().contents()
    brought = {m: sorted({kept.field for kept in v}) for m, v in sorted(held.missions().items())}
    if as_json:
        print_json({"fields": list(held.fields()), "missions": brought})
        return
    for name in held.fields():
        console.print(line(name))
    for mission_id, names in brought.items():
        console.print(line(f"{', '.join(names)}  (brought by {mission_id})"))


@app.command()
def forget(name: Annotated[str, typer.Argument(help="The field.")]) -> None:
    """Delete a value, and all that were stored in its place before.

    A call that was prepared with one of them is not sent any more, and its rollback parks.

    Example: orchestrator pii forget traveler_phone
    """
    had = _vault().forget(name)
    console.print(line(f"forgot {name}" if had else f"nothing is kept of {name}"))


@app.command()
def purge(
    mission_id: Annotated[str, typer.Argument(metavar="MISSION", help="The mission's id.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also while the mission or its rollback is open.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete the values that a mission brought with its start, and what it has seen.

    Example: orchestrator pii purge trip-1a2b3c
    """
    removed = ask(lambda client: client.purge_personal(mission_id, force=force))
    if as_json:
        print_json({"mission_id": mission_id, "removed": list(removed)})
    elif removed:
        fields = ", ".join(removed)
        console.print(line(f"removed {fields} of {mission_id}, and what it has seen"))
    else:
        console.print(
            line(f"{mission_id} has brought nothing that is kept; removed what it has seen")
        )


@app.command("new-key")
def make_key(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where it is written.")],
) -> None:
    """Write a new key, for a vault that does not exist yet, into a file for your eyes only.

    Example: orchestrator pii new-key vault.key
    """
    try:
        is_new = create_file(path, f"{new_key()}\n".encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    if not is_new:
        raise UsageError(f"{path} exists; a key in it may open a vault: choose another name")
    use = f"export ORCHESTRATOR_PII_KEY_FILE={path.absolute()}"
    console.print(line(f"wrote {path}; use it with: {use}"))
