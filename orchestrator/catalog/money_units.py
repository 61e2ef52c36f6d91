"""Units of money: convert a body whose amounts count cents to units of its currency.

`plain_money` makes the copy that cards and comparisons read: cents become euros, an amount in
unclear units becomes a text that says so, and each object has its declared price under one name.
Values to be sent are never taken from the copy.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import MINOR_UNITS, PRICE, MinorUnits, minor_units_in
from orchestrator.catalog.stated_prices import (
    UNCLEAR,
    WHOLE,
    as_decimal,
    currency_of,
    money_in,
    names_amount,
    names_currency,
    names_price,
)
from orchestrator.core import budget
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of, subschemas
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import name_words

_LISTS: Final = WordLists("money")
_HUNDREDTHS: Final = 2
_DENIED: Final = re.compile(rf"\b(?:{'|'.join(_LISTS.words('denials'))})\b(?:\W+\w+){{0,3}}\W*$")
_EXCEPTED: Final = re.compile(r"\b(?:differ|deviat|depart|except)|\bunlike\b", re.IGNORECASE)
_CODE: Final = re.compile(r"\b[A-Z]{3}\b")
_DECIMALS_OF: Final = re.compile(r"\b([A-Z]{3})\b\s*(?:[:=]|has|with)\s*([0-9])\b(?![.,]?[0-9])")
_MOST_LEVELS: Final = 40
_MOST_NAMES: Final = 1000
"""Largest number of properties cached per object; a provider may write any number of names."""
_MOST_HOLDERS: Final = 2000
"""Largest number of objects cached per schema; a recursive schema has one per level of values."""
_NO_SCHEMA: Final[JsonObject] = {}
_PER: Final = re.compile(r"\bper\s+([a-z]+)", re.IGNORECASE)
Views = Sequence[JsonObject]


def _phrases(key: str) -> re.Pattern[str]:
    longest_first = sorted(_LISTS.lines(key), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})s?(?!\w)")


Unit = Literal["smallest", "hundredths", "major", "unclear"]
"""Words about the unit of a number; `unclear` if units are denied, or belong to no currency."""
_MINOR: Final[frozenset[Unit]] = frozenset({"smallest", "hundredths"})
_PHRASES: Final[Mapping[Unit, re.Pattern[str]]] = {
    "smallest": _phrases("smallest"),
    "hundredths": _phrases("hundredths"),
    "major": _phrases("major"),
}
_UNIT_NAMES: Final[Mapping[Unit, frozenset[str]]] = {
    "smallest": _LISTS.word_set("smallest_names"),
    "hundredths": _LISTS.word_set("hundredths_names"),
    "unclear": _LISTS.word_set("other_names"),
}


@dataclass(frozen=True)
class Units:
    """Statements about the units of a number, in any currency."""

    declared: MinorUnits | None = None
    words: frozenset[Unit] = frozenset()

    @property
    def is_stated(self) -> bool:
        """True if anything is stated."""
        return self.declared is not None or bool(self.words)

    @property
    def is_minor(self) -> bool:
        """True if words state a smaller unit."""
        return not self.words.isdisjoint(_MINOR)

    @property
    def is_major(self) -> bool:
        """True if words state whole units of the currency."""
        return "major" in self.words

    def decimals(self, currency: str, exponent: int) -> int | None:
        """Return the number of implied decimals of an amount; None if unclear."""
        if isinstance(self.declared, dict):
            said = self.declared.get(currency, self.declared.get("default"))
            return exponent if said == "iso" else said
        if self.declared is not None:
            return exponent if self.declared is True else int(self.declared)
        if "unclear" in self.words or (self.is_major and self.is_minor):
            return None
        if "hundredths" in self.words:
            # If a hundredth is not the smallest unit, one of the two words is imprecise.
            return _HUNDREDTHS if exponent == _HUNDREDTHS else None
        return exponent if "smallest" in self.words else 0


def units_of(name: str, *schemas: JsonObject) -> Units:
    """Return the statements of a number's name and schemas, its own before those around it.

    The first schema that states anything decides, because the others describe more than this
    number.
    """
    for schema in schemas:
        if (declared := minor_units_in(schema.get(MINOR_UNITS))) is not None:
            return Units(declared)
    words = frozenset(name_words(name))
    named = frozenset(unit for unit, names in _UNIT_NAMES.items() if names & words)
    said = next((found for schema in schemas if (found := _described(schema))), frozenset[Unit]())
    return Units(words=named | said)


def decimals_of(
    amount: JsonValue, currency: str, units: Units, schemas: Iterable[JsonObject] = ()
) -> int | None:
    """Return the implied decimals of an amount: 0 for euros, 2 for cents, or None.

    A whole number without a stated unit is unclear (None), also next to a currency in lower case,
    which providers write that count cents. A fraction counts whole units, and so does a schema that
    allows one. A code in mixed case is not ISO 4217: `GBp` counts pence.
    """
    exponent = budget.EXPONENTS.get(currency.upper())
    if exponent is None:
        return None
    has_fraction = isinstance(amount, float) or (isinstance(amount, str) and "." in amount)
    if units.is_stated:
        decimals = units.decimals(currency.upper(), exponent)
        # An amount with a point does not count cents, even if words say so.
        has_point = isinstance(amount, str) and "." in amount
        return None if decimals and (has_point or not _is_whole(amount)) else decimals
    if currency not in (currency.upper(), currency.lower()):
        return None
    if exponent == 0 or has_fraction:
        return 0
    if currency != currency.upper():
        return None
    return 0 if any(allows_fractions(schema, amount) for schema in schemas) else None


def allows_fractions(schema: JsonObject, amount: JsonValue) -> bool:
    """Return True if a number written like this one may have decimals: it does not count cents."""
    listed = schema.get("type")
    types = listed if isinstance(listed, list) else [listed]
    if (
        isinstance(amount, int)
        and "number" in types
        and not str(schema.get("format", "")).startswith("int")
    ):
        step = schema.get("multipleOf")
        return not isinstance(step, int)
    examples = schema.get("examples")
    shown = [*(examples if isinstance(examples, list) else []), schema.get("default")]
    if any(isinstance(s, float) or (isinstance(s, str) and "." in s) for s in shown):
        return True
    return (
        isinstance(amount, str)
        and "string" in types
        and (schema.get("format") == "decimal" or "\\." in str(schema.get("pattern", "")))
    )


def views(schema: JsonObject, root: JsonObject) -> tuple[JsonObject, ...]:
    """Return a schema as plain objects: itself, and each of its alternatives."""
    whole = resolve(schema, root)
    branches = (b for b in subschemas(whole, ("anyOf", "oneOf")) if isinstance(b, dict))
    return (whole, *(resolve(branch, root) for branch in branches))


def property_of(
    held_by: Iterable[JsonObject], name: str, root: JsonObject
) -> tuple[JsonObject, ...]:
    """Return the views of one property in these views of an object."""
    found = (properties_of(view).get(name) for view in held_by)
    return tuple(view for schema in found if schema is not None for view in views(schema, root))


def _is_whole(amount: JsonValue) -> bool:
    value = as_decimal(amount)
    return value is not None and value == value.to_integral_value()


def _described(schema: JsonObject) -> frozenset[Unit]:
    written = _prose(schema)
    rest, found, before = written.lower(), set[Unit](), list[str]()
    for unit, pattern in _PHRASES.items():
        matches = list(pattern.finditer(rest))
        before += [rest[max(0, m.start() - 40) : m.start()] for m in matches]
        rest = pattern.sub(" ", rest) if matches else rest
        found |= {unit} if matches else set()
    is_denied = any(_DENIED.search(text) for text in before)
    if is_denied or (found & _MINOR and _is_unlike_iso(written)):
        found.add("unclear")
    # "Cents" often explains the smallest unit: (e.g. 100 cents to charge 1.00).
    return frozenset(found - {"hundredths"} if "smallest" in found else found)


def differs_from_iso(schema: JsonObject) -> bool:
    """Return True if the words of an amount in smaller units deny ISO 4217 for some currency."""
    written = _prose(schema)
    is_minor = any(_PHRASES[unit].search(written.lower()) for unit in _MINOR)
    return is_minor and _is_unlike_iso(written)


def _is_unlike_iso(text: str) -> bool:
    """Return True if a text states other decimals for some currency than ISO 4217."""
    codes = (code for code in _CODE.findall(text) if budget.is_currency(code))
    if _EXCEPTED.search(text) is not None and ("4217" in text or any(codes)):
        return True
    stated = ((m[1], int(m[2])) for m in _DECIMALS_OF.finditer(text))
    return any(budget.EXPONENTS.get(code, said) != said for code, said in stated)


def _prose(schema: JsonObject) -> str:
    texts = (schema.get("title"), schema.get("description"))
    return " ".join(text for text in texts if isinstance(text, str))


def plain_money(value: JsonValue, schema: JsonObject | None) -> JsonValue:
    """Return the copy in units of the currency; `schema` is that of the whole value."""
    return _copies_by(_NO_SCHEMA if schema is None else schema).of(value)


def plain_amount(name: str, amount: JsonValue, currency: str, *schemas: JsonObject) -> JsonValue:
    """Return an amount in units of its currency; if unclear, a text that says so.

    Its own schema comes first, then the schemas of the objects around it.
    """
    number = as_decimal(amount)
    units = units_of(name, *schemas)
    decimals = decimals_of(amount, currency, units, schemas)
    if number is None:
        return amount
    if decimals is None:
        return f"{amount} {currency.upper()}, or as many of {UNCLEAR}"
    return str(budget.in_major_units(number, decimals)) if decimals else amount


@dataclass(frozen=True)
class _Property:
    """Facts about a property, by the schemas of its object."""

    own: Views
    is_amount: bool
    """True if a number in it is money."""
    price: JsonValue
    """The declared x-orchet-price: true or an object; None without one."""
    rate: str = ""
    """Unit of a rate by its description, such as `hour`: a text, and no price of the whole."""


@dataclass(frozen=True)
class _Holder:
    """Facts about an array or an object, by its schemas."""

    of: Views
    items: Views
    currency: str
    """The only currency that the schema allows, for answers that omit the currency."""
    properties: dict[str, _Property]
    """Properties cached so far; a provider may write names that its document does not have."""


class _Copies:
    """Copies of the values of one schema, with a cache per object.

    Many values share a schema, and a list has many objects of one kind.
    """

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._whole = views(root, root)
        self._holders: dict[tuple[int, ...], _Holder] = {}
        """By the identities of the views, which the holder keeps alive."""

    def of(self, value: JsonValue) -> JsonValue:
        return self._of(value, self._whole, "", 0)

    def _of(self, value: JsonValue, held_by: Views, currency: str, level: int) -> JsonValue:
        if level > _MOST_LEVELS:
            return value
        if isinstance(value, list):
            items = self._holder(held_by).items
            return [self._of(member, items, currency, level + 1) for member in value]
        return self._object(value, held_by, currency, level) if isinstance(value, dict) else value

    def _holder(self, held_by: Views) -> _Holder:
        key = tuple(map(id, held_by))
        found = self._holders.get(key)
        if found is None:
            inner = (view.get("items") for view in held_by)
            items = tuple(v for i in inner if isinstance(i, dict) for v in views(i, self._root))
            found = _Holder(held_by, items, self._only_currency(held_by), {})
            if len(self._holders) >= _MOST_HOLDERS:
                self._holders.clear()
            self._holders[key] = found
        return found

    def _object(self, holder: JsonObject, held_by: Views, above: str, level: int) -> JsonObject:
        known = self._holder(held_by)
        currency = currency_of(holder, known.currency or above)
        # A provider's own x-orchet-price in an answer is not a declaration.
        stated = {name: self._property(name, known) for name in holder if name != PRICE}
        copy: JsonObject = {
            name: self._value(name, one, holder, held_by, currency, level)
            for name, one in stated.items()
        }
        found = [
            _price(copy[name], one.price, holder, currency)
            for name, one in stated.items()
            if one.price is not None
        ]
        if found:
            copy[PRICE] = found[0] if all(one == found[0] for one in found) else None
        return copy

    def _value(
        self,
        name: str,
        stated: _Property,
        holder: JsonObject,
        held_by: Views,
        currency: str,
        level: int,
    ) -> JsonValue:
        value = holder[name]
        if isinstance(value, dict | list):
            return self._of(value, stated.own, currency, level + 1)
        if names_currency(name):
            is_code = isinstance(value, str) and budget.is_currency(value.upper())
            return value.upper() if is_code and isinstance(value, str) else value
        if stated.is_amount and (nearby := _declared_currency(stated.price, holder) or currency):
            plain = plain_amount(name, value, nearby, *stated.own, *held_by)
            is_rate = stated.rate and as_decimal(plain) is not None
            return f"{plain} {nearby.upper()} per {stated.rate}" if is_rate else plain
        return value

    def _property(self, name: str, holder: _Holder) -> _Property:
        known = holder.properties
        found = known.get(name)
        if found is None:
            own = property_of(holder.of, name, self._root)
            said = (schema.get(PRICE) for schema in own)
            price = next((s for s in said if s is True or isinstance(s, dict)), None)
            is_declared = price is not None or any(MINOR_UNITS in schema for schema in own)
            is_amount = is_declared or names_amount(name)
            rate = _stated_rate(own) if price is None and names_price(name) else ""
            found = _Property(own, is_amount, price, rate)
            if len(known) < _MOST_NAMES:
                known[name] = found
        return found

    def _only_currency(self, held_by: Views) -> str:
        for view in held_by:
            for name, schema in properties_of(view).items():
                if names_currency(name):
                    whole = resolve(schema, self._root)
                    listed = whole.get("enum")
                    one = listed[0] if isinstance(listed, list) and len(listed) == 1 else None
                    if isinstance(only := whole.get("const", one), str):
                        return only
        return ""


_copies_by: Final = read_once(_Copies)


def _stated_rate(own: Views) -> str:
    """Return the unit of a rate in a description, unless the unit is the whole purchase."""
    for schema in own:
        text = schema.get("description")
        found = _PER.search(text) if isinstance(text, str) else None
        if found is not None and found[1].lower() not in WHOLE:
            return found[1].lower()
    return ""


def _price(value: JsonValue, said: JsonValue, holder: JsonObject, currency: str) -> JsonValue:
    money = money_in(value, (_declared_currency(said, holder) or currency).upper())
    if money is None:
        return None
    per = said.get("per") if isinstance(said, dict) else None
    shown: JsonObject = {"amount": str(money.amount), "currency": money.currency}
    return {**shown, "per": per} if isinstance(per, str) else shown


def _declared_currency(said: JsonValue, holder: JsonObject) -> str:
    """Return the currency that a declaration names: a code, or the field that holds it."""
    named = said.get("currency") if isinstance(said, dict) else None
    found = holder.get(named, named) if isinstance(named, str) else None
    return found if isinstance(found, str) else ""
