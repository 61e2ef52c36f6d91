"""Prices of calls: the expected price before a call, and the charged price in its answer.

A declaration (x-orchet-price) comes first, then schemas and names. The price is unknown where they
leave open which number it is, or its unit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Protocol, cast

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.declared_prices import MINOR_UNITS, PRICE, PricePlace
from orchestrator.catalog.expressions import Expression, parse_expression
from orchestrator.catalog.money_units import (
    plain_amount,
    plain_money,
    property_of,
    views,
)
from orchestrator.catalog.stated_prices import (
    UNCLEAR,
    amount_named,
    amounts_in,
    as_decimal,
    charged_in,
    currency_of,
    declares_price,
    has_unclear_price,
    holder_of_rate,
    money_in,
    names_amount,
    names_price,
    quantity_in,
    stated_price,
)
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.budget import Money
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import follow, resolve, with_definitions
from orchestrator.json_schema.walker import properties_of

_MOST_DOUBTS: Final = 12
_SCALARS: Final = ("boolean", "integer", "number", "string")
_LEAVES_SOMETHING = (Effect.OBLIGATION, Effect.WRITE)


@dataclass(frozen=True)
class Place:
    """The steps to a value, from the arguments of a call or the body of its answer."""

    root: JsonObject
    """Schema of the arguments or the body; {} without one."""
    path: tuple[str, ...]

    def values(self, whole: JsonValue) -> list[JsonValue]:
        """Return the values on the way, the whole first, as far as the steps lead."""
        found: list[JsonValue] = []
        for length in range(len(self.path) + 1):
            try:
                found.append(follow(whole, self.path[:length]))
            except LookupError:
                break
        return found

    def schemas(self) -> list[tuple[JsonObject, ...]]:
        """Return the schemas on the way, each as its views; empty where no schema says anything."""
        steps = [views(self.root, self.root)]
        for name in self.path:
            steps.append(tuple(_inside(steps[-1], name, self.root)))
        return steps

    @property
    def leads_nowhere(self) -> bool:
        """True if the schemas have no room for such a value, and some say what there is."""
        held_by: tuple[JsonObject, ...] = ()
        for held in self.schemas():
            if not held:
                return any("properties" in v or v.get("type") in _SCALARS for v in held_by)
            held_by = held
        return False


def place_of(expression: Expression, tool: Tool) -> Place | None:
    """Return the place that an expression reads; None for an unknown input or a header's answer."""
    if expression.message == "response":
        if expression.source != "body":
            return None
        return Place(tool.output_schema or {}, expression.path)
    name, *rest = expression.path or ("",)
    for binding in tool.bindings:
        if binding.location != expression.source:
            continue
        if expression.source == "body" and not binding.field:
            return Place(tool.input_schema, (binding.name, *expression.path))
        is_header = expression.source == "header" and binding.field.lower() == name.lower()
        if binding.field == name or is_header:
            return Place(tool.input_schema, (binding.name, *rest))
    return None


def _inside(held_by: tuple[JsonObject, ...], name: str, root: JsonObject) -> Iterator[JsonObject]:
    yield from property_of(held_by, name, root)
    for view in held_by:
        items = view.get("items")
        if name.isdigit() and isinstance(items, dict):
            yield from views(items, root)


