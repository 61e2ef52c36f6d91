"""The operations of a document as a proposal sees them: named, described and compiled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator.catalog.compile import compile_operation
from orchestrator.catalog.operations import Operation, operations
from orchestrator.catalog.suggest.naming import NameTaken, missing_texts, wanted_name
from orchestrator.catalog.suggest.overlay_text import MARK
from orchestrator.catalog.suggest.path_shape import PathShape
from orchestrator.catalog.tool import Tool
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
    def statuses(self) -> frozenset[str]:
        """Of the answers that it declares."""
        responses = self.operation.node.at("responses")
        return frozenset(responses.mapping()) if responses is not None else frozenset()


def survey(root: DocumentNode) -> tuple[list[Surveyed], list[Operation]]:
    """The operations that nothing is said of yet, and those that the document marks itself."""
    found: list[Surveyed] = []
    marked: list[Operation] = []
    listed = list(operations(root))
    taken = NameTaken(op.operation_id for op in listed if op.operation_id is not None)
    groups = len({PathShape.of(op.path).segments[:1] for op in listed}) > 1
    for operation in listed:
        if operation.node.raw(MARK) is not None:
            marked.append(operation)
        elif not operation.node.is_true("deprecated"):
            found.append(_surveyed(operation, taken, groups=groups))
    return found, marked


def _surveyed(operation: Operation, taken: NameTaken, *, groups: bool) -> Surveyed:
    name, why = wanted_name(operation, taken)
    texts: JsonObject = {"operationId": name} if why else {}
    checks = (why,) if why else ()
    try:
        tool = compile_operation(with_update(operation, texts))
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
