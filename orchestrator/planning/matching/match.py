"""The doubts about a call: what was said for it, and the call does not bear."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.stated_prices import amounts_in
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import name_words
from orchestrator.planning.already_done import state_reached
from orchestrator.planning.matching.composed import doubts_of_texts
from orchestrator.planning.matching.held_against import CallEvidence
from orchestrator.planning.matching.left_out import doubts_of_filters, doubts_of_nothing
from orchestrator.planning.matching.offered import offered, readable_thing, thing_called
from orchestrator.planning.matching.said_for_call import (
    SaidThing,
    are_alternatives,
    listed,
    said_for,
)
from orchestrator.planning.matching.taken import Link, TakenCall
from orchestrator.planning.matching.value_forms import plain_words
from orchestrator.planning.models import Doubt

_MOST: Final = 6


def doubts_of(call: TakenCall) -> tuple[Doubt, ...]:
    """What a person must settle before a call is put before anybody, in the order it was said.

    Of several clauses that the call may serve it is the one that it fits best.
    """
    evidence = CallEvidence(call)
    unmatched = min((unmatched_in(said, evidence) for said in said_for(call)), key=len, default=[])
    # What the goal says twice is asked about once.
    doubts = [*dict.fromkeys(_doubt(thing, evidence) for thing in unmatched)][:_MOST]
    # A filter that was left out is often what was said: that is asked about once.
    said = {word for doubt in doubts for word in plain_words(doubt.about)}
    filters = [d for d in doubts_of_filters(call) if not said & plain_words(d.about)]
    done = () if doubts else _doubts_of_the_done(call)
    return (*doubts, *filters, *doubts_of_texts(call), *done) or doubts_of_nothing(call)


def _doubts_of_the_done(call: TakenCall) -> Iterator[Doubt]:
    """The doubt about the thing that a call names itself, and that this was done to before."""
    link = next((link for link in call.links if link.finder is not None), None)
    if link is None or link.finder is None or call.chosen_by_people:
        return
    if state := state_reached(link.item, call.tool, link.finder):
        called = thing_called(link.item)
        yield Doubt(kind="not_matched", about=called, why=f"{called!r} is {state!r} already")


def unmatched_in(things: Sequence[SaidThing], evidence: CallEvidence) -> list[SaidThing]:
    """The things that a call does not bear; of a list one is enough where a call is due for each.

    "To Ann and Bob" may be two calls, which the order counts; where it counts one, that call is to
    bear both.
    """
    due = max((order.count for order in evidence.call.orders), default=1)
    missing: list[SaidThing] = []
    for members in listed(things):
        lacking = [t for t in members if not evidence.bears(t.said, t.clause)]
        either = are_alternatives(members)
        needed = [t for t in lacking if t.said.kind != "quality" or not either]
        if len(lacking) == len(members):
            missing += lacking
        elif due < len(members):
            missing += needed
    return missing


def _doubt(thing: SaidThing, evidence: CallEvidence) -> Doubt:
    said, call = thing.said.text.strip(), evidence.call
    if evidence.is_another_person(thing.said):
        why = f"you said {said!r}; the personal values that are stored are of somebody else"
        return Doubt(kind="not_matched", about=said, why=why)
    told = _told_instead(thing, call)
    if thing.said.kind == "negation":
        why = f"you said {said!r}, and {told or 'what would be taken'}"
    elif told:
        why = f"you said {said!r}; {told}"
    else:
        why = f"you said {said!r}; nothing of what would be done says so"
    return Doubt(kind="not_matched", about=said, why=why, choices=_choices(thing, call))


def _told_instead(thing: SaidThing, call: TakenCall) -> str:
    """What the call says in the place of a thing: of the same kind, else what was found."""
    alike = next(_alike(thing, call), "")
    main = next((link for link in call.links if readable_thing(link.item)), None)
    if main is None:
        return f"it would be done with {alike}" if alike else ""
    called = thing_called(main.item)
    found = f"what was found is {called!r}"
    return f"{found}, with {alike}" if alike and called not in alike else found


_NAMED_BY: Final = {
    "place": lexicon.PLACE,
    "date": lexicon.DATE | lexicon.START | lexicon.END,
    "time": lexicon.TIME,
    "count": lexicon.COUNTED,
    "duration": lexicon.COUNTED,
    "amount": lexicon.MONEY,
    "name": lexicon.TITLE,
    "addressee": lexicon.EMAIL | lexicon.TITLE,
}


def _alike(thing: SaidThing, call: TakenCall) -> Iterator[str]:
    """What arguments and things say under a name for that kind of thing, readable."""
    names = _NAMED_BY.get(thing.said.kind, frozenset())
    holders: list[JsonObject] = [call.arguments, *(link.item for link in call.links)]
    for holder in holders:
        for name, value in holder.items():
            told = _told(name, value)
            if told and names & set(name_words(name)[-2:]) and not _is_private(name, value):
                yield f"{' '.join(name_words(name))} {told}"


def _told(name: str, value: JsonValue) -> str:
    """A plain value, or an amount with its currency, as a person reads it; empty for any other."""
    if isinstance(value, dict) and set(value) == {"amount", "currency"}:
        return next(map(str, amounts_in({name: value})), "")
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if plain else ""


def _is_private(name: str, value: JsonValue) -> bool:
    """Whether it is an id, which tells nobody anything, or stands for a personal value."""
    return is_handle(value) or bool(lexicon.IDENTIFIER & set(name_words(name)[-1:]))


def _choices(thing: SaidThing, call: TakenCall) -> tuple[str, ...]:
    """What else was found: those that bear what was said, where there are any."""
    others = [item for link in _primary(call.links) for item in link.others]
    fitting = [other for other in others if _has(other, thing)]
    return offered(fitting or others)


def _has(item: JsonObject, thing: SaidThing) -> bool:
    if isinstance(thing.said.value, dict):
        amounts = {(str(money.currency), money.amount) for money in amounts_in(item)}
        value = thing.said.value
        return (str(value["currency"]), Decimal(str(value["amount"]))) in amounts
    return plain_words(str(thing.said.value)) <= plain_words(readable_thing(item))


def _primary(links: Sequence[Link]) -> Sequence[Link]:
    """The thing that the call names itself, before what that refers to."""
    return [link for link in links if link.others][:1]
