"""A served document: its operations, their ids, and references to each other's resources."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from orchestrator.sandbox.faults import Role
from orchestrator.sandbox.problems import UnservedOperation
from orchestrator.sandbox.served_operations import (
    OperationKind,
    Position,
    RuntimeExpression,
    ServedOperation,
    ThingPlace,
    bare_path,
    id_names,
    read_expression,
)
from orchestrator.sandbox.served_schemas import Schema, SchemaBook

UNNAMED = "id"
"""Default name of an id without a name in any answer."""
VERSION = "if-match"
"""The input of a cancel that takes the version of its resource, in lower case."""
ETAG = "$etag"
"""Fact that holds the version of a resource whose answers state it in their ETag header."""
_DIGITS = {"type": "string", "pattern": "^[1-9][0-9]{3,8}$"}


@dataclass(frozen=True)
class Document:
    """A served document: its prefix, its operations and the meaning of its ids."""

    name: str
    raw: Mapping[str, Any]
    book: SchemaBook = field(repr=False)
    operations: tuple[ServedOperation, ...] = field(repr=False)
    skipped: tuple[UnservedOperation, ...] = field(default=(), repr=False)

    @cached_property
    def prefix(self) -> str:
        """Path under which it is served, "/flights": its server's path, else its name."""
        servers = self.raw.get("servers")
        first = servers[0] if isinstance(servers, list) and servers else {}
        url = first.get("url", "") if isinstance(first, Mapping) else ""
        text = re.sub(r"\{[^{}]*\}", "x", str(url))
        return urlsplit(text).path.rstrip("/") or f"/{self.name}"

    def candidates(self, method: str, path: str, query: Mapping[str, str]) -> list[ServedOperation]:
        """Return the operations that a request may mean, the likeliest first.

        Some documents have several with one method and path, distinguished by a query or a fragment
        in the path.
        """
        found = [o for o in self.matches(path) if o.method == method.lower()]
        fitting = [o for o in found if o.written_query.items() <= query.items()]
        # Only those with the fewest parameters: /orders/search is not an order.
        least = min((len(o.path_names) for o in fitting), default=0)
        nearest = [o for o in fitting if len(o.path_names) == least]
        return sorted(nearest, key=lambda o: (-len(o.written_query), "#" in o.path))

    def methods(self, path: str) -> list[str]:
        """Return the methods that this path answers, upper case; empty for an unknown path."""
        return [operation.method.upper() for operation in self.matches(path)]

    def matches(self, path: str) -> Iterator[ServedOperation]:
        """Yield the operations at this path, those with the fewest parameters first."""
        return (o for o in self._by_width if o.path_values(path) is not None)

    @cached_property
    def _by_width(self) -> list[ServedOperation]:
        return sorted(self.operations, key=lambda o: len(o.path_names))

    def operation(self, operation_id: str) -> ServedOperation | None:
        """Return the operation of that id, or None."""
        return self._named.get(operation_id)

    @cached_property
    def _named(self) -> dict[str, ServedOperation]:
        return {o.operation_id: o for o in self.operations}

    def role(self, operation: ServedOperation) -> Role:
        """Return the purpose of a request of this operation."""
        if operation.kind is OperationKind.CANCEL:
            return "cancel"
        if operation.kind is not OperationKind.READ:
            return "call"
        return "probe" if operation.operation_id in self._probes else "read"

    @cached_property
    def _probes(self) -> frozenset[str]:
        return frozenset(o.probe[0] for o in self.operations if o.probe)

    @cached_property
    def input_names(self) -> frozenset[str]:
        """Inputs of all operations: properties that only callers can set."""
        return frozenset(name for o in self.operations for name in o.input_names)

    @cached_property
    def resource_ids(self) -> dict[str, str]:
        """For each creating operation, the property of its answer that holds the new id."""
        return {operation_id: path[-1] for operation_id, path in self.resource_paths.items()}

    @cached_property
    def resource_paths(self) -> dict[str, tuple[str, ...]]:
        """For each creating operation, the path to the new id: ("booking", "id")."""
        paths = {}
        for one in self.operations:
            # A POST that is not known to create may still turn out to.
            is_update = one.kind is OperationKind.UPDATE and one.method == "post"
            if one.kind is OperationKind.CREATE or is_update:
                paths[one.operation_id] = self._resource_path(one)
        return {operation_id: path for operation_id, path in paths.items() if path}

    @cached_property
    def id_schemas(self) -> dict[str, tuple[Schema, ...]]:
        """For each writing operation, the schemas of a new id: preferred first, required last.

        Paths often constrain an id more than the answer does, and an id that they refuse is
        useless.
        """
        by_path = {
            o.place.things: parameter.schema
            for o in sorted(self.operations, key=lambda o: o.method == "delete")
            for parameter in o.parameters
            if o.place is not None
            and o.place.position is Position.ONE
            and (parameter.location, parameter.name) == ("path", o.place.parameter)
        }
        found: dict[str, tuple[Schema, ...]] = {}
        for operation in self.operations:
            if not operation.is_writing:
                continue
            named = self.resource_ids.get(operation.operation_id, UNNAMED)
            properties = self.book.properties(self.resource_schema(operation))
            own = properties.get(named) or {"type": "string"}
            more = by_path.get(operation.place.things) if operation.place is not None else None
            is_number = more and self.book.resolve(more).get("type") in ("integer", "number")
            if is_number and self.book.resolve(own).get("type") == "string":
                # A number and its text have the same URL.
                more = _DIGITS
            schemas = ({"allOf": [more, own]}, own) if more else (own,)
            found[operation.operation_id] = schemas
        return found

    def kind_place(self, operation: ServedOperation) -> ThingPlace | None:
        """Return the place of an operation if another operation makes or lists its resources."""
        place = operation.place
        return place if place is not None and place.things in self._kinds else None

    def chosen_name(self, operation: ServedOperation) -> str | None:
        """Return the input by which a caller names a new resource, or None."""
        named = self.resource_ids.get(operation.operation_id)
        body = operation.body_schema or {}
        for step in self.wrapper(operation):
            body = self.book.properties(body).get(step, body)
        schema = self.book.properties(body).get(named or "")
        is_at_all = operation.place is not None and operation.place.position is Position.ALL
        if schema is None or not is_at_all or self.book.resolve(schema).get("readOnly"):
            return operation.chosen_name
        return named

    def makers_at(self, things: str) -> list[ServedOperation]:
        """Return the operations that make resources of one kind."""
        return self._makers.get(things, [])

    @cached_property
    def _makers(self) -> dict[str, list[ServedOperation]]:
        found: dict[str, list[ServedOperation]] = defaultdict(list)
        for operation in self.operations:
            place = operation.place
            is_apart = place is not None and place.position is not Position.WITHIN
            if place is not None and is_apart and operation.kind is OperationKind.CREATE:
                found[place.things].append(operation)
        return found

    @cached_property
    def _kinds(self) -> frozenset[str]:
        at = ((o, o.place) for o in self.operations if o.place and o.list_name is not None)
        given = [place.things for _, place in at if place.position is Position.ALL]
        return frozenset([*self._makers, *given])

    def listed_resource(self, operation: ServedOperation) -> str | None:
        """Return the id property of the resources that an operation lists, or None."""
        names = self.book.properties(operation.item_schema or {})
        place = self.kind_place(operation)
        if place is not None and place.position is Position.ALL:
            makers = self.makers_at(place.things)
            found = (self.resource_ids.get(maker.operation_id) for maker in makers)
            own = next((name for name in found if name in names), None)
            if own is not None:
                return own
        # A plain `id` does not identify the kind, so the last word of the path does.
        last = bare_path(operation.path).rstrip("/").rpartition("/")[2]
        for name in names:
            if name not in self._identifying_names:
                continue
            made_by = (self._named[o].place for o, n in self.resource_ids.items() if n == name)
            if name != UNNAMED or any(at is None or at.label == last for at in made_by):
                return name
        return None

    @cached_property
    def _identifying_names(self) -> frozenset[str]:
        """Names of ids that only one kind of resource has, which therefore identify the kind."""
        kinds: dict[str, set[str]] = defaultdict(set)
        for operation_id, name in self.resource_ids.items():
            maker = self._named[operation_id]
            kinds[name].add(maker.place.things if maker.place else operation_id)
        return frozenset(name for name, made in kinds.items() if len(made) == 1 or name != UNNAMED)

    def offered_ids(self, operation: ServedOperation) -> list[str]:
        """Return the properties by which later calls can name the items of this list."""
        if operation.kind is not OperationKind.READ or self.listed_resource(operation):
            return []
        return id_names(self.book.properties(operation.item_schema or {}))

    @cached_property
    def known_ids(self) -> frozenset[str]:
        """Every property whose values this document issues, so that callers cannot invent them."""
        offered = [name for operation in self.operations for name in self.offered_ids(operation)]
        # The caller's own vault fills these in; the document never issues them.
        private = {n for o in self.operations for n in o.raw.get("x-orchet-pii-required", [])}
        return frozenset([*self.reference_names, *offered]) - private

    @cached_property
    def shown_values(self) -> frozenset[str]:
        """Texts and numbers in the document's own examples: ids among them exist."""
        found = set()
        waiting: list[tuple[Any, bool]] = [(self.raw, False)]
        while waiting:
            value, is_shown = waiting.pop()
            if isinstance(value, Mapping):
                waiting += [(v, is_shown or k in ("example", "examples")) for k, v in value.items()]
            elif isinstance(value, list):
                waiting += [(inner, is_shown) for inner in value]
            elif is_shown and isinstance(value, str | int) and not isinstance(value, bool):
                found.add(str(value))
        return frozenset(found)

    @cached_property
    def reference_names(self) -> tuple[str, ...]:
        """Properties by which any call may name the document's resources.

        A name that only a resource's own path uses may mean anything: a name, a key.
        """
        return tuple(dict.fromkeys(id_names(self.resource_ids.values())))

    def cancel_inputs(self, operation: ServedOperation) -> dict[str, str]:
        """Return the inputs of a create's cancel that take the new id, with the id's property."""
        whole = self.resource_paths.get(operation.operation_id)
        named = whole[-1] if whole else UNNAMED
        fed = _named_readings(operation.compensation_args)
        inputs = {
            name: named
            for name, reading in fed.items()
            if reading.message == "response"
            and (reading.source == "header" or reading.path == whole)
        }
        return inputs or ({named: named} if whole else {})

    def answered_headers(self, operation: ServedOperation) -> list[str]:
        """Return the headers of an answer from which its cancel takes the new id."""
        fed = _named_readings(operation.compensation_args).values()
        return [r.path[0] for r in fed if r.message == "response" and r.source == "header"]

    def version_name(self, operation_id: str) -> str | None:
        """Return the property of a create's answer whose value its cancel sends as a version.

        It is ETAG for the header of that name; None if the cancel sends no version.
        """
        maker = self.operation(operation_id)
        for name, read in _readings(maker.compensation_args if maker else None).items():
            if name.lower() == VERSION and read.message == "response":
                return ETAG if read.source == "header" else read.path[-1]
        return None

    def repeated_inputs(
        self, operation: ServedOperation
    ) -> list[tuple[ServedOperation, dict[str, RuntimeExpression]]]:
        """Return the inputs by which a cancel or a probe repeats the request of its resource.

        Returns:
            Each operation that it cancels or checks, with the inputs that repeat the request.
        """
        found = []
        for maker in self.operations:
            for called, args in ((maker.cancels, maker.compensation_args), maker.probe or ("", {})):
                if called != operation.operation_id:
                    continue
                if args is None:
                    # Undeclared inputs are those of the same name.
                    shared = sorted(operation.input_names & maker.input_names)
                    sent = {n: RuntimeExpression("request", "body", (n,)) for n in shared}
                else:
                    sent = {n: r for n, r in _readings(args).items() if r.message == "request"}
                if sent:
                    found.append((maker, sent))
        return found

    def _resource_path(self, operation: ServedOperation) -> tuple[str, ...] | None:
        schema = operation.answer_schema or {}
        for read in _named_readings(operation.compensation_args).values():
            inner: Schema | None = schema
            for step in read.path:
                inner = self.book.properties(inner).get(step) if inner is not None else None
            if read.path and inner is not None and read[:2] == ("response", "body"):
                return read.path
        answers = self.book.properties(schema)
        cancel = self.operation(operation.cancels or "")
        cancelled_by = cancel.input_names if cancel else frozenset[str]()
        ids = operation.own_ids(answers)
        own = [name for name in ids if name not in operation.input_names]
        shared = [name for name in own if name in cancelled_by]
        top = next(iter([*shared, *own, *ids]), None)
        return (top,) if top else self._enveloped_id(operation, answers)

    def wrapper(self, operation: ServedOperation) -> tuple[str, ...]:
        """Return the path to the resource inside an answer; () when the answer is the resource."""
        path = self.resource_paths.get(operation.operation_id)
        if path is None:
            answers = self.book.properties(operation.answer_schema or {})
            makers = self.cancelled_by(operation)
            made = [self.resource_ids.get(maker.operation_id) for maker in makers]
            ids = {*operation.own_ids(answers), *(name for name in made if name in answers)}
            path = None if ids else self._enveloped_id(operation, answers, made)
        return path[:-1] if path else ()

    def cancelled_by(self, cancel: ServedOperation) -> list[ServedOperation]:
        """Return the operations that this one cancels, declared at either end of the pair."""
        by_cancel = [o for o in self.operations if o.operation_id == cancel.cancel_for]
        by_maker = [o for o in self.operations if o.cancels == cancel.operation_id]
        return [*by_cancel, *(o for o in by_maker if o not in by_cancel)]

    @cached_property
    def gone_states(self) -> Mapping[str, frozenset[str]]:
        """The states that a probe's `gone-when` names, by property."""
        found: dict[str, frozenset[str]] = {}
        for operation in self.operations:
            for name, state in operation.gone_states:
                found[name] = found.get(name, frozenset()) | {state}
        return found

    def state_name(self, schema: Schema) -> str:
        """Return the property of a resource that holds its state."""
        properties = self.book.properties(schema)
        named = (name for name in (*self.gone_states, "status", "state") if name in properties)
        return next(named, "status")

    def given_values(
        self, operation: ServedOperation, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the values that a request gives to the resource, without the answer's wrapping."""
        values = dict(arguments)
        for step in self.wrapper(operation):
            if isinstance(inner := values.get(step), Mapping):
                values = {**inner, **{name: v for name, v in values.items() if name != step}}
        return values

    def resource_schema(self, operation: ServedOperation) -> Schema:
        """Return the schema of the resource inside an answer."""
        schema = operation.answer_schema or {}
        for step in self.wrapper(operation):
            schema = self.book.resolve(self.book.properties(schema)[step])
        return schema

    def _enveloped_id(
        self,
        operation: ServedOperation,
        answers: Mapping[str, Schema],
        made: Collection[str | None] = (),
    ) -> tuple[str, ...] | None:
        """Return the path to an id inside a wrapped answer: {"data": {"id": ...}}.

        `made` are the id properties of the operations that this one cancels, whatever their names.
        """
        for outer, inner in answers.items():
            if self.book.is_object(inner):
                within = self.book.properties(inner)
                names = [*(n for n in within if n in made), *operation.own_ids(within)]
                if names:
                    return outer, names[0]
        return None


def _named_readings(args: Mapping[str, Any] | None) -> dict[str, RuntimeExpression]:
    """Return the expressions of inputs that name the resource: all but that of its version."""
    return {name: read for name, read in _readings(args).items() if name.lower() != VERSION}


def _readings(args: Mapping[str, Any] | None) -> dict[str, RuntimeExpression]:
    read = {name: read_expression(value) for name, value in (args or {}).items()}
    return {name: reading for name, reading in read.items() if reading}
