"""Prices of calls: the expected price before a call, and the charged price in its answer.

A declaration (x-orchet-price) comes first, then schemas and names. The price is unknown if they do
not determine the number or its unit.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple, cast

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import MINOR_UNITS, PRICE, PricePlace
from orchestrator.catalog.expressions import Expression, parse_expression
from orchestrator.catalog.money import (
    UNCLEAR,
    amount_named,
    amounts_in,
    as_decimal,
    charged_in,
    currency_of,
    declaring,
    every_price,
    money_in,
    money_like_in,
    names_amount,
    names_price,
    only_price,
    plain_amount,
    plain_money,
    quantity_in,
    stated_price,
    units_of,
    views,
    views_inside,
    written_number,
)
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.budget import Money
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import follow, resolve, with_definitions
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.language import lexicon
from orchestrator.language.words import name_words

_MOST_AMOUNTS: Final = 10_000
"""Largest number of amounts in an answer that are examined."""
_MOST_DOUBTS: Final = 12
Ids = frozenset[tuple[str, str]]
"""Names of arguments with their values as text."""
_LEAVES_SOMETHING = (Effect.OBLIGATION, Effect.WRITE)


@dataclass(frozen=True)
class Place:
    """The steps to a value, from the arguments of a call or the body of its answer."""

    root: JsonObject
    """Schema of the arguments or the body; {} without one."""
    path: tuple[str, ...]

    def values(self, whole: JsonValue) -> list[JsonValue]:
        """Return the values along the path, the whole first, as far as the steps exist."""
        found = [whole]
        with suppress(LookupError):
            for step in self.path:
                found.append(follow(found[-1], (step,)))
        return found

    def schemas(self) -> list[tuple[JsonObject, ...]]:
        """Return the schemas along the path, each as its views; empty if a step has no schema."""
        steps = [views(self.root, self.root)]
        for name in self.path:
            members = views_inside(steps[-1], None, self.root) if name.isdigit() else ()
            steps.append(views_inside(steps[-1], name, self.root) + members)
        return steps


def place_of(expression: Expression, tool: Tool) -> Place | None:
    """Return the place that an expression reads; None for unknown inputs and for headers."""
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


def plain_arguments(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments of a call with every amount in units of its currency."""
    return cast("JsonObject", plain_money(arguments, tool.input_schema))


def plain_answer(tool: Tool | None, body: JsonValue) -> JsonValue:
    """Return an answer with every amount in units of its currency, by its tool's schema if any."""
    return plain_money(body, tool.output_schema if tool is not None else None)


# Before the call.


def expected_price(
    tool: Tool, arguments: JsonObject, quoted: JsonObject | None, ids: Ids = frozenset()
) -> Money | None:
    """Return the price of a call: declared, else in its arguments, else quoted; None if unclear.

    `quoted` is the object of an earlier answer that the call is about, in units of its currency. A
    price per piece is multiplied by the pieces of the call; if it may be either, the price is
    unknown. If a call states amounts for several things, the quote is not used. `ids` are as for
    `price_doubts`.
    """
    if tool.price is not None and tool.price.is_free:
        return None
    if tool.price is not None and tool.price.expected is not None:
        return _at(tool.price.expected, tool, arguments, None)
    plain = plain_arguments(tool, arguments)
    if rated := [held for held in declaring(plain) if _piece_input(held) is not None]:
        return _by_piece(tool, arguments, rated[0])
    is_declared = quoted is not None and PRICE in quoted
    if not is_declared and (any(_multipliers(tool, plain, ids)) or len([*amounts_in(plain)]) > 1):
        return None
    lists = [value for value in plain.values() if isinstance(value, list) and len(value) > 1]
    are_several = any(True for _ in amounts_in([*lists], currency_of(plain)))
    if (own := every_price(plain)) or quoted is None or are_several:
        return only_price(own)
    if _piece_input(quoted) is not None:
        return _times(stated_price(quoted), quoted, tool, arguments)
    is_whole = quantity_in(arguments) in (1, quantity_in(quoted))
    return stated_price(quoted) if is_whole else None


def price_doubts(
    tool: Tool, arguments: JsonObject, quoted: Sequence[JsonObject], ids: Ids = frozenset()
) -> tuple[str, ...]:
    """Return each amount and multiplier that makes the price of a call uncertain.

    Empty if the operation declares its price, or if the arguments and the things that their ids
    name have one amount and no possible multiplier.

    Args:
        tool: the tool of the call.
        arguments: as they are sent.
        quoted: the newest object of each thing that the arguments name, in units of its currency.
        ids: the arguments that name those things; they multiply nothing.
    """
    if tool.price is not None and (tool.price.is_free or tool.price.expected is not None):
        return ()
    plain = plain_arguments(tool, arguments)
    pieces = (name for item in quoted if (name := _piece_input(item)) is not None)
    counted = ids | {(name, str(plain.get(name))) for name in pieces}  # `per` names the multiplier
    doubts, stated = [*_multipliers(tool, plain, counted)], [[*amounts_in(plain)]]
    values = {value for _, value in ids}
    for item in quoted:
        if PRICE in item:
            stated.append([money for money in [stated_price(item)] if money is not None])
        else:
            names = [n for n in item if name_words(n)[-1] in lexicon.IDENTIFIER]
            own = frozenset((n, str(item[n])) for n in names if str(item[n]) in values)
            doubts += _multipliers(None, item, own)
            stated.append([*amounts_in(item)])
    amounts = dict.fromkeys(money for found in stated for money in found)
    are_several = len(amounts) > 1 or any(len(found) > 1 for found in stated)
    if are_several or len([item for item in quoted if stated_price(item)]) > 1:
        doubts += map(str, amounts)
    shown = tuple(dict.fromkeys(doubts))
    rest = len(shown) - _MOST_DOUBTS
    return shown if rest <= 0 else (*shown[:_MOST_DOUBTS], f"{rest} more numbers and lists")


