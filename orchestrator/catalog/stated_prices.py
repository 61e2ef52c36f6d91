"""Prices stated in JSON: by a declaration, or by the words of property names.

The functions here read a body in units of its currency (see `plain_money`); callers outside this
room use prices.py, which makes that body by the document's schemas.
"""

import re
from collections.abc import Collection, Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from pydantic import JsonValue, ValidationError

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.core import currencies
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import name_words

_LISTS: Final = WordLists("money")
_UNIT_NAMES: Final = _LISTS.word_set("smallest_names") | _LISTS.word_set("hundredths_names")
_MINOR: Final = _UNIT_NAMES | _LISTS.word_set("other_names")
_QUANTITIES: Final = _LISTS.word_set("quantities")
_RIVALS: Final = _LISTS.word_set("rivals")
_NUMBER: Final = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*")
_MOST_LEVELS: Final = 3
_DUE: Final = 3
"""Rank of an amount due: the price, unless a part was paid before."""
UNCLEAR: Final = "its smallest unit: the document does not say"
"""End of the text that replaces an amount in unclear units."""
Prices = frozenset[Money | None]
"""Stated prices; None stands for an unclear amount."""
_NO_PRICES: Final[Prices] = frozenset()
_IN_DOUBT: Final[Prices] = frozenset({None})
_TAKEN: Final = frozenset({"charge", "charged", "paid", "payment", "transaction"})
_ALLOWED: Final = frozenset({"amount", "cost", "fare", "final", "price", "total", "value"})
"""Words allowed next to these; with any other the field is a part, a fee, or something else."""
_MOST_TAKEN_LEVELS: Final = 2


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PRICE: Final = _words("amount charge charged cost fare price total")
WHOLE: Final = _words(
    "booking cart checkout invoice offer order payment purchase quote rental reservation stay "
    "transaction trip"
)
"""Names of a whole purchase: the price of one of these is the price."""
_NEUTRAL: Final = _words("all charges costs current due final full grand in inclusive overall")
"""Words that leave a price a price."""
_LAST: Final = _NEUTRAL | _words("gross paid value")
"""Words after a price word that leave it a price: `price_paid`."""
_OTHER: Final = _words(
    "addon adjustment allowance average baggage balance base breakdown budget cancel cancellation "
    "cap cashback change commission coupon credit delivery deposit discount estimate estimated "
    "extra fee insurance limit luggage max maximum min minimum monthly nightly old optional "
    "original penalty per policy previous rate refund saving shipping surcharge tax tip unit "
    "upgrade vat voucher"
)
"""Objects with these words hold no price, a part of one, or the price of something else."""
_CERTAIN: Final = _words("cost fare price total")
"""Price words that are certain in any object; an amount may be of anything."""
_PAID: Final = _words("deposit outstanding paid prepaid remaining")
_PAGING: Final = _words("cursor limit more offset page pages")
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
"""Words that make a price something other than the cost of the whole."""


def stated_price(body: JsonValue) -> Money | None:
    """Return the price that a body states; None when it is not plain.

    A declared price wins and excludes all others.

    The name of a price has words such as `total`, `price`, `fare` or `amount`, and none that make
    it something else: a part, a deposit, a fee, a refund, a limit, a rate per night or piece. Its
    value is an object of amount and currency, or a number with a currency next to or above it. A
    total wins over a price, a price over an amount due; two different values are unclear. A body
    without a price has the price of its one object that states one. Lists are ignored: an answer
    that lists offers has no price of its own.

    A price next to a number of pieces may be the price of each, and one next to a sale price may be
    crossed out: both are unclear, and nothing else makes up for them.
    """
    return _only(_every_price(body))


def has_unclear_price(body: JsonValue) -> bool:
    """Return True if a body states a price of an unclear amount."""
    found = _every_price(body)
    return bool(found) and _only(found) is None


def declares_price(body: JsonValue) -> bool:
    """Return True if a body holds a declared price."""
    return isinstance(body, dict) and any(True for _ in _declared(body, _MOST_LEVELS))


def _every_price(body: JsonValue) -> Prices:
    """Return all prices that a body states; several if they differ."""
    if not isinstance(body, dict):
        return _NO_PRICES
    if declared := frozenset(_declared(body, _MOST_LEVELS)):
        return declared
    if found := _stated(body, _ranked(body), ""):
        return found
    nearby = currency_of(body)
    inner = (_stated_within(*member, nearby) for member in body.items())
    stating = [prices for prices in inner if prices]
    return stating[0] if len(stating) == 1 else _NO_PRICES


