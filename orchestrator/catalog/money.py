"""Amounts of money in JSON: their units by schemas, and the price that an object states.

`plain_money` copies a body for cards and comparisons: cents become euros, an amount in unclear
units a text that says so, and a declared price stands in its object under one name. Everything else
reads that copy. Names count by short closed lists; what they do not settle is unknown.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple
from unicodedata import category, normalize

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import MINOR_UNITS, PRICE, MinorUnits, minor_units_in
from orchestrator.core import budget
from orchestrator.core.budget import Money
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of, subschemas, types_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import name_words

UNCLEAR: Final = "its smallest unit: the document does not say"
"""End of the text that replaces an amount in unclear units."""
Views = Sequence[JsonObject]
Prices = frozenset[Money | None]
"""Stated prices; None stands for an unclear amount."""

_LISTS: Final = WordLists("money")
_words = _LISTS.word_set
_PRICE: Final = _words("price_names")
_MONEY: Final = _PRICE | {"fee", "value"}
_WHOLE: Final = _words("whole_purchases")
_PRICED: Final = _PRICE | _WHOLE | _words("neutral")
_LAST: Final = _MONEY | _words("neutral") | _words("after_price")
_TOTAL: Final = frozenset({"total", "final", "grand", "overall"})
_CENTS: Final = _words("smallest_names") | _words("hundredths_names")
_SCALES: Final = _words("other_names")
_MEASURES: Final = _words("measures")
_QUANTITIES: Final = _words("quantities")
_RIVALS: Final = _words("rivals")
_PAGING: Final = _words("paging")
_TAKEN: Final = _words("taken")
_ENVELOPES: Final = ("data", "result", "attributes")
"""Objects that hold a whole answer, by JSON:API and the like."""
_MOST_LEVELS: Final = 3
_DEEPEST: Final = 40
_MOST_SHAPES: Final = 4000
"""Largest number of places that are cached per schema; a recursive one has any number."""
_IN_DOUBT: Final[Prices] = frozenset({None})


@lru_cache(maxsize=4096)
def names_price(name: str) -> bool:
    """Return True if a field of that name holds the price of its object."""
    words = {*_without_units(name)}
    return bool(words & _PRICE) and words <= _PRICED


@lru_cache(maxsize=4096)
def names_amount(name: str) -> bool:
    """Return True if a number in a field of that name is an amount, not an id or a level."""
    words = _without_units(name) or ("value",)
    return bool({*words} & _MONEY) and (words[-1] in _LAST or words[0] == "amount")


@lru_cache(maxsize=4096)
def names_currency(name: str) -> bool:
    """Return True if a field of that name holds a currency code."""
    return name_words(name) in (("currency",), ("currency", "code"))


def names_quantity(name: str) -> bool:
    """Return True if a field of that name holds a number of pieces."""
    return name_words(name)[-1] in _QUANTITIES


def _has(name: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(name_words(name))


def _without_units(name: str) -> tuple[str, ...]:
    # `amount_minor_units` is an amount.
    units = _CENTS | {"unit", "units"} if _has(name, _CENTS) else ()
    return tuple(word for word in name_words(name) if word not in units)


def currency_of(holder: JsonObject, above: str = "") -> str:
    """Return the currency of an object: its own, else the one around it; '' when unclear."""
    own = [value for name, value in holder.items() if names_currency(name)]
    if not own:
        return above
    return own[0] if isinstance(own[0], str) and all(o == own[0] for o in own) else ""


def quantity_in(holder: JsonObject) -> int | None:
    """Return the number of pieces in an object: 1 without any statement, None if unclear."""
    stated = [v for name, v in holder.items() if names_quantity(name)]
    counts = {v for v in stated if isinstance(v, int) and not isinstance(v, bool)}
    return 1 if not stated else counts.pop() if len(counts) == 1 == len(stated) else None


_FRACTION: Final = re.compile(r"[.,]([0-9]{1,4})$")
_NUMBER: Final = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*")
_LONGEST_NUMBER: Final = 60
_AROUND: Final = re.compile(
    r"\s*+(?:(?P<before>[^\W\d_]{3})\s*+)?(?:(?P<sign>[-+])\s*+)?"
    r"(?P<digits>\d(?:[\d.,'\u2019 ]*\d)?)"
    r"(?:[eE](?P<exponent>[-+]?[0-9]{1,2}))?(?P<space>\s*+)(?P<unit>[^\W\d_]++)?\.?\s*+"
)
_GROUPED: Final = re.compile(r"\d{1,3}(?:[.,'\u2019 ]\d{2,3})*[.,'\u2019 ]\d{3}|\d+")
_SYMBOLS: Final = {"\u20ac": "EUR", "\u00a3": "GBP"}
"""Signs that belong to one currency only."""


def as_decimal(amount: JsonValue) -> Decimal | None:
    """Return a number, or a numeric text, by its text: 249.9 is not its binary neighbour."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return None
    if isinstance(amount, str) and not _NUMBER.fullmatch(amount):
        return None
    value = Decimal(str(amount))
    return value if value.is_finite() else None


