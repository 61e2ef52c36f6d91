"""Composes answers: facts in the shape of a schema, and lists filtered by the request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from itertools import compress
from random import Random
from typing import Any

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.effect_ledger import find_money
from orchestrator.sandbox.playbook import Call, Draft, Playbook
from orchestrator.sandbox.served_schemas import JsonObject, Schema
from orchestrator.sandbox.synthesis import Scene, Synthesizer

_LIMITS = ("limit", "max_results", "page_size", "max_items", "count", "top")
_TEXTS = ("query", "q", "search", "keyword", "keywords", "text")


def is_filter(name: str) -> bool:
    """Return True for arguments that narrow a list without changing its items."""
    orders = ("page", "cursor", "sort", "order", "sort_by", "order_by")
    return name in (*_LIMITS, *orders) or name.startswith(("max_", "min_"))


def keep(
    items: Sequence[JsonObject],
    arguments: Mapping[str, Any],
    *,
    ranks: Mapping[str, Sequence[Any]],
) -> list[JsonObject]:
    """Return the items within every bound, in their order, at most as many as requested.

    Args:
        items: the items of the list.
        arguments: the arguments of the request: max_price is an upper bound, min_stars a lower one.
        ranks: for each property that is an enum, its values from lowest to highest.
    """
    kept = list(items)
    for name, bound in arguments.items():
        side, _, of = name.partition("_")
        limit = _rank(bound, ranks.get(of, ()))
        if name in _LIMITS or side not in ("max", "min") or limit is None:
            continue
        sign = 1 if side == "max" else -1
        levels = [_level(item, of, ranks) for item in kept]
        within = [level is None or sign * level <= sign * limit for level in levels]
        kept = list(compress(kept, within))
    limits = [arguments[name] for name in _LIMITS if isinstance(arguments.get(name), int)]
    return kept[: min(limits)] if limits else kept


def _level(item: JsonObject, name: str, ranks: Mapping[str, Sequence[Any]]) -> Decimal | None:
    if name in item and not isinstance(item[name], Mapping):
        return _rank(item[name], ranks.get(name, ()))
    found = find_money(item) if name in ("price", "amount", "total", "cost", "budget") else None
    return found.amount if found else None


def match(
    items: Sequence[JsonObject], arguments: Mapping[str, Any], *, is_span: bool = False
) -> list[JsonObject]:
    """Return the items that contain a word of the query and have the requested values.

    Args:
        items: the items of the list.
        arguments: the arguments of the request.
        is_span: start_date and end_date delimit a span instead of naming exact days.
    """
    span = ("start_date", "end_date") if is_span else ()
    first, last = (arguments.get(name) for name in ("start_date", "end_date"))

    def fits(item: JsonObject) -> bool:
        for argument, wanted in arguments.items():
            if argument in span:
                continue
            if argument in _TEXTS and isinstance(wanted, str):
                words = _words(" ".join(str(value) for value in item.values()))
                if words.isdisjoint(_words(wanted)):
                    return False
                continue
            # The property has the argument's name, or is the status of a report_status.
            of = (name for name in item if argument.endswith(f"_{name}"))
            name = argument if argument in item else next(of, None)
            if name is None:
                continue
            value = item[name]
            if isinstance(value, str) and isinstance(wanted, str):
                value, wanted = value.casefold(), wanted.casefold()
            if value != wanted:
                return False
        starts = str(item.get("start_date", ""))
        ends = str(item.get("end_date", starts))
        # ISO dates compare as text.
        is_before = last is None or starts <= str(last)
        return not is_span or (is_before and (first is None or ends >= str(first)))

    return [item for item in items if fits(item)]


def _rank(value: Any, order: Sequence[Any]) -> Decimal | None:
    if value in order:
        return Decimal(order.index(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    return None


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


FAILURE_PREFIXES = ("reject", "fail", "error")
"""Prefixes of properties that only an answer about a failure has."""
NEGATIVE_PREFIXES = ("cancel", "refund", "void", *FAILURE_PREFIXES)
"""Prefixes of properties that only an answer about a cancellation or a failure has."""


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
        book = self._document.book
        wrapper = list(self._document.wrapper(call.operation))
        parts = book.properties(schema)
        for step in wrapper:
            parts = book.properties(parts[step]) if step in parts else parts
        given = {*hints} - {"id", "type"}
        if given.isdisjoint(parts):
            # One part may hold the request's values: {"id", "attributes": {...}}.
            objects = {name: part for name, part in parts.items() if book.is_object(part)}
            holders = [n for n, p in objects.items() if not given.isdisjoint(book.properties(p))]
            wrapper += holders if len(holders) == 1 else []
        # The first date in the request, else today.
        day = call.now
        texts = (value for value in hints.values() if isinstance(value, str))
        for found in filter(None, map(re.compile(r"\d{4}-\d{2}-\d{2}").match, texts)):
            with suppress(ValueError):  # digits in a free text need not be a date
                day = datetime.fromisoformat(found[0]).replace(tzinfo=UTC)
                break
        done = flags_of(call.operation.operation_id)
        scene = Scene(rng or self.rng(call), call.now, day, hints, omit, frozenset(wrapper), done)
        return (
            self.make.object(schema, scene)
            if book.is_object(schema)
            else self.make.value(schema, scene)
        )

    def rng(self, call: Call) -> Random:
        """Return a random source seeded by the request without its filters."""
        unfiltered = {k: v for k, v in call.arguments.items() if not is_filter(k)}
        text = json.dumps(unfiltered, sort_keys=True)
        return Random(f"{self._seed}:{call.operation.operation_id}:{text}")


def flags_of(operation_id: str) -> frozenset[str]:
    """Return names of flags that confirm an operation's work: `cancelled` for a cancel."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation_id).casefold())
    participles = {f"{word}{ending}" for word in words for ending in ("d", "ed", "led")}
    return frozenset(f"{prefix}{one}" for one in participles for prefix in ("", "is", "is_"))
