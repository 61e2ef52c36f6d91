"""Composes answers: what is known of a thing, in the shape of a schema, completed by behaviours."""

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

WENT_WRONG = ("reject", "fail", "error")
"""How properties begin that only an answer about something that failed has."""
BAD_NEWS = ("cancel", "refund", "void", *WENT_WRONG)
"""The same of an answer about something cancelled or failed."""
_DATE = re.compile(r"^(\d{4}-\d{2}-\d{2})")


class AnswerComposer:
    """Composes the answers of one document; equal calls get equal answers."""

    def __init__(self, document: Document, playbook: Playbook, *, seed: int) -> None:
        self._document = document
        self._playbook = playbook
        self._seed = seed
        self.make = Synthesizer(document.book, playbook.words)

    def state(self, schema: Schema, *, is_cancelled: bool) -> JsonObject:
        """The status that says whether a thing stands; {} when its schema has none."""
        properties = self._document.book.properties(schema)
        name = self._document.state_name(schema)
        gone = self._document.gone_states.get(name, frozenset())
        status = properties.get(name, {})
        state = self.make.status(status, is_cancelled=is_cancelled, gone=gone) if status else None
        return {name: state} if state else {}

    def projected(self, call: Call, schema: Schema | None, facts: Mapping[str, Any]) -> Any:
        """What is known, in the shape of a schema; an optional property nobody set stays out."""
        if schema is None:
            return None
        inputs, wrapper = self._document.input_names, self._document.wrapper(call.operation)
        made = self._document.known_ids & set(facts)

        def omit(name: str) -> bool:
            if name in wrapper:
                return False
            unsaid = bool(made) and name in inputs
            return name not in facts and (unsaid or name.startswith(BAD_NEWS))

        # Seeded by what is described, so that two looks at one thing see the same.
        identity = ":".join(str(facts[name]) for name in sorted(made)) or call.fingerprint
        return self.filled(call, schema, facts, omit=omit, rng=Random(f"{self._seed}:{identity}"))

    def behaved(self, call: Call, parents: Mapping[str, Any], body: Any) -> Any:
        """A body as the hand-written behaviour of the operation, if there is one, leaves it."""
        if not isinstance(body, dict | None):
            return body
        draft = Draft(call=call, parents=parents, rng=self.rng(call), body=body or {})
        self.behave(draft)
        return draft.body or body

    def behave(self, draft: Draft) -> None:
        """Let the hand-written behaviour of the operation, if there is one, change a draft."""
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
        """A value of a schema: the hints where they fit, the rest made up; see `Scene`."""
        wrapper = self._document.wrapper(call.operation)
        wrappers = frozenset((*wrapper, *self._said_in(schema, wrapper, hints)))
        chance, day = rng or self.rng(call), _day(hints, call.now)
        scene = Scene(chance, call.now, day, hints, omit, wrappers)
        if self._document.book.is_object(schema):
            return self.make.object(schema, scene)
        return self.make.value(schema, scene)

    def _said_in(
        self, schema: Schema, wrapper: Sequence[str], hints: Mapping[str, Any]
    ) -> list[str]:
        """The one part of a thing that holds what was said of it: {"id", "attributes": {...}}."""
        book = self._document.book
        parts = book.properties(schema)
        for step in wrapper:
            parts = book.properties(parts[step]) if step in parts else parts
        said = {*hints} - {"id", "type"}
        if not said.isdisjoint(parts):
            return []
        found = [
            name
            for name, part in parts.items()
            if book.is_object(part) and not said.isdisjoint(book.properties(part))
        ]
        return found if len(found) == 1 else []

    def rng(self, call: Call) -> Random:
        """Chance that depends on what is asked for, not on how its answer is narrowed."""
        asked = {k: v for k, v in call.arguments.items() if not filters.is_filter(k)}
        text = json.dumps(asked, sort_keys=True)
        return Random(f"{self._seed}:{call.operation.operation_id}:{text}")


def _day(hints: Mapping[str, Any], now: datetime) -> datetime:
    """The first date that the request speaks of, else today."""
    for value in hints.values():
        found = _DATE.match(value) if isinstance(value, str) else None
        if found:
            with suppress(ValueError):  # digits in a free text need not be a date
                return datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    return now
