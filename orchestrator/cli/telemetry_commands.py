"""`orchestrator telemetry`: what leaves a worker under which name."""

from dataclasses import asdict
from typing import Annotated

import typer

from orchestrator.cli.drawing import table_of
from orchestrator.cli.output import AsJson, console, print_json

app = typer.Typer(add_completion=False)


@app.command()
def telemetry(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="The table of docs/telemetry.md.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Every span and measurement of missions, by its name and what it is.

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
