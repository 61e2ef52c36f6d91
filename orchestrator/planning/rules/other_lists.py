"""The lists in which a question is looked up that names what no tool is known to tell of.

"When is fencing" is told by whatever list has fencing in it: the name stands in what is found, and
in no contract. Few lists are looked at, of those that may tell the kind of value that is asked for.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, chain, groupby, islice, pairwise
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.clauses import question_in
from orchestrator.language.degrees import DEGREE_WORDS, degrees_in
from orchestrator.language.owing import who_owes
from orchestrator.language.units import unit_of
from orchestrator.language.words import QUESTION_WORDS, STOP_WORDS, content_stems, stem, tokens
from orchestrator.planning.models import (
    CallTool,
    DiscoverTools,
    Finish,
    Observation,
    StepDecision,
)
from orchestrator.planning.rules.answers import answer_fields
from orchestrator.planning.rules.field_listers import AUXILIARIES, NUMBERS, needs_nothing
from orchestrator.planning.rules.next_call import next_call
from orchestrator.planning.rules.pages import Answered, answered, pages_of, rest_of
from orchestrator.planning.rules.parameters import DAYS, Kind, Parameter
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.tellers import (
    NO_THING,
    TELLS,
    fields_of,
    lists_of_payer,
    unknown_words,
    without_values,
)
from orchestrator.planning.rules.telling import Telling, names_borne, number_found, tell
from orchestrator.planning.rules.telling.bearing import Borne
from orchestrator.planning.rules.telling.inquiry import (
    AVAILABLE,
    DULL,
    PERSON,
    WHEREABOUTS,
    kind_asked,
)
from orchestrator.planning.rules.tool_words import is_named
from orchestrator.planning.rules.utterance import Utterance
from orchestrator.saga.judged import is_empty

_MOST_PAGES: Final = 5
"""Of one of several lists."""
MOST_LISTS: Final = 8
"""More are not looked at: where so many may tell, none is known to."""

_NAMES: Final = frozenset({"name", "quoted", "identifier"})
_PLAIN: Final = DULL - {"has", "have"}
"""Second words of questions that may be about anything: "how much", "what is"."""
_NOT_ALIKE: Final = 1
"""The least that a list may leave open: the words that a question begins with."""
_MOST_TOLD: Final = 3


def other_lists(utterance: Utterance, tools: Iterable[Tool]) -> list[list[Tool]]:
    """The lists to look in for what a question names, those that are alike together; mostly none.

    Each needs to be told nothing and holds things with names. Those come first that may tell the
    kind of value that is asked for, in the question's own words, and those that speak of most of
    it; where there are too many, the first alone count.

    Args:
        utterance: the question; none are looked at for what is no question, or names nothing.
        tools: that may be called.
    """
    text, slots, asked = question_in(utterance.text), utterance.slots, _Asked.by(utterance)
    is_asked = bool({*asked.begins[:1]} & (QUESTION_WORDS | AUXILIARIES))
    is_asked = is_asked or bool(degrees_in(text))
    if not is_asked:
        return []
    dull = STOP_WORDS | QUESTION_WORDS | DULL | DEGREE_WORDS | NO_THING
    said = [word for word in tokens(without_values(text, slots)) if word not in dull]
    if not said and not any(slot.kind in _NAMES for slot in slots):
        return []

    def remoteness(tool: Tool) -> tuple[int, int]:
        return asked.left_open_by(tool), len(unknown_words(said, [tool]))

    able = sorted(filter(needs_nothing, tools), key=remoteness)
    able = lists_of_payer(able, text) or able
    groups = [[*group] for _, group in groupby(able, key=remoteness)]
    if len(able) > MOST_LISTS:
        number = [*accumulate(map(len, groups))]
        groups = [g for g, so_far in zip(groups, number, strict=True) if so_far <= MOST_LISTS]
        if not any(slot.kind in _NAMES for slot in slots):
            near = (asked.is_told_by(g[0]) or unknown_words(said, g) != said for g in groups[:1])
            groups = groups[:1] if all(near) else []
    return groups


def look_on(situation: Situation, but: Tool | None = None) -> StepDecision | None:
    """The next list to look in, or the answer once enough were; None where there are none.

    Enough were when what is named was found where what is asked is told, in all lists that are as
    likely. Nothing is told of a list in which it was not found but that it was looked at.

    Args:
        situation: of the step.
        but: the tool that was nearest; what it answered, where it was called, was not enough. Of
            what it is named by, only lists that are named so as well are looked at, and for what
            stands before its name: "dentist appointment".
    """
    seen = [*_answer(but, situation, is_first=True)] if but is not None else []
    stems = content_stems(situation.utterance.without_values)
    # "Is Bo free" is of Bo, and of no list of what is free.
    said = [word for word in stems if word not in map(stem, AVAILABLE)]
    is_said = bool(seen) and but is not None and is_named(but, said)
    # Whom we owe is in none of the lists of who owes us, whatever these are called.
    is_said = is_said and who_owes(situation.utterance.text) is None
    if is_said and but is not None and not _qualified(but, seen[0].borne.words, situation):
        return None
    asked = _Asked.by(situation.utterance)
    for group in other_lists(situation.utterance, situation.usable_tools):
        for tool in group:
            if tool is but or (is_said and not is_named(tool, stems)):
                continue
            step = _look(tool, situation)
            if step is not None:
                return step
            seen += _answer(tool, situation)
        if any(one.borne.is_enough and asked.is_surely_told_by(one.tool) for one in seen):
            break
    is_found = any(one.borne.borne for one in seen)
    is_vain = is_said or (len(seen) == 1 and seen[0].tool is but and is_empty(seen[0].answer.body))
    return _told(seen, situation) if seen and (is_found or not is_vain) else None


def tell_of(tool: Tool, seen: Observation, situation: Situation) -> Telling:
    """What a tool told, all pages that were looked at as one."""
    said = situation.utterance
    if (found := _whole(tool, seen, situation)) is None:
        return tell(tool, seen.arguments, seen.body, said)
    return tell(tool, found.arguments, found.body, said, is_whole=found.is_whole)


def borne_by(
    tool: Tool, seen: Observation, situation: Situation, *, sent: JsonObject | None = None
) -> Borne:
    """What of that by which the request names things is in what a tool told, on all pages."""
    found = _whole(tool, seen, situation)
    body = seen.body if found is None else found.body
    arguments = seen.arguments if sent is None else sent
    return names_borne(tool, arguments, body, situation.utterance)


def _whole(tool: Tool, seen: Observation, situation: Situation) -> Answered | None:
    """All pages that an answer is one of; None where it is of another search than the newest."""
    pages = pages_of(tool, situation.context.observations)
    if len(pages) < 2 or seen not in pages:
        return None
    return answered(tool, situation.context.observations)


def is_looking(situation: Situation, target: Tool) -> bool:
    """Whether a leg has begun with such a list, and not to find what its target needs."""
    first = next(iter(situation.context.observations), None)
    begun = situation.catalog.tools.get(first.tool) if first else None
    if begun is target or (begun and answer_fields(begun) & {*target.required_inputs}):
        return False
    groups = other_lists(situation.utterance, situation.usable_tools) if first else []
    names = {tool.name for group in groups for tool in group}
    return first is not None and bool(names & {first.tool, str(first.arguments.get("query"))})


@dataclass(frozen=True)
class _Seen:
    """What a list answered, and what of the question was found in it."""

    tool: Tool
    answer: Observation
    borne: Borne


def _answer(tool: Tool, situation: Situation, *, is_first: bool = False) -> Iterator[_Seen]:
    """What it told last, where it was called; other lists are searched in vain by words, too."""
    done = (seen for seen in situation.tried(tool) if seen.outcome == "succeeded")
    for seen in islice(done, 1):
        sent = seen.arguments if is_first else {}
        yield _Seen(tool, seen, borne_by(tool, seen, situation, sent=sent))


def _qualified(tool: Tool, words: Collection[str], situation: Situation) -> bool:
    """Whether one of the words stands before a noun that names the tool."""
    pairs = pairwise(tokens(situation.utterance.text))
    return any(before in words and is_named(tool, [stem(noun)]) for before, noun in pairs)


def _look(tool: Tool, situation: Situation) -> CallTool | DiscoverTools | None:
    """The call of a list, or the search that makes it known; None where neither helps any more."""
    if next(situation.tried(tool), None) is not None:
        return rest_of(tool, situation.context.observations, _MOST_PAGES)
    if tool not in situation.tools:
        return None if situation.searched_for(tool.name) else DiscoverTools(query=tool.name)
    step = next_call(tool, situation)
    if not isinstance(step, CallTool):
        return None
    # What is named is looked for in all that there is: a filter may leave it out.
    needed = {name: step.arguments[name] for name in tool.required_inputs}
    return step.model_copy(update={"arguments": needed})


def _told(seen: Sequence[_Seen], situation: Situation) -> Finish:
    """What the lists tell in which most of what is named was found; else that it was in none."""
    said = situation.utterance
    if not any(one.borne.borne for one in seen):
        # What a search was made with is in none of its answers.
        left = [one.borne.named for one in seen if one.borne.named] or [()]
        named = [name for name in left[0] if all(name in some for some in left)]
        looked = [number_found(o.tool, o.answer.arguments, o.answer.body, said) for o in seen]
        wanted = f"names {' or '.join(map(repr, named))}" if named else "tells that"
        return Finish(summary=f"Nothing that was looked up {wanted}: {', '.join(looked)}.")
    asked = _Asked.by(said)
    worth = [(*one.borne.numbers, -asked.left_open_by(one.tool)) for one in seen]
    best = [one for one, its in zip(seen, worth, strict=True) if its == max(worth)]
    told = [tell_of(one.tool, one.answer, situation) for one in best[:_MOST_TOLD]]
    return Finish(summary=" ".join(one.sentence for one in told), table=told[0].table)


@dataclass(frozen=True)
class _Asked:
    """What a question asks for."""

    kind: str
    begins: tuple[str, ...]
    """Its first two words: "who wrote"."""
    days: Set[str]
    """The words of its days."""

    @classmethod
    def by(cls, utterance: Utterance) -> "_Asked":
        days = frozenset(chain(*(tokens(day.text) for day in utterance.of("date"))))
        by_degree = (one.of for one in degrees_in(utterance.text) if one.of != "size")
        kind = kind_asked(utterance.text) or next(by_degree, "")
        return cls(kind, (*tokens(question_in(utterance.text))[:2],), days)

    def left_open_by(self, tool: Tool) -> int:
        """How much of it no field of a list may tell: its kind, its days, its very words."""
        fields = [*fields_of(tool)]
        kind = any(self._may_be(field) for field in fields)
        days = not self.days or any(self._may_be_a_day(field) for field in fields)
        return 4 * (not kind) + 2 * (not days) + _NOT_ALIKE * (not self._begins_with_words_of(tool))

    def is_surely_told_by(self, tool: Tool) -> bool:
        """Whether a list that has what is named tells what is asked of it: any has somebody."""
        return self.left_open_by(tool) <= (_NOT_ALIKE if self.kind not in ("", "person") else 0)

    def is_told_by(self, tool: Tool) -> bool:
        """Whether the kind of value that is asked for, or how, is one that a list tells of."""
        of_kind = bool(self.kind) and any(self._may_be(field) for field in fields_of(tool))
        return of_kind or self._begins_with_words_of(tool)

    def _begins_with_words_of(self, tool: Tool) -> bool:
        """Whether a list, or a field of it, is described by the first two words: "who has"."""
        described = (str(field.schema.get("description", "")) for field in fields_of(tool))
        texts = (tool.description, *described) if {*self.begins[1:]}.isdisjoint(_PLAIN) else ()
        return any(pair == self.begins for text in texts for pair in pairwise(tokens(text)))

    def _may_be(self, field: Parameter) -> bool:
        match self.kind:
            case "":
                return True
            case "person":
                described = tokens(str(field.schema.get("description", "")))[:1]
                return not PERSON.isdisjoint((*field.words, *described))
            case "money" | "moment" | "time":
                return field.kind in TELLS[self.kind]
            case "count":
                return field.kind in NUMBERS
            case "place":
                described = tokens(str(field.schema.get("description", "")))[:1]
                return not (WHEREABOUTS | {"where"}).isdisjoint((*field.words, *described))
            case "duration" if field.kind is Kind.DURATION:
                return True
            case dimension:
                return unit_of(field.words).startswith(f"{dimension}-")

    def _may_be_a_day(self, field: Parameter) -> bool:
        return field.kind in DAYS or not self.days.isdisjoint(field.options)