def written_number(text: str) -> tuple[Decimal, str] | None:
    """Return the largest number that a whole text may mean, and the currency in it, else ''.

    The text may have one more word. For doubts and comparisons, never for a price: `1.234` may be
    1234, and is read so.

    >>> written_number("1.234,50 EUR")
    (Decimal('1234.50'), 'EUR')
    """
    if len(text) > _LONGEST_NUMBER or not any(map(str.isdigit, text)):
        return None
    plain = normalize("NFKC", text)
    symbols = [char for char in plain if category(char) == "Sc"]
    found = _AROUND.fullmatch("".join(char for char in plain if char not in symbols))
    if found is None or len(symbols) > 1:
        return None
    before, unit = (found[name] or "" for name in ("before", "unit"))
    codes = [code.upper() for code in (before, unit) if budget.is_currency(code.upper())]
    if (before and before.upper() not in codes) or not (
        found["space"] or not unit or unit.upper() in codes
    ):
        return None
    # The last separator groups digits, or begins decimals: the larger reading counts.
    integer, decimals = found["digits"], "0"
    if not _GROUPED.fullmatch(integer):
        whole, _, decimals = integer.replace(",", ".").rpartition(".")
        integer = integer[: len(whole)]
    if not _GROUPED.fullmatch(integer) or not decimals.isdecimal():
        return None
    number = Decimal(f"{''.join(filter(str.isdecimal, integer))}.{decimals}")
    number = number.scaleb(int(found["exponent"] or 0)) * (-1 if found["sign"] == "-" else 1)
    codes += [_SYMBOLS[symbol] for symbol in symbols if symbol in _SYMBOLS]
    return number, codes[0] if codes else ""


# Units of numbers.


def _phrases(key: str) -> str:
    longest_first = sorted(_LISTS.lines(key), key=len, reverse=True)
    return f"(?P<{key}>{'|'.join(map(re.escape, longest_first))})"


_UNITS: Final = re.compile(
    rf"(?<!\w)(?:{'|'.join(map(_phrases, ('smallest', 'hundredths', 'major')))})s?(?!\w)"
)
_DENIED: Final = re.compile(rf"\b(?:{'|'.join(_LISTS.words('denials'))})\b(?:\W+\w+){{0,3}}\W*$")
_EXCEPTED: Final = re.compile(r"\b(?:differ|deviat|depart|except)|\bunlike\b", re.IGNORECASE)
_CODE: Final = re.compile(r"\b[A-Z]{3}\b")
_DECIMALS_OF: Final = re.compile(r"\b([A-Z]{3})\b\s*(?:[:=]|has|with)\s*([0-9])\b(?![.,]?[0-9])")
_PER: Final = re.compile(r"\bper\s+([a-z]+)", re.IGNORECASE)


