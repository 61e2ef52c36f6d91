"""The totals of the lists that a call holds: what its items come to, and whether the price agrees.

Whether the amount of an item is for one or for all of its quantity, no name tells for sure: where
that makes a difference both sums are shown.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from orchestrator.confirmation.card_content import Amount, LineItem
from orchestrator.confirmation.card_facts import label_of, line_items
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject

_LEAST: Final = 2
"""Items that are worth a sum."""


class Totals(NamedTuple):
    """The sums of a call's lists, and what of them does not fit its price."""

    amounts: tuple[Amount, ...] = ()
    warnings: tuple[str, ...] = ()


def totals_of(arguments: JsonObject, price: Money | None) -> Totals:
    """The sum of each list of items that state amounts."""
    amounts: list[Amount] = []
    warnings: list[str] = []
    for name, value in arguments.items():
        items = list(line_items(value))
        sums = dict(_sums(items))
        if not sums:
            continue
        label = label_of(name).lower()
        amounts += [Amount(label=f"{told} of {label}", money=money) for money, told in sums.items()]
        warnings += _doubts(label, items, tuple(sums), price)
    return Totals(tuple(amounts), tuple(warnings))


def _sums(items: Sequence[LineItem]) -> Iterator[tuple[Money, str]]:
    """Each sum with what it is; those that are equal once."""
    priced = [(item.price, _quantity(item)) for item in items if item.price is not None]
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


def _quantity(item: LineItem) -> Decimal:
    try:
        return Decimal(item.quantity or "1")
    except ArithmeticError:
        return Decimal(1)


def _doubts(
    label: str, items: Sequence[LineItem], sums: Sequence[Money], price: Money | None
) -> Iterator[str]:
    unpriced = sum(item.price is None for item in items)
    if unpriced:
        yield f"{unpriced} of the {len(items)} {label} state no amount, and are in no total"
    if price is not None and price not in sums:
        yield f"the price is {price}, and {label} come to {' or '.join(map(str, sums))}"
