"""What a person must mind before deciding: a call that is unlike what was found, or too dear."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation

from pydantic import JsonValue

from orchestrator.confirmation.card_facts import CardFact, facts, label_of, readable
from orchestrator.confirmation.named_ids import NamedId, stands_in
from orchestrator.confirmation.named_things import EarlierAnswer, FoundThing
from orchestrator.core.budget import Money, told_left
from orchestrator.core.record import JsonObject


def unlike_found(
    arguments: JsonObject, things: Sequence[FoundThing], *, changed_by_people: Iterable[str] = ()
) -> Iterator[str]:
    """Where an argument says something else than the thing that the call is about.

    Numbers are compared only where a person changed them: what is left of a thing and how much of
    it is wanted bear one name too often.
    """
    sent = {fact.name: fact for fact in facts(arguments)}
    by_people = set(changed_by_people)
    for thing in things:
        called = ", ".join(readable(one.value) for one in thing.ids)
        known = {one.argument for one in thing.ids}
        for fact in facts(thing.items[0]):
            own = sent.get(fact.name)
            if own is None or fact.is_empty or fact.name in known:
                continue
            if not _are_alike(own, fact, is_changed=fact.name.split(".")[0] in by_people):
                told = fact.line().value
                yield f"{own.label} is {own.line().value} here, and {told} in what {called} is"


def not_shown_whole(sent: Iterable[CardFact]) -> Iterator[str]:
    """What is sent and too long for a card: nobody approves what they have not read."""
    for fact in sent:
        if fact.unshown:
            yield (
                f"{fact.label} is longer than a card: {fact.unshown:,} characters of it are not "
                "shown here; read them with orchestrator confirm show --json before you approve"
            )


def too_many_to_show(sent: int, most: int) -> Iterator[str]:
    """That a card has no line for each of the inputs that are sent."""
    if sent > most:
        yield (
            f"it has {sent} inputs, and not all are shown here; read them with "
            "orchestrator confirm show --json before you approve"
        )


def over_what_is_left(price: Money | None, left: Money | None, unpriced: int = 0) -> Iterator[str]:
    """That a call costs more than its mission may still spend, so that no approval sends it."""
    if price is None or left is None:
        return
    if price.currency != left.currency:
        yield f"it costs {price}, and the budget is in {left.currency}: approved, it is not sent"
    elif price.amount > left.amount:
        told = told_left(left, unpriced)
        yield f"it costs {price}, and {told} is left of the budget: approved, it is not sent"


def unknown_price(doubt: str, amounts: Iterable[Money]) -> str:
    """That nobody knows what a call costs, whatever amounts stand on its card.

    `doubt` is what else a person must know of that; '' for nothing.
    """
    seen = ", ".join(dict.fromkeys(map(str, amounts)))
    alone = f"{seen} may be a part of it, or the price of one piece" if seen else ""
    known = "nothing says plainly what all of it costs"
    return "; ".join(part for part in (doubt or f"price unknown: {known}", alone) if part)


def uncertain_price(doubts: Sequence[str]) -> Iterator[str]:
    """Name what may add to a price or multiply it, where no document declares the price."""
    if doubts:
        yield f"the price is not certain, for the call also has {', '.join(doubts)}"


def not_explained(
    ids: Iterable[NamedId], answers: Sequence[EarlierAnswer], given: Iterable[str]
) -> Iterator[str]:
    """Which ids nothing explains, and nobody gave; which several things bear."""
    said = " ".join(given)
    for one in ids:
        called = f"{label_of(one.argument.replace('.', ': ')).lower()} {readable(one.value)}"
        if any(stands_in(one, answer.body) for answer in answers):
            yield f"several things in an earlier answer bear {called}: which one is not told"
        elif str(one.value) not in said:
            yield f"no earlier answer says what {called} is"


def _are_alike(own: CardFact, found: CardFact, *, is_changed: bool) -> bool:
    if own.money is not None or found.money is not None:
        return own.money == found.money
    if found.kind == "moment" and own.kind == "moment":
        return _same_moment(str(own.value), str(found.value))
    if isinstance(own.value, str) and isinstance(found.value, str):
        return own.value.casefold() == found.value.casefold()
    return not is_changed or _same_number(own.value, found.value)


def _same_moment(one: str, other: str) -> bool:
    """Whether they are the same as far as the shorter tells: a day, or a day and a time."""
    short, long = sorted((one.replace(" ", "T"), other.replace(" ", "T")), key=len)
    return long.startswith(short) or ("T" in long and long.split("T")[1].startswith(short))


def _same_number(one: JsonValue, other: JsonValue) -> bool:
    try:
        return Decimal(str(one)) == Decimal(str(other))
    except InvalidOperation:
        return True
