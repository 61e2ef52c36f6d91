"""The next call on the way to a tool: the tool itself, or what produces an input it lacks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import stem, tokens
from orchestrator.planning.models import CallTool, DiscoverTools, Observation
from orchestrator.planning.rules.answers import answer_fields, is_empty, is_listing
from orchestrator.planning.rules.arguments_of_call import fill
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.planning.rules.situation import Situation

_MAX_DEPTH: Final = 3
_MAX_PRODUCERS: Final = 8
_ASKED_OF_PEOPLE: Final = frozenset(
    {
        Kind.DATE, Kind.TIME, Kind.DATETIME, Kind.COUNT, Kind.NIGHTS, Kind.QUERY, Kind.TEXT,
        Kind.TITLE, Kind.CHOICE, Kind.FLAG, Kind.AMOUNT, Kind.MONEY, Kind.CURRENCY, Kind.CONSTANT,
        Kind.TIME_ZONE, Kind.PAGING, Kind.PLACE, Kind.EMAIL, Kind.OBJECT,
    }
)  # fmt: skip
"""Kinds that a person states: what some answer happens to hold is not what this person means."""
_FILTERS: Final = frozenset(
    {Kind.CHOICE, Kind.FLAG, Kind.AMOUNT, Kind.TIME, Kind.QUERY, Kind.PLACE}
)


@dataclass(frozen=True)
class Lack:
    """Why a call cannot be made: values that nobody has, or a reason that no value would mend."""

    parameters: tuple[Parameter, ...] = ()
    reason: str = ""


Way = CallTool | DiscoverTools | Lack


def next_call(tool: Tool, situation: Situation, *, trail: tuple[str, ...] = ()) -> Way:
    """The next step towards a call of `tool`.

    Args:
        tool: what is to be called in the end.
        situation: the situation.
        trail: the tools on whose behalf this one is to be called, never called again for it.
    """
    filling = fill(tool, situation)
    if not filling.missing:
        return _unspent(tool, filling.arguments, situation)
    if filling.refusal:
        return Lack(reason=filling.refusal)
    if filling.unsure:
        return Lack(filling.unsure)
    lacks: list[Lack] = []
    for parameter in filling.missing:
        way = _produce(parameter, tool, situation, (*trail, tool.name))
        if not isinstance(way, Lack):
            return way
        lacks.append(way)
    reason = next((lack.reason for lack in lacks if lack.reason), "")
    return Lack(_named_once(p for lack in lacks for p in lack.parameters), reason)


def relaxed(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments without the filters that the tool can do without."""
    filters = {p.name for p in tool_parameters(tool) if not p.required and p.kind in _FILTERS}
    return {k: v for k, v in arguments.items() if k not in filters}


def _produce(
    parameter: Parameter, consumer: Tool, situation: Situation, trail: tuple[str, ...]
) -> Way:
    """The next call towards a tool that answers with the value.

    Of the producers that were forwarded the first that can be called is; then one that was not
    forwarded is looked for, once; then the least is asked for that would let one be called.
    """
    if len(trail) > _MAX_DEPTH or not _can_be_found(parameter, situation):
        return Lack((parameter,))
    lacks: list[Lack] = []
    for producer in _producers(parameter, consumer, situation.tools, trail):
        way = next_call(producer, situation, trail=trail)
        if not isinstance(way, Lack):
            return way
        lacks.append(way)
    if (found := _hidden(parameter, consumer, situation, trail)) is not None:
        return found
    dead = [lack for lack in lacks if lack.reason]
    if dead:
        return dead[0]
    return min(lacks, key=lambda lack: len(lack.parameters), default=Lack((parameter,)))


def _can_be_found(parameter: Parameter, situation: Situation) -> bool:
    kind = (parameter.element or parameter).kind
    return kind not in _ASKED_OF_PEOPLE and parameter.name not in situation.own_references


def _hidden(
    parameter: Parameter, consumer: Tool, situation: Situation, trail: tuple[str, ...]
) -> DiscoverTools | None:
    """A search for a producer that was not forwarded and could be called, or for its own."""
    shown = {tool.name for tool in situation.tools}
    rest = (tool for tool in situation.catalog.tools.values() if tool.name not in shown)
    for producer in _producers(parameter, consumer, rest, trail):
        seen = replace(situation, shown=(*situation.shown, producer.name))
        way = next_call(producer, seen, trail=trail)
        if isinstance(way, DiscoverTools):
            return way
        if isinstance(way, CallTool) and not situation.searched_for(producer.name):
            return DiscoverTools(query=producer.name)
    return None


def _producers(
    parameter: Parameter, consumer: Tool, tools: Iterable[Tool], trail: tuple[str, ...]
) -> Iterator[Tool]:
    """Reading tools that answer with the value and do not need it, the consumer's domain first.

    A tool that declares no answer may hold anything: its name must speak of what is looked for. An
    input called just "id" is fed from its own domain only.
    """
    names = {parameter.name, *([parameter.element.name] if parameter.element else ())}
    fitting = [
        tool
        for tool in tools
        if tool.effect is Effect.READ
        and tool.name not in trail
        and (names & answer_fields(tool) or _speaks_of(parameter, tool))
        and not names & set(tool.required_inputs)
    ]
    fitting.sort(
        key=lambda t: (t.domain != consumer.domain, not is_listing(t), len(t.required_inputs))
    )
    bare = not set(parameter.words) - lexicon.IDENTIFIER
    near = [tool for tool in fitting if tool.domain == consumer.domain]
    yield from (near if bare else fitting)[:_MAX_PRODUCERS]


def _speaks_of(parameter: Parameter, tool: Tool) -> bool:
    nouns = {stem(word) for word in parameter.words} - {stem(w) for w in lexicon.IDENTIFIER}
    return tool.output_schema is None and bool(nouns & {stem(w) for w in tokens(tool.name)})


def _unspent(tool: Tool, arguments: JsonObject, situation: Situation) -> CallTool | Lack:
    """The call, unless it was made before: then once more with fewer filters, or not at all.

    A reading call that got no clear answer may be repeated once as it is.
    """
    before = situation.tried_with(tool, arguments)
    if not before:
        return CallTool(tool=tool.name, arguments=arguments)
    wider = relaxed(tool, arguments)
    if wider != arguments and not situation.tried_with(tool, wider):
        return CallTool(tool=tool.name, arguments=wider, reason=_why_again(before[0]))
    if not tool.is_side_effect and before[0].outcome == "unknown" and len(before) == 1:
        return CallTool(tool=tool.name, arguments=arguments, reason=_why_again(before[0]))
    return Lack(reason=_why_not(tool, before[0]))


def _why_again(seen: Observation) -> str:
    return f"the last attempt: {seen.error}" if seen.error else "the last attempt found nothing"


def _why_not(tool: Tool, seen: Observation) -> str:
    if seen.error:
        return f"{tool.name} failed: {seen.error}"
    if is_empty(seen.body):
        return f"{tool.name} found nothing that fits the request"
    return f"{tool.name} answered, but without what is needed to go on"


def _named_once(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    return tuple({p.name: p for p in parameters}.values())
