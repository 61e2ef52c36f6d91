"""Warnings of a card: arguments that differ from their things, prices, totals, unknown ids."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from orchestrator.confirmation.card_content import Amount, LineItem
from orchestrator.confirmation.card_facts import CardFact, facts, label_of, line_items, readable
from orchestrator.confirmation.named_things import EarlierAnswer, FoundThing, NamedId, stands_in
from orchestrator.core.budget import Money, rest_text
from orchestrator.core.record import JsonObject


def unlike_found(
    arguments: JsonObject, things: Sequence[FoundThing], *, changed_by_people: Iterable[str] = ()
) -> Iterator[str]:
    """Yield where an argument differs from the thing that the call is about.

    Numbers are compared only if a person changed them: the available and the wanted quantity of a
    thing too often have the same name.
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
                found = fact.line().value
                yield f"{own.label} is {own.line().value} here, and {found} in what {called} is"


def not_shown_whole(sent: Iterable[CardFact]) -> Iterator[str]:
    """Warn about inputs too long for a card: nobody approves what they have not read."""
    for fact in sent:
        if fact.unshown:
            yield (
                f"{fact.label} is longer than a card: {fact.unshown:,} characters of it are not "
                "shown here; read them with orchestrator confirm show --json before you approve"
            )


def over_what_is_left(price: Money | None, left: Money | None, unpriced: int = 0) -> Iterator[str]:
    """Warn that a call costs more than is left of the budget, so that no approval sends it."""
    if price is None or left is None:
        return
    if price.currency != left.currency:
        yield f"it costs {price}, and the budget is in {left.currency}: approved, it is not sent"
    elif price.amount > left.amount:
        rest = rest_text(left, unpriced)
        yield f"it costs {price}, and {rest} is left of the budget: approved, it is not sent"


def unknown_price(doubt: str, amounts: Iterable[Money]) -> str:
    """Return the warning about an unknown price, with the amounts on the card.

    `doubt` is a further doubt about the price; '' if there is none.
    """
    seen = ", ".join(dict.fromkeys(map(str, amounts)))
    alone = f"{seen} may be a part of it, or the price of one piece" if seen else ""
    known = "nothing says plainly what all of it costs"
    return "; ".join(part for part in (doubt or f"price unknown: {known}", alone) if part)


def not_explained(
    ids: Iterable[NamedId], answers: Sequence[EarlierAnswer], given: Iterable[str]
) -> Iterator[str]:
    """Warn about ids that nobody gave and no answer explains, or that several things share."""
    said = " ".join(given)
    for one in ids:
        called = f"{label_of(one.argument.replace('.', ': ')).lower()} {readable(one.value)}"
        if any(stands_in(one, answer.body) for answer in answers):
            yield f"several things in an earlier answer bear {called}: which one is not stated"
        elif str(one.value) not in said:
            yield f"no earlier answer says what {called} is"


def _are_alike(own: CardFact, found: CardFact, *, is_changed: bool) -> bool:
    if own.money is not None or found.money is not None:
        return own.money == found.money
    if found.kind == "moment" and own.kind == "moment":
        # They agree at the shorter one's precision: a day, or a day and a time.
        moments = [str(one.value).replace(" ", "T") for one in (own, found)]
        short, long = sorted(moments, key=len)
        return long.startswith(short) or ("T" in long and long.split("T")[1].startswith(short))
    if isinstance(own.value, str) and isinstance(found.value, str):
        return own.value.casefold() == found.value.casefold()
    try:
        return not is_changed or Decimal(str(own.value)) == Decimal(str(found.value))
    except InvalidOperation:
        return True


_LEAST: Final = 2
"""The minimum number of items for a sum."""


class Totals(NamedTuple):
    """The sums of a call's lists, and the warnings where they do not match its price."""

    amounts: tuple[Amount, ...] = ()
    warnings: tuple[str, ...] = ()


def totals_of(arguments: JsonObject, price: Money | None) -> Totals:
    """Return the sum of each list of items that state amounts."""
    amounts: list[Amount] = []
    warnings: list[str] = []
    for name, value in arguments.items():
        items = list(line_items(value))
        sums = dict(_sums(items))
        if not sums:
            continue
        label = label_of(name).lower()
        amounts += [
            Amount(label=f"{which} of {label}", money=money) for money, which in sums.items()
        ]
        if unpriced := sum(item.price is None for item in items):
            warnings.append(
                f"{unpriced} of the {len(items)} {label} state no amount, and are in no total"
            )
        if price is not None and price not in sums:
            come = " or ".join(map(str, sums))
            warnings.append(f"the price is {price}, and {label} come to {come}")
    return Totals(tuple(amounts), tuple(warnings))


def _sums(items: Sequence[LineItem]) -> Iterator[tuple[Money, str]]:
    priced: list[tuple[Money, Decimal]] = []
    for item in items:
        if item.price is not None:
            try:
                priced.append((item.price, Decimal(item.quantity or "1")))
            except ArithmeticError:
                priced.append((item.price, Decimal(1)))
    is_counted = any(quantity != 1 for _, quantity in priced)
    if len(priced) < _LEAST and not is_counted:
        return
    for currency in dict.fromkeys(price.currency for price, _ in priced):
        own = [(price.amount, n) for price, n in priced if price.currency == currency]
        plain = sum((amount for amount, _ in own), Decimal(0))
        times = sum((amount * n for amount, n in own), Decimal(0))
        if is_counted and times != plain:
            yield Money(amount=times, currency=currency), "Total, amounts times quantities,"
            yield Money(amount=plain, currency=currency), "Total, amounts as they stand,"
        else:
            yield Money(amount=plain, currency=currency), "Total"
