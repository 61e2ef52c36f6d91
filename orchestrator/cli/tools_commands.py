"""`orchestrator tools ...`: lint, list, show, diff, discover and call tools."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli import suggesting
from orchestrator.cli.options import (
    McpServers,
    Overlays,
    Specs,
    mcp_listings,
    mcp_servers,
    new_app,
    note_unmarked,
    open_catalog,
    read_json,
    reading,
    split_pair,
)
from orchestrator.cli.output import (
    AsJson,
    block,
    colored,
    console,
    indented,
    line,
    listing,
    print_json,
    progress,
    run,
    table_of,
)
from orchestrator.core.errors import TransportFailed, UsageError
from orchestrator.core.shown_text import number_of, visible_json

if TYPE_CHECKING:  # help does without them
    from pydantic import BaseModel, JsonValue

    from orchestrator.catalog.operations import SkippedOperation
    from orchestrator.catalog.tool import Tool
    from orchestrator.core.record import JsonObject
    from orchestrator.saga.outcome import ToolOutcome

app = new_app(no_args_is_help=True)


class LintFormat(StrEnum):
    """Formats of findings."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


_DIGEST = 64
"""Characters of a catalog's digest."""
_SHOWN = {"kind", "status", "body", "reason", "contract_breach", "retry_after_s"}
"""Fields of an outcome that matter outside of missions."""


@app.command()
def lint(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="OpenAPI files and folders of them.")
    ] = None,
    overlays: Overlays = None,
    mcp: McpServers = None,
    style: Annotated[LintFormat, typer.Option("--format", help="The format of the report.")] = (
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
    """Check tool contracts; exit 1 on errors, 0 on warnings alone.

    Example: orchestrator tools lint specs/ --format sarif > lint.sarif

    Example: orchestrator tools lint --mcp https://rooms.example.com/mcp --overlay rooms.yaml
    """
    from orchestrator.catalog.lint import check_ignored, has_errors, linter
    from orchestrator.catalog.lint import lint as lint_documents
    from orchestrator.catalog.source import find_source_lines, read_sources

    check_ignored(ignored or ())
    with reading() as doing:
        sources = read_sources(paths or (), overlays or (), mcp_listings(mcp))
        doing.update("checking tools")
        findings = lint_documents(
            sources.documents, idle=sources.idle, unread=sources.unread, ignored=ignored or ()
        )
        doing.update("looking up lines")
        places = find_source_lines(sources.files, ((f.document, f.pointer) for f in findings))
    in_full = partial(linter.as_text, most=None)
    writers = {
        LintFormat.TEXT: in_full if show_all else linter.as_text,
        LintFormat.JSON: linter.as_json,
        LintFormat.SARIF: linter.as_sarif,
    }
    is_empty = note_unmarked(sources.documents, paths or ())
    if not is_empty or findings or style is not LintFormat.TEXT:
        typer.echo(writers[style](findings, places))
    if has_errors(findings):
        raise typer.Exit(1)


app.command("suggest")(suggesting.suggest)


@app.command("list")
def list_tools(
    specs: Specs = None, overlays: Overlays = None, mcp: McpServers = None, as_json: AsJson = False
) -> None:
    """List tools with effect and cancel tool, and skipped operations.

    Example: orchestrator tools list --specs specs/flights.yaml

    Example: orchestrator tools list --mcp https://rooms.example.com/mcp
    """
    from orchestrator.settings import load_settings

    catalog = open_catalog(specs, overlays, mcp, notes_skipped=False)
    is_empty = not catalog.tools and note_unmarked(
        catalog.documents, specs or (() if mcp else load_settings().specs)
    )
    if as_json:
        # After the tools the skipped operations, marked as such.
        tools: list[BaseModel | JsonObject] = [
            one.model_dump(mode="json") | {"named_so": catalog.renamed[one.name]}
            if one.name in catalog.renamed
            else one
            for one in catalog.tools.values()
        ]
        tools += [
            {"name": one.operation, "skipped": True, **one.model_dump(mode="json")}
            for one in catalog.skipped
        ]
        print_json(tools)
    elif not is_empty:
        rows = [
            (one.name, one.domain, _effect_of(one), one.card_type or "", _cancelled_by(one) or "")
            for one in catalog.tools.values()
        ]
        listing(console, ("tool", "domain", "effect", "confirmation", "cancelled by"), rows)
        console.print()
        console.print(f"{number_of(len(catalog), 'tool')}, catalog {catalog.digest[:12]}")
        if catalog.renamed:
            count = len(catalog.renamed)
            console.print(f"{count} of them are not called by an operationId, such as")
        for name, why in islice(catalog.renamed.items(), 3):  # --json has all
            called = catalog.tool(name)
            console.print(indented(block(f"{name} ({called.method} {called.path}): {why}")))
        if catalog.skipped:
            draw_skipped(console, catalog.skipped)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The operationId.")],
    specs: Specs = None,
    overlays: Overlays = None,
    mcp: McpServers = None,
    as_json: AsJson = False,
) -> None:
    """Show one tool: inputs, effect, confirmation, compensation.

    Example: orchestrator tools show flight_book_offer
    """
    shown = open_catalog(specs, overlays, mcp).tool(name)
    if as_json:
        print_json(shown)
        return
    console.rule(f"{shown.name}  {_effect_of(shown)}")
    console.print(indented(block(shown.summary)))
    console.print(indented(block(shown.description)))
    console.print()
    console.print(f"{shown.method} {shown.server}{shown.path}")
    table = table_of("input", "in", "required", "what")
    places = {binding.name: binding.location for binding in shown.bindings}
    for given, schema in shown.properties.items():
        table.add_row(
            given,
            places.get(given, ""),
            "yes" if given in shown.required_inputs else "",
            block(str(schema.get("description", schema.get("type", "")))),
        )
    console.print(table)
    console.print(f"confirmation: {shown.card_type or 'none'}")
    if shown.pii_fields:
        console.print(f"from the PII vault: {', '.join(shown.pii_fields)}")
    if (cancelled_by := _cancelled_by(shown)) is not None:
        console.print(f"cancelled by: {cancelled_by}")


