"""Found things in the order that a clause names, and why they cannot be put in it."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from orchestrator.language import lexicon
from orchestrator.language.quantifiers import Ordering, PlaceInOrder
from orchestrator.language.words import tokens
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.moments import dated

_REVERSED: Final = frozenset({"dearest", "newest", "best"})


def in_order(items: Sequence[Item], order: Ordering) -> tuple[list[Item], str]:
    """The things, those first that come first by it, and why that cannot be told; '' when it can.

    Prices of several currencies, and what has no price, moment or rating, are compared with
    nothing.
    """
    if order == "as_told" or len(items) < 2:
        return list(items), ""
    if doubt := _incomparable(items, order):
        return list(items), doubt
    return sorted(items, key=_key(order), reverse=order in _REVERSED), ""


def equals(item: Item, other: Item, order: Ordering) -> bool:
    """Whether two things have the same place in an order."""
    return order != "as_told" and _key(order)(item) == _key(order)(other)


def placed(items: Sequence[Item], place: PlaceInOrder) -> list[Item]:
    """Those of ordered things that a place means."""
    return list(items[place.first : place.first + place.number])


def _incomparable(items: Sequence[Item], order: Ordering) -> str:
    if order in ("cheapest", "dearest"):
        if any(item.price is None for item in items):
            return "not all that was found says plainly what it costs"
        currencies = sorted({item.price.currency for item in items if item.price is not None})
        if len(currencies) > 1:
            return f"what was found is priced in {' and '.join(currencies)}, which no rate compares"
        return ""
    if order == "best":
        missing = any(rating_of(item) is None for item in items)
        return "not all that was found is rated" if missing else ""
    return "" if all(map(dated, items)) else "not all that was found says when it is"


def _key(order: Ordering) -> Callable[[Item], Decimal | float | str]:
    if order in ("cheapest", "dearest"):
        return lambda item: item.price.amount if item.price is not None else Decimal(0)
    if order == "best":
        return lambda item: rating_of(item) or 0.0
    return dated


def rating_of(item: Item) -> float | None:
    """How well a thing is rated; None when it does not say."""
    rated = (value for name, value in item.fields.items() if set(tokens(name)) & lexicon.RATING)
    return next((float(value) for value in rated if isinstance(value, int | float)), None)
