"""Values for a tool's inputs out of answers: which thing of which answer gives its values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.inflection import singular
from orchestrator.language.words import stem, tokens
from orchestrator.planning.models import Fact, Observation
from orchestrator.planning.rules.answers import Item, answer_fields, read_items
from orchestrator.planning.rules.argument_draft import ArgumentDraft, Lack
from orchestrator.planning.rules.hints import Followed, follow, wants_another
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.planning.rules.ranking import Ranking, Wish, rank_items
from orchestrator.planning.rules.sentences import details
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.tool_words import generic_words, vocabulary
from orchestrator.planning.rules.utterance import Utterance, read_utterance
from orchestrator.planning.rules.utterance_sources import may_fill_optional, value_from_utterances

_NOT_FROM_ITEMS: Final = frozenset({Kind.TEXT, Kind.TITLE, Kind.QUERY, Kind.OBJECT, Kind.CONSTANT})
_LOOSE: Final = frozenset({Kind.QUERY, Kind.TEXT, Kind.TITLE})
"""Words searched for; the other arguments hold of all that is found by them."""
_MAX_ALTERNATIVES: Final = 50
_MAX_CHOICES: Final = 12


def add_from_answers(tool: Tool, stated: ArgumentDraft, situation: Situation) -> Lack | None:
    """Add what answers give the required inputs: all that one thing has are taken from it.

    A call that nobody will be asked to confirm is not made on a guess between several things, and
    no call on a thing of which nothing says that it is what was asked for.

    Returns:
        Why nothing was added: none of the things will do, or a person must choose between them.
    """
    lacking = [p for p in stated.parameters if p.required and p.name not in stated.values]
    call = _Call(tool, lacking, stated.values, situation)
    values: JsonObject = {}
    for items, finder, is_own in call.pools():
        left = [p for p in call.inputs if p.name not in values]
        wanted = [p for p in left if p.is_produced or (is_own and p.kind not in _NOT_FROM_ITEMS)]
        offered = [i for i in items if (g := _gives(i, wanted)) and not call.is_not_meant(g)]
        if not offered:
            continue
        ranking = rank_items(_distinct(offered, wanted), call.wish(finder))
        may = call.instead(ranking, wanted)
        fresh = [i for i in may if not call.has_failed_with(_gives(i, wanted))]
        if not fresh:
            return Lack(reason=call.why_none(ranking))
        followed = call.follow_hints(fresh, wanted, finder)
        if followed.refusal or not followed.is_read:
            return Lack(_choices(wanted, fresh), note=followed.refusal or _unread(situation))
        fresh = list(followed.items)
        if not ranking.is_meant:
            return Lack(_choices(wanted, fresh))
        if ranking.tied > 1 and tool.is_side_effect and not tool.needs_confirmation:
            return Lack(_choices(wanted, fresh[: ranking.tied]))
        values |= _gives(fresh[0], [p for p in left if p.kind in (Kind.TITLE, Kind.TEXT)])
        values |= _gives(fresh[0], wanted)
        stated.notes.append(_why_this(fresh, finder, situation))
    stated.values.update(values)
    return None


@dataclass(frozen=True)
class _Call:
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
        for answer in answers:
            finder = self.situation.catalog.tool(answer.tool)
            loose = {p.name for p in tool_parameters(finder) if p.kind in _LOOSE}
            asked = {name: v for name, v in answer.arguments.items() if name not in loose}
            if not self._is_outdated(answer, finder):
                items = read_items(answer.body, tool=finder, asked=asked)
                yield items, finder, isinstance(answer, Observation)

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
        refused = (i for i in ranking.items if _is_in(refusal, _gives(i, wanted)))
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
                if _is_in(refusal, _gives(item, wanted)):
                    return item
        return None

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
            dull=frozenset(generic | shared),
            kind=self._kind_asked(finder),
            buying=self.tool.effect in (Effect.OBLIGATION, Effect.WRITE),
            budget_left=self.situation.context.budget_left,
        )

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
        words = self.situation.utterance.direct_object
        if not words or not self.tool.is_side_effect:
            return ""
        noun = stem(words[-1].lower())
        used = {stem(word) for value in self.stated.values() for word in tokens(str(value))}
        if noun in vocabulary(self.tool) | vocabulary(finder) | used:
            return ""
        for seen in self.situation.context.observations:
            told = [*seen.arguments.values(), seen.body if seen.tool != finder.name else None]
            if any(noun in map(stem, tokens(str(value))) for value in told):
                return ""
        return noun


def _is_in(refusal: Observation, given: JsonObject) -> bool:
    """Whether a call was made with what a thing gives."""
    return bool(given) and all(refusal.arguments.get(k) == v for k, v in given.items())


def _unread(situation: Situation) -> str:
    said = situation.hints[0].text if situation.hints else ""
    return f"nothing that was found is told apart by {said!r}"


def _why_this(fresh: Sequence[Item], finder: Tool, situation: Situation) -> str:
    """Why the first of the things is proposed, for the person who decides."""
    hints = [repr(hint.text) for hint in situation.hints]
    asked = f"what was asked for ({', '.join(reversed(hints))})" if hints else "what was asked for"
    if len(fresh) == 1:
        return f"the only one left of what {finder.title!r} found, by {asked}"
    return f"the first of {len(fresh)} that {finder.title!r} found, by {asked} and then by price"


def names_beside(nouns: frozenset[str], utterance: Utterance) -> list[str]:
    """Names, quoted words and ids beside a noun of these stems: "the Archive folder"."""
    found: list[str] = []
    for slot in utterance.of("name", "quoted", "identifier", "place"):
        value = str(slot.value)
        following = utterance.text[slot.position + len(slot.text) :][:40]
        beside = {stem(w) for w in tokens(following)[:1]}
        if slot.kind != "place":
            beside.add(stem(slot.hint))
        if beside & nouns and not value.islower():
            found.append(value)
    return found


def _choices(wanted: list[Parameter], items: list[Item]) -> tuple[Parameter, ...]:
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
