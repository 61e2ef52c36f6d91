"""Finds the calls that lead to a tool, by searching backward by schema for missing inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.arguments import answers_file
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool, id_names, thing_with_id
from orchestrator.core.read_once import read_once
from orchestrator.core.wall import Wall
from orchestrator.language import lexicon
from orchestrator.language.inflection import singular
from orchestrator.language.words import tokens
from orchestrator.planning.rules.clause import Clause
from orchestrator.planning.rules.fill import Draft, Span, fill
from orchestrator.planning.rules.items import Item, answer_fields, is_listing
from orchestrator.planning.rules.parameters import (
    DAYS,
    Kind,
    Leaf,
    Parameter,
    leaves_of,
    tool_parameters,
)
from orchestrator.planning.rules.tool_words import id_nouns, is_in_path, nouns_of
from orchestrator.planning.walls import is_inside

_MAX_DEPTH: Final = 3
_MAX_PRODUCERS: Final = 6
_SEARCHED_BY: Final = frozenset({*DAYS, Kind.PLACE, Kind.TIME, Kind.AMOUNT, Kind.NIGHTS})


@dataclass
class Chain:
    """The call of one tool, and the chain that supplies each input which only answers contain."""

    draft: Draft
    feeders: dict[tuple[str | int, ...], "Chain"] = field(default_factory=dict)

    @property
    def tool(self) -> Tool:
        """The last tool of the chain."""
        return self.draft.tool

    @property
    def drafts(self) -> list[Draft]:
        """The drafts of the tool and of all its feeding tools, as far as they are called first."""
        found = [self.draft]
        for chain in self.feeders.values():
            found += [one for one in chain.drafts if one not in found]
        return found

    @property
    def unsaid(self) -> list[tuple[Tool, Leaf]]:
        """The inputs that nothing supplies, of the tool and of its feeding tools."""
        own = [(self.tool, leaf) for leaf in self.draft.missing if leaf.path not in self.feeders]
        fed = [pair for chain in self.feeders.values() for pair in chain.unsaid]
        return [*own, *fed]

    @property
    def offers(self) -> bool:
        """True if the choice is among available things rather than existing ones."""
        return any(is_offering(chain.tool, self.tool) for chain in self.feeders.values())


def is_offering(producer: Tool, consumer: Tool) -> bool:
    """Return True if a tool answers with available things, by day, place or price."""
    if consumer.effect is Effect.CANCEL or consumer.effect is Effect.READ:
        return False
    return any(p.required and p.kind in _SEARCHED_BY for p in tool_parameters(producer))


def feeds_effect(search: Tool, catalog: Catalog) -> bool:
    """Return True if the results of a search are inputs of a consequence in the same document."""
    for tool in catalog.tools.values():
        if tool.is_side_effect and tool.document == search.document and is_offering(search, tool):
            needed = (leaf for leaf in leaves_of(tool) if leaf.required and leaf.parameter.is_id)
            if any(search in producers(leaf, tool, catalog, (), ()) for leaf in needed):
                return True
    return False


def link(
    tool: Tool,
    clause: Clause,
    inputs: Mapping[str, JsonValue],
    catalog: Catalog,
    walls: Sequence[Wall],
    *,
    trail: tuple[str, ...] = (),
    taken: Sequence[Span] = (),
) -> Chain:
    """Return the chain of calls that leads to a tool, as far as the clause and inputs allow."""
    draft = fill(tool, clause, inputs, taken=taken)
    chain = Chain(draft)
    if len(trail) > _MAX_DEPTH:
        return chain
    wanted = [leaf for leaf in needs_of(draft) if is_produced(leaf.parameter)]
    for leaf in wanted:
        others = {path: one for path, one in draft.said.items() if path != leaf.path}
        blocked = [*taken, *(one.span for one in others.values())]
        # One name is one thing's.
        blocked += [span for one in chain.feeders.values() for span in one.draft.names_said]
        # A feeder may have inputs of the same names.
        known = {**inputs, **{str(p[0]): draft.found[p] for p in others if len(p) == 1}}
        found = [
            link(one, clause, known, catalog, walls, trail=(*trail, tool.name), taken=blocked)
            for one in producers(leaf, tool, catalog, walls, trail)
        ]
        said = draft.said.get(leaf.path)
        if said is not None:  # then it is no id for a feeding tool
            found = [one for one in found if said.span not in one.draft.ids_said]
        looks_up = leaf.path in draft.found
        if looks_up:
            nouns = id_nouns(tool, leaf.parameter) or nouns_of(tool)
            found = [
                one
                for one in found
                if not (one.draft.missing or is_offering(one.tool, tool))
                and is_listing(one.tool)
                and nouns & nouns_of(one.tool)
            ]
        if found:
            chain.feeders[leaf.path] = min(found, key=lambda one: len(one.unsaid))
            if said is not None and looks_up and said.span in draft.used:
                draft.used.remove(said.span)  # the given words choose from the list
    return chain


def needs_of(draft: Draft) -> list[Leaf]:
    """Return the inputs to look up: missing ones, and ids that the clause names."""
    said: list[Leaf] = []
    for leaf in draft.leaves:
        wanted = leaf.parameter.element or leaf.parameter
        if leaf.path in draft.said and wanted.is_id:
            in_path = is_in_path(draft.tool, leaf.parameter.name)
            if in_path or wanted.words[-1:] in (("id",), ("uuid",), ("ids",)):
                said.append(leaf)
    missing = [*draft.missing]
    if draft.tool.effect is Effect.CANCEL and not draft.tool.required_inputs:
        ids = [
            le for le in draft.leaves if le.parameter.is_id and "client" not in le.parameter.words
        ]
        has_one = any(leaf.path in draft.found for leaf in ids)
        missing += [] if has_one else ids[:1]
    return [*said, *missing]


def is_produced(parameter: Parameter) -> bool:
    """Return True if an answer, rather than a person, supplies an input."""
    wanted = parameter.element or parameter
    if wanted.kind in (Kind.IDENTIFIER, Kind.FILE):
        return True
    described = str(parameter.schema.get("description", "")).lower()
    if wanted.kind is Kind.OTHER and wanted.is_id:
        return True
    return wanted.kind in (Kind.OTHER, Kind.PLACE) and (
        "id of a" in described or "id of the" in described or described.startswith("the id")
    )


def value_for(item: Item, leaf: Leaf) -> JsonValue:
    """Return the value that an item has for an input; None without one."""
    parameter = leaf.parameter
    for name in (parameter.name, *sorted(parameter.names - {parameter.name})):
        value = item.value(name)
        if value is not None and not isinstance(value, dict):
            is_list = parameter.kind is Kind.LIST and not isinstance(value, list)
            return [value] if is_list else value
    if parameter.is_id or is_produced(parameter):
        return item.fields.get("id") if "id" in item.own else item.fields.get("uuid")
    return None


def producers(
    leaf: Leaf, consumer: Tool, catalog: Catalog, walls: Sequence[Wall], trail: tuple[str, ...]
) -> list[Tool]:
    """Return the reads that answer with an input's value and do not need it, nearest first."""
    kept = _kept_producers(catalog)
    key = (consumer.name, leaf.path)
    if key not in kept:
        parameter = leaf.parameter
        is_file = (parameter.element or parameter).kind is Kind.FILE
        nouns = id_nouns(consumer, parameter)
        found: list[tuple[tuple[object, ...], Tool]] = []
        for tool in catalog.tools.values():
            needed = {*tool.required_inputs}
            if tool.effect is not Effect.READ or tool.name == consumer.name:
                continue
            if needed & (references(catalog) | parameter.names):
                continue
            by_schema = (answers_file(tool), True) if is_file else _holds(tool, parameter, consumer)
            holds, exact = by_schema
            order = (
                not exact,
                tool.document != consumer.document,
                tool.domain != consumer.domain,
                not is_listing(tool),
                -len(nouns & nouns_of(tool)),
                len(needed),
            )
            found += [(order, tool)] if holds else []
        kept[key] = [tool for _, tool in sorted(found, key=lambda pair: pair[0])]
    able = (tool for tool in kept[key] if tool.name not in trail and is_inside(tool, walls))
    return [*islice(able, _MAX_PRODUCERS)]


