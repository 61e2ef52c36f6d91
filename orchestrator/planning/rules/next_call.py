"""The next call on the way to a tool: the tool itself, or what produces an input it lacks."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.catalog.file_inputs import answers_file
from orchestrator.catalog.tool import Effect, Tool, id_names, thing_with_id
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.language import lexicon
from orchestrator.language.words import stem, tokens
from orchestrator.planning.models import CallTool, DiscoverTools, Observation
from orchestrator.planning.order_deeds import makes
from orchestrator.planning.rules.answers import answer_fields, is_listing, tells_what_is_made
from orchestrator.planning.rules.argument_draft import Lack
from orchestrator.planning.rules.call_arguments import gather_arguments
from orchestrator.planning.rules.how_many import counted_note, how_many
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.planning.rules.situation import Situation
from orchestrator.saga.judged import is_empty

_MAX_DEPTH: Final = 3
_MAX_PRODUCERS: Final = 8
_INSIDE: Final = ("items", "properties", "$defs", "allOf", "anyOf", "oneOf")
_MOST_LEVELS: Final = 8
_FILTERS: Final = frozenset(
    {Kind.CHOICE, Kind.FLAG, Kind.AMOUNT, Kind.TIME, Kind.QUERY, Kind.PLACE}
)


NextCall = CallTool | DiscoverTools | Lack


def next_call(tool: Tool, situation: Situation, *, trail: tuple[str, ...] = ()) -> NextCall:
    """The next step towards a call; the tools in `trail`, for which it is made, are not called."""
    draft, lack = gather_arguments(tool, situation)
    if lack is not None and (lack.is_done or lack.listed_by):
        return lack
    if not draft.missing:
        notes = [*counted_note(tool, situation), *draft.notes]
        reason = "; ".join(notes) if tool.is_side_effect else ""
        return _unless_made_before(tool, draft.arguments, situation, reason)
    if lack is not None:
        return lack
    lacks: list[Lack] = []
    for parameter in draft.missing:
        step = _Need(parameter, tool, situation, (*trail, tool.name)).produce()
        if not isinstance(step, Lack):
            return step
        lacks.append(step)
    reason = next((lack.reason for lack in lacks if lack.reason), "")
    wanted = {p.name: p for lack in lacks for p in lack.parameters}
    note = next((lack.note for lack in lacks if lack.note), "")
    return Lack(tuple(wanted.values()), reason, note)


def wider_call(
    tool: Tool, arguments: JsonObject, seen: Observation, situation: Situation
) -> CallTool | None:
    """The call that came to `seen`, without filters; None when it was made like that."""
    filters = {p.name for p in tool_parameters(tool) if not p.required and p.kind in _FILTERS}
    wider = {k: v for k, v in arguments.items() if k not in filters}
    if situation.tried_with(tool, wider):
        return None
    return CallTool(tool=tool.name, arguments=wider, reason=_why_again(seen))


def barred_producer(
    parameters: Iterable[Parameter], consumer: Tool, situation: Situation
) -> Tool | None:
    """The best tool that would supply one of the inputs, if only the agent could use it."""
    for parameter in parameters:
        if (parameter.element or parameter).is_produced:
            need = _Need(parameter, consumer, situation, (consumer.name,))
            if producers := need._producers(situation.barred_tools):
                return producers[0]
    return None


@dataclass(frozen=True)
class _Need:
    """An input that a call lacks; `trail` are the tools on whose behalf it is looked for."""

    parameter: Parameter
    consumer: Tool
    situation: Situation
    trail: tuple[str, ...]

    def produce(self) -> NextCall:
        """The next call towards a tool that answers with the value.

        Of the producers that were forwarded the first that can be called is; then one that was not
        forwarded is looked for, once; then the least is asked for that would let one be called.
        """
        unproduced = Lack((self.parameter,))
        if not (self.parameter.element or self.parameter).is_produced:
            return unproduced  # what an answer happens to hold is not what this person means
        if len(self.trail) > _MAX_DEPTH or self.parameter.name in self.situation.own_references:
            return unproduced
        lacks: list[Lack] = []
        for producer in self._producers(self.situation.tools):
            step = next_call(producer, self.situation, trail=self.trail)
            if not isinstance(step, Lack):
                return step
            lacks.append(step)
        if (search := self._search()) is not None:
            return search
        if self.parameter.kind is Kind.OTHER:
            return unproduced  # no id: a person may know it where nothing was found
        dead = (lack for lack in lacks if lack.reason)
        fewest = min(lacks, key=lambda lack: len(lack.parameters), default=unproduced)
        return next(dead, fewest)

    def _search(self) -> DiscoverTools | None:
        """A search for a producer that was not forwarded and could be called, or for its own."""
        situation = self.situation
        shown = {tool.name for tool in situation.tools}
        rest = (tool for tool in situation.usable_tools if tool.name not in shown)
        for producer in self._producers(rest):
            found = replace(situation, shown=(*situation.shown, producer.name))
            step = next_call(producer, found, trail=self.trail)
            if isinstance(step, DiscoverTools):
                return step
            if isinstance(step, CallTool) and not situation.searched_for(producer.name):
                return DiscoverTools(query=producer.name)
        return None

    def _producers(self, tools: Iterable[Tool]) -> list[Tool]:
        """Reading tools that answer with the value and do not need it, the consumer's domain first.

        A tool that declares no answer may hold anything: its name must speak of what is looked for.
        An input called just "id" is fed from its own domain only, or by what lists the things that
        its path speaks of; what is no id ("state"), by its own document: elsewhere the same word
        tells something else. What lists the things that the consumer makes says of what these were
        made, and not of what the next one is to be.
        """
        names, domain = self.parameter.names, self.consumer.domain
        wanted = self.parameter.element or self.parameter
        is_file = wanted.kind is Kind.FILE
        is_own = not is_file and not wanted.is_id
        nouns = set(self.parameter.words) - lexicon.IDENTIFIER
        fitting = [
            tool
            for tool in tools
            if tool.effect is Effect.READ
            and tool.name not in self.trail
            and (answers_file(tool) if is_file else self._holds(tool))
            and not names & set(tool.required_inputs)
            and (nouns or is_file or tool.domain == domain or self._lists_what_is_named(tool))
            and (not is_own or tool.document == self.consumer.document)
            and not tells_what_is_made(tool, self.consumer)
            and not self._is_only_linked(tool)
        ]
        fitting.sort(key=lambda t: (t.domain != domain, not is_listing(t), len(t.required_inputs)))
        # What lists the pets is asked for one before what lists something that pets have.
        fitting.sort(key=lambda t: names.isdisjoint(id_names(thing_with_id(t))))
        return fitting[:_MAX_PRODUCERS]

    def _is_only_linked(self, tool: Tool) -> bool:
        """Whether a tool tells of other things, which have such an id beside their own.

        Whose the articles are that are there says nothing of whose the next one is to be, unless
        the call is about such a thing as well.
        """
        wanted = self.parameter.element or self.parameter
        names, own = self.parameter.names, {"id", *id_names(thing_with_id(tool))}
        if not wanted.is_id or not makes(self.consumer) or not own.isdisjoint(names):
            return False
        schema = tool.output_schema or {}
        parts = [properties_of(part) for part in walk(schema, _INSIDE, most_levels=_MOST_LEVELS)]
        linked = any("id" in part and not names.isdisjoint(part) for part in parts)
        return linked and own.isdisjoint(self.consumer.properties)

    def _lists_what_is_named(self, tool: Tool) -> bool:
        """Whether a tool lists what the path names one of: /pets of /pets/{id}/notes."""
        own, path = self.consumer, f"{{{self.parameter.name}}}"
        listed = own.path.partition(f"/{path}")[0] if path in own.path else None
        return tool.document == own.document and tool.path.rstrip("/") == listed

    def _holds(self, tool: Tool) -> bool:
        return bool(self.parameter.names & answer_fields(tool)) or self._is_named_by(tool)

    def _is_named_by(self, tool: Tool) -> bool:
        words = {stem(w) for w in self.parameter.words} - {stem(w) for w in lexicon.IDENTIFIER}
        return tool.output_schema is None and bool(words & {stem(w) for w in tokens(tool.name)})


def _unless_made_before(
    tool: Tool, arguments: JsonObject, situation: Situation, reason: str
) -> CallTool | Lack:
    """The call, unless it was made before: then once more with fewer filters, or not at all.

    A reading call that got no clear answer may be repeated once as it is.
    """
    before = situation.tried_with(tool, arguments)
    asked = how_many(tool, situation)
    if before and asked.is_several and before[0].outcome == "succeeded":
        if asked.number is None:
            return Lack(is_done=True)  # it was told for what, and has been done for that
        before = []  # two tables are two calls with the same arguments, each with its own reference
    if not before:
        return CallTool(tool=tool.name, arguments=arguments, reason=reason)
    if before[0].refused_by:
        return _refused_by_person(tool, before[0], situation)
    if (wider := wider_call(tool, arguments, before[0], situation)) is not None:
        return wider
    if not tool.is_side_effect and before[0].outcome == "unknown" and len(before) == 1:
        return CallTool(tool=tool.name, arguments=arguments, reason=_why_again(before[0]))
    return Lack(reason=_why_not(tool, before[0]))


def _refused_by_person(tool: Tool, seen: Observation, situation: Situation) -> Lack:
    """What to ask when nothing but the very call that a person refused would be made again.

    Words that somebody will read, a person may give who did not like ours; nothing else is asked.
    """
    known = situation.context.inputs
    texts = [p for p in tool_parameters(tool) if p.kind in (Kind.TEXT, Kind.TITLE)]
    asked = tuple(p for p in texts if p.name not in known and p.name not in tool.pii_fields)
    if seen.sent_back and asked:
        return Lack(asked)
    return Lack(reason=f"{seen.error or f'{seen.refused_by} refused it'}; there is no other way")


def _why_again(seen: Observation) -> str:
    return f"the last attempt: {seen.error}" if seen.error else "the last attempt found nothing"


def _why_not(tool: Tool, seen: Observation) -> str:
    if seen.error:
        return f"{tool.name} failed: {seen.error}"
    if is_empty(seen.body):
        return f"{tool.name} found nothing that fits the request"
    return f"{tool.name} answered, but without what is needed to go on"
