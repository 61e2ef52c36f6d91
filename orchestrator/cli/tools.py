"""`orchestrator tools ...`: what a catalog holds, what is wrong with it, and how to find a tool."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.catalog import lint_report
from orchestrator.catalog.catalog import Catalog, load_documents
from orchestrator.catalog.discovery import DiscoveryIndex
from orchestrator.catalog.lint import has_errors
from orchestrator.catalog.lint import lint as lint_documents
from orchestrator.cli import render
from orchestrator.cli.output import AsJson, console, print_json
from orchestrator.settings import load_settings

app = typer.Typer(help="Look at the tools of OpenAPI documents.", no_args_is_help=True)


class LintFormat(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


_WRITERS = {
    LintFormat.TEXT: lint_report.as_text,
    LintFormat.JSON: lint_report.as_json,
    LintFormat.SARIF: lint_report.as_sarif,
}

Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="An OpenAPI file or a folder of them; may be repeated."),
]

Overlays = Annotated[
    list[Path] | None,
    typer.Option("--overlay", help="An OpenAPI Overlay document; may be repeated."),
]


def open_catalog(specs: list[Path] | None, overlays: list[Path] | None) -> Catalog:
    """The catalog of these paths, else of the settings.

    Overlays of the settings are for the documents of the settings: with other documents, or other
    overlays, they are left out.
    """
    settings = load_settings()
    if overlays is None and not specs:
        return Catalog.load(*settings.specs, overlays=settings.overlays)
    return Catalog.load(*(specs or settings.specs), overlays=overlays or ())


@app.command()
def lint(
    paths: Annotated[list[Path], typer.Argument(help="OpenAPI files and folders of them.")],
    overlays: Overlays = None,
    style: Annotated[LintFormat, typer.Option("--format", help="How to write it.")] = (
        LintFormat.TEXT
    ),
) -> None:
    """Check tool contracts; exit 1 on errors, 0 when there are only warnings.

    Example: orchestrator tools lint specs/ --format sarif > lint.sarif
    """
    findings = lint_documents(load_documents(*paths, overlays=overlays or ()))
    typer.echo(_WRITERS[style](findings))
    if has_errors(findings):
        raise typer.Exit(1)


@app.command("list")
def list_tools(specs: Specs = None, overlays: Overlays = None, as_json: AsJson = False) -> None:
    """Every tool: domain, effect, confirmation, and what undoes it.

    Example: orchestrator tools list --specs specs/flights.yaml
    """
    catalog = open_catalog(specs, overlays)
    if as_json:
        print_json(list(catalog.tools.values()))
    else:
        render.tools(console, catalog)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The operationId.")],
    specs: Specs = None,
    overlays: Overlays = None,
    as_json: AsJson = False,
) -> None:
    """One tool, whole: inputs, effect, confirmation, compensation.

    Example: orchestrator tools show flight_book_offer
    """
    tool = open_catalog(specs, overlays).tool(name)
    if as_json:
        print_json(tool)
    else:
        render.tool(console, tool)


@app.command()
def discover(
    query: Annotated[str, typer.Argument(help="A few words, typos welcome.")],
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 3,
    specs: Specs = None,
    overlays: Overlays = None,
    as_json: AsJson = False,
) -> None:
    """Find tools as an agent does with tools.discover.

    Example: orchestrator tools discover "send a massage to the team"
    """
    catalog = open_catalog(specs, overlays)
    matches = DiscoveryIndex(catalog).search(query, limit=limit)
    if as_json:
        found = [{"name": m.name, "score": m.score, "tier": m.tier} for m in matches]
        print_json({"query": query, "matches": found})
    else:
        render.matches(console, catalog, matches)
