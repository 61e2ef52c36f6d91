"""Which parts of a goal wait for which: for what they need, what they point at, what is said."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from orchestrator.catalog.tool import Effect
from orchestrator.language.clause_reading import matter_start
from orchestrator.language.intent import Action
from orchestrator.language.slots import read_slots
from orchestrator.language.subclauses import DONE_STEMS
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.rules.answers import answer_fields, answers_price
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.parts import Part, named_things, refers_back

_THERE: Final = frozenset({"there", "nearby"})
_THAT_DAY: Final = frozenset({"day", "days", "date", "dates", "evening", "night", "nights", "time"})
_SEVERAL: Final = frozenset({"both", "they", "everything", "all"})
_SUCCESS: Final = frozenset(
    map(stem, ("work", "succeed", "successful", "through", "possible", "done", "confirm"))
)


def dependencies(
    part: Part, earlier: Sequence[Part], unfilled: Iterable[Parameter]
) -> tuple[str, ...]:
    """The earlier legs that a clause points at, comes after, or that alone can feed its tool."""
    asked = [o for o in earlier if not (o.only_looks or _is_the_other_case(o, part))]
    feeding = {o.leg_id for parameter in unfilled for o in _feeders(parameter, part, asked)}
    needed = feeding | set(_pointed_at(part, asked, feeding))
    if part.follows:
        needed |= set(_before(asked))
    needed |= {one.leg_id for one in part.only_if}
    return tuple(other.leg_id for other in earlier if other.leg_id in needed)


def _is_the_other_case(other: Part, part: Part) -> bool:
    """Whether only one of both is ever done."""
    opposite = {(one.clause, not one.met) for one in part.only_if}
    return any((one.clause, one.met) in opposite for one in other.only_if)


def told_of(told: str, parts: Sequence[Part]) -> list[Part]:
    """The parts whose being done a text speaks of: "the flight is booked", "it worked"."""
    named = named_things(told)
    if DONE_STEMS.isdisjoint(map(stem, tokens(told))):
        return []
    doing = [part for part in parts if part.target.is_side_effect and not part.only_looks]
    of_them = [part for part in doing if named & part.nouns and _is_done(told, part)]
    if of_them or not refers_back(told):
        return of_them
    fitting = [part for part in doing if _is_done(told, part)]
    fitting = [part for part in fitting if _is_its_verb(told, part)] or fitting
    return (
        fitting[-1:]
        if set(tokens(told)).isdisjoint(("both", "they", "everything", "all"))
        else fitting
    )


def _is_done(told: str, part: Part) -> bool:
    """Whether a text says that what a part orders was done, and not something else with it."""
    said = set(map(stem, tokens(told)))
    others = said & DONE_STEMS - _SUCCESS
    return (
        _is_its_verb(told, part)
        or not others
        or (
            part.target.effect is Effect.OBLIGATION
            and not (said & {"cancel", "delet", "move", "share"})
        )
    )


def _is_its_verb(told: str, part: Part) -> bool:
    verbs = {stem(part.reading.verb), *content_stems(part.target.summary.split(" ")[0])}
    return not verbs.isdisjoint(map(stem, tokens(told)))


def _before(earlier: Sequence[Part]) -> list[str]:
    """The legs since the last clause that came after others, and that clause."""
    run: list[str] = []
    for other in reversed(earlier):
        run.append(other.leg_id)
        if other.follows:
            break
    return run


def _pointed_at(part: Part, earlier: Sequence[Part], feeding: Iterable[str]) -> Iterable[str]:
    """The legs whose doing a clause speaks of: by their nouns, else by what they can give."""
    named = _in_any_word(named_things(part.request))
    of_them = [o for o in earlier if named & o.nouns and not _is_alike(o, part)]
    if of_them and part.target.effect is not Effect.CANCEL:
        return [o.leg_id for o in of_them]
    if part.points_back or _says_nothing_of_its_own(part):
        fed = set(feeding)
        one_thing = {"it", "this", "that"} & set(tokens(part.request))
        if fed and one_thing and part.target.effect is not Effect.OBLIGATION:
            return fed
        return _run(part, earlier)
    if _is_elsewhere(part, earlier):
        return [o.leg_id for o in earlier[-1:]]
    return []


def _in_any_word(stems: Iterable[str]) -> frozenset[str]:
    """The stems, and those of what stands for them: a hotel was booked, and "the stay" is told."""
    return frozenset(other for one in stems for other in (one, *synonyms_of(one)))


def _says_nothing_of_its_own(part: Part) -> bool:
    """Whether somebody is to be told, and not what: "tell Bo" is about what was done."""
    if part.reading.action is not Action.SEND:
        return False
    if matter_start(part.request) is not None:
        return False
    values = read_slots(part.request, now=None)
    whom_and_when = {s for slot in values for s in content_stems(slot.text)}
    said = {*content_stems(part.request)} - whom_and_when - {stem(part.reading.verb)}
    return not said


def _is_alike(other: Part, part: Part) -> bool:
    return other.target.domain == part.target.domain and other.target.effect is part.target.effect


def _run(part: Part, earlier: Sequence[Part]) -> list[str]:
    """The run of legs since the last clause that pointed back; that clause and its run if none.

    What was only looked at in between is not meant by what is to be done with a thing.
    """
    run: list[Part] = []
    for other in reversed(earlier):
        if other.points_back:
            if not run:
                return [other.leg_id, *other.depends_on]
            break
        run.append(other)
    done = [other for other in run if other.target.is_side_effect]
    return [other.leg_id for other in (done if part.target.is_side_effect and done else run)]


def _is_elsewhere(part: Part, earlier: Sequence[Part]) -> bool:
    """Whether a clause points at a place or a day that no clause states: an answer tells it."""
    words = tokens(part.request)
    stated = {slot.kind for other in (*earlier, part) for slot in other.slots}
    there = not _THERE.isdisjoint(words[1:]) and not stated & {"place", "origin"}
    that_day = any(
        pointer in ("that", "same", "those") and day in _THAT_DAY
        for pointer, day in pairwise(words)
    )
    return there or (that_day and "date" not in stated)


def _feeders(parameter: Parameter, part: Part, earlier: Sequence[Part]) -> list[Part]:
    """Earlier parts whose answers hold what the input takes.

    Money comes from what was bought; an id from what was found or made, but never an id that the
    earlier tool was itself given: two bookings do not share one offer.
    """
    if _is_money(parameter):
        return [o for o in earlier if o.target.is_side_effect and answers_price(o.target)]
    if not parameter.is_produced:
        return []
    return [
        o
        for o in earlier
        if o.target.name != part.target.name
        and o.target.effect is not Effect.CANCEL
        and parameter.names & (answer_fields(o.target) - set(o.target.properties))
    ]


def _is_money(parameter: Parameter) -> bool:
    """Whether the input is an amount, or a list whose elements each need one."""
    if parameter.kind in (Kind.AMOUNT, Kind.MONEY):
        return True
    element = parameter.element
    parts = element.fields if element is not None else ()
    return any(p.required and p.kind in (Kind.AMOUNT, Kind.MONEY) for p in parts)