def money_of(value: JsonValue, holder: JsonObject | None = None) -> Money | None:
    """Return the money that a value is: an object of amount and currency, or a number.

    `holder` is the object around the value, which has the currency of a number. An object with
    further properties is not money.
    """
    if isinstance(value, dict):
        rest = [name for name in value if not names_currency(name)]
        if len(rest) == len(value) or not all(n == "value" or names_price(n) for n in rest):
            return None
        if len(rest) > 1 and any(_only(_read(value[name], "EUR", 0)) is None for name in rest):
            return None  # its amount would be lost
    return _only(_read(value, currency_of(holder or {}), _MOST_LEVELS))


def money_in(value: JsonValue, currency: str) -> Money | None:
    """Return the money at a declared place; `currency` is the one around it."""
    return _only(_read(value, currency, _MOST_LEVELS))


def amounts_in(value: JsonValue, currency: str = "") -> Iterator[Money]:
    """Yield every amount of money in a JSON value, of any purpose."""
    if isinstance(value, list):
        for member in value:
            yield from amounts_in(member, currency)
    elif isinstance(value, dict):
        nearby = currency_of(value, currency)
        for name, inner in value.items():
            if name == PRICE:
                continue  # repeats an amount under its own name
            if isinstance(inner, dict | list):
                yield from amounts_in(inner, nearby)
            elif set(name_words(name)) & (_PRICE | {"fee", "value"}):
                yield from (money for money in _number(inner, nearby) if money is not None)


def amount_named(value: JsonValue, words: Collection[str], currency: str = "") -> Money | None:
    """Return the one amount whose name has one of these words; None if there is none or several.

    Lists are not searched: they hold the parts of something.
    """
    found = {*_amounts_named(value, words, currency, _MOST_LEVELS)}
    return found.pop() if len(found) == 1 else None


def _amounts_named(
    value: JsonValue, words: Collection[str], currency: str, levels: int
) -> Iterator[Money]:
    if not isinstance(value, dict) or not levels:
        return
    nearby = currency_of(value, currency)
    for name, inner in value.items():
        if not {*words}.isdisjoint(name_words(name)):
            yield from (money for money in [money_in(inner, nearby)] if money is not None)
        else:
            yield from _amounts_named(inner, words, nearby, levels - 1)


def names_price(name: str) -> bool:
    """Return True if a field of that name holds the price of its object."""
    return _rank(name) is not None


def names_money(name: str) -> bool:
    """Return True if a number in a field of that name is money next to a currency."""
    words = set(name_words(name))
    return bool(words & (_PRICE | {"fee"})) and not words & _MINOR - _UNIT_NAMES


@lru_cache(maxsize=4096)
def names_amount(name: str) -> bool:
    """Return True if a number in a field of that name is an amount, not an id or a level."""
    words = _without_units(name) or ("value",)
    of_money = bool({*words} & (_PRICE | {"fee", "value"}))
    return of_money and (words[-1] in _PRICE | _LAST | {"fee"} or words[0] == "amount")


def _without_units(name: str) -> tuple[str, ...]:
    """Return the words of a name without units: `amount_minor_units` is an amount."""
    words = name_words(name)
    if not _UNIT_NAMES & {*words}:
        return words
    return tuple(word for word in words if word not in _UNIT_NAMES | {"unit", "units"})


@lru_cache(maxsize=4096)
def names_currency(name: str) -> bool:
    """Return True if a field of that name holds a currency code."""
    return name_words(name) in (("currency",), ("currency", "code"))


def _ranked(holder: JsonObject) -> dict[str, int]:
    """Return the fields of an object that may hold its price, with rank 0 for the surest."""
    ranks = {name: rank for name in holder if (rank := _rank(name)) is not None}
    is_part_paid = any(_PAID & set(name_words(name)) for name in holder)
    left_out = {name for name, rank in ranks.items() if rank == _DUE and is_part_paid}
    totals = {name: holder[name] for name in ranks if name_words(name) == ("total",)}
    left_out |= _counts(totals, holder) if totals else set()
    return {name: rank for name, rank in ranks.items() if name not in left_out}


@lru_cache(maxsize=4096)
def _rank(name: str) -> int | None:
    """Return the rank of a name as a price, 0 for the surest; None when it names no price."""
    in_order = _without_units(name)
    words = frozenset(in_order)
    if not words & _PRICE:
        return None
    if not words <= _PRICE | WHOLE | _NEUTRAL:
        # The price of a room is a price; an amount, a total or a charge of something else may not
        # be, and the last word shows an attribute of a price, such as its id, level or class.
        is_price = words & {"cost", "fare", "price"} and in_order[-1] in _PRICE | _LAST
        return 4 if is_price and not _has(words, _QUALIFIED) else None
    if "due" in words:
        return _DUE
    if words & {"final", "grand", "overall"}:
        return 0
    return 1 if "total" in words else 2


def _counts(totals: JsonObject, holder: JsonObject) -> set[str]:
    """Return the totals of an object that are the number of listed things."""
    lengths = {len(value) for value in holder.values() if isinstance(value, list)}
    is_page = any(_PAGING & set(name_words(name)) for name in holder)
    return {
        name
        for name, value in totals.items()
        if isinstance(value, int) and (is_page or value in lengths)
    }


