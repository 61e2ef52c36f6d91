"""Values for a tool's inputs out of the facts that earlier legs taught."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import id_names, thing_of
from orchestrator.core.budget import Money
from orchestrator.core.received_files import FILE, is_file_handle
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import stem, tokens
from orchestrator.planning.rules.amounts import as_taken
from orchestrator.planning.rules.answers import DATE, TIME
from orchestrator.planning.rules.argument_draft import ArgumentDraft
from orchestrator.planning.rules.parameters import Kind, Parameter, moment_at
from orchestrator.planning.rules.sentences import summary_line
from orchestrator.planning.rules.situation import FactSource
from orchestrator.planning.trimming import cut_text

_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}")
_MAX_LINE: Final = 200


def value_from_facts(
    parameter: Parameter, facts: Sequence[FactSource], *, now: datetime
) -> JsonValue:
    """The value that earlier legs give an input; None when they give none that it allows."""
    return parameter.first_accepted(*_candidates(parameter, facts, now))


def _candidates(
    parameter: Parameter, facts: Sequence[FactSource], now: datetime
) -> Iterator[JsonValue]:
    if parameter.kind is Kind.FILE:
        files = (source.fields.get(FILE) for source in reversed(facts))
        yield from (handle for handle in files if is_file_handle(handle))
        return
    if parameter.kind in (Kind.MONEY, Kind.AMOUNT, Kind.CURRENCY):
        if parameter.bound is None:
            yield from _money(parameter, total_of(facts))
        return
    for source in reversed(facts):
        yield source.fields.get(parameter.name)
        if parameter.name in id_names(thing_of(source.tool)) and source.tool.is_side_effect:
            yield source.fields.get("id")
    match parameter.kind:
        case Kind.DATE | Kind.DATETIME | Kind.TIME:
            yield from _moments(parameter, facts, now)
        case Kind.PLACE:
            yield from _places(parameter, facts)
        case Kind.COUNT if set(parameter.words) & lexicon.PEOPLE:
            named = (field for source in reversed(facts) for field in source.fields.items())
            counts = (v for name, v in named if set(tokens(name)) & lexicon.PEOPLE)
            yield from (count for count in counts if isinstance(count, int))
        case Kind.LIST:
            yield _lines(parameter, facts, now)
        case _:
            pass


def total_of(facts: Sequence[FactSource]) -> Money | None:
    """The sum of what side effects cost; None when nothing did, or in several currencies."""
    prices = [s.price for s in facts if s.fact.side_effect and s.price is not None]
    if not prices or len({p.currency for p in prices}) > 1:
        return None
    return Money(amount=sum((p.amount for p in prices), Decimal(0)), currency=prices[0].currency)


def _money(parameter: Parameter, total: Money | None) -> Iterator[JsonValue]:
    if total is not None:
        yield from as_taken(parameter, total, ArgumentDraft(()))


def _moments(
    parameter: Parameter, facts: Sequence[FactSource], now: datetime
) -> Iterator[JsonValue]:
    """Dates or times of what was done: the first that starts, the last that ends."""
    days = sorted({v for s in facts for v in _dated(s, DATE)})
    moments = sorted({v for s in facts for v in _dated(s, _MOMENT)})
    clocks = [v for s in facts for v in _dated(s, TIME)]
    if parameter.kind is Kind.TIME:
        yield from clocks[:1]
    elif parameter.kind is Kind.DATE:
        values = days or sorted({m[:10] for m in moments})
        yield from values[-1:] if parameter.side == "end" and len(values) > 1 else ()
        yield from values[:1] if parameter.side != "end" else ()
    elif parameter.side == "end":
        yield from moments[-1:] if len(moments) > 1 else ()
        yield from (moment_at(day, "23:59", now) for day in days[-1:] if len(days) > 1)
    else:
        yield from moments[:1]
        yield from (moment_at(day, clocks[0][:5] if clocks else "00:00", now) for day in days[:1])


def _dated(source: FactSource, form: re.Pattern[str]) -> Iterator[str]:
    for name, value in source.fields.items():
        kept = not set(tokens(name)) & (lexicon.BOOKKEEPING - {"at"})
        if kept and isinstance(value, str) and form.match(value):
            yield value


def _places(parameter: Parameter, facts: Sequence[FactSource]) -> Iterator[JsonValue]:
    wanted = lexicon.ORIGIN if parameter.side == "start" else lexicon.PLACE | lexicon.DESTINATION
    for source in reversed(facts):
        named = [(tokens(k), v) for k, v in source.fields.items() if isinstance(v, str)]
        hits = [(words, v) for words, v in named if set(words) & wanted - {"from", "to", "near"}]
        if parameter.side != "start":
            hits.sort(key=lambda hit: bool(set(hit[0]) & (lexicon.ORIGIN | {"address"})))
        yield from (value for _, value in hits)


def _lines(parameter: Parameter, facts: Sequence[FactSource], now: datetime) -> JsonValue:
    """One element for each side effect that can fill source, in order."""
    element = parameter.element
    if element is None or element.kind is not Kind.OBJECT:
        return None
    lines = [_line(element, source, now) for source in facts if source.fact.side_effect]
    return [line for line in lines if line is not None] or None


def _line(element: Parameter, source: FactSource, now: datetime) -> JsonObject | None:
    """The element that describes one call; None when the call lacks what the element requires."""
    line: JsonObject = {}
    for field in element.fields:
        value = field.first_accepted(*_line_values(field, source, now))
        if value is not None:
            line[field.name] = value
        elif field.required:
            return None
    return line


def _line_values(field: Parameter, source: FactSource, now: datetime) -> Iterator[JsonValue]:
    match field.kind:
        case Kind.MONEY | Kind.AMOUNT | Kind.CURRENCY:
            yield from _money(field, source.price)
        case Kind.TEXT | Kind.TITLE:
            yield cut_text(summary_line(source), field.longest(_MAX_LINE))
        case Kind.IDENTIFIER:
            yield from (source.fields.get(field.name), source.reference)
        case Kind.CHOICE:
            yield _choice(field, source)
        case Kind.COUNT if field.required:
            yield from (source.fields.get(field.name), 1)
        case Kind.DATE | Kind.DATETIME | Kind.TIME:
            yield from (source.fields.get(field.name), *_moments(field, [source], now))
        case _:
            yield source.fields.get(field.name)
            yield field.schema.get("default") if field.required else None


def _choice(field: Parameter, source: FactSource) -> JsonValue:
    """The listed value that names what the tool is about, else the one that fits everything."""
    texts = (source.tool.domain, source.tool.name, *source.tool.intent_tags, source.tool.summary)
    about = {stem(token) for text in texts for token in tokens(text)}
    named = (o for o in field.options if {stem(token) for token in tokens(o)} & about)
    catch_all = (o for o in field.options if o.lower() in lexicon.CATCH_ALL)
    return next(iter((*named, *catch_all)), None)
