"""Lookup of the resources that a request means: by id, by reference, by repeated inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.playbook import Call, Playbook
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.provider_store import ProviderStore, Resource
from orchestrator.sandbox.served_operations import (
    Position,
    ThingPlace,
    is_id,
    sole,
)
from orchestrator.sandbox.served_schemas import JsonObject

SENT = "$request"
"""Fact that holds the request which made the resource; a cancel or a probe may repeat it."""
KEY = "$key"
OVER = "$over"
"""Fact that marks a cancelled resource."""


class ResourceFinder:
    """Finds resources of one document; with `is_stocked`, every other id exists too."""

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
                newest = self._store.resources_of_id(str(value))[:1]
                facts |= newest[0].facts if newest else {}
        return facts

    def _facts(self, call: Call, name: str, value: str) -> JsonObject:
        resource = self._store.resource(name, value)
        if resource:
            return resource.facts
        known = self._store.offer(name, value) or self._playbook.standing_thing(name, value)
        is_shown = (name, value) in self._document.example_ids
        if known is None and (self._is_stocked or is_shown):
            return {name: call.arguments[name]}
        if known is None:
            raise self._unknown(call, name, value)
        return known

    def at_place(self, call: Call) -> Resource | None:
        """Return the resource that the path names as one of its kind; None when nobody made it.

        Raises:
            RequestRefused: resources of this kind are made or listed here, and this one never was.
        """
        place = call.operation.place
        value = call.arguments.get(place.parameter) if place is not None else None
        if place is None or not is_id(value):
            return None
        for resource in self._store.resources_of_id(str(value)):
            if self._is_of_kind(resource, place):
                return resource
        if self._is_missing(call, place, str(value)):
            raise self._unknown(call, place.parameter, value)
        return None

    def _is_of_kind(self, resource: Resource, place: ThingPlace) -> bool:
        """True if a resource was made at a place, or its own place is unknown."""
        maker = self._document.operation(resource.operation)
        at = maker.place if maker is not None else None
        return at is None or at.position is Position.WITHIN or at.things == place.things

    def _is_missing(self, call: Call, place: ThingPlace, value: str) -> bool:
        """True if a resource of this id would be known if it existed."""
        is_known_kind = self._document.kind_place(call.operation) is not None
        if self._is_stocked or not is_known_kind or place.position is Position.ALL:
            return False
        standing = (self._playbook.standing_thing(n, value) for n in self._playbook.standing)
        return not self._store.offer_of_id(value) and not any(standing)

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
        """Return the newest resource whose request has the values that this call repeats, if any.

        Raises:
            RequestRefused: the call repeats values, and no request had them.
        """
        # References have an index of their own.
        if "client_reference" in call.arguments:
            return None
        repeated = None
        for maker, inputs in self._document.repeated_inputs(call.operation):
            wanted = {n: reading for n, reading in inputs.items() if n in call.arguments}
            for resource in self._store.resources_of(maker.operation_id) if wanted else ():
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
            RequestRefused: there is none.
        """
        ids: dict[str, str] = {}
        for maker in self._document.cancelled_by(call.operation):
            ids |= self._document.cancel_inputs(maker)
        found = self._by_id(call, ids) or self.by_repeated_inputs(call)
        return found or self.by_reference(call, next(iter(ids.values()), None))

    def unpaired(self, call: Call) -> Resource | None:
        """Return the resource that an unpaired DELETE means; None for one that nobody made.

        Raises:
            RequestRefused: it would be known if it existed.
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
