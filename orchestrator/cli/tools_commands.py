"""`orchestrator tools ...`: what a catalog holds, what is wrong with it, and how to find a tool."""

import secrets
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.cli import render_tools, suggesting
from orchestrator.cli.marked import tell_unmarked
from orchestrator.cli.opened_catalog import open_catalog, reading
from orchestrator.cli.options import Overlays, Specs
from orchestrator.cli.output import AsJson, console, present, print_json, progress, run
from orchestrator.cli.typed import read_inputs
from orchestrator.core.errors import TransportFailed, UsageError
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.settings import load_settings

if TYPE_CHECKING:
    from orchestrator.catalog.catalog import Catalog

app = typer.Typer(add_completion=False, no_args_is_help=True)


class LintFormat(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


_SHOWN = {"kind", "status", "body", "reason", "contract_breach", "retry_after_s"}
"""Of an outcome; the rest only matters to missions."""


@app.command()
def lint(
    paths: Annotated[list[Path], typer.Argument(help="OpenAPI files and folders of them.")],
    overlays: Overlays = None,
    style: Annotated[LintFormat, typer.Option("--format", help="How to write it.")] = (
        LintFormat.TEXT
    ),
    ignored: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="CODE", help="Do not count this code; repeatable."),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Write out every finding, not the first of each code.")
    ] = False,
) -> None:
    """Check tool contracts; exit 1 on errors, 0 when there are only warnings.

    Example: orchestrator tools lint specs/ --format sarif > lint.sarif
    """
    from orchestrator.catalog.lint import check_ignored, has_errors, lint_report
    from orchestrator.catalog.lint import lint as lint_documents
    from orchestrator.catalog.source import find_source_lines, read_sources

    check_ignored(ignored or ())
    with reading() as doing:
        sources = read_sources(paths, overlays or ())
        doing.update("checking tools")
        findings = lint_documents(
            sources.documents, idle=sources.idle, unread=sources.unread, ignored=ignored or ()
        )
        doing.update("looking up lines")
        places = find_source_lines(sources.files, ((f.document, f.pointer) for f in findings))
    in_full = partial(lint_report.as_text, most=None)
    writers = {
        LintFormat.TEXT: in_full if show_all else lint_report.as_text,
        LintFormat.JSON: lint_report.as_json,
        LintFormat.SARIF: lint_report.as_sarif,
    }
    if not tell_unmarked(sources.documents, paths) or findings or style is not LintFormat.TEXT:
        typer.echo(writers[style](findings, places))
    if has_errors(findings):
        raise typer.Exit(1)


app.command("suggest")(suggesting.suggest)


@app.command("list")
def list_tools(specs: Specs = None, overlays: Overlays = None, as_json: AsJson = False) -> None:
    """Every tool: domain, effect, confirmation, and its cancel tool; and what was skipped.

    Example: orchestrator tools list --specs specs/flights.yaml
    """
    catalog = open_catalog(specs, overlays, tells_skipped=False)
    is_empty = not catalog.tools and tell_unmarked(
        catalog.documents, specs or load_settings().specs
    )
    if as_json:
        print_json(render_tools.listed(catalog))
    elif not is_empty:
        render_tools.tools(console, catalog)


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
    present(tool, render_tools.tool, as_json=as_json)


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
    from orchestrator.cli.route_commands import patient_similarity
    from orchestrator.routing.discovery import DiscoveryIndex

    settings = load_settings()
    catalog = open_catalog(specs, overlays)
    embedded = patient_similarity(settings.embedder, settings)
    similarity = embedded(catalog) if embedded else None
    matches = DiscoveryIndex(catalog).search(query, limit=limit, similarity=similarity)
    if as_json:
        found = [{"name": m.name, "score": m.score, "tier": m.tier} for m in matches]
        print_json({"query": query, "matches": found})
    else:
        render_tools.matches(console, catalog, matches)


@app.command()
def call(
    name: Annotated[str, typer.Argument(help="The operationId of a tool that only reads.")],
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="K=V",
            help="An input; repeatable. K=@FILE takes the content of a file.",
        ),
    ] = None,
    specs: Specs = None,
    overlays: Overlays = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="Seconds that all of it may take.")
    ] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Call a tool that only reads, and show its answer; exit 1 when there is none.

    Example: orchestrator tools call weather_get_forecast --input city=Oslo --input date=2026-12-03
    """
    catalog = open_catalog(specs, overlays)
    tool = catalog.tool(name)
    refuse_consequences(tool)
    outcome = run(_call(catalog, tool, read_inputs(tool, inputs or []), timeout))
    if as_json:
        print_json({"tool": tool.name, **outcome.model_dump(mode="json", include=_SHOWN)})
    else:
        render_tools.answer(console, progress, outcome)
    if outcome.kind != "succeeded":
        raise typer.Exit(1)


def refuse_consequences(tool: Tool) -> None:
    """Refuse a tool that a mission has to answer for.

    Raises:
        UsageError: it changes something, or its contract asks for a confirmation.
    """
    if tool.effect is Effect.READ and not tool.needs_confirmation:
        return
    why = "changes something" if tool.is_side_effect else "asks for a confirmation"
    raise UsageError(
        f"{tool.name} {why}, so only missions call it: they ask first, keep a ledger and can undo "
        'it; start one with: orchestrator mission start "what to do, in plain words"'
    )


async def _call(
    catalog: "Catalog", tool: Tool, arguments: JsonObject, timeout_s: float
) -> ToolOutcome:
    """One attempt; an answer that never came is an outcome too."""
    from orchestrator.runtime.defaults import default_tools

    async with default_tools(load_settings()) as tools:
        try:
            return await tools.call(
                catalog,
                tool,
                arguments,
                call_id=f"cli.{secrets.token_hex(6)}",
                idempotency_key=None,
                timeout_s=timeout_s,
            )
        except TransportFailed as error:
            return ToolOutcome(kind="unknown", reason=error.reason)
