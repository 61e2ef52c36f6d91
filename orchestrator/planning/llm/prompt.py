"""The prompt of one step, by sections: core tools, deferred catalog, discovered tools.

One pure function per section, text in and text out. Full schemas are JSON lines, one tool each; the
catalog has a name per line under its domain. Every section has a bound, so a catalog of any size
gives a prompt of about the same size, and discovery reaches the remaining tools.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from orchestrator.catalog.arguments import is_file
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.declared_prices import MINOR_UNITS, PRICE
from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import handle_for
from orchestrator.core.received_files import FILE, PREFIX
from orchestrator.core.record import JsonObject
from orchestrator.core.wall import Wall
from orchestrator.json_schema.walker import with_subschemas
from orchestrator.planning.llm.meta_tools import DISCOVER, META_TOOLS
from orchestrator.planning.llm.offered_schema import offered_schema
from orchestrator.planning.models import StepContext
from orchestrator.planning.trimming import cut_text, estimate_tokens
from orchestrator.planning.walls import is_inside, listed
from orchestrator.routing.cards.capability_card import probes_of
from orchestrator.routing.selection import Selection

_CATALOG_SHARE: Final = 16
_CORE_SHARE: Final = 8
_STEP_SHARE: Final = 4
_DISCOVERED_SHARE: Final = 8
"""The share of the context that a section may take is one part in this many."""
_INITIAL_SHARE: Final = 0.45
"""The share of all its schemas that an agent's initial tool block may take."""
_LONGEST_LABEL: Final = 64
_EXAMPLES: Final = frozenset({"example", "examples"})
_REASONS: Final = ("reason", "why_called")
_TOLD_BY: Final = frozenset({"enum", "const", "format", "default"})
_BY_HANDLE: Final = f"A file: give what an answer has as {FILE!r}, {PREFIX}... and no bytes."
_IN_MINOR_UNITS: Final = "Counts the smallest unit of its currency: 2500 for 25.00 EUR."
_IN_MAJOR_UNITS: Final = "Counts units of its currency: 25 for 25.00 EUR."
_TOLD_BY_TYPE: Final = ("boolean", "integer", "number")
CONFIRM: Final = " [confirm]"
DISCOVER_HINT: Final = f"Tools without a schema here: call {DISCOVER} with a few words first."
CORE_TITLE: Final = "# Core tools"


def section(title: str, lines: Iterable[str]) -> str:
    """Return the lines under their title; empty without any."""
    body = "\n".join(lines)
    return f"{title}\n{body}" if body else ""


def catalog_section(rows: Iterable[tuple[str, str]], *, most_tokens: int) -> str:
    """Return the deferred tools, one line each under its domain; past the bound, domain counts.

    A row is a tool's domain and its line; the title lines and the first row appear at any bound.
    """
    by_domain: defaultdict[str, list[str]] = defaultdict(list)
    for domain, row in rows:
        by_domain[domain].append(row)
    if not by_domain:
        return ""
    lines: list[str] = []
    for domain, names in sorted(by_domain.items()):
        lines += [f"{domain_label(domain)}:", *(f"- {name}" for name in sorted(names))]
    whole = _catalog_of(lines)
    if estimate_tokens(whole) <= most_tokens:
        return whole
    return _counts({domain: len(names) for domain, names in by_domain.items()}, most_tokens)


def _counts(sizes: Mapping[str, int], most_tokens: int) -> str:
    """Return the largest domains with counts, as many as fit, and the number of the others."""
    ranked = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    lines: list[str] = []
    text = ""
    for domain, size in ranked:
        lines.append(f"- {domain_label(domain)}: {size} tools")
        rest = len(ranked) - len(lines)
        tail = [f"- {rest} more domains"] if rest else []
        longer = _catalog_of([*lines, *tail])
        if text and estimate_tokens(longer) > most_tokens:
            break
        text = longer
    return text


def _catalog_of(lines: Iterable[str]) -> str:
    return section("# More tools", [DISCOVER_HINT, *lines])


def domain_label(domain: str) -> str:
    """Return a domain as one short line, whatever the document names it."""
    return cut_text(" ".join(domain.split()) or "other", _LONGEST_LABEL)


def tool_description(tool: Tool) -> str:
    """Return the planner's description of a tool, except its inputs."""
    mark = "A person confirms each call." if tool.needs_confirmation else ""
    parts = (tool.summary.strip(), tool.description.strip(), mark)
    return " ".join(part for part in parts if part)


