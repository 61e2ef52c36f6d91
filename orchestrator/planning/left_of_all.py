"""What was found for an order of all there are, and no call of its leg has taken."""

from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.inflection import participle
from orchestrator.language.periods import period_in
from orchestrator.language.slots import find_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, content_stems, tokens
from orchestrator.planning.matching.offered import readable_thing
from orchestrator.planning.matching.value_forms import scalars
from orchestrator.planning.models import AskUser, Observation, StepContext
from orchestrator.saga.served import Order

LEAVE: Final = "leave_the_rest"
_NEGATIONS: Final = WordLists("accounting").word_set("negations")
_NARROWING: Final = frozenset({"date", "time", "amount", "quantity"})
"""Values that things are chosen by, and that are no words which they bear."""
_MOST: Final = 5


def left_of_all(context: StepContext) -> tuple[str, ...]:
    """The things that an order of all means as well as those that were taken, as people read them.

    Only where its words alone tell which are meant: of days, amounts and exceptions its planner
    has to judge.
    """
    found: dict[str, None] = {}
    for order in context.orders:
        if order.is_all and not _is_narrowed(order, context):
            found |= dict.fromkeys(filter(None, map(readable_thing, _left(order, context))))
    return tuple(found)


def question_about(left: Sequence[str], context: StepContext) -> AskUser | None:
    """What is asked before the leg ends without them; None where a person has said so already."""
    if not left or context.inputs.get(LEAVE) is True:
        return None
    told = "; ".join(left[:_MOST]) + (f" and {len(left) - _MOST} more" if left[_MOST:] else "")
    return AskUser(
        question=f"{context.leg_goal!r} was done, but not of these: {told}. Leave them?",
        why="all were asked for, and these were found as well",
        fields={LEAVE: {"type": "boolean", "title": "Leave the rest as it is"}},
    )


def _is_narrowed(order: Order, context: StepContext) -> bool:
    values = {slot.kind for slot in find_slots(order.clause, now=context.now)}
    if values & _NARROWING or period_in(order.clause, now=context.now):
        return True
    return not _NEGATIONS.isdisjoint(tokens(order.clause))


def _left(order: Order, context: StepContext) -> Iterator[JsonObject]:
    good = [seen for seen in context.observations if seen.outcome == "succeeded"]
    done = [seen for seen in good if seen.tool in order.tools]
    used = {str(held.value) for seen in done for held in scalars(seen.arguments)}
    said = {*content_stems(order.clause)}
    for seen in good:
        members = [*_members(seen)]
        taken = [m for m in members if _is_taken(m, members, used)]
        told = [said & _stems(member) for member in taken]
        for member in members if taken else ():
            alike = any(words <= _stems(member) for words in told)
            if alike and member not in taken and not _is_done_already(member, order):
                yield member


def _members(seen: Observation) -> Iterator[JsonObject]:
    """What the lists of an answer hold."""
    if seen.side_effect:
        return
    lists: list[JsonValue] = [seen.body]
    lists += [*seen.body.values()] if isinstance(seen.body, dict) else []
    for held in lists:
        yield from (m for m in held if isinstance(m, dict)) if isinstance(held, list) else ()


def _is_taken(member: JsonObject, members: Sequence[JsonObject], used: set[str]) -> bool:
    """Whether a call names it, by what it alone of them bears."""
    own = [v for v in member.values() if isinstance(v, str | int) and str(v) in used]
    return any(sum(value in other.values() for other in members) == 1 for value in own)


def _is_done_already(member: JsonObject, order: Order) -> bool:
    """Whether a thing says of itself that what is ordered was done to it before: it is paid."""
    done = participle(read_clause(order.clause).verb)
    return any(str(held.value).lower() == done for held in scalars(member))


def _stems(member: JsonObject) -> set[str]:
    texts = (str(held.value) for held in scalars(member))
    return {stem for text in texts for stem in content_stems(text)} - STOP_WORDS
