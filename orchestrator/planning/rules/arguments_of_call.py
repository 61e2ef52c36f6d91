"""The arguments of one call: each input from the surest source that has it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.planning.planner import PII_PREFIX
from orchestrator.planning.rules.answer_sources import take_found
from orchestrator.planning.rules.compose import composed
from orchestrator.planning.rules.fact_sources import value_known
from orchestrator.planning.rules.parameters import Kind, Parameter, alternatives, tool_parameters
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.utterance import is_said_unasked, value_said

_WHEN_AND_WHERE: Final = frozenset({Kind.DATE, Kind.TIME, Kind.DATETIME, Kind.PLACE})
_ALONE: Final = frozenset(
    {"guests", "passengers", "adults", "travelers", "travellers", "persons", "people", "rooms"}
)
"""Counts that are one when nobody says otherwise; the card shows it before anything is sent."""


@dataclass(frozen=True)
class Filling:
    """Arguments for one call; it can be made when nothing is missing.

    `refusal` says why none of the things that were found will do; `unsure` are inputs for which
    several do equally well, so that a person must say which.
    """

    arguments: JsonObject
    missing: tuple[Parameter, ...] = ()
    refusal: str = ""
    unsure: tuple[Parameter, ...] = ()


def fill(tool: Tool, situation: Situation) -> Filling:
    """The best arguments for a call that has not failed yet with the same found thing."""
    parameters = _needed(tool, situation)
    stated = _stated(tool, parameters, situation)
    taken = take_found(tool, parameters, stated, situation)
    arguments = {**taken.values, **stated}
    missing: list[Parameter] = []
    for parameter in _starts_first(parameters):
        if parameter.name in arguments:
            continue
        value = _otherwise(parameter, tool, parameters, arguments, situation)
        if value is not None:
            arguments[parameter.name] = value
        elif parameter.required:
            missing.append(parameter)
    ordered = {p.name: arguments[p.name] for p in parameters if p.name in arguments}
    return Filling(ordered, tuple(missing), taken.refusal, taken.unsure)


def _needed(tool: Tool, situation: Situation) -> tuple[Parameter, ...]:
    """The tool's inputs, those of the first alternative that can be met required as well."""
    parameters = tool_parameters(tool)
    sets = alternatives(tool)
    if not sets:
        return parameters
    given = set(_stated(tool, parameters, situation, ask=True))
    chosen = next((s for s in sets if set(s) <= given), sets[0])
    return tuple(replace(p, required=p.required or p.name in chosen) for p in parameters)


def _stated(
    tool: Tool, parameters: tuple[Parameter, ...], situation: Situation, *, ask: bool = False
) -> JsonObject:
    """What the user, the contract or the clause itself fixes.

    Args:
        tool: the tool.
        parameters: its inputs.
        situation: the situation.
        ask: look in the clause for every input, required or not.
    """
    values: JsonObject = {}
    for parameter in _starts_first(parameters):
        if parameter.name in tool.pii_fields:
            value: JsonValue = f"{PII_PREFIX}{parameter.name}" if parameter.required else None
        else:
            value = _fixed(parameter, situation)
            if value is None and (parameter.required or ask or is_said_unasked(parameter)):
                start = _start_of(parameters, values)
                value = value_said(parameter, situation.said, among=parameters, start=start)
                value = None if _is_spent(parameter, value, values, tool, situation) else value
        if value is not None:
            values[parameter.name] = value
    return values


def _fixed(parameter: Parameter, situation: Situation) -> JsonValue:
    """What the user gave by name, or the only value the schema allows."""
    if parameter.name in situation.context.inputs:
        given = situation.context.inputs[parameter.name]
        if (value := parameter.first_accepted(given, *_as_typed(given))) is not None:
            return value
    if parameter.kind is Kind.CONSTANT and parameter.required:
        only = parameter.schema.get("enum")
        listed = only[0] if isinstance(only, list) and only else None
        return parameter.schema.get("const", listed)
    return None


def _as_typed(given: JsonValue) -> Iterator[JsonValue]:
    """Other readings of a value that was typed on a command line."""
    if isinstance(given, str):
        text = given.strip()
        yield text
        if text.lstrip("-").isdigit():
            yield int(text)
        if text.lstrip("-").replace(".", "", 1).isdigit():
            yield float(text)
        if text.lower() in ("true", "false"):
            yield text.lower() == "true"
        yield [part.strip() for part in text.split(",")]
    elif isinstance(given, int | float) and not isinstance(given, bool):
        yield str(given)


