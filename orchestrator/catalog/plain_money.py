"""A copy of a body in which money is plain: every amount in units of its currency, or no amount.

What counts cents is turned into euros, what may be either becomes a text that says so, and what a
document declares to be the price of an object stands under one name in it. Whoever shows or
compares money reads the copy; what is sent is never taken from it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.money_units import (
    as_decimal,
    decimals_of,
    property_of,
    units_told,
    views,
)
from orchestrator.catalog.price_contract import MINOR_UNITS, PRICE
from orchestrator.catalog.stated_prices import (
    UNCLEAR,
    WHOLE,
    currency_of,
    money_in,
    names_amount,
    names_currency,
    names_price,
    stated_price,
)
from orchestrator.core import currencies
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of

_MOST_LEVELS: Final = 40
_MOST_NAMES: Final = 1000
"""Of the properties of one object; a provider may write any number of names."""
_MOST_HOLDERS: Final = 2000
"""Of one schema; one that refers to itself has as many as its values have levels."""
_NO_SCHEMA: Final[JsonObject] = {}
_PER: Final = re.compile(r"\bper\s+([a-z]+)", re.IGNORECASE)
Views = Sequence[JsonObject]


def plain_money(value: JsonValue, schema: JsonObject | None) -> JsonValue:
    """The copy; `schema` is the compiled schema of the whole value, None when there is none."""
    return _copies_by(_NO_SCHEMA if schema is None else schema).of(value)


def plain_amount(name: str, amount: JsonValue, currency: str, *schemas: JsonObject) -> JsonValue:
    """One amount in units of its currency, as a text; where that is unclear, words that say so.

    Its own schema comes first, then those of the objects around it.
    """
    number = as_decimal(amount)
    units = units_told(name, *schemas)
    decimals = decimals_of(amount, currency, units, schemas)
    if number is None:
        return amount
    if decimals is None:
        return f"{amount} {currency.upper()}, or as many of {UNCLEAR}"
    return str(currencies.in_major_units(number, decimals)) if decimals else amount


@dataclass(frozen=True)
class _Property:
    """What the schemas of an object say of one of its properties."""

    own: Views
    is_amount: bool
    """Whether a number in it is money."""
    price: JsonValue
    """x-orchet-price, as far as it declares one: true or an object; None when it does not."""
    rate: str = ""
    """What it is the price of one of, as its description says: `hour`; '' when it is of all."""


@dataclass(frozen=True)
class _Holder:
    """What the schemas of an array or an object say of all that is inside of it."""

    of: Views
    items: Views
    currency: str
    """The one that they allow alone, where nobody writes it."""
    properties: dict[str, _Property]
    """Those that were asked for; a provider may write others than its document names."""


class _Copies:
    """Copies of values of one schema: what references lead into, and what was read of it already.

    Many values have one schema, and a list holds many objects of one kind: it is looked at once.
    """

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._whole = views(root, root)
        self._holders: dict[tuple[int, ...], _Holder] = {}
        """By the identities of the views, which a holder keeps, so that nothing else has them."""

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
        currency = currency_of(holder, self._holder(held_by).currency or above)
        copy: JsonObject = {}
        for name in holder:
            # What a provider writes under our own name is not what its document declares.
            if name != PRICE:
                copy[name] = self._value(name, holder, held_by, currency, level)
        told = ((name, self._property(name, held_by).price) for name in copy)
        found = [_price(copy[n], said, holder, currency) for n, said in told if said is not None]
        if found:
            copy[PRICE] = found[0] if all(one == found[0] for one in found) else None
        elif rate := self._rate(copy, held_by, currency):
            copy[PRICE] = rate
        return copy

    def _rate(self, copy: JsonObject, held_by: Views, currency: str) -> JsonValue:
        """The price of one hour, night or piece, where the object states no other price."""
        rates = {name: self._property(name, held_by).rate for name in copy}
        rest: JsonObject = {name: value for name, value in copy.items() if not rates[name]}
        if len(rest) == len(copy) or stated_price(rest) is not None:
            return None
        told = ((name, rate) for name, rate in rates.items() if rate)
        priced = (_price(copy[name], {"per": rate}, copy, currency) for name, rate in told)
        return next((one for one in priced if one is not None), None)

    def _value(
        self, name: str, holder: JsonObject, held_by: Views, currency: str, level: int
    ) -> JsonValue:
        value, told = holder[name], self._property(name, held_by)
        if isinstance(value, dict | list):
            return self._of(value, told.own, currency, level + 1)
        if names_currency(name):
            is_code = isinstance(value, str) and currencies.exists(value.upper())
            return value.upper() if is_code and isinstance(value, str) else value
        beside = _currency_said(told.price, holder) or currency
        if beside and told.is_amount:
            return plain_amount(name, value, beside, *told.own, *held_by)
        return value

    def _property(self, name: str, held_by: Views) -> _Property:
        known = self._holder(held_by).properties
        found = known.get(name)
        if found is None:
            own = property_of(held_by, name, self._root)
            said = (schema.get(PRICE) for schema in own)
            price = next((s for s in said if s is True or isinstance(s, dict)), None)
            is_declared = price is not None or any(MINOR_UNITS in schema for schema in own)
            is_amount = is_declared or names_amount(name)
            rate = _rate_told(own) if price is None and names_price(name) else ""
            found = _Property(own, is_amount, price, rate)
            if len(known) < _MOST_NAMES:
                known[name] = found
        return found

    def _only_currency(self, held_by: Views) -> str:
        """The currency that the schema allows alone, where nobody writes it."""
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


def _rate_told(own: Views) -> str:
    """What a description says that a price is for one of, where that is not all that is bought."""
    for schema in own:
        text = schema.get("description")
        found = _PER.search(text) if isinstance(text, str) else None
        if found is not None and found[1].lower() not in WHOLE:
            return found[1].lower()
    return ""


def _price(value: JsonValue, said: JsonValue, holder: JsonObject, currency: str) -> JsonValue:
    """A declared price as an object of amount and currency; None when the property holds none."""
    money = money_in(value, (_currency_said(said, holder) or currency).upper())
    if money is None:
        return None
    per = said.get("per") if isinstance(said, dict) else None
    shown: JsonObject = {"amount": str(money.amount), "currency": money.currency}
    return {**shown, "per": per} if isinstance(per, str) else shown


def _currency_said(said: JsonValue, holder: JsonObject) -> str:
    """The currency that a declaration names: by its code, or by the field beside that holds it."""
    named = said.get("currency") if isinstance(said, dict) else None
    found = holder.get(named, named) if isinstance(named, str) else None
    return found if isinstance(found, str) else ""
