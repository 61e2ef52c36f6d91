"""Finds the things that a request is about: by their ids, by a reference, by what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.playbook import Call, Playbook
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.provider_store import ProviderStore, Resource
from orchestrator.sandbox.served_operations import (
    Position,
    ServedOperation,
    ThingPlace,
    is_id,
    sole,
)
from orchestrator.sandbox.served_schemas import JsonObject

SENT = "$request"
"""Among the facts of a thing the request that made it, which a cancel or a probe may repeat."""
KEY = "$key"
OVER = "$over"
"""Among the facts of a thing that it was cancelled."""


class ResourceFinder:
    """Finds things of one document; with `is_stocked`, whatever else an id names exists too."""

    def __init__(
        self, document: Document, store: ProviderStore, playbook: Playbook, *, is_stocked: bool
    ) -> None:
        self._document = document
        self._store = store
        self._playbook = playbook
        self._is_stocked = is_stocked

    def parents(self, call: Call) -> JsonObject:
        """The facts of everything that the arguments name by an id of this document."""
        facts: JsonObject = {}
        chosen = self._document.chosen_name(call.operation)
        for name, value in call.arguments.items():
            if name == chosen or not is_id(value):
                continue
            if name in self._document.known_ids:
                facts |= self._facts(call, name, str(value))
            elif name in call.operation.path_names:
                found = self._store.resource_of_id(str(value))
                facts |= found.facts if found else {}
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
        """The thing that the path names as one of its kind; None when nobody made it.

        Raises:
            RequestRefused: things of this kind are made or listed here, and this one never was.
        """
        place = call.operation.place
        value = call.arguments.get(place.parameter) if place is not None else None
        if place is None or not is_id(value):
            return None
        for resource in self._store.resources_of_id(str(value)):
            if self._is_of_kind(resource, place):
                return resource
        if self._is_unheard_of(call, place, str(value)):
            raise self._unknown(call, place.parameter, value)
        return None

    def _is_of_kind(self, resource: Resource, place: ThingPlace) -> bool:
        """Whether a thing was made where those of a place are, or nobody can tell where."""
        maker = self._document.operation(resource.operation)
        at = maker.place if maker is not None else None
        return at is None or at.position is Position.WITHIN or at.things == place.things

    def _is_unheard_of(self, call: Call, place: ThingPlace, value: str) -> bool:
        """Whether a thing of this id would be known if there were one."""
        is_known_kind = self._document.kind_place(call.operation) is not None
        if self._is_stocked or not is_known_kind or place.position is Position.ALL:
            return False
        standing = (self._playbook.standing_thing(n, value) for n in self._playbook.standing)
        return not self._store.is_offered(value) and not any(standing)

    def by_reference(self, call: Call, named: str | None) -> Resource:
        """The thing of the client reference that a call gives.

        Raises:
            RequestRefused: it gives none, or nothing has it.
        """
        reference = call.arguments.get("client_reference")
        found = self._store.resource_by_reference(str(reference), named) if reference else None
        if found is None:
            raise self._unknown(call, "client_reference", reference)
        return found

    def by_what_was_sent(self, call: Call) -> Resource | None:
        """The newest thing whose request said what this call repeats; None when it repeats nothing.

        Raises:
            RequestRefused: it repeats something, and no request said so.
        """
        # That one has an index of its own.
        if "client_reference" in call.arguments:
            return None
        repeated = None
        for maker, inputs in self._document.asked_by_request(call.operation):
            wanted = {n: reading for n, reading in inputs.items() if n in call.arguments}
            for resource in self._store.resources_of(maker.operation_id) if wanted else ():
                sent = resource.facts.get(SENT, {})
                said = {n: sent.get(KEY) if r.is_key else r.of(sent) for n, r in wanted.items()}
                if all(sole(call.arguments[name]) == value for name, value in said.items()):
                    return resource
            repeated = next(iter(wanted), repeated)
        if repeated is not None:
            raise self._unknown(call, repeated, call.arguments[repeated])
        return None

    def to_cancel(self, call: Call) -> Resource:
        """The thing that a cancel of a pair means: by its id, else by what was sent to make it.

        Raises:
            RequestRefused: there is none.
        """
        ids: dict[str, str] = {}
        for maker in self.makers(call.operation):
            ids |= self._document.cancel_inputs(maker)
        found = self._by_id(call, ids) or self.by_what_was_sent(call)
        return found or self.by_reference(call, next(iter(ids.values()), None))

    def unpaired(self, call: Call) -> Resource | None:
        """The thing that a DELETE without a pair means; None for one that nobody made.

        Raises:
            RequestRefused: there is none, and there would be if it had been made.
        """
        if "client_reference" in call.arguments:
            return self.by_reference(call, None)
        return self.at_place(call) or self.named(call)

    def makers(self, cancel: ServedOperation) -> list[ServedOperation]:
        """The operations that this one cancels, by either end of the pair."""
        operations = self._document.operations
        by_cancel = [o for o in operations if o.operation_id == cancel.cancel_for]
        by_maker = [o for o in operations if o.cancels == cancel.operation_id]
        return [*by_cancel, *(o for o in by_maker if o not in by_cancel)]

    def named(self, call: Call) -> Resource | None:
        """The thing whose id a call gives; None when it gives no id.

        Raises:
            RequestRefused: nothing has this id.
        """
        ids = {name: name for name in self._document.reference_names}
        return self._by_id(call, ids, is_stocked=self._is_stocked)

    def _by_id(
        self, call: Call, ids: Mapping[str, str], *, is_stocked: bool = False
    ) -> Resource | None:
        """What the first argument among these names, each with the property that holds the id."""
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
