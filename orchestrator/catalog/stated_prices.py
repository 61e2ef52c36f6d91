"""Prices stated in JSON, by a declaration or by the words of property names.

The functions here read a body in units of its currency (see `plain_money`); callers outside this
room use prices.py, which makes that body by the document's schemas.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final
from unicodedata import category, digit, normalize

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.core import budget
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import name_words

_words = WordLists("money").word_set
_UNIT_NAMES: Final = _words("smallest_names") | _words("hundredths_names")
_MINOR: Final = _UNIT_NAMES | _words("other_names")
_PRICE: Final = _words("price_names")
WHOLE: Final = _words("whole_purchases")
_NEUTRAL: Final = _words("neutral")
_LAST: Final = _NEUTRAL | _words("after_price")
_OTHER: Final = _words("other_purposes")
_RATE: Final = _MINOR | _words("rates")
_CERTAIN: Final = _words("certain")
_PAGING: Final = _words("paging")
_MEASURES: Final = _words("measures")
_QUANTITIES: Final = _words("quantities")
_RIVALS: Final = _words("rivals")
_TAKEN: Final = _words("taken")
_ALLOWED: Final = _TAKEN | _words("next_to_taken")
_NUMBER: Final = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*")
_LONGEST_NUMBER: Final = 60
_AROUND: Final = re.compile(
    r"\s*+(?:(?P<before>[^\W\d_]{3})\s*+)?(?:(?P<sign>[-+])\s*+)?"
    r"(?P<digits>[0-9](?:[0-9.,'\u2019 ]*[0-9])?)"
    r"(?:[eE](?P<exponent>[-+]?[0-9]{1,2}))?(?P<space>\s*+)(?P<unit>[^\W\d_]++)?\.?\s*+"
)
_GROUPED: Final = re.compile(r"[0-9]{1,3}(?:[.,'\u2019 ][0-9]{2,3})*[.,'\u2019 ][0-9]{3}")
_SYMBOLS: Final = {"\u20ac": "EUR", "\u00a3": "GBP"}
"""Signs that belong to one currency only."""
_CENTS: Final = re.compile(r"[.,]([0-9]{1,4})$")
_MOST_LEVELS: Final = 3
_MOST_TAKEN_LEVELS: Final = 2
UNCLEAR: Final = "its smallest unit: the document does not say"
"""End of the text that replaces an amount in unclear units."""
Prices = frozenset[Money | None]
"""Stated prices; None stands for an unclear amount."""
_NO_PRICES: Final[Prices] = frozenset()
_IN_DOUBT: Final[Prices] = frozenset({None})


def stated_price(body: JsonValue) -> Money | None:
    """Return the price that a body states; None if it is not plain.

    A declared price wins and excludes all others.

    The name of a price has words such as `total`, `price`, `fare`, `amount` or `booking`, and no
    others. Its value is an object of amount and currency, or a number with a currency next to or
    above it. A total wins over a price; two different values are unclear. A body without a price
    has the price of its one object that states one. Lists are ignored: an answer that lists offers
    has no price of its own.

    A price next to a number of pieces may be the price of each, and a price next to a sale price
    may be crossed out: both are unclear, and nothing else resolves them.
    """
    return _only(_every_price(body))


def has_unclear_price(body: JsonValue) -> bool:
    """Return True if a body states a price of an unclear amount."""
    found = _every_price(body)
    return bool(found) and _only(found) is None


def declares_price(body: JsonValue) -> bool:
    """Return True if a body has a declared price."""
    return any(True for _ in _declaring(body))


def holder_of_rate(body: JsonValue) -> JsonObject | None:
    """Return the object in a body whose declared price is per piece; lists are ignored."""
    prices = ((holder, holder[PRICE]) for holder in _declaring(body))
    return next((holder for holder, p in prices if isinstance(p, dict) and "per" in p), None)


def _declaring(value: JsonValue, levels: int = _MOST_LEVELS) -> Iterator[JsonObject]:
    """Yield the outermost objects with a declared price, except in lists."""
    if isinstance(value, dict):
        if PRICE in value:
            yield value
        else:
            for inner in value.values() if levels else ():
                yield from _declaring(inner, levels - 1)


def _every_price(body: JsonValue) -> Prices:
    if not isinstance(body, dict):
        return _NO_PRICES
    if declared := frozenset(map(_declared_money, _declaring(body))):
        return declared
    if found := _stated(body, _ranked(body), ""):
        return found
    nearby = currency_of(body)
    inner = (_stated_within(*member, nearby) for member in body.items())
    stating = [prices for prices in inner if prices]
    return stating[0] if len(stating) == 1 else _NO_PRICES


def _declared_money(holder: JsonObject) -> Money | None:
    value = holder[PRICE]
    if not isinstance(value, dict):
        return None
    return _only(_number(value.get("amount"), str(value.get("currency"))))


def _stated_within(name: str, value: JsonValue, currency: str) -> Prices:
    words = frozenset(name_words(name))
    if not isinstance(value, dict) or names_price(name) or _has(words, _OTHER):
        return _NO_PRICES
    ranks = _ranked(value)
    if not words & WHOLE:
        # In other objects an amount may belong to anything.
        ranks = {n: r for n, r in ranks.items() if _CERTAIN & set(name_words(n))}
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


def _read(value: JsonValue, currency: str, levels: int) -> Prices:
    if not isinstance(value, dict):
        return _number(value, currency)
    ranks = {**_ranked(value), **({"value": 2} if "value" in value else {})}
    return _stated(value, ranks, currency, levels - 1) if levels else _NO_PRICES


def _number(amount: JsonValue, currency: str) -> Prices:
    """Return the money of a number or a numeric text that is not negative; None if unclear."""
    if isinstance(amount, str) and amount.endswith(UNCLEAR):
        return _IN_DOUBT
    number = as_decimal(amount)
    if number is None or number < 0 or not budget.is_currency(currency):
        return _NO_PRICES
    return frozenset({Money(amount=number, currency=currency)})


def as_decimal(amount: JsonValue) -> Decimal | None:
    """Return a number, or a numeric text, by its text: 249.9 is not its binary neighbour."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return None
    if isinstance(amount, str) and not _NUMBER.fullmatch(amount):
        return None
    value = Decimal(str(amount))
    return value if value.is_finite() else None


