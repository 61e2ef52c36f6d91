"""Rules on prices and amounts: a price is readable, units and currencies are unambiguous."""

from collections.abc import Iterator
from typing import Final

from babel.core import get_global
from pydantic import JsonValue

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.declared_prices import (
    MINOR_UNITS,
    PRICE,
    PriceContract,
    minor_units_in,
)
from orchestrator.catalog.expressions import parse_expression
from orchestrator.catalog.lint.contract_rules import valid_values
from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.money_units import (
    differs_from_iso,
    plain_money,
    property_of,
    units_of,
    views,
)
from orchestrator.catalog.prices import place_of
from orchestrator.catalog.stated_prices import names_currency, stated_price
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core import currencies
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.walker import properties_of

_MOST_LEVELS: Final = 6
_CODE: Final = "EUR"


@rule("ORC060")
def price_is_readable(subject: Subject) -> Iterator[Problem]:
    """Require a readable price of a tool that spends: in its request, a quote or its answer."""
    tool = subject.tool
    if tool is None or not _spends(tool):
        return
    if not _is_known_before(subject, tool) and not _is_known_after(tool):
        yield Problem(
            subject.pointer,
            f"{subject.name} is confirmed as something that costs money, and nothing says how "
            "much: neither its request, nor an answer that quotes what it is given, nor its own",
        )


@rule("ORC061")
def declared_price_is_there(subject: Subject) -> Iterator[Problem]:
    """Require x-orchet-price to name places that the request or the answer may have."""
    tool = subject.tool
    if tool is None or tool.price is None:
        return
    for expression in _expressions(tool.price):
        place = place_of(parse_expression(expression), tool)
        if place is None or place.leads_nowhere:
            yield Problem(
                subject.pointer_to(PRICE),
                f"{PRICE} on {subject.name} reads {expression}, where nothing is",
            )


def _expressions(price: PriceContract) -> Iterator[str]:
    for place in (price.expected, price.charged):
        if place is not None:
            yield place.amount
            if place.currency is not None and place.currency.startswith("$"):
                yield place.currency


def _spends(tool: Tool) -> bool:
    """Return True if the document's card type declares that a call costs money."""
    is_consequence = tool.effect in (Effect.OBLIGATION, Effect.WRITE)
    return tool.spends and is_consequence and tool.card_type != DEFAULT_CARD


def _is_known_before(subject: Subject, tool: Tool) -> bool:
    if tool.price is not None and tool.price.expected is not None:
        return True
    if _states_price(tool.input_schema):
        return True
    ids = {name for name in tool.properties if name.endswith("_id")}
    peers = (peer.tool for peer in subject.peers.values() if peer is not subject)
    return any(_quotes(peer, ids) for peer in peers if peer is not None)


def _is_known_after(tool: Tool) -> bool:
    is_declared = tool.price is not None and tool.price.charged is not None
    return is_declared or _states_price(tool.output_schema)


def _states_price(schema: JsonObject | None) -> bool:
    return any(stated_price(body) is not None for body in _samples(schema))


def _quotes(tool: Tool, ids: set[str]) -> bool:
    """Return True if an answer of the tool has the price of a thing with one of these ids."""
    return not tool.is_side_effect and any(
        ids & item.keys() and stated_price(item) is not None
        for body in _samples(tool.output_schema)
        for item in _objects(body)
    )


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _objects(inner)


def _samples(schema: JsonObject | None) -> Iterator[JsonValue]:
    """Yield bodies with every property present, each with its plainest value.

    The reader of prices decides which numbers are money. In the first body, a text that may be an
    amount has no decimals, like a number of cents.
    """
    root = schema or {}
    for text in ("1", "1.50"):
        yield plain_money(_sample("", views(root, root), root, text), schema)


