"""Names of tools, and the tools that the names in a document mean.

A tool's name is its operationId, or derived from the operation alone. If two would have the same
name, both get another name, so that a name never means the wrong tool.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode

TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_LONGEST = 64
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")
_BRACES = re.compile(r"[{}]")

Place = tuple[str, str, str]
"""Document, path and method of an operation, which are unique together."""


def place_of(operation: Operation) -> Place:
    """Return the place of an operation."""
    return operation.document, operation.path, operation.method


def name_tools(operations: Iterable[Operation]) -> dict[Place, str]:
    """Return the name of each of these operations, which may belong to several documents.

    A unique operationId that is a valid tool name is the name.
    """
    documents: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        documents[operation.document].append(operation)
    within = [name for group in documents.values() for name in _named_within(group).items()]
    often = Counter(name for _, name in within)
    apart = [
        (place, name if often[name] == 1 else _shaped(f"{place[0]}_{name}"))
        for place, name in within
    ]
    often = Counter(name for _, name in apart)
    return {
        place: name if often[name] == 1 else _marked(name, " ".join(place)) for place, name in apart
    }


def why_named(operation: Operation, name: str) -> str | None:
    """Return the reason why a tool's name is not its operationId, or None."""
    said = operation.operation_id
    if said == name:
        return None
    if not said:
        return "it has no operationId"
    if not TOOL_NAME.fullmatch(said):
        return f"the operationId {said!r} cannot name a tool"
    return f"the operationId {said!r} is there more than once"


def _named_within(operations: Sequence[Operation]) -> dict[Place, str]:
    said = Counter(operation.operation_id for operation in operations)
    preferred: list[str] = []
    for op in operations:
        # The name that it would have if it were the only one.
        own = op.operation_id if said[op.operation_id] == 1 else None
        of_place = f"{op.method.lower()} {_BRACES.sub('', op.path)}"
        preferred.append((_shaped(own) if own else "") or _shaped(of_place))
    often = Counter(preferred)
    return {
        place_of(op): name
        if often[name] == 1 or (name == op.operation_id and said[name] == 1)
        else _marked(name, f"{op.method} {op.path}")
        for op, name in zip(operations, preferred, strict=True)
    }


def _shaped(text: str) -> str:
    """Return the text as a valid name; '' if none of its characters is valid."""
    if TOOL_NAME.fullmatch(text):
        return text
    shaped = _OTHERS.sub("_", text).strip("_-")
    if not shaped:
        return ""
    shaped = shaped if TOOL_NAME.match(shaped) else f"_{shaped}"
    return shaped if len(shaped) <= _LONGEST else _marked(shaped, text)


def _marked(name: str, origin: str) -> str:
    """Return the name, shortened, with a hash of its origin."""
    mark = sha256(origin.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: _LONGEST - len(mark) - 1].rstrip('_-')}_{mark}"


class Peers:
    """The tools that a contract may name: by operationId, or by tool name where it differs."""

    def __init__(
        self,
        exposed: Sequence[Operation],
        tools: Mapping[Place, Tool],
        faults: Mapping[Place, DocumentInvalid],
    ) -> None:
        """Take the operations marked as tools, the compiled tools, and the faults of the others.

        An operationId that several operations share names none of them.
        """
        said = Counter(operation.operation_id for operation in exposed)
        self._repeated = {name for name, times in said.items() if times > 1}
        self._tools = {tool.name: tool for tool in tools.values()}
        self._faults: dict[str | None, DocumentInvalid] = {}
        for operation in exposed:
            name, place = operation.operation_id, place_of(operation)
            if place in faults:
                self._faults[name] = faults[place]
            elif name is not None and name not in self._repeated and place in tools:
                self._tools[name] = tools[place]

    def named(self, declared: DocumentNode) -> Tool:
        """Return the tool that a contract names at this place.

        Raises:
            DocumentInvalid: no tool has the name, several have it, or it was skipped.
        """
        name = declared.text()
        if name in self._repeated:
            raise declared.invalid(
                f"several operations have the operationId {name!r}, and which is meant is not said",
                "give each operation an operationId of its own",
            )
        if (found := self._tools.get(name)) is not None:
            return found
        if (fault := self._faults.get(name)) is not None:
            raise declared.invalid(
                f"{name!r}, which it names, is skipped itself: {fault.reason} "
                f"(at {fault.pointer or '/'})",
                f"fix {name!r} first",
            )
        raise declared.invalid(f"no tool of this document is called {name!r}")

    def tool_name(self, said: str | None) -> str | None:
        """Return the tool that has this name in a document, or `said` if there is none."""
        found = self._tools.get(said or "") if said not in self._repeated else None
        return found.name if found is not None else said
