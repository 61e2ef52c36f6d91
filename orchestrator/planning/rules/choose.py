"""Chooses among found items: by equality, one superlative, limits, all, a count, or a question."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.models import AskUser
from orchestrator.planning.rules.account import Account, Limit, Run, Superlative
from orchestrator.planning.rules.fill import Draft
from orchestrator.planning.rules.items import Item, flat_fields
from orchestrator.planning.rules.parameters import Kind

MOST_CHOICES: Final = 8
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_EXACT: Final = re.compile(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}(:\d{2})?")
_CLOCK: Final = re.compile(r"(?:^|T)(\d{2}:\d{2})")
_MEASURES: Final[Mapping[str, frozenset[str]]] = {
    "rating": lexicon.RATING,
    "distance": frozenset({"distance", "km", "miles", "meters", "metres", "away"}),
    "duration": frozenset({"duration", "minutes", "hours"}),
    "size": frozenset({"size", "bytes", "length", "amount", "total", "quantity", "capacity"}),
    "time": lexicon.TIME | lexicon.DATE | lexicon.START | frozenset({"created", "updated", "sent"}),
}


@dataclass(frozen=True)
class Choice:
    """The items chosen from those found, or the reason why a person must choose."""

    items: tuple[Item, ...] = ()
    asks: tuple[Item, ...] = ()
    why: str = ""
    """Why a person is asked to choose among `asks`; or, if that is empty, why nothing fits."""
    note: str = ""
    """The reason for this choice, for the reader of the call."""


def choose(
    items: Sequence[Item],
    account: Account,
    *,
    consumer: Tool,
    asked: JsonObject,
    offers: bool,
    most: int,
    said: frozenset[str] = frozenset(),
) -> Choice:
    """Return the items that the clause means, to call `consumer` with; `asked` is the search.

    If the items are offers, any that fits may be taken; `said` are the stems of the clause's words.
    """
    usable = [one for one in items if not _is_gone(one, consumer, account)] or [*items]
    usable = [one for one in usable if _agrees(one, asked)]
    if not usable:
        filters = " and ".join(repr(run.text) for run in account.filters)
        what = f"is {filters}" if filters else "fits the request"
        return Choice(why=f"nothing that was found {what}")
    kept, why = filtered(usable, account.filters)
    if not kept:
        named = [run for run in account.filters if not any(matches(i, run) for i in usable)]
        is_sure = any(run.is_value for run in named)
        return Choice(why=why) if is_sure else Choice(asks=tuple(usable), why=why)
    within = [one for one in kept if all(keeps(one, limit) for limit in account.limits)]
    if not within:
        limits = ", ".join(limit.text for limit in account.limits)
        prices = [
            o.value for o in account.limits if o.kind == "price" and isinstance(o.value, dict)
        ]
        codes = {value.get("currency") or "" for value in prices}
        stated = [one for one in kept if one.price and codes <= {"", one.price.currency}]
        if unknown := [one for one in kept if codes and one not in stated]:
            why = f"{len(unknown)} of the {len(kept)} found tell no price for {limits!r}"
            return Choice(asks=tuple(unknown), why=why)
        return Choice(why=f"none of the {len(kept)} found is {limits!r}")
    if account.is_all:
        if len(within) > most:
            return Choice(why=f"{len(within)} things are meant, and at most {most} are done")
        return Choice(tuple(within), note=f"each of {account.is_all!r}")
    if account.superlative is not None:
        return _best(within, account.superlative)
    if account.count is not None and account.count > 1:
        if len(within) == account.count:
            return Choice(tuple(within))
        why = f"{account.count} are asked for, and {len(within)} were found"
        return Choice(asks=tuple(within), why=why)
    if not offers and len(called := called_so(within, said)) == 1:
        return Choice((called[0],))
    return _one(within, offers=offers)


def called_so(items: Sequence[Item], said: frozenset[str]) -> list[Item]:
    """Return the items whose whole name the clause contains, those of the longest name."""
    sizes: list[int] = []
    for item in items:
        names = [
            {*content_stems(str(value))} or {*map(stem, tokens(str(value)))}
            for name, value in flat_fields(item.own_fields)
            if tokens(name)[-1:] in (["name"], ["title"], ["number"]) and isinstance(value, str)
        ]
        sizes.append(max((len(one) for one in names if one and one <= said), default=0))
    most = max(sizes, default=0)
    return [item for item, size in zip(items, sizes, strict=True) if most and size == most]


def _one(within: Sequence[Item], *, offers: bool) -> Choice:
    if len(within) == 1:
        return Choice(tuple(within))
    if not offers:
        return Choice(asks=tuple(within), why=f"{len(within)} were found")
    priced = [one for one in within if one.price is not None]
    if priced and len({one.price.currency for one in priced if one.price}) == 1:
        best = min(priced, key=lambda one: one.price.amount if one.price else Decimal(0))
        return Choice((best,), note=f"the cheapest of {len(within)} that fit")
    return Choice((within[0],), note=f"the first of {len(within)} that fit")


def filtered(items: Sequence[Item], runs: Iterable[Run]) -> tuple[list[Item], str]:
    """Return the items that match all words, and the words that match none."""
    kept = [*items]
    for run in runs:
        fitting = [one for one in kept if matches(one, run, by_name=True)]
        fitting = fitting or [one for one in kept if matches(one, run)]
        if not fitting:
            return [], f"nothing that was found is called {run.text!r}"
        kept = fitting
    return kept, ""


def matches(item: Item, run: Run, *, by_name: bool = False) -> bool:
    """Return True if an item's fields match the words or the value; `by_name`: in a name.

    One text must contain all the words.
    """
    value = run.value
    wanted = set(content_stems(run.text)) or {stem(w) for w in tokens(run.text)}
    if by_name and (value is None or value.kind in ("name", "quoted")):
        named = (["name"], ["title"], ["subject"], ["text"], ["number"])
        fields = flat_fields(item.own_fields)
        names = [str(one)[:300] for name, one in fields if tokens(name)[-1:] in named]
        return any(wanted <= {*content_stems(text)} for text in names)
    texts = [*_texts(item)]
    if value is not None and value.kind == "date":
        return any(str(value.value) in _DAY.findall(text) for text in texts)
    if value is not None and value.kind == "time":
        return any(value.value in _CLOCK.findall(text) for text in texts)
    if value is not None and value.kind in ("id", "email", "url", "number"):
        own = value.text.casefold().lstrip("#")
        texts = [*_texts(item, naming=value.kind in ("id", "number"))]
        return any(text.casefold().lstrip("#") == own for text in texts) or (
            value.kind == "id"
            and any(own in re.split(r"[\s,;()]+", text.casefold())[:50] for text in texts)
        )
    return any(wanted <= {*content_stems(text), *map(stem, tokens(text))} for text in texts)


def _texts(item: Item, *, naming: bool = False) -> Iterable[str]:
    """Yield the texts of an item; with `naming`, no numbers except identifiers."""
    names = lexicon.IDENTIFIER | {"name", "title", "uid", "gid"}
    for name, value in flat_fields(item.own_fields):
        if naming and isinstance(value, int | float) and names.isdisjoint(tokens(name)):
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            yield str(value)[:300]
        elif value is True:
            yield name
    for value in item.own_fields.values():
        if isinstance(value, list):
            yield from (str(one)[:300] for one in value[:50] if isinstance(one, str | int))


def _is_gone(item: Item, consumer: Tool, account: Account) -> bool:
    """Return True if an item's status rules out its use, unless the clause names that status."""
    said = {one for run in account.filters for one in run.stems}
    for name, value in item.own_fields.items():
        words = tokens(name)
        if isinstance(value, str) and words[-1:] in (["status"], ["state"]):
            gone = lexicon.GONE if consumer.effect is not Effect.READ else frozenset()
            return value.lower() in gone and stem(value.lower()) not in said
    return False


