"""`orchestrator settings` and `telemetry`: what can be set, what is, and what leaves a worker."""

import os
from dataclasses import asdict
from typing import Annotated

import typer

from orchestrator.cli.clean_errors import tell_error
from orchestrator.cli.drawing import line, table_of
from orchestrator.cli.output import AsJson, console, print_json
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False)


@app.command()
def settings(
    only_set: Annotated[
        bool, typer.Option("--set", help="Only those that hold something else than their default.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="The table of docs/settings.md, defaults alone.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """All settings: each variable, its default and its value now.

    Of a secret it says only that it is set. Variables that begin with ORCHESTRATOR_ and are none of
    these are named on standard error: they were misspelt.

    Example: orchestrator settings --set
    """
    from orchestrator.runtime.settings_table import (
        markdown_table,
        setting_rows,
        unknown_variables,
    )

    if markdown:
        typer.echo(markdown_table())
        return
    rows = [row for row in setting_rows(load_settings()) if row.is_set or not only_set]
    if as_json:
        print_json(rows)
    else:
        table = table_of("variable", "now", "what it is for")
        for row in rows:
            now = (row.now, "bold") if row.is_set else (row.now, "dim")
            table.add_row(row.variable, line(now), row.meaning)
        console.print(table)
    for unknown in unknown_variables(os.environ):
        tell_error(f"warning: {unknown}")


telemetry_app = typer.Typer(add_completion=False)


@telemetry_app.command()
def telemetry(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="The table of docs/observing.md.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Every span and measurement of missions, by name.

    With --json or --markdown its attributes as well.

    What the OTEL_* variables ask for leaves under these names and no others. Temporal's SDK
    measures under its own, which begin with temporal_.

    Example: orchestrator telemetry --markdown
    """
    from orchestrator.runtime.telemetry_table import markdown_table, telemetry_rows

    rows = telemetry_rows()
    if markdown:
        typer.echo(markdown_table())
    elif as_json:
        print_json([asdict(row) for row in rows])
    else:
        table = table_of("name", "kind", "is")
        for row in rows:
            table.add_row(row.name, row.kind, row.means)
        console.print(table)