class Units(NamedTuple):
    """Statements about the units of a number, in any currency."""

    declared: MinorUnits | None = None
    words: frozenset[str] = frozenset()
    """Of smallest, hundredths, major, unlike (ISO 4217), unclear (denied, or of no currency)."""

    @property
    def is_stated(self) -> bool:
        """True if anything is stated."""
        return self.declared is not None or bool(self.words)

    @property
    def is_minor(self) -> bool:
        """True if words state a smaller unit."""
        return bool(self.words & {"smallest", "hundredths"})


def units_of(name: str, *schemas: JsonObject) -> Units:
    """Return the statements of a number's name and schemas, its own before those around it.

    The first schema that states anything decides, as the others describe more than this number.
    """
    for schema in schemas:
        if (declared := minor_units_in(schema.get(MINOR_UNITS))) is not None:
            return Units(declared)
    said = next((found for schema in schemas if (found := _described(schema))), frozenset[str]())
    named = {unit for unit in ("smallest", "hundredths") if _has(name, _words(f"{unit}_names"))}
    return Units(words=said | named | ({"unclear"} if _has(name, _SCALES) else set()))


def decimals_of(amount: JsonValue, currency: str, units: Units, schemas: Views = ()) -> int | None:
    """Return the implied decimals of an amount: 0 for euros, 2 for cents, or None.

    A whole number without a stated unit is unclear (None), also next to a currency in lower case,
    which providers write that count cents. A fraction counts whole units, and so does a schema that
    allows one. A code in mixed case is not ISO 4217: `GBp` counts pence.
    """
    exponent, value = budget.EXPONENTS.get(currency.upper()), as_decimal(amount)
    if exponent is None:
        return None
    has_point = isinstance(amount, str) and "." in amount
    if not units.is_stated:
        if currency not in (currency.upper(), currency.lower()):
            return None
        if exponent == 0 or has_point or isinstance(amount, float):
            return 0
        is_major = currency.isupper() and any(_allows_fractions(one, amount) for one in schemas)
        return 0 if is_major else None
    decimals: int | None
    if units.declared is not None:
        said: object = units.declared
        if isinstance(said, dict):
            said = said.get(currency.upper(), said.get("default"))
        is_iso = said is True or said == "iso"
        decimals = exponent if is_iso else int(said) if isinstance(said, int) else None
    else:
        is_imprecise = "hundredths" in units.words and exponent != 2
        is_imprecise |= {"major"} < units.words or bool(units.words & {"unclear", "unlike"})
        decimals = None if is_imprecise else exponent if units.is_minor else 0
    # An amount with a point does not count cents, even if words say so.
    is_whole = value is not None and value == value.to_integral_value() and not has_point
    return decimals if is_whole or not decimals else None


def _allows_fractions(schema: JsonObject, amount: JsonValue) -> bool:
    types, form = types_of(schema), str(schema.get("format", ""))
    if isinstance(amount, str):
        is_decimal = form == "decimal" or "\\." in str(schema.get("pattern", ""))
        return "string" in types and is_decimal
    is_whole = form.startswith("int") or isinstance(schema.get("multipleOf"), int)
    return "number" in types and not is_whole


def _described(schema: JsonObject) -> frozenset[str]:
    texts = (schema.get("title"), schema.get("description"))
    written = " ".join(text for text in texts if isinstance(text, str))
    text = written.lower()
    matches = list(_UNITS.finditer(text))
    found = {str(match.lastgroup) for match in matches}
    if "smallest" in found:
        found.discard("hundredths")  # an explanation: 100 cents to charge 1.00
    if any(_DENIED.search(text[max(0, m.start() - 40) : m.start()]) for m in matches):
        found.add("unclear")
    if found - {"major"}:
        # Other decimals for some currency than in ISO 4217 leave the unit of all amounts unknown.
        names_any = "4217" in written or any(map(budget.is_currency, _CODE.findall(written)))
        stated = ((m[1], int(m[2])) for m in _DECIMALS_OF.finditer(written))
        differs = any(budget.EXPONENTS.get(code, said) != said for code, said in stated)
        if differs or (names_any and _EXCEPTED.search(written) is not None):
            found.add("unlike")
    return frozenset(found)