def _agrees(item: Item, asked: JsonObject) -> bool:
    """Return True if no field of an item contradicts the search that found it."""
    for name, value in asked.items():
        own = item.fields.get(name) if name in item.own else None
        if isinstance(own, str) and isinstance(value, str) and _EXACT.fullmatch(value):
            same_clock = _CLOCK.findall(own)[:1] == _CLOCK.findall(value)[:1]
            if own != value and not (_CLOCK.fullmatch(value[:5]) and same_clock):
                return False
    return True


def keeps(item: Item, limit: Limit) -> bool:
    """Return True if an item is within a limit; False without a value to compare."""
    if limit.kind == "price":
        price, said = item.price, limit.value if isinstance(limit.value, dict) else {}
        if price is None or said.get("currency") not in (None, "", price.currency):
            return False
        amount = Decimal(str(said.get("amount")))
        return price.amount <= amount if limit.order == "max" else price.amount >= amount
    pattern = _CLOCK if limit.kind == "time" else _DAY
    for name, value in flat_fields(item.own_fields):
        if limit.field and limit.field[:5] not in {word[:5] for word in tokens(name)}:
            continue
        is_moment = isinstance(value, str) and (_DAY.match(value) or _CLOCK.match(value))
        if is_moment and (mark := pattern.search(str(value))):
            said_text, first = str(limit.value), mark[mark.lastindex or 0]
            return first <= said_text if limit.order == "max" else first >= said_text
    return False


