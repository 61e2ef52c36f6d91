"""For how many things a leg calls its tool, and whether it must be the very ones that are meant."""

from dataclasses import dataclass
from typing import Final

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.language.deeds import same_deed
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.quantifiers import all_of, for_each, place_in, plural_nouns, vague_number
from orchestrator.language.words import name_stems, stem, verb_named
from orchestrator.planning.order_terms import count_of
from orchestrator.planning.rules.parameters import Parameter, tool_parameters
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.tool_words import vocabulary
from orchestrator.planning.several import counted

_OFFERED: Final = frozenset({"structured-itinerary", "structured-order", "structured-reservation"})
"""Cards of what is made out of an offer, of which another one does as well."""
_OFFERS: Final = ("book", "buy")
_TO_WHAT_IS: Final = frozenset({Action.CANCEL, Action.UPDATE, Action.PAY, Action.SEND})
"""Deeds to what is there, and to whom, whatever card they stop at."""
_MAKING: Final = frozenset({Effect.OBLIGATION, Effect.WRITE})


@dataclass(frozen=True)
class HowMany:
    """How many calls are asked for."""

    number: int | None = 1
    """None: one for each thing that there is."""
    is_exact: bool = False
    """Whether there are to be as many things and no more: "both", "the three drafts"."""
    is_vague: bool = False
    """Whether how many of them are meant is not said: "a few drafts"."""
    things: frozenset[str] = frozenset()
    """Stems of the words for what is counted."""

    def is_of(self, key: Parameter, tool: Tool) -> bool:
        """Whether what is counted are the things that an input tells apart.

        Three messages to Ana are three of what the tool makes, and Ana is one; of all files that
        are moved to a folder the folder is one.
        """
        inputs = [p for p in tool_parameters(tool) if p.is_produced]
        named = [p.name for p in inputs if self.things & {stem(word) for word in p.words}]
        if named or len(inputs) > 1:
            return key.name in (named or [inputs[0].name])
        return self.number is None or not self.things & {*name_stems(tool.name)}

    @property
    def is_several(self) -> bool:
        """Whether one call is not enough."""
        return self.number != 1


ONE: Final = HowMany()


def how_many(tool: Tool, situation: Situation) -> HowMany:
    """How many calls of a tool the leg's clause asks for, as the engine counts them.

    What changes or ends things that are there, or is for somebody, and is said of several without a
    number is for all of them.
    """
    if not tool.is_side_effect:
        return ONE
    clause = situation.utterance.reading
    number = count_of(clause, [tool], [tool.name], situation.catalog)
    place = place_in(clause.text)
    if number > 1 and not (needs_the_very_one(tool) and vague_number(clause)):
        found = counted(clause)
        exact = found is not None and found.is_definite and place is None
        things = frozenset({stem(singular(found.thing))} if found is not None else ())
        return HowMany(number, is_exact=exact and needs_the_very_one(tool), things=things)
    if place is not None:
        return HowMany(place.number)
    vague = needs_the_very_one(tool) and bool(vague_number(clause))
    is_all = needs_the_very_one(tool) and (all_of(clause) or _is_plural(tool, situation))
    if is_all or vague or for_each(clause):
        nouns = (*clause.objects, *plural_nouns(clause))
        return HowMany(
            None, is_vague=vague, things=frozenset(stem(singular(n.lower())) for n in nouns)
        )
    return ONE


def counted_note(tool: Tool, situation: Situation) -> list[str]:
    """Which of how many calls the next one is, for whoever decides on it."""
    asked = how_many(tool, situation)
    if not asked.is_several:
        return []
    number = 1 + sum(seen.outcome == "succeeded" for seen in situation.tried(tool))
    return [f"number {number} of {'all that are meant' if asked.number is None else asked.number}"]


def needs_the_very_one(tool: Tool) -> bool:
    """Whether one of several things that fit is no better than none: a person must choose.

    What ends or changes something that is there, or pays or tells somebody, does so to what is
    meant and to nothing else. Only of offers one is as good as another: what is booked, reserved,
    rented, ordered or bought.
    """
    if not tool.is_side_effect:
        return False
    if tool.effect not in _MAKING or tool.method in ("PUT", "PATCH", "DELETE"):
        return True
    verb, action = verb_named(tool.name, tool.summary, but=tool.domain, method=tool.method)
    if action in _TO_WHAT_IS:
        return True
    return tool.card_type not in _OFFERED and not any(same_deed(verb, deed) for deed in _OFFERS)


def _is_plural(tool: Tool, situation: Situation) -> bool:
    """Whether the clause acts on several of what some tool of the domain deals in."""
    nouns = {stem(singular(noun)) for noun in plural_nouns(situation.utterance.reading)}
    domain = [t for t in situation.catalog.tools.values() if t.domain == tool.domain]
    return bool(nouns) and any(nouns & vocabulary(other) for other in domain)
