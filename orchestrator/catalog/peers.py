"""The tools of one document, as the document itself calls them: by their operationIds."""

from collections import Counter
from collections.abc import Mapping, Sequence

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Tool
from orchestrator.catalog.tool_names import Place, place_of
from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode


class Peers:
    """What a contract may name; a tool is also known by its own name, where it has another one."""

    def __init__(
        self,
        exposed: Sequence[Operation],
        tools: Mapping[Place, Tool],
        faults: Mapping[Place, DocumentInvalid],
    ) -> None:
        """Take the operations that are marked as tools, those that compile, and why others do not.

        An operationId that several have names none of them.
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
        """The tool that a contract names there.

        Raises:
            DocumentInvalid: there is none of that name, several have it, or it was skipped.
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
                f"mend {name!r} first",
            )
        raise declared.invalid(f"no tool of this document is called {name!r}")

    def tool_name(self, said: str | None) -> str | None:
        """The name of the tool that a document calls so; what it says where there is none."""
        found = self._tools.get(said or "") if said not in self._repeated else None
        return found.name if found is not None else said