# Copies in units of the currency.


def views(schema: JsonObject, root: JsonObject) -> tuple[JsonObject, ...]:
    """Return a schema as plain objects: itself, and each of its alternatives."""
    whole = resolve(schema, root)
    branches = (b for b in subschemas(whole, ("anyOf", "oneOf")) if isinstance(b, dict))
    return (whole, *(resolve(branch, root) for branch in branches))


def views_inside(held_by: Views, name: str | None, root: JsonObject) -> tuple[JsonObject, ...]:
    """Return the views of one property in these views of an object; of the members for None."""
    found = (v.get("items") if name is None else properties_of(v).get(name) for v in held_by)
    return tuple(view for one in found if isinstance(one, dict) for view in views(one, root))


def plain_money(value: JsonValue, schema: JsonObject | None) -> JsonValue:
    """Return the copy in units of the currency; `schema` is that of the whole value."""
    return _shapes_of(_NO_SCHEMA if schema is None else schema).copy_of(value)


def plain_amount(name: str, amount: JsonValue, currency: str, *schemas: JsonObject) -> JsonValue:
    """Return an amount in units of its currency; if unclear, a text that says so.

    Its own schema comes first, then the schemas of the objects around it.
    """
    number = as_decimal(amount)
    if number is None:
        return amount
    decimals = decimals_of(amount, currency, units_of(name, *schemas), schemas)
    if decimals is None:
        return f"{amount} {currency.upper()}, or as many of {UNCLEAR}"
    return str(budget.in_major_units(number, decimals)) if decimals else amount


class _Shape:
    """Statements of the schemas of one place."""

    def __init__(self, of: Views, root: JsonObject) -> None:
        self.of = of
        self.inside: dict[str | None, _Shape] = {}
        said = (schema.get(PRICE) for schema in of)
        self.price = next((s for s in said if s is True or isinstance(s, dict)), None)
        self.is_declared = self.price is not None or any(MINOR_UNITS in one for one in of)
        # A rate by its description is no price of the whole, unless its unit is.
        units = (m[1].lower() for one in of for m in _PER.finditer(str(one.get("description"))))
        self.rate = next((unit for unit in units if unit not in _WHOLE), "")
        # The only currency that the schema allows, for answers that omit the currency.
        named = [one for v in of for n, one in properties_of(v).items() if names_currency(n)]
        listed = [(w.get("const"), w.get("enum")) for w in (resolve(one, root) for one in named)]
        codes = (e[0] if isinstance(e, list) and len(e) == 1 else const for const, e in listed)
        self.currency = next((code for code in codes if isinstance(code, str)), "")


