"""A provider's memory: resources, offers, cancellations and answers, found by a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.effect_ledger import Database
from orchestrator.sandbox.playbook import Call, Playbook
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.served_operations import (
    Position,
    is_id,
    sole,
)
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


class ProviderStore:
    """The memory of one provider; every method runs in the caller's transaction."""

    def __init__(self, database: Database, provider: str) -> None:
        self._database = database
        self._provider = provider

    def resource(self, property_name: str, resource_id: str) -> Resource | None:
        """Return the resource of that id, or None."""
        return next(iter(self.resources(property=property_name, resource_id=resource_id)), None)

    def resource_by_reference(
        self, client_reference: str, property_name: str | None = None
    ) -> Resource | None:
        """Return the oldest resource with this client reference, of one kind or of any."""
        found = self.resources(client_reference=client_reference)
        return next((r for r in reversed(found) if property_name in (None, r.named)), None)

    def offer_of_id(self, offer_id: str) -> JsonObject:
        """Return the facts that a list gave for this id under any name; {} for none."""
        sql = "SELECT value FROM notes WHERE provider = ? AND kind = 'offer' AND key = ?"
        rows = self._database.run(sql, self._provider, offer_id)
        return json.loads(rows[0]["value"]) if rows else {}

    def resources(self, **columns: str) -> list[Resource]:
        """Return the resources with these values in columns of the table, newest first."""
        where = "".join(f" AND {name} = ?" for name in columns)
        sql = f"SELECT * FROM resources WHERE provider = ?{where} ORDER BY seq DESC"
        return [
            Resource(
                named=row["property"],
                resource_id=row["resource_id"],
                operation=row["operation"],
                client_reference=row["client_reference"],
                facts=json.loads(row["facts"]),
            )
            for row in self._database.run(sql, self._provider, *columns.values())
        ]

    def count(self) -> int:
        """Return the number of resources made so far, which numbers the next one."""
        sql = "SELECT COUNT(*) AS n FROM resources WHERE provider = ?"
        return int(self._database.run(sql, self._provider)[0]["n"])

    def keep(self, resource: Resource) -> None:
        """Store a new resource, or the new facts of a known one."""
        self._database.run(
            "INSERT INTO resources (provider, property, resource_id, operation, client_reference,"
            " facts) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (provider, property, resource_id)"
            " DO UPDATE SET facts = excluded.facts",
            *(self._provider, resource.named, resource.resource_id, resource.operation),
            *(resource.client_reference, json.dumps(resource.facts)),
        )

    def has_issued(self, property_name: str) -> bool:
        """Return True if anything made or listed has an id of this name."""
        sql = (
            "SELECT 1 FROM resources WHERE provider = ? AND property = ?"
            " UNION SELECT 1 FROM notes WHERE provider = ? AND kind = 'offer' AND name = ? LIMIT 1"
        )
        named = (self._provider, property_name)
        return bool(self._database.run(sql, *named, *named))

    def forget_cancellations(self, resource_id: str) -> None:
        """Make a resource that became live again cancellable."""
        sql = "DELETE FROM notes WHERE provider = ? AND kind = 'cancellation' AND key = ?"
        self._database.run(sql, self._provider, resource_id)

    def note(self, kind: str, name: str, key: str) -> Any:
        """Return the offer, the cancel's answer or the key's answer that is kept; None without."""
        sql = "SELECT value FROM notes WHERE provider = ? AND kind = ? AND name = ? AND key = ?"
        rows = self._database.run(sql, self._provider, kind, name, key)
        return json.loads(rows[0]["value"]) if rows else None

    def keep_note(self, kind: str, name: str, key: str, value: Any) -> None:
        """Keep what a list offers, a cancel answered or a key was answered; the latest wins."""
        sql = "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?, ?)"
        self._database.run(sql, self._provider, kind, name, key, json.dumps(value))


SENT = "$request"
"""Fact that holds the request which made the resource; a cancel or a probe may repeat it."""
KEY = "$key"
OVER = "$over"


