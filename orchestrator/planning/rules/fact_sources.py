"""Values for a tool's inputs out of what earlier legs did."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.prices import price_of
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import stem, tokens
from orchestrator.planning.models import Fact
from orchestrator.planning.rules.answers import flat_fields
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.utterance import at
from orchestrator.planning.rules.wording import cut_to, line

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}$")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}")
_TIME = re.compile(r"\d{2}:\d{2}(:\d{2})?$")

_MAX_LINE: Final = 200


@dataclass(frozen=True)
class Known:
    """One fact, with the tool it came from."""

    fact: Fact
    tool: Tool

    @property
    def price(self) -> Money | None:
        """What the call cost."""
        return self.fact.price or price_of(self.fact.body)

    @property
    def fields(self) -> JsonObject:
        """Scalars of the answer over those of the arguments; no handles to personal fields."""
        asked = dict(flat_fields(self.fact.arguments))
        values = {**asked, **dict(flat_fields(self.fact.body))}
        return {k: v for k, v in values.items() if not str(v).startswith("pii:")}

    @property
    def reference(self) -> JsonValue:
        """The id of what the call made."""
        body = self.fact.body if isinstance(self.fact.body, dict) else {}
        return next((v for k, v in body.items() if tokens(k)[-1:] == ["id"]), None)


def value_known(parameter: Parameter, known: Sequence[Known], *, now: datetime) -> JsonValue:
    """The value that earlier legs give an input; None when they give none that it allows."""
    return parameter.first_accepted(*_candidates(parameter, known, now))


def _candidates(parameter: Parameter, known: Sequence[Known], now: datetime) -> Iterator[JsonValue]:
    if parameter.kind in (Kind.MONEY, Kind.AMOUNT, Kind.CURRENCY):
        if parameter.bound is None:
            yield from _money(parameter, total_of(known))
        return
    for one in reversed(known):
        yield one.fields.get(parameter.name)
    match parameter.kind:
        case Kind.DATE | Kind.DATETIME | Kind.TIME:
            yield from _moments(parameter, known, now)
        case Kind.PLACE:
            yield from _places(parameter, known)
        case Kind.COUNT if set(parameter.words) & lexicon.PEOPLE:
            yield from _people(known)
        case Kind.LIST:
            yield _lines(parameter, known, now)
        case _:
            pass


def total_of(known: Sequence[Known]) -> Money | None:
    """The sum of what side effects cost; None when nothing did, or in several currencies."""
    prices = [p for p in (k.price for k in known if k.fact.side_effect) if p is not None]
    if not prices or len({p.currency for p in prices}) > 1:
        return None
    return Money(amount=sum((p.amount for p in prices), Decimal(0)), currency=prices[0].currency)


def _money(parameter: Parameter, total: Money | None) -> Iterator[JsonValue]:
    if total is None:
        return
    if parameter.kind is Kind.CURRENCY:
        yield total.currency
    elif parameter.kind is Kind.MONEY:
        yield {"amount": number(total.amount), "currency": total.currency}
        yield {"amount": str(total.amount), "currency": total.currency}
    elif set(parameter.words) & lexicon.MINOR_UNITS:
        yield int(total.amount * 100)
    else:
        yield number(total.amount)
        yield str(total.amount)


def number(amount: Decimal) -> int | float:
    """A decimal as the JSON number that shows the same digits."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def _moments(parameter: Parameter, known: Sequence[Known], now: datetime) -> Iterator[JsonValue]:
    """Dates or times of what was done: the first that starts, the last that ends."""
    days = sorted({v for k in known for v in _dated(k, _DATE)})
    moments = sorted({v for k in known for v in _dated(k, _MOMENT)})
    clocks = [v for k in known for v in _dated(k, _TIME)]
    if parameter.kind is Kind.TIME:
        yield from clocks[:1]
    elif parameter.kind is Kind.DATE:
        values = days or sorted({m[:10] for m in moments})
        yield from values[-1:] if parameter.side == "end" and len(values) > 1 else ()
        yield from values[:1] if parameter.side != "end" else ()
    elif parameter.side == "end":
        yield from moments[-1:] if len(moments) > 1 else ()
        yield from (at(day, "23:59", now) for day in days[-1:] if len(days) > 1)
    else:
        yield from moments[:1]
        yield from (at(day, clocks[0][:5] if clocks else "00:00", now) for day in days[:1])


