"""Converts an amount from a clause to the form and unit that an input takes."""

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from pydantic import JsonValue

from orchestrator.catalog.money_units import decimals_of, units_of
from orchestrator.core import currencies
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of
from orchestrator.planning.rules.clause import Candidate
from orchestrator.planning.rules.parameters import Kind, Parameter

_TWO_DECIMALS = "EUR"


def amounts_taken(parameter: Parameter, candidate: Candidate) -> Iterator[JsonValue]:
    """Yield the values that express an amount for an input; none if its unit is unclear."""
    amount, code = _said(candidate)
    if amount is None or _is_too_fine(amount, code):
        return
    if parameter.kind is Kind.MONEY:
        own = properties_of(parameter.schema).get("amount", {})
        for one in _counted(amount, code, "amount", own, parameter.schema):
            yield {"amount": one, "currency": code}
    else:
        yield from _counted(amount, code, parameter.name, parameter.schema, parameter.around)


def why_not_taken(parameter: Parameter, candidate: Candidate) -> str:
    """Return why a money input cannot take the given amount; '' if it can."""
    amount, code = _said(candidate)
    if amount is None:
        return ""
    if _is_too_fine(amount, code):
        return f"{candidate.text} has more decimals than {code} has"
    if next(amounts_taken(parameter, candidate), None) is None:
        return f"whether {parameter.name!r} counts {code} or its smallest unit is not declared"
    return ""


def codes_of(value: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    """Yield the currency of an amount in the spellings of codes."""
    code = value.get("currency")
    if isinstance(code, str):
        yield code
        yield code.lower()


def _said(candidate: Candidate) -> tuple[Decimal | None, str]:
    said = candidate.value if isinstance(candidate.value, dict) else {"amount": candidate.value}
    try:
        return Decimal(str(said.get("amount"))), str(said.get("currency") or "")
    except InvalidOperation:
        return None, ""


def _is_too_fine(amount: Decimal, code: str) -> bool:
    return code in currencies.EXPONENTS and currencies.has_too_many_decimals(amount, code)


def _counted(amount: Decimal, code: str, name: str, *schemas: JsonObject) -> Iterator[JsonValue]:
    """Yield an amount as a number and as a text.

    A number without a currency is used unchanged, unless the input counts cents.
    """
    is_whole = amount == amount.to_integral_value()
    written: JsonValue = int(amount) if is_whole else float(amount)
    units = units_of(name, *schemas)
    as_written = 1 if units.is_stated else written
    decimals = decimals_of(as_written, code or _TWO_DECIMALS, units, schemas)
    if not code:
        decimals = None if decimals else 0
    if decimals is None:
        return
    if decimals == 0:
        yield written
        yield f"{amount:.{currencies.EXPONENTS.get(code, 2)}f}"
    elif (minor := currencies.in_minor_units(amount, decimals)) is not None:
        yield minor
        yield str(minor)
