"""What an answer says was taken: charged or paid, beside what the thing is said to cost.

A part of a price may be taken now and the rest later; more than the price never should be. So where
an answer tells both, and more was taken, that is what was charged.
"""

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.price_contract import PRICE
from orchestrator.catalog.stated_prices import currency_of, every_price, money_in, stated_price
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.language.words import name_words

_TAKEN: Final = frozenset({"charge", "charged", "paid", "payment", "transaction"})
_BESIDE: Final = frozenset({"amount", "cost", "fare", "final", "price", "total", "value"})
"""What may stand beside these words: a field with any other is a part, a fee, or something else."""
_MOST_LEVELS: Final = 2


def charged_in(body: JsonValue) -> Money | None:
    """What a plain answer says was charged; None when it does not say so plainly.

    In another currency than the price, what was taken counts: that is what left.
    """
    stated, taken = every_price(body), frozenset(_taken(body, "", _MOST_LEVELS))
    known = frozenset(money for money in stated if money is not None)
    if not taken or known != stated or len({money.currency for money in taken}) > 1:
        return stated_price(body)
    (currency,) = {money.currency for money in taken}
    beside = frozenset(money for money in known if money.currency == currency)
    return max(taken | beside, key=lambda money: money.amount)


def holder_of_rate(body: JsonValue, levels: int = _MOST_LEVELS) -> JsonObject | None:
    """The object in a plain body whose declared price is that of one piece; lists left out."""
    if not isinstance(body, dict):
        return None
    if PRICE in body:
        declared = body[PRICE]
        return body if isinstance(declared, dict) and "per" in declared else None
    inner = (holder_of_rate(value, levels - 1) for value in body.values() if levels)
    return next((found for found in inner if found is not None), None)


def _taken(body: JsonValue, above: str, levels: int) -> Iterator[Money]:
    """Each amount that is named so; what is declared to be the price leaves none to be guessed."""
    if not isinstance(body, dict) or PRICE in body:
        return
    currency = currency_of(body, above)
    for name, value in body.items():
        if _is_taken(name):
            money = money_in(value, currency)
            if money is not None:
                yield money
        elif isinstance(value, dict) and levels > 1:
            yield from _taken(value, currency, levels - 1)


def _is_taken(name: str) -> bool:
    words = frozenset(name_words(name))
    return bool(words & _TAKEN) and words <= _TAKEN | _BESIDE