@read_once
def _kept_producers(catalog: Catalog) -> dict[tuple[str, tuple[str | int, ...]], list[Tool]]:
    return {}


def _holds(tool: Tool, parameter: Parameter, consumer: Tool) -> tuple[bool, bool]:
    """Return two flags: the answer holds the value, and under a name that says what it is of."""
    names, fields = parameter.names, answer_fields(tool)
    own = id_names(thing_with_id(tool))
    specific = frozenset(
        name for name in names if name.lower() not in ("id", "uuid", "key", "name")
    )
    if (tool.document, tool.path) == (consumer.document, consumer.path) and is_listing(tool):
        # A list of what the call makes repeats what was taken before: the court of a reservation.
        specific &= id_names(singular(consumer.path.rstrip("/").rpartition("/")[2]))
    if specific & fields:
        return True, bool(specific & own) or not own
    before, own_segment, _ = consumer.path.partition(f"/{{{parameter.name}}}")
    lists_path = bool(own_segment) and tool.path.rstrip("/") == before.rstrip("/")
    if (
        tool.document == consumer.document
        and lists_path
        and fields & {"id", "uuid", "key", "name", *names}
    ):
        return True, True
    nouns = set(parameter.words) - lexicon.IDENTIFIER
    described = str(parameter.schema.get("description", "")).lower()
    if tool.document == consumer.document and is_listing(tool) and "id" in fields:
        thing = thing_with_id(tool)
        return bool(thing) and (thing in nouns or thing in tokens(described)), False
    return False, False


@read_once
def references(catalog: Catalog) -> frozenset[str]:
    """Return the inputs of all tools that take a generated reference."""
    return frozenset(n for tool in catalog.tools.values() for n in tool.reference_inputs)