def tool_parameters(tool: Tool) -> JsonObject:
    """Return the tool's input schema without parts that are useless to a planner.

    Omitted are the references that the orchestrator fills by itself, the examples of consequences
    and of optional inputs, which small models copy, and the examples of inputs whose type, format,
    choices or default show their values. No constraint is omitted. A personal input takes its
    handle and nothing else, and a file is named by its handle. A tool that changes something takes
    a reason as well, which is not sent.
    """
    ours = set(tool.reference_inputs) - set(tool.required_inputs)
    kept: JsonObject = {
        name: _shown_input(tool, name, schema)
        for name, schema in tool.properties.items()
        if name not in ours
    }
    if reason := reason_input(tool):
        kept = {reason: {"type": "string"}, **kept}
    shown = {**tool.input_schema, "properties": kept} if kept or ours else {**tool.input_schema}
    if shown.get("additionalProperties") is False:
        del shown["additionalProperties"]  # calls are checked anyway; it costs tokens for each tool
    return offered_schema(shown)


def reason_input(tool: Tool) -> str:
    """Return the name of the input for a call's reason; empty: the tool only reads."""
    if not tool.is_side_effect:
        return ""
    return next((name for name in _REASONS if name not in tool.properties), "")


def _shown_input(tool: Tool, name: str, schema: JsonObject) -> JsonObject:
    if name in tool.pii_fields:
        # A planner does not need the shape of a personal value.
        described = {"description": schema["description"]} if "description" in schema else {}
        return {"const": handle_for(name), **described}
    shown = _without_examples(schema)
    is_kept = name in tool.required_inputs and not tool.is_side_effect
    return shown if is_kept else _example_free(shown)


def _without_examples(schema: JsonObject) -> JsonObject:
    """Return a schema, with its subschemas, without examples that add nothing."""
    shown = with_subschemas(schema, _without_examples, ("items", "properties"))
    minor, _ = shown.pop(MINOR_UNITS, None), shown.pop(PRICE, None)
    if minor is not None:
        # In words, as models do not know our extensions.
        unit = _IN_MINOR_UNITS if minor else _IN_MAJOR_UNITS
        shown["description"] = f"{schema.get('description', '')} {unit}".strip()
    if is_file(schema):
        shown["description"] = f"{shown.get('description', '')} {_BY_HANDLE}".strip()
    if schema.get("type") in _TOLD_BY_TYPE or not _TOLD_BY.isdisjoint(schema):
        shown.pop("examples", None)
    return shown


def _example_free(schema: JsonObject) -> JsonObject:
    shown = with_subschemas(schema, _example_free, ("items", "properties"))
    return {name: held for name, held in shown.items() if name not in _EXAMPLES}


def tool_schema(tool: Tool) -> str:
    """Return the tool's full schema on one line of JSON."""
    return _schema_line(tool.name, tool_description(tool), tool_parameters(tool))


@cache
def meta_schemas() -> tuple[str, ...]:
    """Return the schemas of the meta tools, which precede the core tools in every prompt."""
    return tuple(_schema_line(one.name, one.description, one.parameters) for one in META_TOOLS)


def _schema_line(name: str, description: str, parameters: JsonObject) -> str:
    shown = {"name": name, "description": description, "parameters": parameters}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def catalog_row(tool: Tool) -> tuple[str, str]:
    """Return the tool's domain and its line in the deferred catalog."""
    return tool.domain, tool.name + (CONFIRM if tool.needs_confirmation else "")


@dataclass(frozen=True)
class ToolBlock:
    """The tools of one step: three groups with full schemas, and all others by name."""

    core: tuple[Tool, ...]
    step: tuple[Tool, ...]
    discovered: tuple[Tool, ...]
    deferred: tuple[Tool, ...]
    """The tools outside `core`, whether or not they are shown in full at this step, so that the
    section is the same from step to step. Probes are excluded."""
    catalog_tokens: int
    """Maximum tokens for the lines of `deferred`."""

    @property
    def shown(self) -> tuple[Tool, ...]:
        """The tools with a full schema, each once."""
        return (*self.core, *self.discovered, *self.step)