@dataclass(frozen=True)
class WrittenNumber:
    """The largest number that a text may mean, and the currency that it names; '' if none."""

    number: Decimal
    currency: str


def written_number(text: str) -> WrittenNumber | None:
    """Return the number that a whole text is, however it is written, with at most one word.

    For doubts and comparisons, never for a price: `1.234` may be 1234, and is read so.

    >>> written_number("1.234,50 EUR")
    WrittenNumber(number=Decimal('1234.50'), currency='EUR')
    """
    if len(text) > _LONGEST_NUMBER or not any(map(str.isdigit, text)):
        return None
    plain = normalize("NFKC", text)
    plain = "".join(str(digit(char, None) or 0) if char.isdecimal() else char for char in plain)
    symbols = [char for char in plain if category(char) == "Sc"]
    plain = "".join(char for char in plain if category(char) != "Sc")
    found = _AROUND.fullmatch(plain)
    if found is None:
        return None
    before, unit = (found[name] or "" for name in ("before", "unit"))
    codes = [code.upper() for code in (before, unit) if budget.is_currency(code.upper())]
    is_apart = found["space"] or not unit or unit.upper() in codes
    if (before and before.upper() not in codes) or not is_apart or len(symbols) > 1:
        return None
    readings = [*_readings(found["digits"])]
    if not readings:
        return None
    number = max(readings).scaleb(int(found["exponent"] or 0))
    known = [*codes, *(_SYMBOLS[symbol] for symbol in symbols if symbol in _SYMBOLS)]
    return WrittenNumber(-number if found["sign"] == "-" else number, next(iter(known), ""))


def _readings(digits: str) -> Iterator[Decimal]:
    whole, _, fraction = digits.replace(",", ".").rpartition(".")
    for integer, decimals in ((digits, ""), (digits[: len(whole)], fraction)):
        if (integer.isdecimal() or _GROUPED.fullmatch(integer)) and (whole or not decimals):
            yield Decimal(
                "".join(filter(str.isdecimal, integer)) + (f".{decimals}" * bool(decimals))
            )


