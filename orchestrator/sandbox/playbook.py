"""What hand-written providers add to the generic one: prices, things that always exist, words."""

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
    """One validated call; arguments holds path, query and body together, defaults included."""

    operation: ServedOperation
    arguments: dict[str, Any]
    cause: Cause
    now: datetime
    surcharge: Decimal = Decimal(1)
    """What is taken, as a part of the price."""

    @cached_property
    def fingerprint(self) -> str:
        """Equal for two calls that ask for the same thing."""
        text = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def at(self) -> str:
        """The moment of the call, ISO 8601 in UTC."""
        return timestamp(self.now)


@dataclass(frozen=True)
class ProviderAnswer:
    """What the provider says; replayed when it said so before."""

    status: int
    body: Any
    replayed: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


def timestamp(moment: datetime) -> str:
    """RFC 3339 in whole seconds, "2026-12-03T09:15:00Z"."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Draft:
    """An answer in the making, which a behaviour changes in place.

    Attributes:
        call: what was asked.
        parents: the things that ids in the request name, their facts joined.
        rng: the source of chance; equal for equal requests.
        body: the answer; for a list, properties to stand beside the list.
        items: the items of a list; empty when the answer is no list.
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
        standing: things that exist without being made, by the property that names them.
        words: usual values of text properties, by property name.
    """

    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    standing: Mapping[str, Sequence[JsonObject]] = field(default_factory=dict)
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def behaviour(self, operation_id: str, document: str) -> Behaviour | None:
        """The behaviour of an operation; None leaves the generic answer as it is."""
        return self.behaviours.get(operation_id) or self.behaviours.get(document)

    def standing_thing(self, property_name: str, thing_id: str) -> JsonObject | None:
        """The standing thing of that id; None when there is none."""
        things = self.standing.get(property_name, ())
        return next((thing for thing in things if thing[property_name] == thing_id), None)


def join(playbooks: Iterable[Playbook]) -> Playbook:
    """All playbooks as one; of two that name the same thing the later wins."""
    joined = Playbook()
    for playbook in playbooks:
        joined = Playbook(
            {**joined.behaviours, **playbook.behaviours},
            {**joined.standing, **playbook.standing},
            {**joined.words, **playbook.words},
        )
    return joined
