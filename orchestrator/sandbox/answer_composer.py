"""Composition of answers: known facts in the shape of a schema, completed by behaviours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from random import Random
from typing import Any

from orchestrator.sandbox import filters
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.playbook import Call, Draft, Playbook
from orchestrator.sandbox.served_schemas import JsonObject, Schema
from orchestrator.sandbox.synthesis import Scene, Synthesizer

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

    def projected(self, call: Call, schema: Schema | None, facts: Mapping[str, Any]) -> Any:
        """Return known facts in the shape of a schema, without optional properties nobody set."""
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
        """Return a value of a schema: hints where they fit, made values elsewhere."""
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
        unfiltered = {k: v for k, v in call.arguments.items() if not filters.is_filter(k)}
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
    """Return names of flags that say that an operation did its work: `cancelled` of a cancel."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation_id).casefold())
    participles = {f"{word}{ending}" for word in words for ending in ("d", "ed", "led")}
    return frozenset(f"{prefix}{one}" for one in participles for prefix in ("", "is", "is_"))
