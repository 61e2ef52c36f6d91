"""Inputs from what was found: which thing of which answer gives its values to a call."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import stem, tokens
from orchestrator.planning.rules.answers import Item, answer_fields, read_items
from orchestrator.planning.rules.clause_match import vocabulary
from orchestrator.planning.rules.compose import generic_words
from orchestrator.planning.rules.parameters import Kind, Parameter, singular, tool_parameters
from orchestrator.planning.rules.phrase import head_noun, names_said
from orchestrator.planning.rules.ranking import Ranking, Wish, rank_items
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.wording import details

_NOT_FROM_ITEMS: Final = frozenset({Kind.TEXT, Kind.TITLE, Kind.QUERY, Kind.OBJECT, Kind.CONSTANT})
_FROM_ANY_ITEM: Final = frozenset({Kind.IDENTIFIER, Kind.OTHER, Kind.LIST})
"""Kinds that only a found thing can supply, so that an earlier leg's will do as well."""
_MAX_ALTERNATIVES: Final = 50
_MAX_CHOICES: Final = 12


@dataclass(frozen=True)
class Taken:
    """Values from found things.

    `refusal` says why none of the things will do; `unsure` are inputs for which a person must
    choose between them.
    """

    values: JsonObject = field(default_factory=dict)
    refusal: str = ""
    unsure: tuple[Parameter, ...] = ()


def take_found(
    tool: Tool, parameters: tuple[Parameter, ...], stated: JsonObject, situation: Situation
) -> Taken:
    """Values from found things: all that one thing can give are taken from that thing.

    A call that nobody will be asked to confirm is not made on a guess between several things, and
    no call on a thing of which nothing says that it is what was asked for.
    """
    taken: JsonObject = {}
    open_ = [p for p in parameters if p.required and p.name not in stated]
    for items, wish, own in _pools(tool, open_, stated, situation):
        wanted = [p for p in open_ if p.name not in taken and _may_come(p, own=own)]
        offered = [item for item in items if _gives(item, wanted)]
        if not offered:
            continue
        ranking = rank_items(_distinct(offered, wanted), wish)
        fresh = [i for i in ranking.items if not _failed(tool, _gives(i, wanted), situation)]
        if not fresh:
            return Taken(refusal=_why_none(ranking, tool, situation))
        if not ranking.is_meant:
            return Taken(unsure=_which(wanted, fresh))
        if ranking.tied > 1 and tool.is_side_effect and not tool.needs_confirmation:
            return Taken(unsure=_which(wanted, fresh[: ranking.tied]))
        taken |= _gives(fresh[0], wanted)
        coherent = [p for p in open_ if p.name not in taken and p.kind in (Kind.TITLE, Kind.TEXT)]
        taken |= {p.name: v for p in coherent if (v := _given(fresh[0], p)) is not None}
    return Taken(taken)


def _which(wanted: list[Parameter], items: list[Item]) -> tuple[Parameter, ...]:
    """The inputs that the things give, with those to choose from as their only values."""
    asked: list[Parameter] = []
    for parameter in wanted:
        given = ((_given(item, parameter), item) for item in items[:_MAX_CHOICES])
        choices = {str(v): ", ".join(details(i.fields)) for v, i in given if v is not None}
        if choices:
            told = "; ".join(f"{value}: {text}" for value, text in choices.items())
            schema: JsonObject = {**parameter.schema, "enum": [*choices], "description": told}
            asked.append(replace(parameter, schema=schema))
    return tuple(asked)


def _pools(
    tool: Tool, parameters: list[Parameter], stated: JsonObject, situation: Situation
) -> Iterator[tuple[list[Item], Wish, bool]]:
    """Things found by this leg, the newest call first, then by the legs it depends on."""
    for seen in reversed(situation.context.observations):
        if seen.outcome == "succeeded" and seen.tool != tool.name and not seen.side_effect:
            asked = _fixing(situation.catalog.tool(seen.tool), seen.arguments)
            items = read_items(seen.body, asked=asked, source=str(seen.step))
            yield items, _wish(tool, seen.tool, parameters, stated, situation), True
    for known in reversed(situation.known):
        asked = _fixing(known.tool, known.fact.arguments)
        items = read_items(known.fact.body, asked=asked, source=known.fact.source)
        yield items, _wish(tool, known.tool.name, parameters, stated, situation), False


