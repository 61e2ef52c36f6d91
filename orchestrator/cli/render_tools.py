"""Tools, what finds them, and what one answered, drawn with rich."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from pydantic import BaseModel
from rich.console import Console

from orchestrator.cli.drawing import block, colored, indented, line, listing, table_of
from orchestrator.core.shown_text import number_of, visible_json

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.catalog.catalog import Catalog
    from orchestrator.catalog.operations import SkippedOperation
    from orchestrator.catalog.tool import Tool
    from orchestrator.core.record import JsonObject
    from orchestrator.routing.discovery import Match
    from orchestrator.saga.outcome import ToolOutcome

_SOME = 3
"""Examples of what a script is told in full."""


def tools(console: Console, catalog: Catalog) -> None:
    """A line per tool."""
    rows = [
        (one.name, one.domain, one.effect.value, one.card_type or "", _undone_by(one) or "")
        for one in catalog.tools.values()
    ]
    listing(console, ("tool", "domain", "effect", "confirmation", "undone by"), rows)
    console.print()
    console.print(f"{number_of(len(catalog), 'tool')}, catalog {catalog.digest[:12]}")
    _renamed(console, catalog)
    if catalog.skipped:
        skipped(console, catalog.skipped)


def listed(catalog: Catalog) -> list[BaseModel | JsonObject]:
    """What a script gets: the tools, and after them what was skipped, marked as that."""
    tools: list[BaseModel | JsonObject] = [
        one.model_dump(mode="json") | {"named_so": catalog.renamed[one.name]}
        if one.name in catalog.renamed
        else one
        for one in catalog.tools.values()
    ]
    left_out = [
        {"name": one.operation, "skipped": True, **one.model_dump(mode="json")}
        for one in catalog.skipped
    ]
    return [*tools, *left_out]


def skipped(console: Console, operations: Sequence[SkippedOperation]) -> None:
    """Each operation that was left out: where, why, and what mends it."""
    console.print(f"{len(operations)} skipped")
    for one in operations:
        console.print(indented(block(f"{one.operation} of {one.document}: {one.reason}")))
        console.print(indented(block(one.place), by=6), soft_wrap=True)
        console.print(indented(block(one.remedy), by=6))


def _renamed(console: Console, catalog: Catalog) -> None:
    """Some of the tools that are not called by their operationId, and how many there are."""
    if not catalog.renamed:
        return
    console.print(f"{len(catalog.renamed)} of them are not called by an operationId, such as")
    for name, why in islice(catalog.renamed.items(), _SOME):
        called = catalog.tool(name)
        console.print(indented(block(f"{name} ({called.method} {called.path}): {why}")))


def tool(console: Console, shown: Tool) -> None:
    """One tool, whole."""
    console.rule(f"{shown.name}  {shown.effect.value}")
    console.print(indented(block(shown.summary)))
    console.print(indented(block(shown.description)))
    console.print()
    console.print(f"{shown.method} {shown.server}{shown.path}")
    table = table_of("input", "in", "required", "what")
    places = {binding.name: binding.location for binding in shown.bindings}
    for name, schema in shown.properties.items():
        table.add_row(
            name,
            places.get(name, ""),
            "yes" if name in shown.required_inputs else "",
            block(str(schema.get("description", schema.get("type", "")))),
        )
    console.print(table)
    console.print(f"confirmation: {shown.card_type or 'none'}")
    if shown.pii_fields:
        console.print(f"from the PII vault: {', '.join(shown.pii_fields)}")
    if (undone_by := _undone_by(shown)) is not None:
        console.print(f"undone by: {undone_by}")


def _undone_by(shown: Tool) -> str | None:
    """What undoes a call; None where the document says nothing of it."""
    if shown.irreversible:
        return "nothing"
    return shown.compensation.cancel.tool if shown.compensation is not None else None


def answer(console: Console, errors: Console, outcome: ToolOutcome) -> None:
    """The body of an answer; why there is none, and what of it breaks the contract, on errors."""
    if outcome.body is not None:
        if isinstance(outcome.body, str):
            console.print(block(outcome.body), soft_wrap=True)
        else:
            document = json.dumps(outcome.body, indent=2, ensure_ascii=False)
            console.print(block(visible_json(document)), soft_wrap=True)
    if outcome.kind != "succeeded":
        errors.print(line(colored(outcome.kind), f": {outcome.reason or ''}"), soft_wrap=True)
    elif outcome.body is None:
        errors.print(f"HTTP {outcome.status}, without a body that could be read")
    if outcome.contract_breach is not None:
        errors.print(f"the answer breaks its contract: {outcome.contract_breach}", soft_wrap=True)


def matches(console: Console, catalog: Catalog, found: Sequence[Match]) -> None:
    """What discovery found."""
    if not found:
        console.print("nothing found; see: orchestrator tools list")
    for match in found:
        summary = catalog.tool(match.name).summary
        console.print(f"{match.score:.2f}  {match.tier:13}  {match.name}  {summary}")
