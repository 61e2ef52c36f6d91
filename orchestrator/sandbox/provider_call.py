"""A request that passed validation, in the terms its operation is written in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from orchestrator.sandbox.effect_ledger import Cause
from orchestrator.sandbox.served_operations import ServedOperation


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