def _fixing(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments that say something of all that is found by them; words searched for do not."""
    loose = {p.name for p in tool_parameters(tool) if p.kind in (Kind.QUERY, Kind.TEXT, Kind.TITLE)}
    return {name: value for name, value in arguments.items() if name not in loose}


def _wish(
    tool: Tool,
    finder: str,
    wanted: list[Parameter],
    stated: JsonObject,
    situation: Situation,
) -> Wish:
    """What is asked of a thing that `finder` found: what it was searched by, and what is stated."""
    found_by = situation.catalog.tool(finder)
    asked: JsonObject = {}
    for seen in situation.tried(found_by):
        asked = {**seen.arguments, **asked}
    choices = {p.name for p in tool_parameters(found_by) if p.kind is Kind.CHOICE}
    dull = {stem(w) for w in (*generic_words(tool), *generic_words(found_by))}
    dull |= {stem(w) for w in tokens(f"{tool.summary} {found_by.summary}")} & _nouns_of(tool)
    return Wish(
        said=situation.said,
        stated={**asked, **stated},
        strict=frozenset(choices),
        named=tuple(dict.fromkeys(_names(tool, found_by, wanted, stated, situation))),
        dull=frozenset(dull),
        kind=_kind_asked(tool, found_by, situation),
        buying=tool.effect in (Effect.OBLIGATION, Effect.WRITE),
        budget_left=situation.context.budget_left,
    )


def _names(
    tool: Tool,
    finder: Tool,
    wanted: list[Parameter],
    stated: JsonObject,
    situation: Situation,
) -> Iterator[str]:
    """What the user calls the thing: by its noun, or by an id that the tool has refused as such."""
    held = answer_fields(finder)
    own = [p for p in wanted if {p.name, singular(p.name)} & held]
    words = (*(w for p in own for w in p.words), *generic_words(finder))
    nouns = frozenset(stem(w) for w in words) - {stem(w) for w in lexicon.IDENTIFIER}
    used = {str(value) for value in stated.values()}
    yield from (name for name in names_said(nouns, situation.said) if name not in used)
    ids = {str(slot.value) for slot in situation.said.of("identifier")}
    for seen in situation.tried(tool):
        if seen.outcome in ("rejected", "invalid"):
            yield from (str(v) for v in seen.arguments.values() if str(v) in ids)


def _kind_asked(tool: Tool, finder: Tool, situation: Situation) -> str:
    """The noun that a thing must bear: none where a tool deals in it, or another step saw to it."""
    noun = stem(head_noun(situation.said))
    if not noun or not tool.is_side_effect or noun in vocabulary(tool) | vocabulary(finder):
        return ""
    for seen in situation.context.observations:
        told = [*seen.arguments.values(), seen.body if seen.tool != finder.name else None]
        if any(noun in map(stem, tokens(str(value))) for value in told):
            return ""
    return noun


def _nouns_of(tool: Tool) -> set[str]:
    return {stem(word) for word in tokens(f"{tool.summary} {' '.join(tool.intent_tags)}")}


def _may_come(parameter: Parameter, *, own: bool) -> bool:
    if own:
        return parameter.kind not in _NOT_FROM_ITEMS
    return parameter.kind in _FROM_ANY_ITEM


def _gives(item: Item, wanted: list[Parameter]) -> JsonObject:
    """The wanted values that a thing has."""
    return {p.name: v for p in wanted if (v := _given(item, p)) is not None}


def _given(item: Item, parameter: Parameter) -> JsonValue:
    value = item.value(parameter.name)
    element = parameter.element
    if value is None and element is not None and element.kind is not Kind.OBJECT:
        single = item.value(element.name)
        value = [single] if single is not None else None
    return parameter.first_accepted(value)


def _distinct(items: list[Item], wanted: list[Parameter]) -> list[Item]:
    """Things that give different values, the richest of each kind, in their order."""
    seen: dict[str, Item] = {}
    for item in items:
        seen.setdefault(repr(sorted(_gives(item, wanted).items())), item)
    return list(seen.values())[:_MAX_ALTERNATIVES]


def _failed(tool: Tool, given: Mapping[str, JsonValue], situation: Situation) -> bool:
    """Whether a call with the same found values failed, or, of a reading tool, was made at all."""
    for seen in situation.tried(tool):
        counts = not tool.is_side_effect or seen.outcome in ("rejected", "invalid")
        if counts and all(seen.arguments.get(k) == v for k, v in given.items()):
            return True
    return False


def _why_none(ranking: Ranking, tool: Tool, situation: Situation) -> str:
    if ranking.refusal:
        return ranking.refusal
    error = next((o.error for o in situation.tried(tool) if o.error), None)
    if error:
        return f"each of the {len(ranking.items)} that were found was refused; the last: {error}"
    return f"{len(ranking.items)} were found, and none led any further"
