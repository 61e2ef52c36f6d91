"""What JSON says that something costs, told by a declaration or by the words of names.

What is read here is a copy whose money is plain (see plain_money): each number is in units of its
currency. Callers go through prices.py, which makes that copy by the document's own words.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Final

from pydantic import JsonValue, ValidationError

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.core import currencies
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import name_words


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PRICE: Final = _words("amount charge charged cost fare price total")
WHOLE: Final = _words(
    "booking cart checkout invoice offer order payment purchase quote rental reservation stay "
    "transaction trip"
)
"""All of what is bought: the price of one of these is the price."""
_NEUTRAL: Final = _words("all charges costs current due final full grand in inclusive overall")
"""Beside these a price is still the price."""
_LAST: Final = _NEUTRAL | _words("gross paid value")
"""What may stand behind a price word: the price that was paid is a price."""
_OTHER: Final = _words(
    "addon adjustment allowance average baggage balance base breakdown budget cancel cancellation "
    "cap cashback change commission coupon credit delivery deposit discount estimate estimated "
    "extra fee insurance limit luggage max maximum min minimum monthly nightly old optional "
    "original penalty per policy previous rate refund saving shipping surcharge tax tip unit "
    "upgrade vat voucher"
)
"""Money of objects named so is no price, a part of one, or the price of something else."""
_CERTAIN: Final = _words("cost fare price total")
"""Price words that say so even in an object of unknown kind: an amount may be of anything."""
_PAID: Final = _words("deposit outstanding paid prepaid remaining")
_PAGING: Final = _words("cursor limit more offset page pages")
_LISTS: Final = WordLists("money")
_UNIT_NAMES: Final = _LISTS.word_set("smallest_names") | _LISTS.word_set("hundredths_names")
_MINOR: Final = _UNIT_NAMES | _LISTS.word_set("other_names")
_QUANTITIES: Final = _LISTS.word_set("quantities")
_RIVALS: Final = _LISTS.word_set("rivals")
_MEASURE: Final = _words("basis frequency interval per period unit")
_RATE: Final = _MINOR | _words(
    "adult daily day each hour hourly item km mile minute month monthly night nightly person piece "
    "unit week weekly"
)
_QUALIFIED: Final = (
    _OTHER
    | _RATE
    | _words(
        "breakfast child cleaning eur from gbp handling highest list lowest net partial "
        "recommended regular retail service starting suggested target usd was"
    )
)
"""Beside these a price is not what the thing as a whole costs."""
_NUMBER: Final = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*")
_MOST_LEVELS: Final = 3
_DUE: Final = 3
"""The rank of what is still to be paid: the price, unless a part of it was paid before."""


UNCLEAR: Final = "its smallest unit: the document does not say"
"""The end of the text that stands in a plain body for an amount that may be either."""
Prices = frozenset[Money | None]
"""What is stated; None of an amount that is unclear."""
_NO_PRICES: Final[Prices] = frozenset()
_IN_DOUBT: Final[Prices] = frozenset({None})


def stated_price(body: JsonValue) -> Money | None:
    """What a plain body says that something costs; None when it does not say so plainly.

    What is declared to be the price is; nothing else is then.

    A price has a name of words such as `total`, `price`, `fare` or `amount` and of none that make
    it something else: a part, a deposit, a fee, a refund, a limit, a rate per night or piece. It is
    an object of amount and currency, or a number with a currency beside or above. A total comes
    before a price, a price before what is due of it; two that differ are none. Where the body
    states no price, the one object in it that does is read. Lists are not: an answer that lists
    offers has no price of its own.

    A price beside a number of pieces may be that of each, and one beside a sale price may be what
    is crossed out: neither is plain. What is unclear is not made up for by anything else.
    """
    return _only(every_price(body))


def has_unclear_price(body: JsonValue) -> bool:
    """Whether a plain body states a price of which it cannot be told how much it is."""
    found = every_price(body)
    return bool(found) and _only(found) is None


def declares_price(body: JsonValue) -> bool:
    """Whether a plain body holds what its document declares to be the price."""
    return isinstance(body, dict) and any(True for _ in _declared(body, _MOST_LEVELS))


def every_price(body: JsonValue) -> Prices:
    """All that a plain body states that something costs, where two differ both of them."""
    if not isinstance(body, dict):
        return _NO_PRICES
    if declared := frozenset(_declared(body, _MOST_LEVELS)):
        return declared
    if found := _stated(body, _ranked(body), ""):
        return found
    inner = (_stated_within(*member, currency_of(body)) for member in body.items())
    stating = [prices for prices in inner if prices]
    return stating[0] if len(stating) == 1 else _NO_PRICES


def money_of(value: JsonValue, holder: JsonObject | None = None) -> Money | None:
    """The money that a value is, whatever it is for: an object of amount and currency, or a number.

    `holder` is the object around the value, where a number has its currency. An object that says
    more than an amount is more than money.
    """
    if isinstance(value, dict):
        rest = [name for name in value if not names_currency(name)]
        if len(rest) == len(value) or not all(n == "value" or names_price(n) for n in rest):
            return None
        if len(rest) > 1 and any(_only(_read(value[name], "EUR", 0)) is None for name in rest):
            return None  # what one of them says would be told by none
    return _only(_read(value, currency_of(holder or {}), _MOST_LEVELS))


def money_in(value: JsonValue, currency: str) -> Money | None:
    """The money that a value is declared to be; the currency is what stands around it."""
    return _only(_read(value, currency, _MOST_LEVELS))


def amounts_in(value: JsonValue, currency: str = "") -> Iterator[Money]:
    """Every amount of money in a JSON value, whatever it is for."""
    if isinstance(value, list):
        for member in value:
            yield from amounts_in(member, currency)
    elif isinstance(value, dict):
        beside = currency_of(value, currency)
        for name, inner in value.items():
            if name == PRICE:
                continue  # what it says stands under its own name, too
            if isinstance(inner, dict | list):
                yield from amounts_in(inner, beside)
            elif set(name_words(name)) & (_PRICE | {"fee", "value"}):
                yield from (money for money in _number(inner, beside) if money is not None)


def names_price(name: str) -> bool:
    """Whether a field of that name holds the price of what it is a field of."""
    return _rank(name) is not None


def names_money(name: str) -> bool:
    """Whether a number in a field of that name is money where a currency is beside it."""
    words = set(name_words(name))
    return bool(words & (_PRICE | {"fee"})) and not words & _MINOR - _UNIT_NAMES


@lru_cache(maxsize=4096)
def names_amount(name: str) -> bool:
    """Whether a number in a field of that name is an amount: no id of a price, no level of one."""
    words = _without_units(name) or ("value",)
    of_money = bool({*words} & (_PRICE | {"fee", "value"}))
    return of_money and (words[-1] in _PRICE | _LAST | {"fee"} or words[0] == "amount")


def _without_units(name: str) -> tuple[str, ...]:
    """The words of a name that tell what it is for: `amount_minor_units` is an amount."""
    words = name_words(name)
    if not _UNIT_NAMES & {*words}:
        return words
    return tuple(word for word in words if word not in _UNIT_NAMES | {"unit", "units"})


@lru_cache(maxsize=4096)
def names_currency(name: str) -> bool:
    """Whether a field of that name holds the code of a currency."""
    return name_words(name) in (("currency",), ("currency", "code"))


def _ranked(holder: JsonObject) -> dict[str, int]:
    """The fields of an object that may hold its price, the most telling with the lowest number."""
    ranks = {name: rank for name in holder if (rank := _rank(name)) is not None}
    is_part_paid = any(_PAID & set(name_words(name)) for name in holder)
    left_out = {name for name, rank in ranks.items() if rank == _DUE and is_part_paid}
    return {n: r for n, r in ranks.items() if n not in left_out and not _counts(n, holder)}


@lru_cache(maxsize=4096)
def _rank(name: str) -> int | None:
    """How much a name tells of a price, 0 the most; None when it names no price."""
    in_order = _without_units(name)
    words = frozenset(in_order)
    if not words & _PRICE:
        return None
    if not words <= _PRICE | WHOLE | _NEUTRAL:
        # The price of a room is one; an amount, a total or a charge of anything else may be not,
        # and what a price has, such as an id, a level or a class, is told by the last word.
        is_price = words & {"cost", "fare", "price"} and in_order[-1] in _PRICE | _LAST
        return 4 if is_price and not _has(words, _QUALIFIED) else None
    if "due" in words:
        return _DUE
    if words & {"final", "grand", "overall"}:
        return 0
    return 1 if "total" in words else 2


def _counts(name: str, holder: JsonObject) -> bool:
    """Whether a total is the number of things that are listed."""
    value = holder[name]
    return (
        name_words(name) == ("total",)
        and isinstance(value, int)
        and any(
            (isinstance(other, list) and len(other) == value) or _PAGING & set(name_words(beside))
            for beside, other in holder.items()
        )
    )


def _stated_within(name: str, value: JsonValue, currency: str) -> Prices:
    """The prices that an object inside of the body states."""
    words = frozenset(name_words(name))
    if not isinstance(value, dict) or names_price(name) or _has(words, _OTHER):
        return _NO_PRICES
    ranks = _ranked(value)
    if not words & WHOLE:
        ranks = {n: rank for n, rank in ranks.items() if _CERTAIN & set(name_words(n))}
    return _stated(value, ranks, currency)


def _stated(
    holder: JsonObject, ranks: dict[str, int], currency: str, levels: int = _MOST_LEVELS
) -> Prices:
    """The prices in the fields of the lowest rank that hold any; several where they differ."""
    if PRICE in holder:
        return frozenset({_declared_money(holder)})
    if _is_relative(holder):
        return _NO_PRICES
    beside = currency_of(holder, currency)
    for rank in sorted(set(ranks.values())):
        fields = [holder[name] for name, its in ranks.items() if its == rank]
        found = frozenset(money for value in fields for money in _read(value, beside, levels))
        if found:
            is_doubtful = rank > 0 and _is_doubtful(holder, ranks, found, beside)
            return _IN_DOUBT if is_doubtful else found
    return _NO_PRICES


def _is_doubtful(holder: JsonObject, ranks: dict[str, int], found: Prices, currency: str) -> bool:
    """Whether what was found may be the price of one piece of several, or not what is asked."""
    told = {word for name in ranks for word in name_words(name)}
    if not told & {"total", "amount", "charge", "charged", *WHOLE} and quantity_in(holder) != 1:
        return True
    rivals = (v for name, v in holder.items() if {*name_words(name)} & _RIVALS)
    asked = {money for value in rivals for money in _read(value, currency, _MOST_LEVELS)}
    return bool(asked - found)


def quantity_in(holder: JsonObject) -> int | None:
    """How many pieces an object says that there are, 1 where it says nothing; None when unclear."""
    stated = [v for name, v in holder.items() if name_words(name)[-1] in _QUANTITIES]
    counts = {v for v in stated if isinstance(v, int) and not isinstance(v, bool)}
    return 1 if not stated else counts.pop() if len(counts) == 1 == len(stated) else None


def names_quantity(name: str) -> bool:
    """Whether a field of that name says how many pieces there are."""
    return name_words(name)[-1] in _QUANTITIES


def _declared(holder: JsonObject, levels: int) -> Iterator[Money | None]:
    """The declared prices of an object and of those inside of it, lists left out."""
    if PRICE in holder:
        yield _declared_money(holder)
        return
    for value in holder.values():
        if isinstance(value, dict) and levels:
            yield from _declared(value, levels - 1)


def _declared_money(holder: JsonObject) -> Money | None:
    value = holder[PRICE]
    if not isinstance(value, dict):
        return None
    return next(_number(value.get("amount"), str(value.get("currency"))), None)


def _is_relative(holder: JsonObject) -> bool:
    """Whether amounts beside these fields are rates, or counted in minor units."""
    for name, value in holder.items():
        words = set(name_words(name))
        if words & _MINOR and not words & _PRICE:
            return True
        if words & _MEASURE and isinstance(value, str) and _RATE & set(name_words(value)):
            return True
    return False


def _read(value: JsonValue, currency: str, levels: int) -> Prices:
    if not isinstance(value, dict):
        return frozenset(_number(value, currency))
    ranks = {**_ranked(value), **({"value": 2} if "value" in value else {})}
    return _stated(value, ranks, currency, levels - 1) if levels else _NO_PRICES


def currency_of(holder: JsonObject, above: str = "") -> str:
    """The currency of an object: its own, else that of the object around it; '' when unclear."""
    own = [value for name, value in holder.items() if names_currency(name)]
    if not own:
        return above
    return own[0] if isinstance(own[0], str) and all(o == own[0] for o in own) else ""


def _number(amount: JsonValue, currency: str) -> Iterator[Money | None]:
    """The money, when the amount is a number or the text of one, not negative; None if unclear."""
    if isinstance(amount, str) and amount.endswith(UNCLEAR):
        yield None
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return
    if isinstance(amount, str) and not _NUMBER.fullmatch(amount):
        return
    if not currencies.exists(currency):
        return
    try:
        # By its text: 249.9 is the amount that was written, its binary neighbour was not.
        yield Money(amount=Decimal(str(amount)), currency=currency)
    except ValidationError:
        return


def _has(words: frozenset[str], listed: frozenset[str]) -> bool:
    """Whether one of the words is listed, in the singular or the plural."""
    return bool((words | {word.removesuffix("s") for word in words}) & listed)


def _only(found: Prices) -> Money | None:
    return next(iter(found)) if len(found) == 1 else None


_TAKEN: Final = frozenset({"charge", "charged", "paid", "payment", "transaction"})
_BESIDE: Final = frozenset({"amount", "cost", "fare", "final", "price", "total", "value"})
"""What may stand beside these words: a field with any other is a part, a fee, or something else."""
_MOST_TAKEN_LEVELS: Final = 2


def charged_in(body: JsonValue) -> Money | None:
    """What a plain answer says was charged; None when it does not say so plainly.

    In another currency than the price, what was taken counts: that is what left.
    """
    stated, taken = every_price(body), frozenset(_taken(body, "", _MOST_TAKEN_LEVELS))
    known = frozenset(money for money in stated if money is not None)
    if not taken or known != stated or len({money.currency for money in taken}) > 1:
        return stated_price(body)
    (currency,) = {money.currency for money in taken}
    beside = frozenset(money for money in known if money.currency == currency)
    return max(taken | beside, key=lambda money: money.amount)


def holder_of_rate(body: JsonValue, levels: int = _MOST_TAKEN_LEVELS) -> JsonObject | None:
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