def _sample(
    name: str, held_by: tuple[JsonObject, ...], root: JsonObject, text: str, level: int = 0
) -> JsonValue:
    if level > _MOST_LEVELS:
        return None
    if names := dict.fromkeys(name for view in held_by for name in properties_of(view)):
        own = {n: property_of(held_by, n, root) for n in names}
        return {n: _sample(n, inner, root, text, level + 1) for n, inner in own.items()}
    for view in held_by:
        if isinstance(items := view.get("items"), dict):
            return [_sample(name, views(items, root), root, text, level + 1)]
    if names_currency(name):
        keys = ("enum", "const", "default")
        listed = [code for view in held_by for key in keys for code in _listed(view.get(key))]
        return next((code for code in listed if isinstance(code, str)), _CODE)
    types = {str(kind) for view in held_by for kind in _listed(view.get("type"))}
    return 1 if types & {"number", "integer"} else text if "string" in types else None


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


CONTRADICTION = "ORC062"
CURRENCY = "ORC063"
UNLIKE_ISO = "ORC071"
FORMER = "ORC069"


def money_problems(schema: DocumentNode) -> Iterator[tuple[str, Problem]]:
    """Yield faults of money among the properties of one schema."""
    found = schema.raw("properties") if isinstance(schema.value, dict) else None
    for name, place in found.raw_items() if found and isinstance(found.value, dict) else ():
        if not isinstance(place.value, dict):
            continue
        declared = place.mapping().get(MINOR_UNITS, True)
        if minor_units_in(declared) is None:
            wanted = (
                "write true, false, a number of decimals, or a map such as {default: iso, ISK: 2}"
            )
            at = f"{place.pointer}/{MINOR_UNITS}"
            yield (
                valid_values.code,
                Problem(at, f"{MINOR_UNITS} of {name!r} is none of these", wanted),
            )
        yield from ((CONTRADICTION, problem) for problem in _contradictions(name, place))
        yield from ((UNLIKE_ISO, problem) for problem in _unlike_iso(name, place))
        if names_currency(name):
            yield from _unknown_currencies(name, place)


def _contradictions(name: str, place: DocumentNode) -> Iterator[Problem]:
    declared = place.mapping().get(MINOR_UNITS)
    words = {key: value for key, value in place.mapping().items() if key != MINOR_UNITS}
    stated = units_of(name, words)
    if stated.is_minor and stated.is_major:
        yield Problem(
            place.pointer,
            f"the words of {name!r} name both the smallest unit of its currency and the whole one",
            f"say one of them, or add {MINOR_UNITS}: true or false; until then it is unknown",
        )
    elif isinstance(declared, bool) and (stated.is_major if declared else stated.is_minor):
        yield Problem(
            f"{place.pointer}/{MINOR_UNITS}",
            f"{MINOR_UNITS}: {str(declared).lower()} on {name!r} contradicts its own words",
        )


def _unlike_iso(name: str, place: DocumentNode) -> Iterator[Problem]:
    written = place.mapping()
    inner = [written, *properties_of(written).values()]
    if differs_from_iso(written) and not any(MINOR_UNITS in schema for schema in inner):
        yield Problem(
            place.pointer,
            f"the words of {name!r} count the decimals of some currency otherwise than ISO 4217, "
            "so its amounts are of unknown size",
            f"add {MINOR_UNITS} with these currencies, such as {{default: iso, ISK: 2}}",
        )


def _unknown_currencies(name: str, place: DocumentNode) -> Iterator[tuple[str, Problem]]:
    listed = place.raw("enum")
    places = [place.raw("const"), place.raw("default")]
    if listed is not None and isinstance(listed.value, list):
        places += listed.raw_elements()
    for found in places:
        value = found.value if found is not None else None
        if found is None or not isinstance(value, str) or currencies.exists(value.upper()):
            continue
        if value.upper() in get_global("all_currencies"):
            yield (
                FORMER,
                Problem(
                    found.pointer,
                    f"{value!r} of {name!r} is no currency any more, so no price can be in it",
                ),
            )
        else:
            yield (
                CURRENCY,
                Problem(
                    found.pointer,
                    f"{value!r} of {name!r} is no currency of ISO 4217, so no price can be in it",
                ),
            )