class _Shapes:
    """Copies values of one schema; statements are cached, as a list has many objects of a kind."""

    def __init__(self, root: JsonObject) -> None:
        self._root, self._whole, self._made = root, views(root, root), _MOST_SHAPES

    def copy_of(self, value: JsonValue) -> JsonValue:
        if self._made >= _MOST_SHAPES:
            self._first, self._made = _Shape(self._whole, self._root), 0
        return self._copy(value, self._first, "", 0)

    def _inside(self, shape: _Shape, name: str | None) -> _Shape:
        found = shape.inside.get(name)
        if found is None:
            found = _Shape(views_inside(shape.of, name, self._root), self._root)
            shape.inside[name] = found
            self._made += 1
        return found

    def _copy(self, value: JsonValue, shape: _Shape, above: str, level: int) -> JsonValue:
        if level > _DEEPEST or not isinstance(value, dict | list):
            return value
        if isinstance(value, list):
            members = self._inside(shape, None)
            return [self._copy(member, members, above, level + 1) for member in value]
        currency = currency_of(value, shape.currency or above)
        copy: JsonObject = {}
        prices: list[JsonValue] = []
        for name, inner in value.items():
            if name == PRICE:
                continue  # a provider's own x-orchet-price in an answer is not a declaration
            own = self._inside(shape, name)
            declared = own.price if isinstance(own.price, dict) else {}
            # A declaration names a code, or the field that holds it.
            code, per = declared.get("currency"), declared.get("per")
            code = value.get(code, code) if isinstance(code, str) else None
            nearby = code if isinstance(code, str) and code else currency
            copy[name] = self._copy(inner, own, currency, level + 1)
            if names_currency(name):
                if isinstance(inner, str) and budget.is_currency(inner.upper()):
                    copy[name] = inner.upper()
            elif nearby and (own.is_declared or names_amount(name)):
                plain = plain_amount(name, copy[name], nearby, *own.of, *shape.of)
                is_rate = own.rate and own.price is None and names_price(name)
                shown = f"{plain} {nearby.upper()} per {own.rate}"
                copy[name] = shown if is_rate and as_decimal(plain) is not None else plain
            if own.price is not None:
                money = money_in(copy[name], nearby.upper())
                piece: JsonObject = {"per": per} if isinstance(per, str) else {}
                prices.append(
                    {"amount": str(money.amount), "currency": money.currency, **piece}
                    if money is not None
                    else None
                )
        if prices:
            copy[PRICE] = prices[0] if all(one == prices[0] for one in prices) else None
        return copy


_shapes_of: Final = read_once(_Shapes)
_NO_SCHEMA: Final[JsonObject] = {}


# Prices, in a body in units of its currency.


def stated_price(body: JsonValue) -> Money | None:
    """Return the price that a body states; None if it is not plain.

    A declared price wins. Else the name of a price has words such as `total`, `price`, `fare` or
    `amount`, and no others than those of a whole purchase, such as `booking`. Its value is an
    object of amount and currency, or a number with a currency next to or above it. A total wins
    over a price; two different values are unclear. A body without a price has that of the only
    object in it that states one, if it is a whole purchase. Lists are ignored: an answer that lists
    offers has no price of its own.

    A price next to a number of pieces may be the price of each, and a price next to a sale price
    may be crossed out: both are unclear, and nothing else resolves them.
    """
    return only_price(every_price(body))


def only_price(found: Prices) -> Money | None:
    """Return the one price; None if there are several, or its amount is unclear."""
    return next(iter(found)) if len(found) == 1 else None


def declaring(value: JsonValue, levels: int = _MOST_LEVELS) -> Iterator[JsonObject]:
    """Yield the outermost objects with a declared price, except in lists."""
    if isinstance(value, dict) and PRICE in value:
        yield value
    elif isinstance(value, dict) and levels:
        for inner in value.values():
            yield from declaring(inner, levels - 1)


def every_price(body: JsonValue, levels: int = _MOST_LEVELS) -> Prices:
    """Return all prices that a body states as its own, which an envelope may hold."""
    if not isinstance(body, dict):
        return frozenset()
    if declared := [*declaring(body)]:
        return frozenset(only_price(_stated(holder, "")) for holder in declared)
    if found := _stated(body, ""):
        return found
    nearby = currency_of(body)
    objects = ((n, v) for n, v in body.items() if isinstance(v, dict) and not names_price(n))
    inside = [(name, prices) for name, value in objects if (prices := _stated(value, nearby))]
    held = [name for name in _ENVELOPES if isinstance(body.get(name), dict)]
    if levels and len(held) == 1 and {held[0]}.issuperset(name for name, _ in inside):
        return inside[0][1] if inside else every_price(body[held[0]], levels - 1)
    is_plain = len(inside) == 1 and _WHOLE.issuperset(name_words(inside[0][0]))
    return inside[0][1] if is_plain else _IN_DOUBT if inside else frozenset()


