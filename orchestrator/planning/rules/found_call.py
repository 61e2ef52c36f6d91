"""A call that values are looked for: the things that answers hold for it, and which are meant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import matter_start
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.quantifiers import place_in
from orchestrator.language.words import stem, tokens
from orchestrator.planning.models import Fact, Observation
from orchestrator.planning.rules.answers import Item, answer_fields, read_items
from orchestrator.planning.rules.argument_draft import ArgumentDraft
from orchestrator.planning.rules.hints import Followed, follow, wants_another
from orchestrator.planning.rules.how_many import needs_the_very_one
from orchestrator.planning.rules.moments import moment_of
from orchestrator.planning.rules.narrowing import narrowed
from orchestrator.planning.rules.order_of_things import in_order, placed
from orchestrator.planning.rules.pages import (
    answered,
    is_later_page,
    next_page,
    pages_of,
    without_repeats,
)
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.planning.rules.ranking import Ranking, Wish
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.telling import the_one_told
from orchestrator.planning.rules.thing_choices import gives
from orchestrator.planning.rules.tool_words import generic_words, vocabulary
from orchestrator.planning.rules.utterance import Utterance, read_utterance
from orchestrator.planning.rules.utterance_sources import may_fill_optional, value_from_utterances

_LOOSE: Final = frozenset({Kind.QUERY, Kind.TEXT, Kind.TITLE})
"""Words searched for; the other arguments hold of all that is found by them."""
_WHERE_TO: Final = frozenset({"to", "in", "into", "onto"})


@dataclass(frozen=True)
class FoundCall:
    """The call that values are looked for: its required inputs without one, and what is stated."""

    tool: Tool
    inputs: list[Parameter]
    stated: JsonObject
    situation: Situation

    def pools(self) -> Iterator[tuple[list[Item], Tool, bool]]:
        """Things, the tool that answered with them, and whether this leg called it.

        Those of this leg come first, the newest call before all, then those of earlier legs.
        """
        context = self.situation.context
        found = (o for o in context.observations if o.outcome == "succeeded" and not o.side_effect)
        own = [seen for seen in found if seen.tool != self.tool.name]
        facts = [source.fact for source in self.situation.facts_for(self.tool)]
        answers: tuple[Observation | Fact, ...] = (*reversed(own), *reversed(facts))
        before = [_as_seen(fact) for fact in facts]
        paged: set[tuple[str, bool]] = set()
        for answer in answers:
            finder = self.situation.catalog.tool(answer.tool)
            is_own = isinstance(answer, Observation)
            pages = pages_of(finder, own if is_own else before)
            if len(pages) > 1 and not self._is_outdated(answer, finder):
                is_whole = is_own or not self._is_cut(pages, finder)
                if (finder.name, is_own) not in paged and is_whole:
                    kept = without_repeats(finder, pages)
                    told = (read_items(p.body, tool=finder, asked=p.arguments) for p in kept)
                    yield [item for items in told for item in items], finder, is_own
                paged.add((finder.name, is_own))
                continue
            loose = {p.name for p in tool_parameters(finder) if p.kind in _LOOSE}
            asked = {name: v for name, v in answer.arguments.items() if name not in loose}
            if isinstance(answer, Fact) and self._is_cut([_as_seen(answer)], finder):
                continue  # it is searched for again, to the last page
            if not self._is_outdated(answer, finder):
                items = read_items(answer.body, tool=finder, asked=asked)
                yield items, finder, is_own

    def _is_cut(self, pages: Sequence[Observation], finder: Tool) -> bool:
        """Whether an earlier leg was told only some of the things of which the right one is."""
        if is_later_page(finder, pages[0].arguments):
            return True  # a leg tells what it found last, and no page before that
        return needs_the_very_one(self.tool) and bool(next_page(finder, pages))

    def is_not_meant(self, given: JsonObject) -> bool:
        """Whether a thing is of this mission, and the clause means another one."""
        meant = self.situation.facts_for(self.tool)
        others = [source for source in self.situation.facts if source not in meant]
        return any(v in source.fields.values() for source in others for v in given.values())

    def _is_outdated(self, answer: Observation | Fact, finder: Tool) -> bool:
        """Whether a person has asked since for something else than what was looked for."""
        said = ArgumentDraft(tool_parameters(finder))
        for parameter in said.open_inputs() if self.situation.hints else ():
            if parameter.required or may_fill_optional(parameter):
                said.add(parameter, value_from_utterances(parameter, self.situation.hints, said))
        return any(answer.arguments.get(name) != value for name, value in said.values.items())

    def instead(self, ranking: Ranking, wanted: list[Parameter]) -> Sequence[Item]:
        """The things that may be proposed: after a plain no, those that fit the request as well.

        A person who does not want the one channel that is called so wants no other; a hint may ask
        for anything.
        """
        refusal = next(iter(self.situation.refused_by_people(self.tool)), None)
        if refusal is None or refusal.sent_back:
            return ranking.items
        refused = (i for i in ranking.items if is_in(refusal, gives(i, wanted)))
        return next((ranking.as_fitting_as(item) for item in refused), ranking.items)

    def follow_hints(
        self, fresh: Sequence[Item], wanted: list[Parameter], finder: Tool
    ) -> Followed:
        """The things that are left when what people asked for instead is followed."""
        seen = self.situation.refused_by_people(self.tool)
        followed = Followed(tuple(fresh))
        for refusal in reversed([one for one in seen if one.hint]):
            hint = read_utterance(refusal.hint, now=self.situation.context.now)
            followed = follow(hint, followed.items, self._refused_thing(refusal, wanted))
            if followed.refusal:
                return followed
        if followed.is_read or not seen or not seen[0].sent_back:
            return replace(followed, is_read=True)
        return replace(followed, is_read=self._is_heeded(seen[0], finder))

    def _is_heeded(self, refusal: Observation, finder: Tool) -> bool:
        """Whether a value of a hint has changed the call, or what is looked for before it."""
        again = any(one.step > refusal.step for one in self.situation.tried(finder))
        said = refusal.arguments
        return again or any(said.get(name) != value for name, value in self.stated.items())

    def _refused_thing(self, refusal: Observation, wanted: list[Parameter]) -> Item | None:
        """The thing that was proposed in a call that a person refused."""
        context = self.situation.context
        own = [o for o in context.observations if o.outcome == "succeeded" and not o.side_effect]
        answers: tuple[Observation | Fact, ...] = (*reversed(own), *reversed(context.facts))
        for answer in answers:
            finder = self.situation.catalog.tool(answer.tool)
            for item in read_items(answer.body, tool=finder, asked=answer.arguments):
                if is_in(refusal, gives(item, wanted)):
                    return item
        return None

    def heeded(self, finder: Tool) -> JsonObject:
        """What the things were searched by, and what goes into the call beside them."""
        asked: JsonObject = {}
        facts = [s.fact for s in self.situation.facts if s.fact.tool == finder.name]
        answers: list[Observation | Fact] = [*self.situation.tried(finder), *facts]
        for seen in answers:
            asked = {**seen.arguments, **asked}
        named = {w for s in self.situation.utterance.of("identifier") for w in tokens(s.text)}
        for name in (p.name for p in tool_parameters(finder) if p.kind in _LOOSE):
            # What is found by one of its words need not bear the others: a name is held against it.
            said = [word for word in tokens(str(asked.get(name, ""))) if word not in named]
            asked |= {name: " ".join(said)} if name in asked else {}
        return {**asked, "": self._of_another(finder), **self.stated}

    def spoken_of(self, items: list[Item], finder: Tool) -> list[Item]:
        """Of found things those that the clause means that was about them, where this points back.

        "List my bookings in March and cancel them" cancels those in March.
        """
        if not reference_in(self.situation.utterance.text):
            return items
        # "Rex stays from Monday, please book it" says of what it is to be booked.
        looks = (Action.READ, Action.SEARCH, Action.UNKNOWN)
        others = self.situation.other_utterances
        found = next((u for u in others if u.reading.action in looks), None)
        if found is None:
            return items
        if (one := self._told_before(items, finder, found)) is not None:
            return [one]
        if needs_the_very_one(self.tool) or not all(map(is_offer, items)):
            used, known = self.heeded(finder), self.known(finder)
            meant = narrowed(items, found, used=used, known=known, text=found.text)
            items = list(meant.items)
        place = place_in(found.text)
        order, doubt = in_order(items, place.order) if place else (items, "")
        return placed(order, place) if place and not doubt else items

    def _told_before(self, items: list[Item], finder: Tool, asked: Utterance) -> Item | None:
        """The one thing that somebody was told of who had asked: "which is due next? Pay it"."""
        seen = self.situation.context.observations
        facts = [_as_seen(s.fact) for s in self.situation.facts if s.fact.tool == finder.name]
        told = answered(finder, seen) or answered(finder, facts)
        if told is None:
            return None
        one = the_one_told(finder, told.arguments, told.body, asked)
        if one is None:
            return None
        own = {k: v for k, v in one.items() if not isinstance(v, list)}
        held = [item for item in items if all(item.plain.get(k) == v for k, v in own.items())]
        return held[0] if len(held) == 1 else None

    def known(self, finder: Tool) -> frozenset[str]:
        """Stems of the words in which the tools of the things speak of themselves."""
        return frozenset(vocabulary(self.tool) | vocabulary(finder))

    def wish(self, finder: Tool) -> Wish:
        """What is asked of a thing that `finder` found: what it was searched by, what is stated."""
        asked: JsonObject = {}
        for seen in self.situation.tried(finder):
            asked = {**seen.arguments, **asked}
        choices = (p.name for p in tool_parameters(finder) if p.kind is Kind.CHOICE)
        summaries = tokens(f"{self.tool.summary} {finder.summary}")
        own = tokens(f"{self.tool.summary} {' '.join(self.tool.intent_tags)}")
        shared = {stem(word) for word in summaries} & {stem(word) for word in own}
        generic = {stem(w) for w in (*generic_words(self.tool), *generic_words(finder))}
        return Wish(
            utterance=self.situation.utterance,
            stated={**asked, **self.stated},
            strict=frozenset(choices),
            named=tuple(dict.fromkeys(self._names(finder))),
            dull=frozenset(generic | shared | {*map(stem, tokens(self._of_another(finder)))}),
            kind=self._kind_asked(finder),
            buying=self.tool.effect in (Effect.OBLIGATION, Effect.WRITE),
            budget_left=self.situation.context.budget_left,
        )

    def _of_another(self, finder: Tool) -> str:
        """The words of a clause that say which is the other one of the things that a call takes.

        "Put the contract in Archive" means none that is there, and "from Travel to Archive" is to
        go to the second of them: what is acted on is the first input, where it goes another.
        """
        produced = [p for p in tool_parameters(self.tool) if p.required and p.is_produced]
        own = [p for p in produced if p.name in answer_fields(finder)]
        utterance = self.situation.utterance
        slots = utterance.of("name", "place", "quoted")
        goes_to = [slot.text for slot in slots if slot.hint in _WHERE_TO]
        if len(produced) < 2 or not own or not goes_to:
            return ""
        if produced[0] in own:
            return " ".join(goes_to)
        rest = utterance.text
        for text in goes_to:
            rest = rest.replace(text, " ")
        return rest

    def has_failed_with(self, given: JsonObject) -> bool:
        """Whether a call with these values failed, or, of a reading tool, was made at all."""
        tried, refused = self.situation.tried, self.situation.refused
        before = refused(self.tool) if self.tool.is_side_effect else tried(self.tool)
        if any(all(o.arguments.get(k) == v for k, v in given.items()) for o in before):
            return True
        # What a person refused may be right at another time, or for more people.
        whole = given if wants_another(self.situation.hints) else {**self.stated, **given}
        people = self.situation.refused_by_people(self.tool)
        return any(all(o.arguments.get(k) == v for k, v in whole.items()) for o in people)

    def why_none(self, ranking: Ranking) -> str:
        """Why none of the things will do."""
        if ranking.refusal:
            return ranking.refusal
        number = len(ranking.items)
        error = next((o.error for o in self.situation.tried(self.tool) if o.error), None)
        if error:
            return f"each of the {number} that were found was refused; the last: {error}"
        return f"{number} were found, and none led any further"

    def _names(self, finder: Tool) -> Iterator[str]:
        """What the user calls the thing: by its noun, or by an id that the tool has refused."""
        held = answer_fields(finder)
        own = [p for p in self.inputs if {p.name, singular(p.name)} & held]
        words = (*(w for p in own for w in p.words), *generic_words(finder))
        nouns = frozenset(stem(w) for w in words) - {stem(w) for w in lexicon.IDENTIFIER}
        utterance = self.situation.utterance
        used = {str(value) for value in self.stated.values()}
        yield from (name for name in names_beside(nouns, utterance) if name not in used)
        ids = {str(slot.value) for slot in utterance.of("identifier")}
        for seen in self.situation.refused(self.tool):
            yield from (str(v) for v in seen.arguments.values() if str(v) in ids)

    def _kind_asked(self, finder: Tool) -> str:
        """The noun that a thing must bear; '' where a tool or an earlier step deals in it."""
        named = self.situation.utterance.of("identifier", "quoted", "email")
        called = {word for slot in named for word in slot.text.split()}
        words = [w for w in self.situation.utterance.direct_object if w not in called]
        if not words or not self.tool.is_side_effect:
            return ""
        noun = stem(words[-1].lower())
        used = {stem(word) for value in self.stated.values() for word in tokens(str(value))}
        known = vocabulary(self.tool) | vocabulary(finder) | used
        if noun in known or known.issuperset(map(stem, words[-1].lower().split("-"))):
            return ""
        for seen in self.situation.context.observations:
            told = [*seen.arguments.values(), seen.body if seen.tool != finder.name else None]
            if any(noun in map(stem, tokens(str(value))) for value in told):
                return ""
        return noun


def _as_seen(fact: Fact) -> Observation:
    return Observation(
        step=0, tool=fact.tool, arguments=fact.arguments, body=fact.body, outcome="succeeded"
    )


def is_in(refusal: Observation, given: JsonObject) -> bool:
    """Whether a call was made with what a thing gives."""
    return bool(given) and all(refusal.arguments.get(k) == v for k, v in given.items())


def is_offer(item: Item) -> bool:
    """Whether a thing is there to be taken, as one with a price or a time is; no person or animal.

    Who a booking is for is never "the first of several", however the offers are ordered.
    """
    return item.price is not None or bool(moment_of(item))


def names_beside(nouns: frozenset[str], utterance: Utterance) -> list[str]:
    """Names, quoted words and ids beside a noun of these stems: "the Archive folder".

    What somebody is told names nothing: "tell the travel channel "In Rome"".
    """
    found: list[str] = []
    told = matter_start(utterance.text)
    for slot in utterance.of("name", "quoted", "identifier", "place"):
        if told is not None and slot.position >= told:
            continue
        value = str(slot.value)
        following = utterance.text[slot.position + len(slot.text) :][:40]
        beside = {stem(w) for w in tokens(following)[:1]}
        if slot.kind != "place":
            beside.add(stem(slot.hint))
        if beside & nouns and not value.islower():
            found.append(value)
    return found
