"""Rules on prices: that what a call costs can be read, before it and after it."""

from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.expressions import parse_expression
from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.plain_money import plain_money
from orchestrator.catalog.price_contract import PRICE, PriceContract
from orchestrator.catalog.price_places import place_of
from orchestrator.catalog.sample_money import sample_money
from orchestrator.catalog.stated_prices import stated_price
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject

_REMEDY = (
    f"add {PRICE} to the operation, or {PRICE}: true to the property that holds the price, and "
    f"x-orchet-minor-units where it counts cents; {PRICE}: false if a call costs nothing"
)


@rule("ORC060", "warning", "The price of a call can be read")
def price_is_readable(subject: Subject) -> Iterator[Problem]:
    """The price of a tool that spends stands in its request, in what is quoted, or its answer."""
    tool = subject.tool
    if tool is None or not _spends(tool):
        return
    if not _is_known_before(subject, tool) and not _is_known_after(tool):
        yield Problem(
            subject.pointer,
            f"{subject.name} is confirmed as something that costs money, and nothing tells how "
            "much: neither its request, nor an answer that quotes what it is given, nor its own",
            _REMEDY,
        )


@rule("ORC061", "error", "A declared price is there")
def declared_price_is_there(subject: Subject) -> Iterator[Problem]:
    """Each place that x-orchet-price names is one that the request or the answer may have."""
    tool = subject.tool
    if tool is None or tool.price is None:
        return
    for expression in _expressions(tool.price):
        place = place_of(parse_expression(expression), tool)
        if place is None or place.leads_nowhere:
            yield Problem(
                subject.pointer_to(PRICE),
                f"{PRICE} on {subject.name} reads {expression}, where nothing is",
                "name a property of the request or the answer; until then the price is unknown",
            )


def _expressions(price: PriceContract) -> Iterator[str]:
    for place in (price.expected, price.charged):
        if place is not None:
            yield place.amount
            if place.currency is not None and place.currency.startswith("$"):
                yield place.currency


def _spends(tool: Tool) -> bool:
    """Whether the document says, by the type of its card, that a call costs money."""
    is_consequence = tool.effect in (Effect.OBLIGATION, Effect.WRITE)
    return tool.spends and is_consequence and tool.card_type != DEFAULT_CARD


def _is_known_before(subject: Subject, tool: Tool) -> bool:
    if tool.price is not None and tool.price.expected is not None:
        return True
    if any(stated_price(body) is not None for body in _samples(tool.input_schema)):
        return True
    ids = {name for name in tool.properties if name.endswith("_id")}
    peers = (peer.tool for peer in subject.peers.values() if peer is not subject)
    return any(_quotes(peer, ids) for peer in peers if peer is not None)


def _is_known_after(tool: Tool) -> bool:
    if tool.price is not None and tool.price.charged is not None:
        return True
    return any(stated_price(body) is not None for body in _samples(tool.output_schema))


def _quotes(tool: Tool, ids: set[str]) -> bool:
    """Whether an answer of the tool tells the price of something with one of these ids."""
    if tool.is_side_effect:
        return False
    return any(
        ids & item.keys() and stated_price(item) is not None
        for body in _samples(tool.output_schema)
        for item in _objects(body)
    )


def _samples(schema: JsonObject | None) -> Iterator[JsonValue]:
    for whole in (True, False):
        yield plain_money(sample_money(schema, whole=whole), schema)


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _objects(inner)