def _stated_within(name: str, value: JsonValue, currency: str) -> Prices:
    """Return the prices that an object inside the body states."""
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
    """Return the prices in the fields of the lowest rank that hold any; several if they differ."""
    if PRICE in holder:
        return frozenset({_declared_money(holder)})
    if _is_relative(holder):
        return _NO_PRICES
    nearby = currency_of(holder, currency)
    for rank in sorted(set(ranks.values())):
        fields = [holder[name] for name, its in ranks.items() if its == rank]
        found = frozenset(money for value in fields for money in _read(value, nearby, levels))
        if found:
            is_doubtful = rank > 0 and _is_doubtful(holder, ranks, found, nearby)
            return _IN_DOUBT if is_doubtful else found
    return _NO_PRICES


def _is_doubtful(holder: JsonObject, ranks: dict[str, int], found: Prices, currency: str) -> bool:
    """Return True if a price may be of one piece among several, or has a rival."""
    stated = {word for name in ranks for word in name_words(name)}
    if not stated & {"total", "amount", "charge", "charged", *WHOLE} and quantity_in(holder) != 1:
        return True
    rivals = (v for name, v in holder.items() if {*name_words(name)} & _RIVALS)
    asked = {money for value in rivals for money in _read(value, currency, _MOST_LEVELS)}
    return bool(asked - found)


def quantity_in(holder: JsonObject) -> int | None:
    """Return the number of pieces in an object: 1 without any statement, None when unclear."""
    stated = [v for name, v in holder.items() if names_quantity(name)]
    counts = {v for v in stated if isinstance(v, int) and not isinstance(v, bool)}
    return 1 if not stated else counts.pop() if len(counts) == 1 == len(stated) else None


def names_quantity(name: str) -> bool:
    """Return True if a field of that name holds a number of pieces."""
    return name_words(name)[-1] in _QUANTITIES


def _declared(holder: JsonObject, levels: int) -> Iterator[Money | None]:
    """Yield the declared prices of an object and of those inside it, except in lists."""
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
    """Return True if other fields make the amounts rates, or count them in minor units."""
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
    """Return the currency of an object: its own, else the one around it; '' when unclear."""
    own = [value for name, value in holder.items() if names_currency(name)]
    if not own:
        return above
    return own[0] if isinstance(own[0], str) and all(o == own[0] for o in own) else ""


def _number(amount: JsonValue, currency: str) -> Iterator[Money | None]:
    """Yield the money of a number or a numeric text, not negative; None if unclear."""
    if isinstance(amount, str) and amount.endswith(UNCLEAR):
        yield None
    number = as_decimal(amount)
    if number is None or not currencies.exists(currency):
        return
    try:
        yield Money(amount=number, currency=currency)
    except ValidationError:
        return


def as_decimal(amount: JsonValue) -> Decimal | None:
    """Return a number, or a numeric text, by its text: 249.9 is not its binary neighbour."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return None
    if isinstance(amount, str) and not _NUMBER.fullmatch(amount):
        return None
    try:
        value = Decimal(str(amount))
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def _has(words: frozenset[str], listed: frozenset[str]) -> bool:
    """Return True if one of the words is listed, in the singular or the plural."""
    return bool((words | {word.removesuffix("s") for word in words}) & listed)


def _only(found: Prices) -> Money | None:
    return next(iter(found)) if len(found) == 1 else None


def charged_in(body: JsonValue) -> Money | None:
    """Return the charge that an answer states; None when it is not plain.

    A part may be taken now and the rest later, but never more than the price: the higher amount was
    charged. In another currency than the price, the taken amount counts.
    """
    stated, taken = _every_price(body), frozenset(_taken(body, "", _MOST_TAKEN_LEVELS))
    known = frozenset(money for money in stated if money is not None)
    if not taken or known != stated or len({money.currency for money in taken}) > 1:
        return stated_price(body)
    (currency,) = {money.currency for money in taken}
    nearby = frozenset(money for money in known if money.currency == currency)
    return max(taken | nearby, key=lambda money: money.amount)


def holder_of_rate(body: JsonValue, levels: int = _MOST_TAKEN_LEVELS) -> JsonObject | None:
    """Return the object in a body whose declared price is per piece; lists are ignored."""
    if not isinstance(body, dict):
        return None
    if PRICE in body:
        declared = body[PRICE]
        return body if isinstance(declared, dict) and "per" in declared else None
    inner = (holder_of_rate(value, levels - 1) for value in body.values() if levels)
    return next((found for found in inner if found is not None), None)


def _taken(body: JsonValue, above: str, levels: int) -> Iterator[Money]:
    """Yield each amount with the name of a charge; a declared price excludes guesses."""
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
    return bool(words & _TAKEN) and words <= _TAKEN | _ALLOWED
