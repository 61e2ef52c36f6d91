"""The prompt of one step, section by section: core tools, deferred catalog, discovered tools.

One pure function per section, text in and text out. Full schemas are JSON lines, one tool each; the
catalog has a name per line under its domain. Every section has a bound, so a catalog of any size
gives a prompt of about the same size, and discovery reaches the rest.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import handle_for
from orchestrator.core.record import JsonObject
from orchestrator.planning.llm.meta_tools import DISCOVER, META_TOOLS
from orchestrator.planning.models import StepContext
from orchestrator.planning.trimming import cut_text, estimate_tokens
from orchestrator.routing.cards.capability_card import probes_of
from orchestrator.routing.selection import Selection

CONTEXT_TOKENS: Final = 32_000
"""What a prompt may take unless the agent's profile says otherwise."""
_CATALOG_SHARE: Final = 16
_CORE_SHARE: Final = 8
_STEP_SHARE: Final = 4
_DISCOVERED_SHARE: Final = 8
"""A section may take one part in so many of the context."""
_LONGEST_LABEL: Final = 64
_TOLD_BY: Final = frozenset({"enum", "const", "format", "default"})
_TOLD_BY_TYPE: Final = ("boolean", "integer", "number")
CONFIRM: Final = " [confirm]"

DISCOVER_HINT: Final = f"Tools without a schema here: call {DISCOVER} with a few words first."
CORE_TITLE: Final = "# Core tools"
STEP_TITLE: Final = "# Tools for this step"
DISCOVERED_TITLE: Final = "# Discovered tools"
_CATALOG_TITLE: Final = "# More tools"


# -- the sections --------------------------------------------------------------------------------


def section(title: str, lines: Iterable[str]) -> str:
    """The lines under their title; empty without any."""
    body = "\n".join(lines)
    return f"{title}\n{body}" if body else ""


def catalog_section(
    rows: Iterable[tuple[str, str]], *, most_tokens: int = CONTEXT_TOKENS // _CATALOG_SHARE
) -> str:
    """The deferred tools: a line each under its domain; past the bound, domains with counts.

    Args:
        rows: the domain and the line of each tool.
        most_tokens: what the section may take, by `estimate_tokens`; at least its two title lines.
    """
    by_domain: defaultdict[str, list[str]] = defaultdict(list)
    for domain, row in rows:
        by_domain[domain].append(row)
    if not by_domain:
        return ""
    lines = [
        line
        for domain, names in sorted(by_domain.items())
        for line in (f"{_label(domain)}:", *(f"- {name}" for name in sorted(names)))
    ]
    whole = section(_CATALOG_TITLE, [DISCOVER_HINT, *lines])
    if estimate_tokens(whole) <= most_tokens:
        return whole
    return _counts({domain: len(names) for domain, names in by_domain.items()}, most_tokens)


def _counts(sizes: Mapping[str, int], most_tokens: int) -> str:
    """The largest domains with their counts, as many as fit, and how many tools the rest has."""
    ranked = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    lines: list[str] = []
    text = ""
    for domain, size in ranked:
        lines.append(f"- {_label(domain)}: {size} tools")
        rest = len(ranked) - len(lines)
        tail = [f"- {rest} more domains"] if rest else []
        longer = section(_CATALOG_TITLE, [DISCOVER_HINT, *lines, *tail])
        if text and estimate_tokens(longer) > most_tokens:
            break
        text = longer
    return text


def _label(domain: str) -> str:
    """A domain as one short line, whatever a document calls it."""
    return cut_text(" ".join(domain.split()) or "other", _LONGEST_LABEL)


# -- what a tool is shown as ---------------------------------------------------------------------


def tool_description(tool: Tool) -> str:
    """What a planner reads of a tool beside its inputs."""
    said = (tool.summary, tool.description)
    text = " ".join(part.strip() for part in said if part.strip())
    marks = [text] if text else []
    if tool.needs_confirmation:
        marks.append("A person confirms each call.")
    return " ".join(marks)


def tool_parameters(tool: Tool) -> JsonObject:
    """The tool's input schema without what a planner has no use for.

    That is the references that the orchestrator fills by itself, and examples of inputs that say by
    their type, format, choices or default what they take. Nothing that constrains is left out; a
    personal input takes its handle and nothing else.
    """
    ours = set(tool.reference_inputs) - set(tool.required_inputs)
    personal = set(tool.pii_fields)
    kept: JsonObject = {
        name: _handle(name, schema) if name in personal else _without_examples(schema)
        for name, schema in tool.properties.items()
        if name not in ours
    }
    if not kept:
        return tool.input_schema if not ours else {**tool.input_schema, "properties": {}}
    return {**tool.input_schema, "properties": kept}


def _handle(name: str, schema: JsonObject) -> JsonObject:
    """What a personal input takes: the value's own shape is nothing to a planner."""
    told = {"description": schema["description"]} if "description" in schema else {}
    return {"const": handle_for(name), **told}