def block_of(context: StepContext, selection: Selection, catalog: Catalog) -> ToolBlock:
    """Return the tools of one step.

    The router's selection joins the full schemas. Core tools of domains without a best tool of any
    request move to the catalog for this step, unless the router failed open. The best selected and
    the last discovered tools are taken first; tools without room keep their line in the catalog.
    The best selected tool is shown whatever its size; a tool outside the agent's wall never is. An
    agent with few tools gets those core schemas that leave the block a small part of all of them.
    """
    room = context.agent.context_tokens
    own = listed(catalog.tools.values(), context.agent)
    # The best selected tool of each request comes first.
    walls = (context.agent.wall,)
    best = selection.tools[: max(1, len(selection.frame.clauses))]
    touched = {tool.domain for tool in _named(best, catalog, walls)}
    is_whole = selection.band == "fail_open" or not touched
    always = [t for t in own if t.load_policy == "core" and (is_whole or t.domain in touched)]
    core = _within(always, min(room // _CORE_SHARE, _room_for_core(own, room)))
    held = {tool.name for tool in core}
    # A probe looks up a call by our reference: it is no choice, but can be discovered.
    left_out = held | probes_of(own)
    found = _named(reversed(context.discovered), catalog, walls, held)
    discovered = _within(found, room // _DISCOVERED_SHARE)
    chosen = _named(selection.tools, catalog, walls, held | {tool.name for tool in discovered})
    return ToolBlock(
        core=core,
        step=_within(chosen, room // _STEP_SHARE) or tuple(chosen[:1]),
        discovered=tuple(reversed(discovered)),
        deferred=tuple(tool for tool in own if tool.name not in left_out),
        catalog_tokens=room // _CATALOG_SHARE,
    )


@dataclass(frozen=True)
class Section:
    """A rendered section, and its source."""

    fingerprint: str
    text: str


_NOTHING_RENDERED: Final[Mapping[str, Section]] = MappingProxyType({})


def rendered(
    block: ToolBlock, catalog_digest: str, before: Mapping[str, Section] = _NOTHING_RENDERED
) -> dict[str, Section]:
    """Return the rendered sections of a step's tools by name: core, catalog, discovered, step.

    Sections with the same source as in `before` are not rendered again. The most stable come first,
    for providers that cache prompts by their beginning.
    """

    def made(name: str, tools: Sequence[Tool], render: Callable[[], str]) -> Section:
        made_from = [catalog_digest, str(block.catalog_tokens), *(tool.name for tool in tools)]
        fingerprint = hashlib.sha256("\n".join(made_from).encode()).hexdigest()
        known = before.get(name)
        if known is not None and known.fingerprint == fingerprint:
            return known
        return Section(fingerprint, render())

    def catalog() -> str:
        return catalog_section(map(catalog_row, block.deferred), most_tokens=block.catalog_tokens)

    def schemas(title: str, tools: Sequence[Tool], *first: str) -> Callable[[], str]:
        return lambda: section(title, [*first, *map(tool_schema, tools)])

    core, found, step = block.core, block.discovered, block.step
    return {
        "core": made("core", core, schemas(CORE_TITLE, core, *meta_schemas())),
        "catalog": made("catalog", block.deferred, catalog),
        "discovered": made("discovered", found, schemas("# Discovered tools", found)),
        "step": made("step", step, schemas("# Tools for this step", step)),
    }


def _room_for_core(own: Sequence[Tool], room: int) -> int:
    """Return the tokens that core schemas may take next to the meta tools and the catalog."""
    meta = estimate_tokens("\n".join(meta_schemas()))
    spoken_for = meta + room // _CATALOG_SHARE
    enough = (spoken_for + room // _CORE_SHARE) / _INITIAL_SHARE
    flat = 0
    for tool in own:
        flat += estimate_tokens(tool_schema(tool))
        if flat >= enough:  # so that an agent with many tools costs no more than one with some
            return room // _CORE_SHARE
    catalog = catalog_section(map(catalog_row, own), most_tokens=room // _CATALOG_SHARE)
    return max(0, int(_INITIAL_SHARE * flat) - meta - estimate_tokens(catalog))


def _named(
    names: Iterable[str], catalog: Catalog, walls: Sequence[Wall], held: Container[str] = ()
) -> list[Tool]:
    tools = (catalog.tools[n] for n in names if n not in held and n in catalog.tools)
    return [tool for tool in tools if is_inside(tool, walls)]


def _within(tools: Sequence[Tool], most_tokens: int) -> tuple[Tool, ...]:
    """Return the first tools whose schemas fit; a tool that alone is too large is skipped."""
    kept: list[Tool] = []
    left = most_tokens
    for tool in tools:
        cost = estimate_tokens(tool_schema(tool))
        if cost <= left:
            kept.append(tool)
            left -= cost
    return tuple(kept)
