"""The arguments of one call: each input from the surest source that has it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import handle_for
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.planning.rules.answer_sources import values_from_answers
from orchestrator.planning.rules.fact_sources import value_from_facts
from orchestrator.planning.rules.parameters import (
    ArgumentDraft,
    Kind,
    Parameter,
    alternatives,
    tool_parameters,
)
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.text_sources import composed_text
from orchestrator.planning.rules.utterance import Utterance
from orchestrator.planning.rules.utterance_sources import may_fill_optional, value_from_utterance

_WHEN_AND_WHERE: Final = frozenset({Kind.DATE, Kind.TIME, Kind.DATETIME, Kind.PLACE})
_ALONE: Final = frozenset(
    {"guests", "passengers", "adults", "travelers", "travellers", "persons", "people", "rooms"}
)
"""Counts that are one when nobody says otherwise; the card shows it before anything is sent."""


@dataclass(frozen=True)
class CallArguments:
    """Arguments for one call; it can be made when nothing is missing.

    `refusal` says why none of the things that were found will do; `unsure` are inputs for which
    several do equally well, so that a person must say which.
    """

    values: JsonObject
    missing: tuple[Parameter, ...] = ()
    refusal: str = ""
    unsure: tuple[Parameter, ...] = ()


def gather_arguments(tool: Tool, situation: Situation) -> CallArguments:
    """The best arguments for a call that has not failed yet with the same found thing.

    What the user states comes first, then what answers of this leg and of earlier ones hold, then
    facts, the rest of the goal, composed texts and defaults.
    """
    parameters = _needed(tool, situation)
    stated = _Call(tool, situation, ArgumentDraft(parameters)).stated()
    answers = values_from_answers(tool, stated, situation)
    call = _Call(tool, situation, ArgumentDraft(parameters, {**answers.values, **stated.values}))
    missing = call.complete()
    values = call.draft.values
    ordered = {p.name: values[p.name] for p in parameters if p.name in values}
    return CallArguments(ordered, missing, answers.refusal, answers.unsure)


def _needed(tool: Tool, situation: Situation) -> tuple[Parameter, ...]:
    """The tool's inputs, those of the first alternative that can be met required as well."""
    parameters = tool_parameters(tool)
    sets = alternatives(tool)
    if not sets:
        return parameters
    stated = _Call(tool, situation, ArgumentDraft(parameters)).stated(optional=True)
    chosen = next((s for s in sets if set(s) <= set(stated.values)), sets[0])
    return tuple(replace(p, required=p.required or p.name in chosen) for p in parameters)


@dataclass(frozen=True)
class _Call:
    """A call whose arguments are being gathered: they are added to the draft one by one."""

    tool: Tool
    situation: Situation
    draft: ArgumentDraft

    def stated(self, *, optional: bool = False) -> ArgumentDraft:
        """The draft with what the user, the contract or the clause itself fixes.

        Args:
            optional: look in the clause for every input, required or not.
        """
        for parameter in self.draft.open_inputs():
            value: JsonValue = None
            if parameter.name in self.tool.pii_fields:
                value = handle_for(parameter.name) if parameter.required else None
            else:
                value = _fixed(parameter, self.situation)
                if value is None and (
                    parameter.required or optional or may_fill_optional(parameter)
                ):
                    value = self._from_clause(parameter)
            if value is not None:
                self.draft.values[parameter.name] = value
        return self.draft

    def complete(self) -> tuple[Parameter, ...]:
        """Add what no one states; the required inputs that are still without a value."""
        missing: list[Parameter] = []
        for parameter in self.draft.open_inputs():
            value = self._required(parameter) if parameter.required else self._optional(parameter)
            if value is not None:
                self.draft.values[parameter.name] = value
            elif parameter.required:
                missing.append(parameter)
        return tuple(missing)

    def _from_clause(self, parameter: Parameter) -> JsonValue:
        """What the clause states, but no id that stands elsewhere in the call or was refused."""
        value = value_from_utterance(parameter, self.situation.utterance, self.draft)
        if parameter.kind is not Kind.IDENTIFIER or value is None:
            return value
        refused = (o.arguments.get(parameter.name) for o in self.situation.refused(self.tool))
        return None if value in self.draft.values.values() or value in refused else value

    def _required(self, parameter: Parameter) -> JsonValue:
        """A value that is not stated: from facts, the rest of the goal, words, or by default."""
        value = _from_facts(parameter, self.situation)
        if value is None:
            value = self._from_rest_of_goal(parameter)
        if value is None:
            value = composed_text(parameter, self.tool, self.situation)
        if value is None and parameter.kind is Kind.OBJECT:
            value = _object(parameter, self.situation)
        return value if value is not None else _assumed(parameter, self.situation)

    def _optional(self, parameter: Parameter) -> JsonValue:
        """A value for an optional input, where leaving it out would lose what is known.

        The words of a search; how many people the rest of the goal speaks of; when and where, if
        what is to be recorded took its date from an earlier leg.
        """
        if parameter.kind is Kind.QUERY and not self.tool.is_side_effect:
            return composed_text(parameter, self.tool, self.situation)
        if parameter.kind is Kind.COUNT and set(parameter.words) & lexicon.PEOPLE:
            return self._from_rest_of_goal(parameter)
        if not self.tool.is_side_effect or parameter.kind not in _WHEN_AND_WHERE:
            return None
        dated = [
            p
            for p in self.draft.parameters
            if p.required and p.kind in (Kind.DATE, Kind.DATETIME) and p.name in self.draft.values
        ]
        if any(self.draft.values[p.name] == _from_facts(p, self.situation) for p in dated):
            return _from_facts(parameter, self.situation)
        return None

    def _from_rest_of_goal(self, parameter: Parameter) -> JsonValue:
        """What the other clauses say; a stretch of time comes whole from one clause if it can."""
        others = self.situation.other_utterances
        kin = [p for p in self.draft.parameters if p.required and p.kind is parameter.kind]
        ends = [p for p in kin if p.side is not None]
        if parameter not in ends:
            return self._first_stated(parameter, others)
        if parameter.side == "end" and self.draft.start is not None:
            nights = value_from_utterance(parameter, self.situation.utterance, self.draft)
            if nights is not None:
                return nights
        bare = ArgumentDraft(self.draft.parameters)
        whole = [u for u in others if all(value_from_utterance(p, u, bare) for p in ends)]
        return self._first_stated(parameter, (*whole, *others))

    def _first_stated(self, parameter: Parameter, utterances: tuple[Utterance, ...]) -> JsonValue:
        values = (value_from_utterance(parameter, u, self.draft) for u in utterances)
        return next((value for value in values if value is not None), None)


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


def _from_facts(parameter: Parameter, situation: Situation) -> JsonValue:
    return value_from_facts(parameter, situation.facts, now=situation.context.now)


def _object(parameter: Parameter, situation: Situation) -> JsonValue:
    """An object of which every required property can be filled."""
    draft = ArgumentDraft(parameter.fields)
    for part in draft.open_inputs():
        value = _fixed(part, situation)
        for utterance in (situation.utterance, *situation.other_utterances):
            if value is None and (part.required or utterance is situation.utterance):
                value = value_from_utterance(part, utterance, draft)
        if value is None and part.required:
            value = _from_facts(part, situation)
        if value is None and part.required:
            return None
        if value is not None:
            draft.values[part.name] = value
    return draft.values if parameter.accepts(draft.values) else None


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
