"""A copy of a body in which money is plain: every amount in units of its currency, or no amount.

What counts cents is turned into euros, what may be either becomes a text that says so, and what a
document declares to be the price of an object stands under one name in it. Whoever shows or
compares money reads the copy; what is sent is never taken from it.
"""

from collections.abc import Iterator, Sequence
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
    currency_of,
    money_in,
    names_amount,
    names_currency,
)
from orchestrator.core import currencies
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of

_MOST_LEVELS: Final = 40
Views = Sequence[JsonObject]


def plain_money(value: JsonValue, schema: JsonObject | None) -> JsonValue:
    """The copy; `schema` is the compiled schema of the whole value, None when there is none."""
    root = schema or {}
    return _Copy(root).of(value, views(root, root), "", 0)


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
        return f"{amount} ({currency.upper()} or its smallest unit: the document does not say)"
    return str(currencies.in_major_units(number, decimals)) if decimals else amount


class _Copy:
    """One copying: the schema that references lead into."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root

    def of(self, value: JsonValue, held_by: Views, currency: str, level: int) -> JsonValue:
        if level > _MOST_LEVELS:
            return value
        if isinstance(value, list):
            items = tuple(self._items(held_by))
            return [self.of(member, items, currency, level + 1) for member in value]
        return self._object(value, held_by, currency, level) if isinstance(value, dict) else value

    def _items(self, held_by: Views) -> Iterator[JsonObject]:
        for view in held_by:
            if isinstance(items := view.get("items"), dict):
                yield from views(items, self._root)

    def _object(self, holder: JsonObject, held_by: Views, above: str, level: int) -> JsonObject:
        currency = currency_of(holder, self._only_currency(held_by) or above)
        copy: JsonObject = {}
        for name in holder:
            # What a provider writes under our own name is not what its document declares.
            if name != PRICE:
                copy[name] = self._property(name, holder, held_by, currency, level)
        declared = [
            (name, said)
            for name in copy
            for schema in property_of(held_by, name, self._root)
            if (said := schema.get(PRICE)) is True or isinstance(said, dict)
        ]
        if declared:
            found = [_price(copy[name], said, holder, currency) for name, said in declared]
            copy[PRICE] = found[0] if all(one == found[0] for one in found) else None
        return copy

    def _property(
        self, name: str, holder: JsonObject, held_by: Views, currency: str, level: int
    ) -> JsonValue:
        value = holder[name]
        own = property_of(held_by, name, self._root)
        if isinstance(value, dict | list):
            return self.of(value, own, currency, level + 1)
        if names_currency(name):
            is_code = isinstance(value, str) and currencies.exists(value.upper())
            return value.upper() if is_code and isinstance(value, str) else value
        is_declared = any(MINOR_UNITS in s or s.get(PRICE) for s in own)
        stated = next((s[PRICE] for s in own if isinstance(s.get(PRICE), dict)), None)
        beside = _currency_said(stated, holder) or currency
        if beside and (is_declared or names_amount(name)):
            return plain_amount(name, value, beside, *own, *held_by)
        return value

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
