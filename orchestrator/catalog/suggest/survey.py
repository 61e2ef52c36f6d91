"""The operations of a document as a proposal sees them: named, described and compiled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator.catalog.compile import compile_operation
from orchestrator.catalog.operations import METHODS, TOOL_MARK, Operation, operations
from orchestrator.catalog.suggest.naming import missing_texts
from orchestrator.catalog.suggest.path_shape import PathShape
from orchestrator.catalog.tool import Tool
from orchestrator.catalog.tool_names import name_tools, place_of, why_named
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.language.intent import Action
from orchestrator.language.words import verb_named


@dataclass(frozen=True)
class Surveyed:
    """One operation, with what it lacks to be a tool."""

    operation: Operation
    texts: JsonObject
    """What is added so that it has a name, a summary and a description."""
    checks: tuple[str, ...] = ()
    tool: Tool | None = None
    fault: str = ""
    """Why it does not compile."""

    @property
    def name(self) -> str:
        """The operationId that it has, or would have."""
        return str(self.texts.get("operationId") or self.operation.operation_id)

    @property
    def method(self) -> str:
        """Upper case."""
        return self.operation.method

    @cached_property
    def shape(self) -> PathShape:
        """That of its path."""
        return PathShape.of(self.operation.path)

    @cached_property
    def verb(self) -> tuple[str, Action]:
        """The verb that it is named by, and its class."""
        summary = self.operation.node.at("summary")
        said = summary.value if summary is not None else ""
        nouns = self.operation.path.replace("{", " ").replace("}", " ")
        return verb_named(self.name, str(said or ""), but=nouns, method=self.method)

    @property
    def place(self) -> tuple[str, ...]:
        """The way to it that an overlay takes: by its path, or to where the path refers."""
        written = self.operation.root.raw("paths")
        item = written.raw(self.operation.path) if written is not None else None
        is_there = item is not None and item.raw(self.method.lower()) is not None
        here = ("paths", self.operation.path, self.method.lower())
        return here if is_there else self.operation.node.path

    @property
    def statuses(self) -> frozenset[str]:
        """Of the answers that it declares."""
        responses = self.operation.node.at("responses")
        return frozenset(responses.mapping()) if responses is not None else frozenset()


def survey(root: DocumentNode) -> tuple[list[Surveyed], list[Operation]]:
    """The operations that nothing is said of yet, and those that the document marks itself."""
    found: list[Surveyed] = []
    marked: list[Operation] = []
    listed = [op for op in operations(root) if op.method.lower() in METHODS]
    names = name_tools(listed)
    groups = len({PathShape.of(op.path).segments[:1] for op in listed}) > 1
    for operation in listed:
        if operation.node.raw(TOOL_MARK) is not None:
            marked.append(operation)
        elif not operation.node.is_true("deprecated"):
            found.append(_surveyed(operation, names[place_of(operation)], groups=groups))
    return found, marked


def _surveyed(operation: Operation, name: str, *, groups: bool) -> Surveyed:
    why = why_named(operation, name)
    texts: JsonObject = {"operationId": name} if why else {}
    checks = (f"{why}: choose a name once, for missions keep it",) if why else ()
    try:
        tool = compile_operation(with_update(operation, texts), name)
    except DocumentInvalid as fault:
        return Surveyed(operation, texts, checks, fault=str(fault))
    more, asked = missing_texts(operation, tool, groups=groups)
    return Surveyed(operation, {**texts, **more}, (*checks, *asked), tool)


def with_update(operation: Operation, update: JsonObject) -> Operation:
    """The operation as an overlay would have it."""
    node = operation.node
    return replace(operation, node=replace(node, value={**node.mapping(), **update}))


def asked_for(surveyed: Sequence[Surveyed], only: Sequence[str]) -> Iterator[Surveyed]:
    """Those whose path begins so, or that have such a tag; all where nothing is asked for."""
    for one in surveyed:
        tags = one.operation.node.texts_at("tags")
        if not only or any(_is_below(one.operation.path, o) or o in tags for o in only):
            yield one


def _is_below(path: str, prefix: str) -> bool:
    """Whether a path goes through all of another, segment by segment."""
    wanted = prefix.rstrip("/")
    return prefix.startswith("/") and f"{path}/".startswith(f"{wanted}/")