class ResourceFinder:
    """Finds resources of one document; with `is_stocked`, every other id exists too.

    A call that names a resource which should be known and is not is refused (RequestRefused).
    """

    def __init__(
        self, document: Document, store: ProviderStore, playbook: Playbook, *, is_stocked: bool
    ) -> None:
        self._document = document
        self._store = store
        self._playbook = playbook
        self._is_stocked = is_stocked

    def parents(self, call: Call) -> JsonObject:
        """Return the facts of everything that the arguments name by an id of this document."""
        facts: JsonObject = {}
        chosen = self._document.chosen_name(call.operation)
        for name, value in call.arguments.items():
            if name == chosen or not is_id(value):
                continue
            if name in self._document.known_ids:
                facts |= self._facts(call, name, str(value))
            elif name in call.operation.path_names:
                newest = self._store.resources(resource_id=str(value))[:1]
                facts |= newest[0].facts if newest else {}
        return facts

    def _facts(self, call: Call, name: str, value: str) -> JsonObject:
        resource = self._store.resource(name, value)
        if resource:
            return resource.facts
        known = self._store.note("offer", name, value) or self._playbook.standing_thing(name, value)
        if known is not None:
            return known
        # A parent of a change may be from before: of a kind that was never issued yet.
        operation, place = call.operation, call.operation.place
        is_own = place is not None and place.position is Position.ONE and name == place.parameter
        is_around = operation.is_writing and name in operation.path_names and not is_own
        if not (
            self._is_stocked
            or value in self._document.shown_values
            or (is_around and not self._store.has_issued(name))
        ):
            raise self._unknown(call, name, value)
        return {name: call.arguments[name]}

    def at_place(self, call: Call) -> Resource | None:
        """Return the resource that the path names as one of its kind; None if none was created."""
        place = call.operation.place
        value = call.arguments.get(place.parameter) if place is not None else None
        if place is None or not is_id(value):
            return None
        for resource in self._store.resources(resource_id=str(value)):
            maker = self._document.operation(resource.operation)
            at = maker.place if maker is not None else None
            if at is None or at.position is Position.WITHIN or at.things == place.things:
                return resource
        is_known_kind = self._document.kind_place(call.operation) is not None
        if self._is_stocked or not is_known_kind or place.position is Position.ALL:
            return None
        standing = (self._playbook.standing_thing(n, str(value)) for n in self._playbook.standing)
        if not self._store.offer_of_id(str(value)) and not any(standing):
            raise self._unknown(call, place.parameter, value)
        return None

    def by_reference(self, call: Call, named: str | None) -> Resource:
        """Return the resource of the call's client reference.

        Raises:
            RequestRefused: there is no reference, or no resource has it.
        """
        reference = call.arguments.get("client_reference")
        found = self._store.resource_by_reference(str(reference), named) if reference else None
        if found is None:
            raise self._unknown(call, "client_reference", reference)
        return found

    def by_repeated_inputs(self, call: Call) -> Resource | None:
        """Return the newest resource whose request has the values that a call repeats, or None."""
        # References have an index of their own.
        if "client_reference" in call.arguments:
            return None
        repeated = None
        for maker, inputs in self._document.repeated_inputs(call.operation):
            wanted = {n: reading for n, reading in inputs.items() if n in call.arguments}
            for resource in self._store.resources(operation=maker.operation_id) if wanted else ():
                sent = resource.facts.get(SENT, {})
                values = {n: sent.get(KEY) if r.is_key else r.of(sent) for n, r in wanted.items()}
                if all(sole(call.arguments[name]) == value for name, value in values.items()):
                    return resource
            repeated = next(iter(wanted), repeated)
        if repeated is not None:
            raise self._unknown(call, repeated, call.arguments[repeated])
        return None

    def to_cancel(self, call: Call) -> Resource:
        """Return the resource that a paired cancel means: by its id, else by repeated inputs.

        Raises:
            RequestRefused: there is no such resource.
        """
        ids: dict[str, str] = {}
        for maker in self._document.cancelled_by(call.operation):
            ids |= self._document.cancel_inputs(maker)
        found = self._by_id(call, ids) or self.by_repeated_inputs(call)
        return found or self.by_reference(call, next(iter(ids.values()), None))

    def unpaired(self, call: Call) -> Resource | None:
        """Return the resource that an unpaired DELETE means; None for one that no call created.

        Raises:
            RequestRefused: the resource would be known if it existed.
        """
        if "client_reference" in call.arguments:
            return self.by_reference(call, None)
        return self.at_place(call) or self.named(call)

    def named(self, call: Call) -> Resource | None:
        """Return the resource whose id a call gives; None when it gives no id.

        Raises:
            RequestRefused: nothing has this id.
        """
        ids = {name: name for name in self._document.reference_names}
        return self._by_id(call, ids, is_stocked=self._is_stocked)

    def _by_id(
        self, call: Call, ids: Mapping[str, str], *, is_stocked: bool = False
    ) -> Resource | None:
        """Return the resource of the first given argument; `ids` maps them to id properties."""
        for name, named in ids.items():
            if name in call.arguments:
                found = self._store.resource(named, str(sole(call.arguments[name])))
                if found is None and is_stocked:
                    continue
                if found is None:
                    raise self._unknown(call, name, call.arguments[name])
                return found
        return None

    def _unknown(self, call: Call, name: str, value: Any) -> RequestRefused:
        return RequestRefused(call.operation.refusal(404, 422), f"There is no {name} {value!r}.")