def _best(items: Sequence[Item], wanted: Superlative) -> Choice:
    measured = [(one, m) for one in items if (m := _measure(one, wanted.by)) is not None]
    if len({type(m) for _, m in measured}) != 1:
        why = f"what was found says nothing by which one is the {wanted.order} in {wanted.by}"
        return Choice(asks=tuple(items), why=why)
    pick = min if wanted.order == "least" else max
    best, _ = pick(measured, key=lambda pair: pair[1])
    return Choice((best,), note=f"the {wanted.order} in {wanted.by} of {len(items)}")


def _measure(item: Item, by: str) -> Decimal | datetime | str | None:
    if by == "price":
        return item.price.amount if item.price is not None else None
    words = _MEASURES[by]
    for name, value in flat_fields(item.own_fields):
        if words.isdisjoint(tokens(name)) or isinstance(value, bool):
            continue
        if by == "time":
            if not isinstance(value, str) or not (_DAY.match(value) or _CLOCK.match(value)):
                continue
            # A day is compared together with the time next to it.
            fields = flat_fields(item.own_fields) if _DAY.fullmatch(value) else ()
            clock = next((v for _, v in fields if isinstance(v, str) and _CLOCK.match(v)), "")
            return f"{value}T{clock}" if clock else value
        elif isinstance(value, int | float | str):
            try:
                return Decimal(str(value))
            except InvalidOperation:
                continue
    return None


def mismatches(drafts: Iterable[Draft], item: Item, draft: Draft) -> AskUser | None:
    """Return a question if a given day, time or place differs from the chosen item."""
    others = [one for one in drafts if one.tool is not draft.tool]
    pairs = [(one, leaf) for one in others for leaf in one.leaves if leaf.path in one.said]
    for other, leaf in pairs:
        own = _same_field(item, leaf.parameter.words, leaf.parameter.kind)
        if own and str(other.found.get(leaf.path)).casefold() not in map(str.casefold, own):
            said, found = other.said[leaf.path].text, ", ".join(dict.fromkeys(own))
            schema: dict[str, JsonValue] = {"type": "string", "title": " ".join(tokens(leaf.name))}
            return AskUser(
                question=f"You said {said!r}; what was found is for {found}. What is meant?",
                why="nothing is done that differs from what was said",
                fields={f"{leaf.name}_meant": schema},
            )
    return None


def _same_field(item: Item, words: tuple[str, ...], kind: Kind) -> list[str]:
    if kind not in (Kind.DATE, Kind.TIME, Kind.PLACE, Kind.CHOICE):
        return []
    fields = flat_fields(item.fields)
    found = [v for name, v in fields if tuple(tokens(name)) == words and isinstance(v, str)]
    if kind not in (Kind.DATE, Kind.TIME):
        return found
    pattern = _DAY if kind is Kind.DATE else _CLOCK
    return [mark for text in found for mark in pattern.findall(text)]
