"""The doubts about a call: what was said for it, and the call does not bear."""

from collections.abc import Iterator, Sequence
from typing import Final

from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import name_words
from orchestrator.planning.matching.held_against import TEXTS, Evidence
from orchestrator.planning.matching.offered import offered, readable_thing, thing_called
from orchestrator.planning.matching.said_for_call import SaidThing, things_said
from orchestrator.planning.matching.taken import Link, TakenCall
from orchestrator.planning.matching.value_forms import plain_words
from orchestrator.planning.models import Doubt

_MOST: Final = 6


def doubts_of(call: TakenCall) -> tuple[Doubt, ...]:
    """What a person must settle before a call is put before anybody, in the order it was said.

    Of several clauses that the call may serve it is the one that it fits best.
    """
    evidence = Evidence(call)
    read = [[t for t in things if not _fits(t, evidence)] for things in things_said(call)]
    unmatched = min(read, key=len, default=[])
    return tuple(_doubt(thing, call) for thing in unmatched[:_MOST])


def _fits(thing: SaidThing, evidence: Evidence) -> bool:
    if thing.is_ruled_out:
        wanted = plain_words(str(thing.slot.value))
        return thing.slot.kind not in TEXTS or not wanted <= evidence.item_words
    return evidence.bears(thing.slot, thing.clause)


def _doubt(thing: SaidThing, call: TakenCall) -> Doubt:
    said = thing.slot.text.strip()
    told = _told_instead(thing, call)
    if thing.is_ruled_out:
        why = f"you said not {said!r}, and {told or 'what would be taken'} is that"
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
        return alike
    called = thing_called(main.item)
    found = f"what was found is {called!r}"
    return f"{found}, {alike}" if alike and called not in alike else found


_NAMED_BY: Final = {
    "place": lexicon.PLACE,
    "origin": lexicon.PLACE | lexicon.ORIGIN,
    "date": lexicon.DATE | lexicon.START | lexicon.END,
    "time": lexicon.TIME,
    "quantity": lexicon.COUNTED,
    "amount": lexicon.MONEY,
    "name": lexicon.TITLE,
    "email": lexicon.EMAIL,
}


def _alike(thing: SaidThing, call: TakenCall) -> Iterator[str]:
    """What arguments and things say under a name for that kind of thing, readable."""
    names = _NAMED_BY.get(thing.slot.kind, frozenset())
    holders: list[JsonObject] = [call.arguments, *(link.item for link in call.links)]
    for holder in holders:
        for name, value in holder.items():
            plain = isinstance(value, str | int | float) and not isinstance(value, bool)
            if plain and names & set(name_words(name)[-2:]) and not _is_id(name):
                yield f"with {' '.join(name_words(name))} {value}"


def _is_id(name: str) -> bool:
    return bool(lexicon.IDENTIFIER & set(name_words(name)[-1:]))


def _choices(thing: SaidThing, call: TakenCall) -> tuple[str, ...]:
    """What else was found: those that bear what was said, where there are any."""
    others = [item for link in _primary(call.links) for item in link.others]
    wanted = plain_words(str(thing.slot.value))
    fitting = [o for o in others if wanted <= plain_words(readable_thing(o))]
    return offered(fitting or others)


def _primary(links: Sequence[Link]) -> Sequence[Link]:
    """The thing that the call names itself, before what that refers to."""
    return [link for link in links if link.others][:1]
