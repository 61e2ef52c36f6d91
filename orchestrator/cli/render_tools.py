"""Tools, what finds them, and what one answered, drawn with rich."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from orchestrator.cli.drawing import block, colored, indented, line, table_of
from orchestrator.core.shown_text import visible_json

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.catalog.catalog import Catalog
    from orchestrator.catalog.tool import Tool
    from orchestrator.routing.discovery import Match
    from orchestrator.saga.outcome import ToolOutcome


def tools(console: Console, catalog: Catalog) -> None:
    """A line per tool."""
    table = table_of("tool", "domain", "effect", "confirmation", "undone by")
    for one in catalog.tools.values():
        table.add_row(
            one.name, one.domain, one.effect.value, one.card_type or "", _undone_by(one) or ""
        )
    console.print(table)
    console.print()
    console.print(f"{len(catalog)} tools, catalog {catalog.digest[:12]}")


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