def _without_examples(schema: JsonObject) -> JsonObject:
    """A schema, and those of its items and properties, without examples that tell nothing."""
    shown = dict(schema)
    if schema.get("type") in _TOLD_BY_TYPE or not _TOLD_BY.isdisjoint(schema):
        shown.pop("examples", None)
    if isinstance(items := schema.get("items"), dict):
        shown["items"] = _without_examples(items)
    if isinstance(parts := schema.get("properties"), dict):
        shown["properties"] = {
            name: _without_examples(part) if isinstance(part, dict) else part
            for name, part in parts.items()
        }
    return shown


def tool_schema(tool: Tool) -> str:
    """The tool's full schema on one line of JSON."""
    return _schema_line(tool.name, tool_description(tool), tool_parameters(tool))


def meta_schemas() -> list[str]:
    """The schemas of the meta tools; they stand before the core tools, in every prompt."""
    return [_schema_line(meta.name, meta.description, meta.parameters) for meta in META_TOOLS]


def _schema_line(name: str, description: str, parameters: JsonObject) -> str:
    shown = {"name": name, "description": description, "parameters": parameters}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def catalog_row(tool: Tool) -> tuple[str, str]:
    """The tool's domain and its line in the deferred catalog."""
    return tool.domain, tool.name + (CONFIRM if tool.needs_confirmation else "")


# -- which tools stand in which section ----------------------------------------------------------


@dataclass(frozen=True)
class ToolBlock:
    """The tools of one step: three groups with full schemas, and all others by name."""

    core: tuple[Tool, ...]
    step: tuple[Tool, ...]
    discovered: tuple[Tool, ...]
    deferred: tuple[Tool, ...]
    """The tools outside `core`, shown in full at this step or not: so the section stays the same
    from step to step. Probes are not among them."""
    catalog_tokens: int
    """What the lines of `deferred` may take."""

    @property
    def shown(self) -> tuple[Tool, ...]:
        """Those with a full schema, each once."""
        return (*self.core, *self.step, *self.discovered)


def initial_block(
    catalog: Catalog, domains: Sequence[str] = (), *, context_tokens: int = CONTEXT_TOKENS
) -> ToolBlock:
    """What an agent starts with: the core tools and the deferred catalog of its domains."""
    return _start(catalog, domains, core_domains=domains, context_tokens=context_tokens)


def block_of(context: StepContext, selection: Selection, catalog: Catalog) -> ToolBlock:
    """The tools of one step.

    What the router selected joins the full schemas; core tools of domains that no request's best
    tool is of go to the catalog for this step, unless the router failed open. The best selected and
    the last discovered tools are taken first; what finds no room keeps its line in the catalog.
    The best selected tool is shown whatever its size.
    """
    touched = () if selection.band == "fail_open" else _domains(_best(selection), catalog)
    room = context.agent.context_tokens
    start = _start(catalog, context.agent.domains, core_domains=touched, context_tokens=room)
    core = {tool.name for tool in start.core}
    found = [n for n in reversed(context.discovered) if n not in core and n in catalog.tools]
    discovered = _within([catalog.tools[n] for n in found], room // _DISCOVERED_SHARE)
    held = core | {tool.name for tool in discovered}
    chosen = [n for n in selection.tools if n not in held and n in catalog.tools]
    best = [catalog.tools[n] for n in chosen]
    step = _within(best, room // _STEP_SHARE) or tuple(best[:1])
    return ToolBlock(
        start.core, step, tuple(reversed(discovered)), start.deferred, start.catalog_tokens
    )


def _best(selection: Selection) -> Sequence[str]:
    """The best selected tool of each request: they come first."""
    return selection.tools[: max(1, len(selection.frame.clauses))]


def _start(
    catalog: Catalog, domains: Sequence[str], *, core_domains: Sequence[str], context_tokens: int
) -> ToolBlock:
    own = [t for t in catalog.tools.values() if not domains or t.domain in domains]
    always = [t for t in own if t.load_policy == "core"]
    near = [t for t in always if not core_domains or t.domain in core_domains]
    core = _within(near, context_tokens // _CORE_SHARE)
    held = {tool.name for tool in core}
    # A probe looks up a call by a reference that is ours: nothing to choose, but to be found.
    left_out = held | probes_of(own)
    deferred = tuple(tool for tool in own if tool.name not in left_out)
    return ToolBlock(core, (), (), deferred, context_tokens // _CATALOG_SHARE)


def _domains(names: Iterable[str], catalog: Catalog) -> tuple[str, ...]:
    return tuple({catalog.tools[name].domain for name in names if name in catalog.tools})


def _within(tools: Sequence[Tool], most_tokens: int) -> tuple[Tool, ...]:
    """The first tools whose schemas fit; one that alone is too large is left out."""
    kept: list[Tool] = []
    left = most_tokens
    for tool in tools:
        cost = estimate_tokens(tool_schema(tool))
        if cost <= left:
            kept.append(tool)
            left -= cost
    return tuple(kept)