def _is_relative(holder: JsonObject) -> bool:
    """Return True if other fields make the amounts rates, or count them in minor units."""
    for name, value in holder.items():
        words = set(name_words(name))
        if words & _MINOR and not words & _PRICE:
            return True
        is_measure = isinstance(value, str) and words & _MEASURES
        if is_measure and _RATE & set(name_words(str(value))):
            return True
    return False


def _is_doubtful(holder: JsonObject, ranks: dict[str, int], found: Prices, currency: str) -> bool:
    """Return True if a price may be for one piece among several, or has a rival."""
    stated = {word for name in ranks for word in name_words(name)}
    if not stated & {"total", "amount", "charge", "charged", *WHOLE} and quantity_in(holder) != 1:
        return True
    rivals = (v for name, v in holder.items() if {*name_words(name)} & _RIVALS)
    asked = {money for value in rivals for money in _read(value, currency, _MOST_LEVELS)}
    return bool(asked - found)


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
    return money_in(value, currency_of(holder or {}))


def money_in(value: JsonValue, currency: str) -> Money | None:
    """Return the money at a declared place; `currency` is the currency around it."""
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


def money_like_in(value: JsonValue) -> Iterator[Money]:
    """Yield all possible amounts of money in a JSON value, under any name.

    These include a text with a currency, a text with cents below a currency, and a number with
    cents next to a currency. A number that is alone in its object needs only the cents or the
    currency. A text with two readings counts as the larger amount. A number that is named for a
    price and has no currency around it counts in the only one of the whole value.
    """
    yield from amounts_in(value)
    yield from _money_like(value, "", "", is_alone=False)
    if len(codes := {*_currencies_in(value)}) == 1:
        yield from _amounts_far_from_currency(value, codes.pop())


def _currencies_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _currencies_in(inner)
    if isinstance(value, dict) and budget.is_currency(own := currency_of(value)):
        yield own


def _amounts_far_from_currency(value: JsonValue, currency: str) -> Iterator[Money]:
    if isinstance(value, list):
        for member in value:
            yield from _amounts_far_from_currency(member, currency)
    elif isinstance(value, dict) and not any(map(names_currency, value)):
        for name, inner in value.items():
            words = set(name_words(name))
            if isinstance(inner, dict | list):
                yield from _amounts_far_from_currency(inner, currency)
            elif words & (_PRICE | {"fee"}):
                decimals = budget.EXPONENTS.get(currency, 0) if words & _UNIT_NAMES else 0
                amounts = (money.amount for money in _number(inner, currency) if money)
                for amount in amounts:
                    small = budget.in_major_units(amount, decimals)
                    yield Money(amount=small, currency=currency)


def _money_like(value: JsonValue, above: str, sibling: str, *, is_alone: bool) -> Iterator[Money]:
    if isinstance(value, list):
        for member in value:
            yield from _money_like(member, above, sibling, is_alone=is_alone)
    elif isinstance(value, dict):
        nearby, own = currency_of(value, above), currency_of(value)
        is_single = sum(not names_currency(name) for name in value) == 1
        for inner in value.values():
            yield from _money_like(inner, nearby, own, is_alone=is_single)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        written = written_number(str(value))
        if written is None or written.number < 0:
            return
        is_text = isinstance(value, str)
        code = written.currency or (above if is_text or is_alone else sibling)
        cents = _CENTS.search(str(value))
        has_cents = cents is not None and len(cents[1]) <= budget.EXPONENTS.get(code, 0)
        if budget.is_currency(code) and (
            written.currency or has_cents or (is_alone and sibling == code)
        ):
            yield Money(amount=written.number, currency=code)


def amount_named(value: JsonValue, words: Collection[str]) -> Money | None:
    """Return the one amount whose name has one of these words; None if there is none or several.

    Lists are not searched, because they have the parts of something.
    """
    found = {*_amounts_named(value, frozenset(words), "", _MOST_LEVELS)}
    return found.pop() if len(found) == 1 else None


def _amounts_named(
    value: JsonValue, words: frozenset[str], currency: str, levels: int
) -> Iterator[Money]:
    if not isinstance(value, dict) or not levels:
        return
    nearby = currency_of(value, currency)
    for name, inner in value.items():
        if words.isdisjoint(name_words(name)):
            yield from _amounts_named(inner, words, nearby, levels - 1)
        elif (money := money_in(inner, nearby)) is not None:
            yield money


