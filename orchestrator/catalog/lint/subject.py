"""What the rules look at: one tool as written, and as far as it compiles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from orchestrator.catalog.compensation_contract import read_compensation
from orchestrator.catalog.compile import compile_operation
from orchestrator.catalog.lint.declared_inputs import Input, inputs_of
from orchestrator.catalog.lint.keyword_values import Breach, operation_keywords, without
from orchestrator.catalog.lint.prose import Prose
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.peers import Peers
from orchestrator.catalog.tool import Compensation, Tool
from orchestrator.catalog.tool_names import name_tools, place_of
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode


@dataclass(frozen=True)
class Subject:
    """A tool under examination."""

    operation: Operation
    tool: Tool | None = None
    """None when it does not compile; `fault` says why. Keywords with values that are none of
    theirs are left out, so that the rest is examined all the same."""
    compensation: Compensation | None = None
    fault: DocumentInvalid | None = None
    breaches: tuple[Breach, ...] = ()
    """What its keywords hold and do not take."""
    peers: Mapping[str, "Subject"] = field(default_factory=dict)
    """The tools of the same document, itself included, by operationId and by name."""
    called_back: frozenset[str] = frozenset()
    """The names of those of them that cancel, or tell what became of a call."""
    prose: Prose = field(default_factory=lambda: Prose({}))
    """The words of the document."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.operation.label

    @property
    def readable(self) -> Operation:
        """The operation without the keywords that hold what they do not take."""
        return without(self.operation, frozenset(breach.keyword for breach in self.breaches))

    @property
    def pointer(self) -> str:
        """Where the operation stands."""
        return self.operation.node.pointer

    def declared(self, keyword: str) -> DocumentNode | None:
        """What the operation has under a keyword."""
        return self.operation.node.at(keyword)

    def pointer_to(self, keyword: str) -> str:
        """Where a keyword stands, or the operation when it is absent."""
        found = self.operation.node.raw(keyword)
        return found.pointer if found is not None else self.pointer

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """Each input, and where it is declared; none when the tool does not compile."""
        return tuple(inputs_of(self.operation, self.tool)) if self.tool is not None else ()

    @property
    def is_called_by_rollback(self) -> bool:
        """Whether a rollback calls it: to cancel, or to find out."""
        is_named = self.tool is not None and self.tool.name in self.called_back
        return is_named or self.declared("x-orchet-cancel-for") is not None


def subjects(root: JsonObject, exposed: Iterable[Operation]) -> list[Subject]:
    """The tools of one document, each knowing the others."""
    listed = list(exposed)
    names = name_tools(listed)
    compiled = [_compiled(operation, names[place_of(operation)]) for operation in listed]
    tools = {place_of(s.operation): s.tool for s in compiled if s.tool is not None}
    faults = {place_of(s.operation): s.fault for s in compiled if s.fault is not None}
    known = Peers(listed, tools, faults)
    whole = [_with_compensation(subject, known) for subject in compiled]
    peers = {s.operation.operation_id: s for s in whole if s.operation.operation_id is not None}
    peers |= {s.tool.name: s for s in whole if s.tool is not None}
    called = frozenset(t.tool for s in whole if s.compensation for t in s.compensation.templates)
    prose = Prose(root)
    return [replace(s, peers=peers, called_back=called, prose=prose) for s in whole]


def _compiled(operation: Operation, name: str) -> Subject:
    subject = Subject(operation)
    try:
        subject = replace(subject, breaches=tuple(operation_keywords().breaches(operation.node)))
        return replace(subject, tool=compile_operation(subject.readable, name))
    except DocumentInvalid as fault:
        return replace(subject, fault=fault)


def _with_compensation(subject: Subject, peers: Peers) -> Subject:
    if subject.tool is None:
        return subject
    try:
        compensation = read_compensation(subject.readable, subject.tool, peers)
    except DocumentInvalid as fault:
        return replace(subject, fault=fault)
    return replace(subject, compensation=compensation)
