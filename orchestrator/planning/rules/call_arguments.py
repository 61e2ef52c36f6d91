"""The arguments of one call: each input from the surest source that has it."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.pii import handle_for
from orchestrator.json_schema.walker import alternatives_of
from orchestrator.language import lexicon
from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import matter_start
from orchestrator.language.clauses import without_lead
from orchestrator.language.intent import Action
from orchestrator.language.words import content_stems, stem
from orchestrator.planning.rules.answer_sources import add_from_answers
from orchestrator.planning.rules.answers import is_listing
from orchestrator.planning.rules.argument_draft import ArgumentDraft, Lack
from orchestrator.planning.rules.changed_fields import changed_value
from orchestrator.planning.rules.fact_sources import value_from_facts
from orchestrator.planning.rules.parameters import DAYS, Kind, Parameter, tool_parameters
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.stated_items import items_stated
from orchestrator.planning.rules.text_sources import composed_text
from orchestrator.planning.rules.utterance import Utterance
from orchestrator.planning.rules.utterance_sources import (
    is_one_of_several,
    may_fill_optional,
    quoted_as,
    value_from_utterances,
)

_WHEN_AND_WHERE: Final = frozenset({Kind.DATE, Kind.TIME, Kind.DATETIME, Kind.PLACE})
_ALONE: Final = frozenset(
    {"guests", "passengers", "adults", "travelers", "travellers", "persons", "people", "rooms"}
)
"""Counts that are one when nobody says otherwise; the card shows it before anything is sent."""


_BOUGHT: Final = frozenset({"quantity", "qty", "copies"})
_ONE: Final = re.compile(r"[\w-]+\s+(?:(?:me|us)\s+)?(?:an?|one)\s", re.IGNORECASE)
"""An order of one: "buy a ticket"."""


def gather_arguments(tool: Tool, situation: Situation) -> tuple[ArgumentDraft, Lack | None]:
    """The best arguments for a call that has not failed yet with the same found thing.

    What the user states comes first, then what answers of this leg and of earlier ones hold, then
    facts, the rest of the goal, composed texts and defaults.

    Returns:
        The draft, and why what was found gives it nothing; None when it does, or nothing was found.
    """
    draft = ArgumentDraft(_needed(tool, situation), lists=is_listing(tool))
    call = _Call(tool, situation, draft)
    call.state()
    lack = add_from_answers(tool, draft, situation)
    call.complete()
    return draft, lack


def missing_inside(parameter: Parameter, tool: Tool, situation: Situation) -> tuple[Parameter, ...]:
    """What an object lacks, property by property; itself, where it is none or its names are shared.

    A value is given by the name of its property, so that no other of the tool may have that name.
    """
    if parameter.kind is not Kind.OBJECT:
        return (parameter,)
    inputs = tool_parameters(tool)
    call = _Call(tool, situation, ArgumentDraft(inputs))
    missing = call.inside(parameter).missing
    parts = [one for part in missing for one in missing_inside(part, tool, situation)]
    names = [one.name for one in _every(inputs)]
    is_told = bool(parts) and all(names.count(part.name) == 1 for part in parts)
    return tuple(parts) if is_told else (parameter,)


def _every(parameters: Sequence[Parameter]) -> Iterator[Parameter]:
    for parameter in parameters:
        yield parameter
        yield from _every(parameter.fields if parameter.kind is Kind.OBJECT else ())


def _needed(tool: Tool, situation: Situation) -> tuple[Parameter, ...]:
    """The tool's inputs, those of the first alternative that can be met required as well.

    So is what the clause names by its noun and only a search gives: "to the Reports folder".
    """
    said = {*content_stems(situation.utterance.text)} - {*content_stems(tool.summary)}
    parameters = tuple(
        replace(p, required=True) if tool.is_side_effect and _is_spoken_of(p, said) else p
        for p in tool_parameters(tool)
    )
    sets = [names for names in alternatives_of(tool.input_schema) if names]
    if tool.effect is Effect.CANCEL and not sets and not any(p.required for p in parameters):
        # What is told by nothing is not cancelled, whatever its document lets through.
        sets = [(p.name,) for p in parameters if p.kind is Kind.IDENTIFIER]
    if not sets:
        return parameters
    draft = ArgumentDraft(parameters)
    _Call(tool, situation, draft).state(optional=True)
    chosen = next((s for s in sets if set(s) <= set(draft.values)), sets[0])
    return tuple(replace(p, required=p.required or p.name in chosen) for p in parameters)


def _is_spoken_of(parameter: Parameter, said: Collection[str]) -> bool:
    """Whether it is the id of a thing that is spoken of."""
    nouns = {stem(word) for word in {*parameter.words} - lexicon.IDENTIFIER}
    is_id = parameter.kind is Kind.IDENTIFIER and parameter.is_produced
    return is_id and bool(nouns) and nouns <= {*said}


@dataclass(frozen=True)
class _Call:
    """A call whose arguments are being gathered: they are added to the draft one by one."""

    tool: Tool
    situation: Situation
    draft: ArgumentDraft

    def state(self, *, optional: bool = False) -> None:
        """Add what the user, the contract or the clause itself fixes; all inputs if `optional`."""
        for parameter in self.draft.open_inputs():
            if parameter.name in self.tool.pii_fields:
                given = parameter.name in self.situation.context.inputs
                wanted = parameter.required or given
                value: JsonValue = handle_for(parameter.name) if wanted else None
            else:
                value = _given(parameter, self.situation)
                value = self._of_the_pair(parameter) if value is None else value
                value = self._as_changed(parameter) if value is None else value
                if value is None and len(self.situation.utterance.of("quoted")) > 1:
                    value = quoted_as(parameter, self.situation.utterance)
                asked = replace(parameter, required=parameter.required or optional)
                if value is None and (asked.required or may_fill_optional(asked)):
                    value = self._from_clause(asked)
                if value is None and not asked.required:
                    value = quoted_as(parameter, self.situation.utterance)
                if value is None and parameter.required and parameter.kind is Kind.OTHER:
                    value = self._composed(parameter)
                if value is None and parameter.required and parameter.is_produced:
                    # What the contract gives is no value to be looked for in answers.
                    value = parameter.schema.get("default")
            self.draft.add(parameter, value)

    def complete(self) -> None:
        """Add what no one states."""
        for parameter in self.draft.open_inputs():
            value = self._required(parameter) if parameter.required else self._optional(parameter)
            self.draft.add(parameter, value)

    def _required(self, parameter: Parameter) -> JsonValue:
        """What the first source gives that has it."""
        sources = (
            *(self._listed, self._from_facts, self._from_goal),
            *(self._composed, self._object, self._assumed),
        )
        values = (source(parameter) for source in sources)
        return next((value for value in values if value is not None), None)

    def _optional(self, parameter: Parameter) -> JsonValue:
        """A value for an optional input, where leaving it out would lose what is known.

        The words of a search; how many people the rest of the goal speaks of; the file that an
        earlier leg was to fetch; when and where, if what is to be recorded took its date from one.
        """
        if parameter.kind is Kind.QUERY and not self.tool.is_side_effect:
            text = self._composed(parameter)
            # What is filtered by already is not searched for as well.
            used = {s for v in self.draft.values.values() for s in content_stems(str(v))}
            return None if used.issuperset(content_stems(str(text))) else text
        if parameter.kind is Kind.COUNT and set(parameter.words) & lexicon.PEOPLE:
            return self._from_goal(parameter)
        if parameter.kind is Kind.FILE:
            return self._from_facts(parameter)
        if not self.tool.is_side_effect or parameter.kind not in _WHEN_AND_WHERE:
            return None
        values = self.draft.values
        dated = [p for p in self.draft.parameters if p.required and p.kind in DAYS]
        if any(values[p.name] == self._from_facts(p) for p in dated if p.name in values):
            return self._from_facts(parameter)
        return None

    def _from_clause(self, parameter: Parameter) -> JsonValue:
        """What the clause states, but no id that stands elsewhere in the call or was refused."""
        said = (*self.situation.hints, self.situation.utterance)
        value = value_from_utterances(parameter, said, self.draft)
        if parameter.kind is Kind.DATETIME and self._is_hourless(said):
            return None
        if (
            not parameter.required
            and not self.tool.is_side_effect
            and is_one_of_several(parameter, said)
        ):
            return None  # what is found is held against all that are named
        if parameter.kind is not Kind.IDENTIFIER or value is None:
            return value
        refused = (o.arguments.get(parameter.name) for o in self.situation.refused(self.tool))
        return None if value in (*self.draft.values.values(), *refused) else value

    def _of_the_pair(self, parameter: Parameter) -> JsonValue:
        """What a cancel is always sent where it stands for one: `status: cancelled` of a change."""
        cancels = self.situation.utterance.reading.action is Action.CANCEL
        maker = self.situation.catalog.tools.get(self.tool.cancel_for or "")
        if not cancels or maker is None or maker.compensation is None:
            return None
        written = maker.compensation.cancel.arguments.get(parameter.name)
        if written is None or parse_filling(written).expressions:
            return None
        return parameter.first_accepted(written)

    def _as_changed(self, parameter: Parameter) -> JsonValue:
        """What it is to become, of a thing that is changed."""
        if not self.tool.is_side_effect:
            return None
        return changed_value(parameter, self.situation.utterance.becomes, self.draft.parameters)

    def _listed(self, parameter: Parameter) -> JsonValue:
        return items_stated(parameter, self.tool, self.situation.utterance)

    def _from_facts(self, parameter: Parameter) -> JsonValue:
        facts = self.situation.facts_for(self.tool)
        return value_from_facts(parameter, facts, now=self.situation.context.now)

    def _from_goal(self, parameter: Parameter) -> JsonValue:
        """What the other clauses say; a stretch of time comes whole from one clause if it can."""
        clauses = self.situation.other_utterances
        kin = [p for p in self.draft.parameters if p.required and p.kind is parameter.kind]
        ends = [p for p in kin if p.side is not None]
        if parameter in ends:
            bare = ArgumentDraft(self.draft.parameters)
            whole = [u for u in clauses if all(value_from_utterances(p, [u], bare) for p in ends)]
            clauses = (*whole, *clauses)
            if parameter.side == "end" and self.draft.start is not None:
                clauses = (self.situation.utterance, *clauses)
        if parameter.kind is Kind.DATETIME and self._is_hourless(clauses):
            return None
        if parameter.kind is Kind.IDENTIFIER and not self._points_back():
            # An id that stands elsewhere is meant where its noun says so: no channel is "INV-7".
            parameter = replace(parameter, required=False)
        return value_from_utterances(parameter, clauses, self.draft)

    def _points_back(self) -> bool:
        """Whether what the clause does is done to what was spoken of: "and close it"."""
        clause = self.situation.utterance.text
        return bool(reference_in(clause[: matter_start(clause)]))

    def _is_hourless(self, said: Sequence[Utterance]) -> bool:
        """Whether a consequence would begin or end at midnight for want of a time that was said."""
        return self.tool.is_side_effect and not any(u.of("time") for u in said)

    def _composed(self, parameter: Parameter) -> JsonValue:
        return composed_text(parameter, self.tool, self.situation)

    def _object(self, parameter: Parameter) -> JsonValue:
        """An object of which every required property can be filled; None for anything else."""
        if parameter.kind is not Kind.OBJECT:
            return None
        draft = self.inside(parameter)
        return draft.values if not draft.missing and parameter.accepts(draft.values) else None

    def inside(self, parameter: Parameter) -> ArgumentDraft:
        """The properties of an object, and the values that they have so far."""
        draft, clause = ArgumentDraft(parameter.fields), self.situation.utterance
        for part in draft.open_inputs():
            clauses = (clause, *(self.situation.other_utterances if part.required else ()))
            value = _given(part, self.situation)
            if value is None and self.tool.is_side_effect:
                value = changed_value(part, clause.becomes, parameter.fields)
            hourless = part.kind is Kind.DATETIME and self._is_hourless(clauses)
            if value is None and not hourless:
                value = value_from_utterances(part, clauses, draft)
            if value is None:
                value = self._object(part)
            if value is None and part.required:
                value = self._from_facts(part)
            draft.add(part, value)
        return draft

    def _assumed(self, parameter: Parameter) -> JsonValue:
        """The contract's default, or what goes without saying."""
        context = self.situation.context
        if (default := parameter.schema.get("default")) is not None:
            return default
        if parameter.kind is Kind.COUNT and set(parameter.words) & _ALONE:
            return parameter.first_accepted(1)
        if parameter.kind is Kind.COUNT and set(parameter.words) & _BOUGHT:
            is_one = _ONE.match(without_lead(self.situation.utterance.text))
            return parameter.first_accepted(1) if is_one else None
        if parameter.kind is Kind.CURRENCY and context.budget_left is not None:
            return parameter.first_accepted(context.budget_left.currency)
        if parameter.kind is Kind.TIME_ZONE:
            return parameter.first_accepted(str(context.now.tzinfo or "UTC"), "UTC")
        return None


def _given(parameter: Parameter, situation: Situation) -> JsonValue:
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
