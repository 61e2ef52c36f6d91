"""Subjects of the rules: a tool as written and as compiled, its inputs, and the places it uses."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from pydantic import JsonValue

from orchestrator.catalog.compensation_contract import read_compensation
from orchestrator.catalog.compile import compile_operation
from orchestrator.catalog.contract import Breach, operation_keywords
from orchestrator.catalog.expressions import follow_or_none
from orchestrator.catalog.inputs import choose_content_type
from orchestrator.catalog.operations import METHODS, Operation
from orchestrator.catalog.tool import Compensation, InputBinding, Tool
from orchestrator.catalog.tool_names import Peers, name_tools, place_of
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import parse_reference, reference_of, with_definitions
from orchestrator.json_schema.validation import SCHEMA_FAULTS
from orchestrator.json_schema.validator import SchemaValidator
from orchestrator.json_schema.walker import properties_of

_OF_ALL = frozenset({"info", "security", "servers"})
"""Root keywords that concern the whole document."""
_Path = tuple[str, ...]


class Uses:
    """The tools that use each place of a document."""

    def __init__(self, root: JsonObject, exposed: Iterable[Operation]) -> None:
        """Take the document and the operations that are tools."""
        self._users: defaultdict[_Path, set[_Path]] = defaultdict(set)
        self._tools: set[_Path] = set()
        referred: dict[_Path, set[_Path]] = {}
        for operation in exposed:
            self._tools.add(operation.node.path)
            nearby = {k: v for k, v in operation.path_item.mapping().items() if k not in METHODS}
            waiting = [*_references((operation.node.value, nearby))]
            reached = {operation.node.path}
            while waiting:
                place = waiting.pop()
                if place not in reached:
                    reached.add(place)
                    if place not in referred:
                        referred[place] = {*_references((follow_or_none(root, place),))}
                    waiting += referred[place]
            for place in reached:
                self._users[place].add(operation.node.path)

    def of(self, path: _Path) -> int:
        """Return the number of tools that use this place; all tools for root keywords."""
        return len(self.by(path))

    def by(self, path: _Path) -> set[_Path]:
        """Return the paths of the operations of the tools that use this place."""
        if path[:1] == ("paths",) and len(path) > 1:
            if len(path) > 2 and path[2] in METHODS:
                return self._users.get(path[:3], set())
            return {place for place in self._tools if place[:2] == path[:2]}
        is_of_all = path[:1] and (
            path[0] in _OF_ALL or path[:2] == ("components", "securitySchemes")
        )
        if len(path) < 2 or is_of_all:
            return self._tools
        around = [path[:length] for length in range(len(path), 0, -1)]
        return next((self._users[p] for p in around if p in self._users), set())

    def is_examined(self, path: _Path) -> bool:
        """Return True if the linter examines the place; it skips operations that are not tools."""
        is_in_operation = path[:1] == ("paths",) and len(path) > 2 and path[2] in METHODS
        return not is_in_operation or path[:3] in self._tools


def _references(values: Iterable[JsonValue]) -> Iterator[_Path]:
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            # An invalid reference has a finding of its own.
            with suppress(ValueError):
                if target := parse_reference(reference_of(value) or ""):
                    yield target
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


@dataclass(frozen=True)
class Input:
    """An input of a tool and the places that declare it."""

    binding: InputBinding
    schema: JsonObject
    pointer: str = ""
    """Place of the parameter or body property; '' if unknown."""
    schema_pointer: str = ""
    """Place of its schema: the declaration, or the target of its reference."""

    @property
    def is_whole_body(self) -> bool:
        """True if the input is a body without named parts."""
        return self.binding.location == "body" and not self.binding.field


def _properties(
    schema: DocumentNode, seen: set[tuple[str, ...]]
) -> Iterator[tuple[str, DocumentNode]]:
    """Yield the properties that a schema declares, members of its allOf first."""
    # A reference without a target has a finding of its own.
    with suppress(DocumentInvalid):
        schema = schema.resolved()
        if schema.path in seen:
            return
        seen.add(schema.path)
        members = schema.raw("allOf")
        for member in members.raw_elements() if members is not None else ():
            yield from _properties(member, seen)
        properties = schema.raw("properties")
        yield from properties.raw_items() if properties is not None else ()


@dataclass(frozen=True)
class Subject:
    """A tool under examination."""

    operation: Operation
    tool: Tool | None = None
    """The compiled tool; None if it does not compile, for the reason in `fault`.

    Keywords with invalid values are left out, so that the rest is examined.
    """
    compensation: Compensation | None = None
    fault: DocumentInvalid | None = None
    breaches: tuple[Breach, ...] = ()
    peers: Mapping[str, "Subject"] = field(default_factory=dict)
    """Tools of the same document, itself included, by operationId and by name."""
    called_back: frozenset[str] = frozenset()
    """Names of the tools that rollback calls: cancels and probes."""

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.operation.label

    @property
    def readable(self) -> Operation:
        """The operation without keywords that have invalid values."""
        breached = {breach.keyword for breach in self.breaches}
        written = self.operation.node.mapping().items()
        valid = {keyword: value for keyword, value in written if keyword not in breached}
        return replace(self.operation, node=replace(self.operation.node, value=valid))

    @property
    def pointer(self) -> str:
        """Place of the operation."""
        return self.operation.node.pointer

    def declared(self, keyword: str) -> DocumentNode | None:
        """Return the place of a keyword of the operation, or None."""
        return self.operation.node.at(keyword)

    def pointer_to(self, keyword: str) -> str:
        """Return the pointer of a keyword, or of the operation if the keyword is absent."""
        found = self.operation.node.raw(keyword)
        return found.pointer if found is not None else self.pointer

    @property
    def cancel(self) -> Tool | None:
        """The tool that cancels it; None without one, or if that does not compile."""
        if self.compensation is None or self.compensation.cancel.tool not in self.peers:
            return None
        return self.peers[self.compensation.cancel.tool].tool

    @property
    def probe(self) -> "Subject | None":
        """The tool that is the probe of its compensation."""
        probe = self.compensation.probe if self.compensation is not None else None
        return self.peers.get(probe.tool) if probe is not None else None

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """Inputs with their places, in order; empty if the tool does not compile."""
        if self.tool is None:
            return ()
        places: dict[tuple[str, str], DocumentNode] = {}
        for found in self.operation.parameters():
            places[found.require("in").text(), found.require("name").text()] = found
        body = self.operation.node.at("requestBody")
        media_types = dict(body.items("content")) if body is not None else {}
        if (chosen := choose_content_type(media_types)) is not None:
            written = media_types[chosen].raw("schema")
            for name, place in _properties(written, set()) if written is not None else ():
                places["body", name] = place
        inputs: list[Input] = []
        for binding in self.tool.bindings:
            schema, is_body = self.tool.properties[binding.name], binding.location == "body"
            at = places.get((binding.location, binding.field))
            if at is None:
                inputs.append(Input(binding, schema))
                continue
            written = at if is_body else at.raw("schema")
            target = written.resolved() if written is not None else at
            # A parameter and its inline schema count as one place to fix.
            is_one = written is not None and not is_body and target.path == written.path
            place = at if is_one else target
            inputs.append(Input(binding, schema, at.pointer, place.pointer))
        return tuple(inputs)

    @property
    def is_called_by_rollback(self) -> bool:
        """True if rollback calls the tool, as a cancel or a probe."""
        is_named = self.tool is not None and self.tool.name in self.called_back
        return is_named or self.declared("x-orchet-cancel-for") is not None


def subjects(exposed: Iterable[Operation]) -> list[Subject]:
    """Return the tools of one document, each with its peers."""
    listed = list(exposed)
    names = name_tools(listed)
    compiled: list[Subject] = []
    for operation in listed:
        subject = Subject(operation)
        try:
            breaches = tuple(operation_keywords().breaches(operation.node))
            subject = replace(subject, breaches=breaches)
            tool = compile_operation(subject.readable, names[place_of(operation)])
            compiled.append(replace(subject, tool=tool))
        except DocumentInvalid as fault:
            compiled.append(replace(subject, fault=fault))
    tools = {place_of(s.operation): s.tool for s in compiled if s.tool is not None}
    faults = {place_of(s.operation): s.fault for s in compiled if s.fault is not None}
    known = Peers(listed, tools, faults)
    whole: list[Subject] = []
    for subject in compiled:
        try:
            if subject.tool is not None:
                contract = read_compensation(subject.readable, subject.tool, known)
                subject = replace(subject, compensation=contract)
            whole.append(subject)
        except DocumentInvalid as fault:
            whole.append(replace(subject, fault=fault))
    peers = {s.operation.operation_id: s for s in whole if s.operation.operation_id is not None}
    peers |= {s.tool.name: s for s in whole if s.tool is not None}
    called = frozenset(t.tool for s in whole if s.compensation for t in s.compensation.templates)
    return [replace(s, peers=peers, called_back=called) for s in whole]


def schema_at(schema: JsonObject, path: tuple[str, ...]) -> JsonObject | None:
    """Return the schema at a path; {} if it is open there, None if no value is possible there."""
    for step in path:
        if "properties" not in schema:
            return {}
        inner = properties_of(schema).get(step)
        if inner is None:
            return None
        schema = inner
    return schema


def allows(schema: JsonObject, root: JsonObject, value: JsonValue) -> bool:
    """Return True if a schema allows a value, or cannot be evaluated."""
    try:
        return SchemaValidator(with_definitions(schema, root)).is_valid(value)
    except SCHEMA_FAULTS:
        return True
