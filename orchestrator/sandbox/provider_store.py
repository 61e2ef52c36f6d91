"""The providers' memory: resources, offers, cancellations and answers by key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.sandbox.effect_ledger import Database
from orchestrator.sandbox.served_schemas import JsonObject


@dataclass(frozen=True)
class Resource:
    """A resource that a create made; `named` is the property that holds its id.

    Its facts are everything known about it, including its answer.
    """

    named: str
    resource_id: str
    operation: str
    client_reference: str | None
    facts: JsonObject


@dataclass(frozen=True)
class GivenAnswer:
    """The answer of an idempotency key, and the fingerprint of its request."""

    fingerprint: str
    status: int
    body: Any


class ProviderStore:
    """The memory of one provider; every method runs in the caller's transaction."""

    def __init__(self, database: Database, provider: str) -> None:
        self._database = database
        self._provider = provider

    def resource(self, property_name: str, resource_id: str) -> Resource | None:
        """Return the resource of that id, or None."""
        return self._first("property = ? AND resource_id = ?", property_name, resource_id)

    def resource_by_reference(
        self, client_reference: str, property_name: str | None = None
    ) -> Resource | None:
        """Return the resource with this client reference, of one kind or of any."""
        where = "client_reference = ? AND (? IS NULL OR property = ?) ORDER BY seq"
        return self._first(where, client_reference, property_name, property_name)

    def resources_of_id(self, resource_id: str) -> list[Resource]:
        """Return all resources of that id, of any kind, newest first."""
        return self._select("resource_id = ? ORDER BY seq DESC", resource_id)

    def offer_of_id(self, offer_id: str) -> JsonObject:
        """Return the facts that a list gave for this id under any name; {} for none."""
        sql = "SELECT facts FROM offers WHERE provider = ? AND offer_id = ?"
        row = self._database.row(sql, self._provider, offer_id)
        return json.loads(row["facts"]) if row else {}

    def resources_of(self, operation: str) -> list[Resource]:
        """Return everything that one operation made, newest first."""
        return self._select("operation = ? ORDER BY seq DESC", operation)

    def resources(self, property_name: str) -> list[Resource]:
        """Return all resources that this property names, newest first."""
        return self._select("property = ? ORDER BY seq DESC", property_name)

    def _select(self, where: str, *values: Any) -> list[Resource]:
        sql = f"SELECT * FROM resources WHERE provider = ? AND {where}"
        return [
            Resource(
                named=row["property"],
                resource_id=row["resource_id"],
                operation=row["operation"],
                client_reference=row["client_reference"],
                facts=json.loads(row["facts"]),
            )
            for row in self._database.rows(sql, self._provider, *values)
        ]

    def _first(self, where: str, *values: Any) -> Resource | None:
        return next(iter(self._select(where, *values)), None)

    def count(self) -> int:
        """Return the number of resources made so far, which numbers the next one."""
        sql = "SELECT COUNT(*) AS n FROM resources WHERE provider = ?"
        return int(self._database.rows(sql, self._provider)[0]["n"])

    def keep(self, resource: Resource) -> None:
        """Store a new resource, or the new facts of a known one."""
        self._database.write(
            "INSERT INTO resources (provider, property, resource_id, operation, client_reference,"
            " facts) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (provider, property, resource_id)"
            " DO UPDATE SET facts = excluded.facts",
            *(self._provider, resource.named, resource.resource_id, resource.operation),
            *(resource.client_reference, json.dumps(resource.facts)),
        )

    def offer(self, property_name: str, offer_id: str) -> JsonObject | None:
        """Return the facts that a list gave for this id; None when no list did."""
        row = self._database.row(
            "SELECT facts FROM offers WHERE provider = ? AND property = ? AND offer_id = ?",
            *(self._provider, property_name, offer_id),
        )
        return json.loads(row["facts"]) if row else None

    def remember_offer(self, property_name: str, offer_id: str, facts: Mapping[str, Any]) -> None:
        """Store the facts that a list gives for this id; the latest ones win."""
        self._database.write(
            "INSERT OR REPLACE INTO offers VALUES (?, ?, ?, ?)",
            *(self._provider, property_name, offer_id, json.dumps(facts)),
        )

    def cancellation(self, operation: str, resource_id: str) -> Any:
        """Return the answer that a cancel gave; None when it never ran for this resource."""
        row = self._database.row(
            "SELECT body FROM cancellations WHERE provider = ? AND operation = ?"
            " AND resource_id = ?",
            *(self._provider, operation, resource_id),
        )
        return json.loads(row["body"]) if row else None

    def keep_cancellation(self, operation: str, resource_id: str, body: Any) -> None:
        """Store the answer of a cancel, which later cancels repeat."""
        self._database.write(
            "INSERT OR REPLACE INTO cancellations VALUES (?, ?, ?, ?)",
            *(self._provider, operation, resource_id, json.dumps(body)),
        )

    def forget_cancellations(self, resource_id: str) -> None:
        """Make a resource that became live again cancellable."""
        self._database.write(
            "DELETE FROM cancellations WHERE provider = ? AND resource_id = ?",
            *(self._provider, resource_id),
        )

    def answer(self, operation: str, idempotency_key: str) -> GivenAnswer | None:
        """Return the answer of this key; None for a new key."""
        row = self._database.row(
            "SELECT * FROM answers WHERE provider = ? AND operation = ? AND idempotency_key = ?",
            *(self._provider, operation, idempotency_key),
        )
        if row is None:
            return None
        return GivenAnswer(row["fingerprint"], row["status"], json.loads(row["body"]))

    def keep_answer(self, operation: str, idempotency_key: str, given: GivenAnswer) -> None:
        """Store the answer of a key, in the transaction of its effect."""
        self._database.write(
            "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)",
            *(self._provider, operation, idempotency_key),
            *(given.fingerprint, given.status, json.dumps(given.body)),
        )