def _is_spent(
    parameter: Parameter, value: JsonValue, values: JsonObject, tool: Tool, situation: Situation
) -> bool:
    """Whether an id from the text already stands elsewhere in the call, or was refused before."""
    if parameter.kind is not Kind.IDENTIFIER or value is None:
        return False
    failed = (o for o in situation.tried(tool) if o.outcome in ("rejected", "invalid"))
    return value in values.values() or any(o.arguments.get(parameter.name) == value for o in failed)


def _otherwise(
    parameter: Parameter,
    tool: Tool,
    among: tuple[Parameter, ...],
    arguments: JsonObject,
    situation: Situation,
) -> JsonValue:
    """A value that the clause does not state: from facts, the rest of the goal, words, default."""
    if not parameter.required:
        return _unasked(parameter, tool, among, arguments, situation)
    value = value_known(parameter, situation.known, now=situation.context.now)
    if value is None:
        value = _said_around(parameter, among, arguments, situation)
    if value is None:
        value = composed(parameter, tool, situation)
    if value is None and parameter.kind is Kind.OBJECT:
        value = _object(parameter, situation)
    return value if value is not None else _assumed(parameter, situation)


def _unasked(
    parameter: Parameter,
    tool: Tool,
    among: tuple[Parameter, ...],
    arguments: JsonObject,
    situation: Situation,
) -> JsonValue:
    """A value for an optional input, where leaving it out would lose what is known.

    The words of a search; how many people the rest of the goal speaks of; when and where, if what
    is to be recorded took its date from an earlier leg.
    """
    if parameter.kind is Kind.QUERY and not tool.is_side_effect:
        return composed(parameter, tool, situation)
    if parameter.kind is Kind.COUNT and set(parameter.words) & lexicon.PEOPLE:
        return _said_around(parameter, among, arguments, situation)
    dated = [p for p in among if p.required and p.kind in (Kind.DATE, Kind.DATETIME)]
    from_facts = any(
        arguments.get(p.name) == value_known(p, situation.known, now=situation.context.now)
        for p in dated
        if p.name in arguments
    )
    if tool.is_side_effect and parameter.kind in _WHEN_AND_WHERE and from_facts:
        return value_known(parameter, situation.known, now=situation.context.now)
    return None


def _said_around(
    parameter: Parameter,
    among: tuple[Parameter, ...],
    arguments: JsonObject,
    situation: Situation,
) -> JsonValue:
    """What the rest of the goal says; a stretch of time comes whole from one clause if it can."""
    ends = [p for p in among if p.side is not None and p.required and p.kind is parameter.kind]
    whole = [s for s in situation.around if all(value_said(p, s, among=among) for p in ends)]
    start = _start_of(among, arguments)
    if parameter in ends and start is not None and parameter.side == "end":
        nights = value_said(parameter, situation.said, among=among, start=start)
        if nights is not None:
            return nights
    for said in (*whole, *situation.around) if parameter in ends else situation.around:
        value = value_said(parameter, said, among=among, start=start)
        if value is not None:
            return value
    return None


def _object(parameter: Parameter, situation: Situation) -> JsonValue:
    """An object of which every required property can be filled."""
    values: JsonObject = {}
    for part in _starts_first(parameter.fields):
        value = _fixed(part, situation)
        for said in (situation.said, *situation.around):
            if value is None and (part.required or said is situation.said):
                start = _start_of(parameter.fields, values)
                value = value_said(part, said, among=parameter.fields, start=start)
        if value is None and part.required:
            value = value_known(part, situation.known, now=situation.context.now)
        if value is None and part.required:
            return None
        if value is not None:
            values[part.name] = value
    return values if parameter.accepts(values) else None


def _assumed(parameter: Parameter, situation: Situation) -> JsonValue:
    """The contract's default, or what goes without saying."""
    if (default := parameter.schema.get("default")) is not None:
        return default
    if parameter.kind is Kind.COUNT and set(parameter.words) & _ALONE:
        return parameter.first_accepted(1)
    if parameter.kind is Kind.CURRENCY and situation.context.budget_left is not None:
        return parameter.first_accepted(situation.context.budget_left.currency)
    if parameter.kind is Kind.TIME_ZONE:
        return parameter.first_accepted(str(situation.context.now.tzinfo or "UTC"), "UTC")
    return None


def _start_of(among: tuple[Parameter, ...], values: JsonObject) -> JsonValue:
    """The date at which the call's stretch of time starts, if it is known."""
    starts = (p for p in among if p.kind in (Kind.DATE, Kind.DATETIME) and p.side != "end")
    return next((values[p.name] for p in starts if p.name in values), None)


def _starts_first(parameters: tuple[Parameter, ...]) -> list[Parameter]:
    """Ends after starts: an end may be counted from its start."""
    return sorted(parameters, key=lambda p: p.side == "end")