def _multipliers(
    tool: Tool | None, value: JsonValue, ids: Ids, path: str = "", currency: str = ""
) -> Iterator[str]:
    """Yield numbers above 1 and longer lists, which may multiply a price or add to it.

    No name makes a number harmless: `tip` adds, `nights` multiplies, and no list of names is
    complete. Amounts with a currency next to them are not multipliers, nor are the references that
    a tool's own calls carry.
    """
    if isinstance(value, dict):
        currency = currency_of(value, currency)
        counts = [inner for inner in value.values() if as_decimal(inner) == 1]
        if path and len(counts) > 1:  # such as one adult and one child
            yield f"{path}: {len(counts)} of them"
        for name, inner in value.items():
            is_amount = bool(currency) and names_amount(name)  # an amount, which amounts_in yields
            is_plain = is_amount and as_decimal(inner) is not None
            is_reference = not path and tool is not None and name in tool.reference_inputs
            if name != PRICE and not is_plain and not is_reference:
                inside = f"{path}.{name}" if path else name
                yield from _multipliers(None, inner, ids, inside, currency)
    elif isinstance(value, list):
        if len(value) > 1:
            yield f"{path}: {len(value)} of them"
        for inner in value[:1]:
            yield from _multipliers(None, inner, ids, path, currency)
    elif isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        yield f"{path}: JSON in a text"
    elif (path, str(value)) not in ids:
        # In any spelling, with or without a unit: "2x" counts, and so does an unclear amount.
        number = None if isinstance(value, str) else as_decimal(value)
        if isinstance(value, str) and (written := written_number(value.strip(" *xX\u00d7"))):
            number = written[0]
        if str(value).endswith(UNCLEAR) or (number is not None and not 0 <= number <= 1):
            yield f"{path}: {value}"


def charged_price(tool: Tool, arguments: JsonObject, body: JsonValue) -> Money | None:
    """Return the price in the answer to a call; None if it is not plain.

    A higher amount that was taken wins, unless the document declares the price. A price per piece
    is multiplied by the pieces in the answer or the call.
    """
    if tool.price is not None and tool.price.is_free:
        return None
    if tool.price is not None and tool.price.charged is not None:
        return _at(tool.price.charged, tool, arguments, body)
    plain = _plain_charge(tool, arguments, body)
    if rated := [held for held in declaring(plain) if _piece_input(held) is not None]:
        return _by_piece(tool, arguments, rated[0])
    return stated_price(plain) if any(declaring(plain)) else charged_in(plain)


def _plain_charge(tool: Tool, arguments: JsonObject, body: JsonValue) -> JsonValue:
    """Return an answer in units of its currency; an input that it repeats has the input's unit.

    This holds if a unit is stated for the input, and none in the answer's schema.
    """
    plain, sent = plain_answer(tool, body), plain_arguments(tool, arguments)
    if not isinstance(plain, dict) or not isinstance(body, dict):
        return plain
    answered = properties_of(tool.output_schema or {})
    repeated = [name for name in arguments if name in body and body[name] == arguments[name]]
    for name in repeated:
        asked, said = (held.get(name, {}) for held in (tool.properties, answered))
        if _states_unit(name, asked) and not _states_unit(name, said):
            plain = {**plain, name: sent[name]}
    return plain


def _states_unit(name: str, schema: JsonObject) -> bool:
    inside = (one for part in walk(schema) for one in properties_of(part).items())
    return any(units_of(n, s).is_stated for n, s in ((name, schema), *inside))


def named_amounts(tool: Tool, arguments: JsonObject, body: JsonValue) -> tuple[Money, ...]:
    """Return the largest amount in the answer to a call, for each currency that it names.

    The result is empty if the document declares the charge or the answer the price: those are read
    by their declaration. Amounts count under any name, because no list of names is complete.
    """
    if tool.price is not None and (tool.price.is_free or tool.price.charged is not None):
        return ()
    plain = _plain_charge(tool, arguments, body)
    if any(declaring(plain)):
        return ()
    found = sorted(islice(money_like_in(plain), _MOST_AMOUNTS), key=lambda money: money.amount)
    return tuple({money.currency: money for money in found}.values())