@app.command()
def diff(
    since: Annotated[
        str, typer.Argument(metavar="MISSION", help="A mission, or the whole digest of a catalog.")
    ],
    specs: Specs = None,
    overlays: Overlays = None,
    mcp: McpServers = None,
    as_json: AsJson = False,
) -> None:
    """Show how tools changed since a mission began; exit 1 if so.

    Example: orchestrator tools diff m-7f2a --mcp https://rooms.example.com/mcp
    """
    from orchestrator.catalog.catalog import changed_tools
    from orchestrator.client.stores import store_of
    from orchestrator.settings import load_settings

    catalogs = store_of(load_settings()).catalogs
    digest = since if len(since) == _DIGEST else catalogs.pinned_by(since)
    if digest is None:
        raise UsageError(
            f"no catalog is kept for a mission {since!r}; see: orchestrator mission list"
        )
    before, after = (catalogs.get(digest), open_catalog(specs, overlays, mcp, notes_skipped=False))
    changes = changed_tools(before, after)
    if as_json:
        listed = [one.model_dump(mode="json") for one in changes]
        print_json({"before": before.digest, "after": after.digest, "changes": listed})
        if changes:
            raise typer.Exit(1)
        return
    for one in changes:
        console.print(line(one.tool, f" {one.change}"))
        for part in one.parts:
            console.print(indented(block(part.part)))
            for sign, value in (("-", part.before), ("+", part.after)):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                console.print(indented(block(f"{sign} {text}"), by=6), soft_wrap=True)
    if not changes:
        console.print("no tool differs")
    if changes:
        raise typer.Exit(1)


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
    from orchestrator.settings import load_settings

    settings = load_settings()
    catalog = open_catalog(specs, overlays)
    embedded = patient_similarity(settings.embedder, settings)
    similarity = embedded(catalog) if embedded else None
    matches = DiscoveryIndex(catalog).search(query, limit=limit, similarity=similarity)
    if as_json:
        found = [{"name": m.name, "score": m.score, "tier": m.tier} for m in matches]
        print_json({"query": query, "matches": found})
        return
    if not matches:
        console.print("nothing found; see: orchestrator tools list")
    for match in matches:
        summary = catalog.tool(match.name).summary
        console.print(f"{match.score:.2f}  {match.tier:13}  {match.name}  {summary}")


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
    mcp: McpServers = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="Seconds that all of it may take.")
    ] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Call a tool that only reads; exit 1 without an answer.

    Example: orchestrator tools call weather_get_forecast --input city=Oslo --input date=2026-12-03
    """
    from orchestrator.catalog.tool import Effect
    from orchestrator.runtime.defaults import default_tools
    from orchestrator.saga.outcome import ToolOutcome
    from orchestrator.settings import load_settings

    catalog = open_catalog(specs, overlays, mcp)
    tool = catalog.tool(name)
    if tool.effect is not Effect.READ or tool.needs_confirmation:
        why = "changes something" if tool.is_side_effect else "asks for a confirmation"
        raise UsageError(
            f"{tool.name} {why}, so only missions call it: they ask first, keep a ledger and can "
            'cancel it; start one with: orchestrator mission start "what to do, in plain words"'
        )
    arguments = read_inputs(tool, inputs or [])
    servers = mcp_servers(mcp) if mcp else None

    async def one_attempt() -> ToolOutcome:
        async with default_tools(load_settings(), mcp=servers) as tools:
            try:
                return await tools.call(
                    catalog,
                    tool,
                    arguments,
                    call_id=f"cli.{secrets.token_hex(6)}",
                    idempotency_key=None,
                    timeout_s=timeout,
                )
            except TransportFailed as error:
                return ToolOutcome(kind="unknown", reason=error.reason)

    outcome = run(one_attempt())
    if as_json:
        print_json({"tool": tool.name, **outcome.model_dump(mode="json", include=_SHOWN)})
    else:
        _draw_answer(outcome)
    if outcome.kind != "succeeded":
        raise typer.Exit(1)


def draw_skipped(console: Console, operations: Sequence[SkippedOperation]) -> None:
    """Draw each skipped operation: where, why, and the remedy."""
    console.print(f"{len(operations)} skipped")
    for one in operations:
        console.print(indented(block(f"{one.operation} of {one.document}: {one.reason}")))
        console.print(indented(block(one.place), by=6), soft_wrap=True)
        console.print(indented(block(one.remedy), by=6))


def _effect_of(shown: Tool) -> str:
    """Return the effect of a call, and that its provider has deprecated the operation."""
    return f"{shown.effect.value}, deprecated" if shown.deprecated else shown.effect.value


def _cancelled_by(shown: Tool) -> str | None:
    """Return the cancel tool, or "nothing"; None where the document does not say."""
    if shown.irreversible:
        return "nothing"
    return shown.compensation.cancel.tool if shown.compensation is not None else None


def _draw_answer(outcome: ToolOutcome) -> None:
    """Draw the body of an answer; faults and contract breaches go to standard error."""
    if isinstance(outcome.body, str):
        console.print(block(outcome.body), soft_wrap=True)
    elif outcome.body is not None:
        document = json.dumps(outcome.body, indent=2, ensure_ascii=False)
        console.print(block(visible_json(document)), soft_wrap=True)
    if outcome.kind != "succeeded":
        progress.print(line(colored(outcome.kind), f": {outcome.reason or ''}"), soft_wrap=True)
    elif outcome.body is None:
        progress.print(f"HTTP {outcome.status}, without a body that could be read")
    if outcome.contract_breach is not None:
        progress.print(f"the answer breaks its contract: {outcome.contract_breach}", soft_wrap=True)


def read_inputs(tool: Tool, pairs: Sequence[str]) -> JsonObject:
    """Return the inputs that `["city=Oslo", "days=3"]` gives to a tool.

    An input that is a string takes the text as it is written (`phone=0123` keeps its zero); all
    others take JSON. `K=@file.json` takes the content of a file, `K=@@ada` the text `@ada`.
    """
    from orchestrator.json_schema.references import resolve, with_definitions
    from orchestrator.json_schema.validation import field_problems

    inputs: JsonObject = {}
    for pair in pairs:
        name, text = split_pair(pair)
        if name in inputs:
            raise UsageError(f"{name} is given twice; give a list as JSON: {name}='[1, 2]'")
        schema = with_definitions(dict(tool.properties.get(name, {})), tool.input_schema)
        is_text = resolve(schema, schema).get("type") == "string"
        if text.startswith("@@"):
            inputs[name] = text[1:]
        elif text.startswith("@"):
            inputs[name] = _read_file(name, Path(text[1:]), is_text=is_text)
        else:
            value = text if is_text else read_json(text)
            # A schema may take only the text itself.
            if value != text and field_problems({name: schema}, {name: value}):
                value = value if field_problems({name: schema}, {name: text}) else text
            inputs[name] = value
    return inputs


def _read_file(name: str, file: Path, *, is_text: bool) -> JsonValue:
    try:
        text = file.read_text(encoding="utf-8-sig")
        if is_text:
            return text
        value: JsonValue = json.loads(text)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise UsageError(f"{name}: {file} cannot be read: {reason}") from error
    except ValueError as error:
        raise UsageError(f"{name}: {file} is not JSON: {error}") from error
    except RecursionError:
        raise UsageError(f"{name}: {file} is nested too deep") from None
    return value