def _dated(known: Known, form: re.Pattern[str]) -> Iterator[str]:
    for name, value in known.fields.items():
        kept = not set(tokens(name)) & (lexicon.BOOKKEEPING - {"at"})
        if kept and isinstance(value, str) and form.match(value):
            yield value


def _places(parameter: Parameter, known: Sequence[Known]) -> Iterator[JsonValue]:
    wanted = lexicon.ORIGIN if parameter.side == "start" else lexicon.PLACE | lexicon.DESTINATION
    for one in reversed(known):
        named = [(tokens(k), v) for k, v in one.fields.items() if isinstance(v, str)]
        hits = [(words, v) for words, v in named if set(words) & wanted - {"from", "to", "near"}]
        if parameter.side != "start":
            hits.sort(key=lambda hit: bool(set(hit[0]) & (lexicon.ORIGIN | {"address"})))
        yield from (value for _, value in hits)


def _people(known: Sequence[Known]) -> Iterator[JsonValue]:
    for one in reversed(known):
        for name, value in one.fields.items():
            if set(tokens(name)) & lexicon.PEOPLE and isinstance(value, int):
                yield value


def _lines(parameter: Parameter, known: Sequence[Known], now: datetime) -> JsonValue:
    """One element for each side effect that can fill one, in order."""
    element = parameter.element
    if element is None or element.kind is not Kind.OBJECT:
        return None
    lines: list[JsonValue] = []
    for one in known:
        line = _line(element, one, now) if one.fact.side_effect else None
        if line is not None:
            lines.append(line)
    return lines or None


def _line(element: Parameter, one: Known, now: datetime) -> JsonObject | None:
    """The element that describes one call; None when the call lacks what the element requires."""
    line: JsonObject = {}
    for field in element.fields:
        value = field.first_accepted(*_line_values(field, one, now))
        if value is not None:
            line[field.name] = value
        elif field.required:
            return None
    return line


def _line_values(field: Parameter, one: Known, now: datetime) -> Iterator[JsonValue]:
    match field.kind:
        case Kind.MONEY | Kind.AMOUNT | Kind.CURRENCY:
            yield from _money(field, one.price)
        case Kind.TEXT | Kind.TITLE:
            limit = field.schema.get("maxLength")
            size = min(limit, _MAX_LINE) if isinstance(limit, int) else _MAX_LINE
            yield cut_to(line(one.fact, one.tool), size)
        case Kind.IDENTIFIER:
            yield from (one.fields.get(field.name), one.reference)
        case Kind.CHOICE:
            yield from (_choice(field, one),)
        case Kind.COUNT if field.required:
            yield from (one.fields.get(field.name), 1)
        case Kind.DATE | Kind.DATETIME | Kind.TIME:
            yield from (one.fields.get(field.name), *_moments(field, [one], now))
        case _:
            yield one.fields.get(field.name)
            yield field.schema.get("default") if field.required else None


def _choice(field: Parameter, one: Known) -> JsonValue:
    """The listed value that names what the tool is about, else the one that fits everything."""
    listed = field.schema.get("enum")
    options = [o for o in listed if isinstance(o, str)] if isinstance(listed, list) else []
    texts = (one.tool.domain, one.tool.name, *one.tool.intent_tags, one.tool.summary)
    about = [stem(token) for text in texts for token in tokens(text)]
    for option in options:
        if {stem(token) for token in tokens(option)} & set(about):
            return option
    return next((o for o in options if o.lower() in lexicon.CATCH_ALL), None)