class Settled(NamedTuple):
    """The refund and the fee in the answer to a cancel; None if it does not state one plainly."""

    refund: Money | None = None
    fee: Money | None = None
    named: tuple[Money, ...] = ()
    """The amounts of an answer that names neither refund nor fee."""


def settled_by_cancel(tool: Tool, arguments: JsonObject, body: JsonValue) -> Settled:
    """Return the refund and the fee in the answer to a cancel.

    The declared price of a cancel is its refund. Without a declaration, the words refund and fee
    identify the amounts.
    """
    plain = plain_answer(tool, body)
    if tool.price is not None and tool.price.charged is not None:
        refund = _at(tool.price.charged, tool, arguments, body)
    else:
        refund = amount_named(plain, "refund", "refunded")
    fee = amount_named(plain, "fee", "fees", "penalty")
    if refund is not None or fee is not None:
        return Settled(refund, fee)
    named = (money for money in islice(money_like_in(plain), _MOST_AMOUNTS) if money.amount)
    return Settled(named=tuple(islice(dict.fromkeys(named), _MOST_DOUBTS)))


def _piece_input(holder: JsonObject) -> str | None:
    """Return the input that counts the pieces of a declared price per piece."""
    declared = holder.get(PRICE)
    per = declared.get("per") if isinstance(declared, dict) else None
    return per if isinstance(per, str) else None


def _by_piece(tool: Tool, arguments: JsonObject, holder: JsonObject) -> Money | None:
    """Return the price of all pieces: a total next to the rate, else the rate times the pieces."""
    total = charged_in({name: value for name, value in holder.items() if name != PRICE})
    one = stated_price(holder)
    counted = {**arguments, **{n: v for n, v in holder.items() if n == _piece_input(holder)}}
    return total if total is not None and total != one else _times(one, holder, tool, counted)


def _times(one: Money | None, rated: JsonObject, tool: Tool, arguments: JsonObject) -> Money | None:
    """Return a rate times the pieces that the call asks for, by its default if it asks for none."""
    per = _piece_input(rated) or ""
    pieces = arguments.get(per, tool.properties.get(per, {}).get("default"))
    if one is None or not isinstance(pieces, int) or isinstance(pieces, bool) or pieces < 0:
        return None
    return Money(amount=one.amount * pieces, currency=one.currency)


def _at(price: PricePlace, tool: Tool, arguments: JsonObject, body: JsonValue) -> Money | None:
    """Return the price at a declared place; the currency is declared, or the nearest around it."""
    place, values = _found(price.amount, tool, arguments, body)
    if place is None or not values:
        return None
    currency: JsonValue = price.currency or ""
    if price.currency is None:
        for around in values[:-1]:
            currency = currency_of(around, str(currency)) if isinstance(around, dict) else currency
    elif price.currency.startswith("$"):
        currency = ([""] + _found(price.currency, tool, arguments, body)[1])[-1]
    code = currency if isinstance(currency, str) else ""
    *around_it, own = place.schemas()
    units: JsonValue = dict(u) if isinstance(u := price.minor_units, dict) else u
    declared: JsonObject = {} if units is None else {MINOR_UNITS: units}
    if isinstance(values[-1], dict):
        schema = {**(own[0] if own else {}), **declared}
        plain = plain_money(values[-1], with_definitions(schema, place.root))
        return money_in(plain, code.upper())
    name, holders = ("", *place.path)[-1], ((), *around_it)[-1]
    return money_in(plain_amount(name, values[-1], code, declared, *own, *holders), code.upper())


def _found(
    expression: str, tool: Tool, arguments: JsonObject, body: JsonValue
) -> tuple[Place | None, list[JsonValue]]:
    """Return the place of an expression and the values on the way; none if one is missing."""
    read = parse_expression(expression)
    place, whole = place_of(read, tool), body if read.message == "response" else arguments
    values = place.values(whole) if place is not None else []
    return place, values if place is not None and len(values) > len(place.path) else []


def takes_money(tool: Tool) -> bool:
    """Return True if the price of a call is money that is spent.

    The card type decides. A tool without confirmation spends if it declares a price, or if its
    answer has a property named like one.
    """
    if tool.needs_confirmation:
        return tool.spends
    is_free = tool.price is not None and tool.price.is_free
    return tool.effect in _LEAVES_SOMETHING and not is_free and states_price(tool)


def may_be_overcharged(tool: Tool) -> bool:
    """Return True if a charge can be compared; the price in a cancel's answer is a refund."""
    return takes_money(tool) and tool.effect in _LEAVES_SOMETHING


def states_price(tool: Tool) -> bool:
    """Return True if the document declares a price, or its answer has a property named like one."""
    return tool.price is not None or _answers_price(tool)


@read_once
def _answers_price(tool: Tool) -> bool:
    root = tool.output_schema or {}
    top = properties_of(resolve(root, root))
    inside = (properties_of(resolve(schema, root)) for schema in top.values())
    return any(names_price(name) for held in (top, *inside) for name in held)