def charged_in(body: JsonValue) -> Money | None:
    """Return the charge that an answer states; None if it is not plain.

    A part may be taken now and the rest later, but never more than the price: the higher amount was
    charged. If the amounts are in different currencies, the taken amount counts.
    """
    stated, taken = _every_price(body), frozenset(_taken(body, "", _MOST_TAKEN_LEVELS))
    codes = {money.currency for money in taken if money is not None}
    if None in taken or None in stated or len(codes) != 1:
        return None if None in taken else _only(stated)
    amounts = (money for money in stated | taken if money is not None and money.currency in codes)
    return max(amounts, key=lambda money: money.amount)


def _taken(value: JsonValue, currency: str, levels: int) -> Iterator[Money | None]:
    """Yield the amounts that are named as taken; None for one in unclear units."""
    if not isinstance(value, dict) or not levels:
        return
    nearby = currency_of(value, currency)
    for name, inner in value.items():
        if _is_taken(name):
            yield from _read(inner, nearby, _MOST_LEVELS)
        else:
            yield from _taken(inner, nearby, levels - 1)


def _is_taken(name: str) -> bool:
    words = frozenset(name_words(name))
    return bool(words & _TAKEN) and words <= _ALLOWED


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


@lru_cache(maxsize=4096)
def names_currency(name: str) -> bool:
    """Return True if a field of that name holds a currency code."""
    return name_words(name) in (("currency",), ("currency", "code"))


def names_quantity(name: str) -> bool:
    """Return True if a field of that name holds a number of pieces."""
    return name_words(name)[-1] in _QUANTITIES


def quantity_in(holder: JsonObject) -> int | None:
    """Return the number of pieces in an object: 1 without any statement, None if unclear."""
    stated = [v for name, v in holder.items() if names_quantity(name)]
    counts = {v for v in stated if isinstance(v, int) and not isinstance(v, bool)}
    return 1 if not stated else counts.pop() if len(counts) == 1 == len(stated) else None


def currency_of(holder: JsonObject, above: str = "") -> str:
    """Return the currency of an object: its own, else the one around it; '' when unclear."""
    own = [value for name, value in holder.items() if names_currency(name)]
    if not own:
        return above
    return own[0] if isinstance(own[0], str) and all(o == own[0] for o in own) else ""


def _ranked(holder: JsonObject) -> dict[str, int]:
    """Return the fields of an object that may hold its price, with rank 0 for the surest."""
    ranks = {name: rank for name in holder if (rank := _rank(name)) is not None}
    totals = {name: holder[name] for name in ranks if name_words(name) == ("total",)}
    left_out = _counts(totals, holder) if totals else set()
    return {name: rank for name, rank in ranks.items() if name not in left_out}


@lru_cache(maxsize=4096)
def _rank(name: str) -> int | None:
    """Return the rank of a name as a price, 0 for the surest; None if it names no price."""
    words = frozenset(_without_units(name))
    if not words & _PRICE or not words <= _PRICE | WHOLE | _NEUTRAL:
        return None
    if words & {"final", "grand", "overall"}:
        return 0
    return 1 if "total" in words else 2


def _without_units(name: str) -> tuple[str, ...]:
    """Return the words of a name without units: `amount_minor_units` is an amount."""
    words = name_words(name)
    if not _UNIT_NAMES & {*words}:
        return words
    return tuple(word for word in words if word not in _UNIT_NAMES | {"unit", "units"})


def _counts(totals: JsonObject, holder: JsonObject) -> set[str]:
    """Return the totals of an object that are the number of listed things."""
    lengths = {len(value) for value in holder.values() if isinstance(value, list)}
    is_page = any(_PAGING & set(name_words(name)) for name in holder)
    return {
        name
        for name, value in totals.items()
        if isinstance(value, int) and (is_page or value in lengths)
    }


def _has(words: frozenset[str], listed: frozenset[str]) -> bool:
    """Return True if one of the words is listed, in the singular or the plural."""
    return bool((words | {word.removesuffix("s") for word in words}) & listed)


def _only(found: Prices) -> Money | None:
    return next(iter(found)) if len(found) == 1 else None
