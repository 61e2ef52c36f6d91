"""Filtering of a list by the names of a request's arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from orchestrator.sandbox.currency_amount import find_money
from orchestrator.sandbox.served_schemas import JsonObject

_LIMITS = ("limit", "max_results", "page_size", "max_items", "count", "top")
_ORDERS = ("page", "cursor", "sort", "order", "sort_by", "order_by")
_TEXTS = ("query", "q", "search", "keyword", "keywords", "text")
_SPAN = ("start_date", "end_date")
Ranks = Mapping[str, Sequence[Any]]


def is_filter(name: str) -> bool:
    """True for arguments that narrow a list without changing its items."""
    return name in (*_LIMITS, *_ORDERS) or name.startswith(("max_", "min_"))


def keep(
    items: Sequence[JsonObject], arguments: Mapping[str, Any], *, ranks: Ranks
) -> list[JsonObject]:
    """Return the items within every bound, in their order, at most as many as requested.

    Args:
        items: of the list.
        arguments: of the request: max_price is an upper bound, min_stars a lower one.
        ranks: for each property that is an enum, its values from lowest to highest.
    """
    bounds = {name: value for name, value in arguments.items() if name not in _LIMITS}
    kept = [item for item in items if _is_within(item, bounds, ranks)]
    limits = [arguments[name] for name in _LIMITS if isinstance(arguments.get(name), int)]
    return kept[: min(limits)] if limits else kept


def match(
    items: Sequence[JsonObject], arguments: Mapping[str, Any], *, is_span: bool = False
) -> list[JsonObject]:
    """Return the items that contain a word of the query and have the requested values.

    Args:
        items: of the list.
        arguments: of the request.
        is_span: start_date and end_date delimit a span instead of naming exact days.
    """
    equals = {k: v for k, v in arguments.items() if not (is_span and k in _SPAN)}
    kept = [item for item in items if _is_asked_for(item, equals)]
    return [item for item in kept if _is_between(item, arguments)] if is_span else kept


def _is_between(item: JsonObject, arguments: Mapping[str, Any]) -> bool:
    first, last = (arguments.get(name) for name in _SPAN)
    starts = str(item.get("start_date", ""))
    ends = str(item.get("end_date", starts))
    # ISO dates compare as text.
    return (first is None or ends >= str(first)) and (last is None or starts <= str(last))


def _is_within(item: JsonObject, arguments: Mapping[str, Any], ranks: Ranks) -> bool:
    for name, bound in arguments.items():
        side, _, of = name.partition("_")
        if side not in ("max", "min") or not of:
            continue
        level, limit = _level(item, of, ranks), _rank(bound, ranks.get(of, ()))
        if level is None or limit is None:
            continue
        if (level > limit) if side == "max" else (level < limit):
            return False
    return True


def _level(item: JsonObject, name: str, ranks: Ranks) -> Decimal | None:
    if name in item and not isinstance(item[name], Mapping):
        return _rank(item[name], ranks.get(name, ()))
    found = find_money(item) if name in ("price", "amount", "total", "cost", "budget") else None
    return found.amount if found else None


def _rank(value: Any, order: Sequence[Any]) -> Decimal | None:
    if value in order:
        return Decimal(order.index(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    return None


def _is_asked_for(item: JsonObject, arguments: Mapping[str, Any]) -> bool:
    for name, wanted in arguments.items():
        if name in _TEXTS and isinstance(wanted, str):
            if not _holds_word(item, wanted):
                return False
            continue
        property_name = _property(item, name)
        if property_name and not _is_same(item[property_name], wanted):
            return False
    return True


def _holds_word(item: JsonObject, query: str) -> bool:
    present = _words(" ".join(str(value) for value in item.values()))
    return not present.isdisjoint(_words(query))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _property(item: JsonObject, argument: str) -> str | None:
    """Return the property that an argument is about: its own name, or status for report_status."""
    if argument in item:
        return argument
    return next((name for name in item if argument.endswith(f"_{name}")), None)


def _is_same(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value.casefold() == wanted.casefold()
    return bool(value == wanted)
