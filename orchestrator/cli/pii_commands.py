"""`orchestrator pii ...`: the personal fields that tool calls may use; values are never printed."""

from typing import Annotated

import typer

from orchestrator.adapters.storage.pii_vault import FilePiiVault
from orchestrator.cli.output import console
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False, no_args_is_help=True)


def _vault() -> FilePiiVault:
    return FilePiiVault(load_settings().state_dir / "pii")


@app.command("set")
def set_field(
    name: Annotated[str, typer.Argument(help="The field, e.g. traveler_name.")],
    value: Annotated[
        str, typer.Option(prompt=True, hide_input=True, help="Asked for when left out.")
    ],
) -> None:
    """Store a value; it is asked for, so that it stays out of your shell's history.

    Example: orchestrator pii set traveler_name
    """
    _vault().put(name, value)
    console.print(f"stored {name}")


@app.command("list")
def list_fields() -> None:
    """Names of the fields that have a value.

    Example: orchestrator pii list
    """
    for name in _vault().fields():
        console.print(name)


@app.command()
def forget(name: Annotated[str, typer.Argument(help="The field.")]) -> None:
    """Delete a value.

    Example: orchestrator pii forget traveler_phone
    """
    _vault().forget(name)
    console.print(f"forgot {name}")
