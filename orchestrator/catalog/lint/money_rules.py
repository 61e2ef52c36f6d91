"""What schemas say of money: in which currency, and in what units it is counted."""

from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.catalog.lint.finding import Code, Problem
from orchestrator.catalog.money_units import units_told
from orchestrator.catalog.price_contract import MINOR_UNITS
from orchestrator.catalog.stated_prices import names_currency
from orchestrator.core import currencies
from orchestrator.json_schema.document import DocumentNode

CONTRADICTION = Code("ORC062", "warning", "An amount is counted in one unit")
CURRENCY = Code("ORC063", "error", "Currencies exist")


def money_problems(schema: DocumentNode) -> Iterator[tuple[Code, Problem]]:
    """What is wrong with the money among the properties of one schema."""
    found = schema.raw("properties") if isinstance(schema.value, dict) else None
    for name, place in found.raw_items() if found and isinstance(found.value, dict) else ():
        if not isinstance(place.value, dict):
            continue
        yield from ((CONTRADICTION, problem) for problem in _contradictions(name, place))
        if names_currency(name):
            yield from ((CURRENCY, problem) for problem in _unknown_currencies(name, place))


def _contradictions(name: str, place: DocumentNode) -> Iterator[Problem]:
    declared = place.mapping().get(MINOR_UNITS)
    words = {key: value for key, value in place.mapping().items() if key != MINOR_UNITS}
    told = units_told(name, words)
    if told.is_minor and told.major:
        yield Problem(
            place.pointer,
            f"the words of {name!r} tell of the smallest unit of its currency and of the whole one",
            f"say one of them, or add {MINOR_UNITS}: true or false; until then it is unknown",
        )
    elif isinstance(declared, bool) and (told.major if declared else told.is_minor):
        yield Problem(
            f"{place.pointer}/{MINOR_UNITS}",
            f"{MINOR_UNITS}: {str(declared).lower()} on {name!r} contradicts its own words",
            "correct the one that is wrong; until then the keyword is believed",
        )


def _unknown_currencies(name: str, place: DocumentNode) -> Iterator[Problem]:
    listed = place.raw("enum")
    places = [place.raw("const"), place.raw("default")]
    if listed is not None and isinstance(listed.value, list):
        places += listed.raw_elements()
    for found in places:
        if found is not None and _is_no_currency(found.value):
            yield Problem(
                found.pointer,
                f"{found.value!r} of {name!r} is no currency of ISO 4217, so no price can be in it",
                "write the code of a currency, or give the property another name",
            )


def _is_no_currency(value: JsonValue) -> bool:
    return isinstance(value, str) and not currencies.exists(value.upper())
