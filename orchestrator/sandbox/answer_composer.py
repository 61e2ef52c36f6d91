"""Composes answers: facts in the shape of a schema, and lists filtered by the request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.effect_ledger import find_money
from orchestrator.sandbox.playbook import Call, Draft, Playbook
from orchestrator.sandbox.served_schemas import JsonObject, Schema
from orchestrator.sandbox.synthesis import Scene, Synthesizer

_LIMITS = ("limit", "max_results", "page_size", "max_items", "count", "top")
_ORDERS = ("page", "cursor", "sort", "order", "sort_by", "order_by")
_TEXTS = ("query", "q", "search", "keyword", "keywords", "text")
_SPAN = ("start_date", "end_date")
Ranks = Mapping[str, Sequence[Any]]


def is_filter(name: str) -> bool:
    """Return True for arguments that narrow a list without changing its items."""
    return name in (*_LIMITS, *_ORDERS) or name.startswith(("max_", "min_"))


def keep(
    items: Sequence[JsonObject], arguments: Mapping[str, Any], *, ranks: Ranks
) -> list[JsonObject]:
    """Return the items within every bound, in their order, at most as many as requested.

    Args:
        items: the items of the list.
        arguments: the arguments of the request: max_price is an upper bound, min_stars a lower one.
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
        items: the items of the list.
        arguments: the arguments of the request.
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
            present = _words(" ".join(str(value) for value in item.values()))
            if present.isdisjoint(_words(wanted)):
                return False
            continue
        property_name = _property(item, name)
        if property_name and not _is_same(item[property_name], wanted):
            return False
    return True


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _property(item: JsonObject, argument: str) -> str | None:
    """Return the property of an argument: its own name, or status for report_status."""
    if argument in item:
        return argument
    return next((name for name in item if argument.endswith(f"_{name}")), None)


def _is_same(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value.casefold() == wanted.casefold()
    return bool(value == wanted)


FAILURE_PREFIXES = ("reject", "fail", "error")
"""Prefixes of properties that only an answer about a failure has."""
NEGATIVE_PREFIXES = ("cancel", "refund", "void", *FAILURE_PREFIXES)
"""Prefixes of properties that only an answer about a cancellation or a failure has."""
_DATE = re.compile(r"^(\d{4}-\d{2}-\d{2})")


class AnswerComposer:
    """Composes the answers of one document; equal calls get equal answers."""

    def __init__(self, document: Document, playbook: Playbook, *, seed: int) -> None:
        self._document = document
        self._playbook = playbook
        self._seed = seed
        self.make = Synthesizer(document.book, playbook.words)

    def state(self, schema: Schema, *, is_cancelled: bool) -> JsonObject:
        """Return the status property of a live or a cancelled resource; {} if it has none."""
        properties = self._document.book.properties(schema)
        name = self._document.state_name(schema)
        gone = self._document.gone_states.get(name, frozenset())
        status = properties.get(name, {})
        state = self.make.status(status, is_cancelled=is_cancelled, gone=gone) if status else None
        return {name: state} if state else {}

    def ended_state(self, schema: Schema) -> JsonObject:
        """Return the status property of a resource that was ended; {} if no state says so."""
        name = self._document.state_name(schema)
        state = self.make.ended(self._document.book.properties(schema).get(name, {}))
        return {name: state} if state else {}

    def projected(self, call: Call, schema: Schema | None, facts: Mapping[str, Any]) -> Any:
        """Return known facts in the shape of a schema, without unset optional properties."""
        if schema is None:
            return None
        inputs, wrapper = self._document.input_names, self._document.wrapper(call.operation)
        made = self._document.known_ids & set(facts)

        def omit(name: str) -> bool:
            if name in wrapper:
                return False
            unsaid = bool(made) and name in inputs
            return name not in facts and (unsaid or name.startswith(NEGATIVE_PREFIXES))

        # Seeded by the resource, so that two reads of it agree.
        identity = ":".join(str(facts[name]) for name in sorted(made)) or call.fingerprint
        return self.filled(call, schema, facts, omit=omit, rng=Random(f"{self._seed}:{identity}"))

    def behaved(self, call: Call, parents: Mapping[str, Any], body: Any) -> Any:
        """Return a body after the hand-written behaviour of its operation, if there is one."""
        if not isinstance(body, dict | None):
            return body
        draft = Draft(call=call, parents=parents, rng=self.rng(call), body=body or {})
        self.behave(draft)
        return draft.body or body

    def behave(self, draft: Draft) -> None:
        """Apply the hand-written behaviour of the operation, if there is one, to a draft."""
        operation_id = draft.call.operation.operation_id
        behaviour = self._playbook.behaviour(operation_id, self._document.name)
        if behaviour:
            behaviour(draft)

    def filled(
        self,
        call: Call,
        schema: Schema,
        hints: Mapping[str, Any],
        *,
        omit: Callable[[str], bool] = lambda name: False,
        rng: Random | None = None,
    ) -> Any:
        """Return a value of a schema: hints where they fit, generated values elsewhere."""
        wrapper = self._document.wrapper(call.operation)
        wrappers = frozenset((*wrapper, *self._value_wrapper(schema, wrapper, hints)))
        chance, day = rng or self.rng(call), _day(hints, call.now)
        done = flags_of(call.operation.operation_id)
        scene = Scene(chance, call.now, day, hints, omit, wrappers, done)
        if self._document.book.is_object(schema):
            return self.make.object(schema, scene)
        return self.make.value(schema, scene)

    def _value_wrapper(
        self, schema: Schema, wrapper: Sequence[str], hints: Mapping[str, Any]
    ) -> list[str]:
        """Return the one part that holds the request's values: {"id", "attributes": {...}}."""
        book = self._document.book
        parts = book.properties(schema)
        for step in wrapper:
            parts = book.properties(parts[step]) if step in parts else parts
        given = {*hints} - {"id", "type"}
        if not given.isdisjoint(parts):
            return []
        found = [
            name
            for name, part in parts.items()
            if book.is_object(part) and not given.isdisjoint(book.properties(part))
        ]
        return found if len(found) == 1 else []

    def rng(self, call: Call) -> Random:
        """Return a random source seeded by the request without its filters."""
        unfiltered = {k: v for k, v in call.arguments.items() if not is_filter(k)}
        text = json.dumps(unfiltered, sort_keys=True)
        return Random(f"{self._seed}:{call.operation.operation_id}:{text}")


def _day(hints: Mapping[str, Any], now: datetime) -> datetime:
    """Return the first date in the request, else today."""
    for value in hints.values():
        found = _DATE.match(value) if isinstance(value, str) else None
        if found:
            with suppress(ValueError):  # digits in a free text need not be a date
                return datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    return now


def flags_of(operation_id: str) -> frozenset[str]:
    """Return names of flags that confirm an operation's work: `cancelled` for a cancel."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation_id).casefold())
    participles = {f"{word}{ending}" for word in words for ending in ("d", "ed", "led")}
    return frozenset(f"{prefix}{one}" for one in participles for prefix in ("", "is", "is_"))
