"""Calls, answers, and the hand-written behaviours that complete the generic provider."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from random import Random
from typing import Any

from orchestrator.sandbox.effect_ledger import Cause
from orchestrator.sandbox.served_operations import ServedOperation
from orchestrator.sandbox.served_schemas import JsonObject


@dataclass(frozen=True)
class Call:
    """A validated call; arguments joins path, query and body, including defaults."""

    operation: ServedOperation
    arguments: dict[str, Any]
    cause: Cause
    now: datetime
    surcharge: Decimal = Decimal(1)
    """Factor on the price."""

    @cached_property
    def fingerprint(self) -> str:
        """A digest that is equal for two calls with equal arguments."""
        text = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def at(self) -> str:
        """The time of the call, ISO 8601 in UTC."""
        return timestamp(self.now)


@dataclass(frozen=True)
class ProviderAnswer:
    """An answer of the provider; `replayed` if its idempotency key already had it."""

    status: int
    body: Any
    replayed: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


def timestamp(moment: datetime) -> str:
    """Format a moment as RFC 3339 in whole seconds, "2026-12-03T09:15:00Z"."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Draft:
    """An unfinished answer, which a behaviour changes in place.

    Attributes:
        call: the call.
        parents: the joined facts of the resources that ids in the request name.
        rng: the random source; equal for equal requests.
        body: the answer; for a list, the properties next to the list.
        items: the items of a list; empty when the answer is not a list.
    """

    call: Call
    parents: Mapping[str, Any]
    rng: Random
    body: JsonObject = field(default_factory=dict)
    items: list[JsonObject] = field(default_factory=list)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the call."""
        return self.call.arguments


Behaviour = Callable[[Draft], None]


@dataclass(frozen=True)
class Playbook:
    """Hand-written parts, each found by a name that documents use.

    Attributes:
        behaviours: by operationId, else by document name.
        standing: resources that exist from the start, by their id property.
        words: usual values of text properties, by property name.
    """

    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    standing: Mapping[str, Sequence[JsonObject]] = field(default_factory=dict)
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def behaviour(self, operation_id: str, document: str) -> Behaviour | None:
        """Return the behaviour of an operation; None keeps the generic answer."""
        return self.behaviours.get(operation_id) or self.behaviours.get(document)

    def standing_thing(self, property_name: str, thing_id: str) -> JsonObject | None:
        """Return the standing resource of that id, or None."""
        things = self.standing.get(property_name, ())
        return next((thing for thing in things if thing[property_name] == thing_id), None)


def join(playbooks: Iterable[Playbook]) -> Playbook:
    """Merge playbooks into one; the later wins if two define the same name."""
    joined = Playbook()
    for playbook in playbooks:
        joined = Playbook(
            {**joined.behaviours, **playbook.behaviours},
            {**joined.standing, **playbook.standing},
            {**joined.words, **playbook.words},
        )
    return joined