def _stated(
    holder: JsonObject, currency: str, levels: int = _MOST_LEVELS, *, is_price: bool = False
) -> Prices:
    """Return the totals of an object, else its prices; several if they differ."""
    if PRICE in holder:
        said = holder[PRICE]
        found = _read(said["amount"], str(said["currency"])) if isinstance(said, dict) else ()
        return frozenset(found) or _IN_DOUBT
    nearby = currency_of(holder, currency)
    names = [n for n in holder if names_price(n) or (is_price and n == "value")]
    totals = [n for n in names if _has(n, _TOTAL)]
    prices = [n for n in names if n not in totals]
    # A whole `total` may be the number of listed things.
    counted = {len(inner) for inner in holder.values() if isinstance(inner, list)}
    is_page = any(_has(other, _PAGING) for other in holder)
    for name in totals[:]:
        value = holder[name]
        is_number = isinstance(value, int) and name_words(name) == ("total",)
        if is_number and (is_page or value in counted):
            totals.remove(name)
    for chosen in (totals, prices):
        found = frozenset(money for n in chosen for money in _read(holder[n], nearby, levels))
        if found:
            may_be_one = chosen is prices and quantity_in(holder) != 1
            is_clear = not may_be_one and not _has_rival(holder, found, nearby)
            return found if is_clear else _IN_DOUBT
    return frozenset()


def _read(value: JsonValue, currency: str, levels: int = _MOST_LEVELS) -> Prices:
    """Return the money of a number, or of an object of amount and currency; None if unclear."""
    if isinstance(value, dict):
        return _stated(value, currency, levels - 1, is_price=True) if levels else frozenset()
    if isinstance(value, str) and value.endswith(UNCLEAR):
        return _IN_DOUBT
    number = as_decimal(value)
    if number is None or number < 0 or not budget.is_currency(currency):
        return frozenset()
    return frozenset({Money(amount=number, currency=currency)})


def _has_rival(holder: JsonObject, found: Prices, currency: str) -> bool:
    """Return True if a field makes amounts rates or minor units, or holds another price."""
    for name, value in holder.items():
        if _has(name, _CENTS | _SCALES) and not _has(name, _PRICE):
            return True
        if _has(name, _MEASURES) and isinstance(value, str) and as_decimal(value) is None:
            return True
        if _has(name, _RIVALS) and not _read(value, currency) <= found:
            return True
    return False


def money_in(value: JsonValue, currency: str) -> Money | None:
    """Return the money at a declared place; `currency` is the currency around it."""
    return only_price(_read(value, currency))


def money_of(value: JsonValue, holder: JsonObject | None = None) -> Money | None:
    """Return the money that a value is: an object of amount and currency, or a number.

    `holder` is the object around the value, which has the currency of a number. An object with
    further properties is not money.
    """
    if isinstance(value, dict):
        rest = [name for name in value if not names_currency(name)]
        if len(rest) != 1 or rest == [*value] or not (rest[0] == "value" or names_price(rest[0])):
            return None
    return money_in(value, currency_of(holder or {}))


def charged_in(body: JsonValue) -> Money | None:
    """Return the charge that an answer states; None if it is not plain.

    A part may be taken now and the rest later, but never more than the price: the higher amount was
    charged. If the amounts are in different currencies, the taken amount counts.
    """

    def is_taken(words: frozenset[str]) -> bool:
        return bool(words & _TAKEN) and words <= _TAKEN | _PRICE | {"final", "value"}

    stated, taken = every_price(body), frozenset(_named(body, is_taken, "", 2))
    codes = {money.currency for money in taken if money is not None}
    if None in taken or None in stated or len(codes) != 1:
        return None if None in taken else only_price(stated)
    amounts = (money for money in stated | taken if money is not None and money.currency in codes)
    return max(amounts, key=lambda money: money.amount)


