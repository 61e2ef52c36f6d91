"""The operations of a document: where each stands, and what its path and document add to it."""

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.expansion import DocumentSchemas
from orchestrator.json_schema.pointer import format_pointer
from orchestrator.json_schema.wellformed import find_defect

METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
SAFE_METHODS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True)
class Operation:
    """One operation as written, with all that its compilation needs to look up."""

    document: str
    path: str
    method: str
    """Upper case."""
    node: DocumentNode
    path_item: DocumentNode
    root: DocumentNode
    schemas: DocumentSchemas

    @property
    def is_tool(self) -> bool:
        """Whether the document exposes it.

        Raises:
            DocumentInvalid: x-orchet-tool is neither true nor false.
        """
        flag = self.node.at("x-orchet-tool")
        if flag is None:
            return False
        if not isinstance(flag.value, bool):
            raise flag.invalid("x-orchet-tool is true or false")
        return flag.value

    @property
    def is_safe(self) -> bool:
        """Whether HTTP has its method change nothing, as long as the document says nothing else."""
        return self.method in SAFE_METHODS

    @property
    def operation_id(self) -> str | None:
        """Its operationId, when it has one."""
        found = self.node.at("operationId")
        return found.value if found is not None and isinstance(found.value, str) else None

    @property
    def label(self) -> str:
        """What messages call it: by its operationId, or method and path."""
        return self.operation_id or f"{self.method} {self.path}"

    def parameters(self) -> list[DocumentNode]:
        """Its parameters and those of its path, in order; its own win over the path's."""
        merged: dict[tuple[str, str], DocumentNode] = {}
        for holder in (self.path_item, self.node):
            for parameter in holder.elements("parameters"):
                key = (parameter.require("in").text(), parameter.require("name").text())
                merged[key] = parameter
        return list(merged.values())

    def inherited(self, key: str) -> DocumentNode | None:
        """What the operation says under `key`, else its path, else the document."""
        for holder in (self.node, self.path_item, self.root):
            if (found := holder.at(key)) is not None:
                return found
        return None


def operations(root: DocumentNode) -> Iterator[Operation]:
    """Every operation of a document that `check_document` has passed, in its order.

    Raises:
        DocumentInvalid: `openapi` is not 3.0.x or 3.1.x, or `paths` is not an object of objects.
    """
    _check_version(root)
    schemas = DocumentSchemas(root)
    for path, path_item in root.items("paths"):
        if path.startswith("x-"):
            continue
        path_item.mapping()
        for method in METHODS:
            if (node := path_item.at(method)) is not None:
                node.mapping()
                yield Operation(root.document, path, method.upper(), node, path_item, root, schemas)


def check_document(root: DocumentNode) -> None:
    """Refuse what is not an OpenAPI 3.0 or 3.1 document, or not made of JSON's values.

    Every value of the document is looked at.

    Raises:
        DocumentInvalid: with the version that was found, if any.
    """
    if (fault := find_defect(root.value)) is not None:
        raise DocumentInvalid(root.document, format_pointer(fault.path), fault.reason)
    _check_version(root)


def _check_version(root: DocumentNode) -> None:
    mapping = root.mapping()
    version = mapping.get("openapi")
    if isinstance(version, str) and version.startswith(("3.0.", "3.1.")):
        return
    found = version if version is not None else mapping.get("swagger")
    written = f"it is {found!r}" if found is not None else "the key 'openapi' is missing"
    raise root.invalid(f"an OpenAPI 3.0 or 3.1 document is wanted; {written}")
