"""An amount that a person says, as a tool takes it: in its units, and in its currency."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.money_units import decimals_of, units_told
from orchestrator.core import currencies
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of
from orchestrator.language import lexicon
from orchestrator.language.bounds import Limit, limit_of
from orchestrator.language.intent import Slot
from orchestrator.planning.rules.argument_draft import ArgumentDraft
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.utterance import Utterance

_CODE: Final = re.compile(r"(?<![\w-])\d[\d.,]*\s?([A-Z]{3})\b")
"""What stands behind a number as a code of a currency does."""
_LOWER: Final = ("lowercase", "lower case", "lower-case")


def amounts_stated(parameter: Parameter, utterance: Utterance) -> list[Money]:
    """The amounts of a clause that an input may be about: its bounds go to bounds alone."""
    return [
        money
        for slot in utterance.of("amount")
        if (money := money_said(slot)) is not None
        and _is_about(parameter, slot, limit_of(utterance.text, slot))
    ]


def money_said(slot: Slot) -> Money | None:
    """The money of a slot; None when it is none."""
    if not isinstance(slot.value, dict):
        return None
    amount, currency = slot.value["amount"], str(slot.value["currency"])
    return Money(amount=Decimal(str(amount)), currency=currency)


def _is_about(parameter: Parameter, slot: Slot, limit: Limit | None) -> bool:
    if parameter.bound == "max":
        return limit == "max" or (slot.hint in lexicon.MOST_HINTS and limit is None)
    if parameter.bound == "min":
        return limit == "min" or (slot.hint in lexicon.LEAST_HINTS - {"from"} and limit is None)
    return limit is None and slot.hint not in lexicon.MOST_HINTS - {"to"}


def as_taken(parameter: Parameter, money: Money, draft: ArgumentDraft) -> Iterator[JsonValue]:
    """The values that mean this money to an input, likeliest first; none where that is unclear."""
    if parameter.kind is Kind.CURRENCY:
        yield from _codes(parameter, money.currency)
    elif why_not_taken(parameter, money, draft):
        return
    elif parameter.kind is Kind.MONEY:
        for code in _codes(parameter, money.currency):
            for amount in _amounts(parameter, money):
                yield {"amount": amount, "currency": code}
    else:
        yield from _amounts(parameter, money)


def why_not_taken(parameter: Parameter, money: Money, draft: ArgumentDraft) -> str:
    """Why this money cannot be sent in an input as it was said; '' when it can."""
    if currencies.has_too_many_decimals(money.amount, money.currency):
        return f"{money} has more decimals than {money.currency} has"
    if wanted := _other_currency(parameter, money.currency, draft):
        return f"{money} was asked for, and it is in {wanted}"
    if not _amounts(parameter, money):
        return f"whether it counts {money.currency} or its smallest unit is not declared"
    return ""


def _amounts(parameter: Parameter, money: Money) -> list[JsonValue]:
    if parameter.kind is Kind.MONEY:
        own = properties_of(parameter.schema)["amount"]
        return list(_numbers(money, "amount", own, parameter.schema))
    return list(_numbers(money, parameter.name, parameter.schema, parameter.around))


def _numbers(money: Money, name: str, *schemas: JsonObject) -> Iterator[JsonValue]:
    whole = money.amount == money.amount.to_integral_value()
    written: JsonValue = int(money.amount) if whole else float(money.amount)
    units = units_told(name, *schemas)
    decimals = decimals_of(written if not units.is_told else 1, money.currency, units, schemas)
    if decimals is None:
        return
    if decimals == 0:
        yield written
        yield f"{money.amount:.{currencies.EXPONENTS.get(money.currency, 2)}f}"
    elif (minor := currencies.in_minor_units(money.amount, decimals)) is not None:
        yield minor
        yield str(minor)


def _codes(parameter: Parameter, currency: str) -> list[JsonValue]:
    """The code as it is wanted: some say that they take it in lower case."""
    told = str(parameter.schema.get("description", "")).lower()
    codes: list[JsonValue] = [currency, currency.lower()]
    return codes[::-1] if any(word in told for word in _LOWER) else codes


def _other_currency(parameter: Parameter, currency: str, draft: ArgumentDraft) -> str:
    """The currency that the input is in, where that is another one; '' when it takes this one."""
    for word in parameter.words:
        if word.upper() != currency and currencies.exists(word.upper()):
            return word.upper()
    declared = parameter.schema.get(PRICE)
    code = declared.get("currency") if isinstance(declared, dict) else None
    if isinstance(code, str) and currencies.exists(code) and code != currency:
        return code
    for beside in draft.parameters:
        if beside is parameter or not lexicon.CURRENCY & {*beside.words}:
            continue
        given = draft.values.get(beside.name)
        if given is not None and str(given).upper() != currency:
            return str(given).upper()
        if given is None and beside.first_accepted(*_codes(beside, currency)) is None:
            return str(beside.schema.get("default") or " or ".join(beside.options) or "another")
    return ""


def amount_doubts(
    parameters: Iterable[Parameter], utterance: Utterance, draft: ArgumentDraft
) -> Iterator[str]:
    """Why amounts that were said are not sent in these inputs, of all that the draft is of."""
    unknown = [code for code in _CODE.findall(utterance.text) if not currencies.exists(code)]
    for parameter in parameters:
        if parameter.kind in (Kind.AMOUNT, Kind.MONEY):
            yield from (f"{parameter.name}: {code} is no currency" for code in unknown)
        if parameter.kind in (Kind.AMOUNT, Kind.MONEY):
            for money in amounts_stated(parameter, utterance):
                if why := why_not_taken(parameter, money, draft):
                    yield f"{parameter.name}: {why}"