def amount_named(value: JsonValue, *words: str) -> Money | None:
    """Return the one amount whose name has one of these words; None if there is none or several.

    Lists are not searched, because they have the parts of something.
    """
    return only_price(frozenset(_named(value, lambda own: bool(own & {*words}), "", _MOST_LEVELS)))


def _named(
    value: JsonValue, is_wanted: Callable[[frozenset[str]], bool], currency: str, levels: int
) -> Iterator[Money | None]:
    """Yield the amounts with such a name, outside lists; None for one that is unclear."""
    if not isinstance(value, dict) or not levels:
        return
    nearby = currency_of(value, currency)
    for name, inner in value.items():
        if is_wanted(frozenset(name_words(name))):
            yield from _read(inner, nearby)
        else:
            yield from _named(inner, is_wanted, nearby, levels - 1)


class _Leaf(NamedTuple):
    """A value that is no object or list, with the currencies around it."""

    name: str
    value: JsonValue
    nearest: str = ""
    own: str = ""
    """The currency of its own object."""
    is_alone: bool = False
    """True if nothing but a currency is in its object."""


def _leaves(value: JsonValue, at: _Leaf) -> Iterator[_Leaf]:
    leaves: Iterable[_Leaf] = ()
    if isinstance(value, list):
        leaves = (at._replace(value=member) for member in value)
    elif isinstance(value, dict):
        nearest, own = currency_of(value, at.nearest), currency_of(value)
        is_alone = sum(not names_currency(name) for name in value) == 1
        # A declared price repeats an amount under its own name.
        named = ((name, inner) for name, inner in value.items() if name != PRICE)
        leaves = (_Leaf(name, inner, nearest, own, is_alone) for name, inner in named)
    for leaf in leaves:
        if isinstance(leaf.value, dict | list):
            yield from _leaves(leaf.value, leaf)
        else:
            yield leaf


def amounts_in(value: JsonValue, currency: str = "") -> Iterator[Money]:
    """Yield every amount of money in a JSON value, of any purpose."""
    for leaf in _leaves([value], _Leaf("", None, currency)):
        if _has(leaf.name, _MONEY):
            yield from (money for money in _read(leaf.value, leaf.nearest) if money is not None)


def money_like_in(value: JsonValue) -> Iterator[Money]:
    """Yield all possible amounts of money in a JSON value, under any name.

    These include a text with a currency, a text with cents below a currency, and a number with
    cents next to a currency. A number that is alone in its object needs only the cents or the
    currency. A text with two readings counts as the larger amount. A number that is named for a
    price and has no currency around it counts in the only one of the whole value.
    """
    leaves = [*_leaves([value], _Leaf("", None))]
    codes = {leaf.own for leaf in leaves if budget.is_currency(leaf.own)}
    only = codes.pop() if len(codes) == 1 else ""
    for leaf in leaves:
        written = None if isinstance(leaf.value, bool) else written_number(str(leaf.value))
        if written is None:
            continue
        number, code = written
        is_named = _has(leaf.name, _MONEY)
        is_near = is_named or leaf.is_alone or isinstance(leaf.value, str)
        code = code or (leaf.nearest if is_near else leaf.own)
        is_far = not code and is_named and not _has(leaf.name, frozenset({"value"}))
        code = only if is_far else code
        exponent = budget.EXPONENTS.get(code, 0)
        cents = _FRACTION.search(str(leaf.value))
        has_cents = cents is not None and len(cents[1]) <= exponent
        if is_named and not has_cents and (exact := as_decimal(leaf.value)) is not None:
            number = exact
        if is_far and _has(leaf.name, _CENTS):
            number = budget.in_major_units(number, exponent)
        is_money = written[1] or is_named or has_cents or (leaf.is_alone and leaf.own == code)
        if is_money and budget.is_currency(code) and number >= 0:
            yield Money(amount=number, currency=code)