def plain_arguments(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments of a call with every amount in units of its currency."""
    return cast("JsonObject", plain_money(arguments, tool.input_schema))


def plain_answer(tool: Tool, body: JsonValue) -> JsonValue:
    """Return the answer to a call with every amount in units of its currency."""
    return plain_money(body, tool.output_schema)


class Answered(Protocol):
    """An answer to a call: an observation, or a fact of another leg."""

    @property
    def tool(self) -> str:
        """The name of the tool."""

    @property
    def body(self) -> JsonValue:
        """The answer."""


def plain_bodies(catalog: Catalog, answers: Sequence[Answered]) -> list[JsonValue]:
    """Return the answers' bodies, each in units of its currency by its document's schema."""
    known = catalog.tools
    schemas = (known[a.tool].output_schema if a.tool in known else None for a in answers)
    return [plain_money(a.body, schema) for a, schema in zip(answers, schemas, strict=True)]


def expected_price(tool: Tool, arguments: JsonObject, quoted: JsonObject | None) -> Money | None:
    """Return the price of a call: declared, else in its arguments, else as quoted; None if unclear.

    `quoted` is the object of an earlier answer that the call is about, in units of its currency. A
    price per piece is multiplied by the pieces of the call; where it may be either, the price is
    unknown. Where a call states amounts for several things, the quote is not used.
    """
    if tool.price is not None and tool.price.is_free:
        return None
    if tool.price is not None and tool.price.expected is not None:
        return _at(tool.price.expected, tool, arguments, None)
    plain = plain_arguments(tool, arguments)
    if (holder := holder_of_rate(plain)) is not None:
        return _by_piece(tool, arguments, holder)
    is_declared = quoted is not None and PRICE in quoted
    if not is_declared and (multipliers_in(plain, tool) or len({*amounts_in(plain)}) > 1):
        return None
    if quoted is None or has_unclear_price(plain) or _states_amounts_of_several(plain):
        return stated_price(plain)
    return stated_price(plain) or _quoted_price(tool, arguments, quoted)


def price_doubts(
    tool: Tool, arguments: JsonObject, quoted: Sequence[JsonObject]
) -> tuple[str, ...]:
    """Return each amount and multiplier that leaves the price of a call uncertain.

    Empty where the operation declares its price, or where the arguments and the things that their
    ids name have one amount and no possible multiplier.

    Args:
        tool: the tool of the call.
        arguments: as they are sent.
        quoted: the newest object of each thing that the arguments name, in units of its currency.
    """
    if tool.price is not None and (tool.price.is_free or tool.price.expected is not None):
        return ()
    plain = plain_arguments(tool, arguments)
    doubts = [*multipliers_in(plain, tool)]
    amounts = [*amounts_in(plain)]
    for item in quoted:
        if PRICE in item:
            amounts += [money for money in [stated_price(item)] if money is not None]
        else:
            amounts += amounts_in(item)
            doubts += multipliers_in(item)
    if len({*amounts}) > 1 or len([item for item in quoted if stated_price(item)]) > 1:
        doubts += map(str, dict.fromkeys(amounts))
    return tuple(dict.fromkeys(doubts))


def multipliers_in(plain: JsonObject, tool: Tool | None = None) -> tuple[str, ...]:
    """Return numbers above 1 and longer lists, which may multiply a price or add to it.

    No name makes a number harmless: `tip` adds, `nights` multiplies, and a list of names ends
    somewhere. Amounts with a currency next to them are not multipliers.
    """
    ours = frozenset(tool.reference_inputs) if tool is not None else frozenset[str]()
    sent: JsonObject = {name: value for name, value in plain.items() if name not in ours}
    return tuple(_multipliers("", sent, ""))[:_MOST_DOUBTS]


def _multipliers(path: str, value: JsonValue, currency: str) -> Iterator[str]:
    if isinstance(value, dict):
        currency = currency_of(value, currency)
        for name, inner in value.items():
            is_amount = bool(currency) and names_amount(name)  # an amount, which amounts_in yields
            is_plain = is_amount and not isinstance(inner, dict | list) and not _is_unclear(inner)
            if name != PRICE and not is_plain:
                yield from _multipliers(f"{path}.{name}" if path else name, inner, currency)
    elif isinstance(value, list):
        if len(value) > 1:
            yield f"{path}: {len(value)} of them"
        for inner in value[:1]:
            yield from _multipliers(path, inner, currency)
    elif _is_unclear(value):
        yield f"{path}: {value}"
    elif (number := _number(path, value)) is not None:
        yield f"{path}: {number}"


def _is_unclear(value: JsonValue) -> bool:
    return isinstance(value, str) and value.endswith(UNCLEAR)


def _number(path: str, value: JsonValue) -> Decimal | None:
    """Return a number above 1 or below 0; a text counts if its form or name is an amount's."""
    if isinstance(value, str) and "." not in value and not names_amount(path.rpartition(".")[2]):
        return None
    number = as_decimal(value)
    return number if number is not None and not 0 <= number <= 1 else None


def charged_price(tool: Tool, arguments: JsonObject, body: JsonValue) -> Money | None:
    """Return the price in the answer to a call; None when it is not plain.

    A higher amount that was taken wins, unless the document declares the price. A price per piece
    is multiplied by the pieces in the answer or the call.
    """
    if tool.price is not None and tool.price.is_free:
        return None
    if tool.price is not None and tool.price.charged is not None:
        return _at(tool.price.charged, tool, arguments, body)
    plain = plain_answer(tool, body)
    if (holder := holder_of_rate(plain)) is not None:
        return _by_piece(tool, arguments, holder)
    return stated_price(plain) if declares_price(plain) else charged_in(plain)


def settled_by_cancel(
    tool: Tool, arguments: JsonObject, body: JsonValue
) -> tuple[Money | None, Money | None]:
    """Return what the answer to a cancel pays back, and its fee; each None when it is not plain.

    A declared price of a cancel is its refund. Else amounts are told by the words refund and fee.
    """
    plain = plain_answer(tool, body)
    if tool.price is not None and tool.price.charged is not None:
        refund = _at(tool.price.charged, tool, arguments, body)
    else:
        refund = amount_named(plain, ("refund", "refunded"))
    return refund, amount_named(plain, ("fee", "fees", "penalty"))


def _by_piece(tool: Tool, arguments: JsonObject, holder: JsonObject) -> Money | None:
    """Return the price of all pieces: a total next to the rate, else the rate times the pieces."""
    one = stated_price(holder)
    rest: JsonObject = {name: value for name, value in holder.items() if name != PRICE}
    total, declared = charged_in(rest), holder[PRICE]
    if total is not None and total != one:
        return total
    per = declared.get("per") if isinstance(declared, dict) else None
    if one is None or not isinstance(per, str):
        return None
    asked = arguments.get(per, tool.properties.get(per, {}).get("default"))
    return _times(one, holder.get(per, asked))


def _states_amounts_of_several(plain: JsonObject) -> bool:
    several = (v for v in plain.values() if isinstance(v, list) and len(v) > 1)
    return any(True for _ in amounts_in([*several], currency_of(plain, "")))


def _quoted_price(tool: Tool, arguments: JsonObject, quoted: JsonObject) -> Money | None:
    money, declared = stated_price(quoted), quoted.get(PRICE)
    per = declared.get("per") if isinstance(declared, dict) else None
    if money is None:
        return None
    if isinstance(per, str):
        pieces = arguments.get(per, tool.properties.get(per, {}).get("default"))
        return _times(money, pieces)
    asked = quantity_in(arguments)
    return money if asked in (1, quantity_in(quoted)) else None


def _times(money: Money, pieces: JsonValue) -> Money | None:
    if not isinstance(pieces, int) or isinstance(pieces, bool) or pieces < 0:
        return None
    return Money(amount=money.amount * pieces, currency=money.currency)


def _at(price: PricePlace, tool: Tool, arguments: JsonObject, body: JsonValue) -> Money | None:
    """Return the money at a declared place, or None."""
    found = _found(price.amount, tool, arguments, body)
    if found is None:
        return None
    place, values = found
    currency = _currency(price, tool, arguments, body, values)
    *around, own = place.schemas()
    units: JsonValue = dict(u) if isinstance(u := price.minor_units, dict) else u
    declared: JsonObject = {} if units is None else {MINOR_UNITS: units}
    if isinstance(values[-1], dict):
        schema = {**(own[0] if own else {}), **declared}
        plain = plain_money(values[-1], with_definitions(schema, place.root))
        return money_in(plain, currency.upper())
    holders = around[-1] if around else ()
    name = place.path[-1] if place.path else ""
    amount = plain_amount(name, values[-1], currency, declared, *own, *holders)
    return money_in(amount, currency.upper())


def _found(
    expression: str, tool: Tool, arguments: JsonObject, body: JsonValue
) -> tuple[Place, list[JsonValue]] | None:
    """Return the place of an expression and the values on the way; None when it finds nothing."""
    read = parse_expression(expression)
    place = place_of(read, tool)
    if place is None:
        return None
    values = place.values(body if read.message == "response" else arguments)
    return (place, values) if len(values) > len(place.path) else None


def _currency(
    price: PricePlace, tool: Tool, arguments: JsonObject, body: JsonValue, values: list[JsonValue]
) -> str:
    """Return the declared currency, else the nearest around the amount; '' for none."""
    if price.currency is None:
        around = ""
        for value in values[:-1]:
            around = currency_of(value, around) if isinstance(value, dict) else around
        return around
    if not price.currency.startswith("$"):
        return price.currency
    found = _found(price.currency, tool, arguments, body)
    code = found[1][-1] if found is not None else None
    return code if isinstance(code, str) else ""


def takes_money(tool: Tool) -> bool:
    """Return True if the price of a call is money that leaves.

    The card type decides. A tool without confirmation spends when it declares a price, or when its
    answer has a property with the name of one.
    """
    if tool.needs_confirmation:
        return tool.spends
    if tool.price is not None:
        return tool.effect in _LEAVES_SOMETHING and not tool.price.is_free
    return tool.effect in _LEAVES_SOMETHING and _answers_price(tool)


def may_be_overcharged(tool: Tool) -> bool:
    """Return True if a charge can be compared; the price in a cancel's answer is a refund."""
    return takes_money(tool) and tool.effect in _LEAVES_SOMETHING


def states_price(tool: Tool) -> bool:
    """Return True if the document declares a price, or its answer has the name of one."""
    return tool.price is not None or _answers_price(tool)


@read_once
def _answers_price(tool: Tool) -> bool:
    schema = tool.output_schema
    return schema is not None and _names_price(schema, schema, levels=2)


def _names_price(schema: JsonObject, root: JsonObject, *, levels: int) -> bool:
    """Return True if a property of the object, or of one inside it, has the name of a price."""
    below = properties_of(resolve(schema, root))
    if any(map(names_price, below)):
        return True
    return levels > 1 and any(_names_price(s, root, levels=levels - 1) for s in below.values())
