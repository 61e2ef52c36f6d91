"""The operations of a document: their place, their inherited parts, and the skipped operations."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from pydantic import Field

from orchestrator.core.errors import DocumentInvalid, DocumentUnreadable
from orchestrator.core.record import Record
from orchestrator.json_schema.canonical import find_defect
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.expansion import DocumentSchemas
from orchestrator.json_schema.openapi_dialect import openapi_version
from orchestrator.json_schema.references import format_pointer

METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
SAFE_METHODS = frozenset({"GET", "HEAD"})
TOOL_MARK = "x-orchet-tool"
_LATER_METHODS = ("query",)
"""Added in OpenAPI 3.2."""
OnFault = Callable[[str, DocumentInvalid], None]
"""Called with the label of a skipped operation or path, and the reason."""
_REMEDY = "correct this place, in the document or by an overlay"


@dataclass(frozen=True)
class Operation:
    """An operation as written, with all parts of the document that its compilation reads."""

    document: str
    path: str
    method: str
    node: DocumentNode
    path_item: DocumentNode
    root: DocumentNode
    schemas: DocumentSchemas

    @property
    def is_tool(self) -> bool:
        """True if the document exposes the operation as a tool.

        Raises:
            DocumentInvalid: x-orchet-tool is neither true nor false.
        """
        flag = self.node.at(TOOL_MARK)
        if flag is None:
            return False
        if not isinstance(flag.value, bool):
            raise flag.invalid(f"{TOOL_MARK} is true or false")
        return flag.value

    @property
    def is_safe(self) -> bool:
        """True if the HTTP method changes nothing, unless the document states otherwise."""
        return self.method in SAFE_METHODS

    @property
    def operation_id(self) -> str | None:
        """The operationId as written, or None; it is never a reference."""
        found = self.node.raw("operationId")
        return found.value if found is not None and isinstance(found.value, str) else None

    @property
    def label(self) -> str:
        """The name in messages: the operationId, else method and path."""
        return self.operation_id or f"{self.method} {self.path}"

    def parameters(self) -> list[DocumentNode]:
        """Return the parameters of the operation and of its path; its own override the path's."""
        merged: dict[tuple[str, str], DocumentNode] = {}
        for holder in (self.path_item, self.node):
            for parameter in holder.elements("parameters"):
                key = (parameter.require("in").text(), parameter.require("name").text())
                merged[key] = parameter
        return list(merged.values())

    def inherited(self, key: str) -> DocumentNode | None:
        """Return the value of `key` on the operation, else on its path, else on the document."""
        for holder in (self.node, self.path_item, self.root):
            if (found := holder.at(key)) is not None:
                return found
        return None


def operations(root: DocumentNode, on_fault: OnFault | None = None) -> Iterator[Operation]:
    """Yield every operation of a document, in order, those of OpenAPI 3.2 last.

    Unreadable paths and operations are skipped and passed to `on_fault`.

    Raises:
        DocumentInvalid: the version is not supported, or `paths` is not an object.
    """
    check_version(root)
    schemas = DocumentSchemas(root)
    paths = root.at("paths")
    for path, written in paths.raw_items() if paths is not None else ():
        if path.startswith("x-"):
            continue
        try:
            path_item = written.overlaid()
            path_item.mapping()
        except DocumentInvalid as fault:
            if on_fault is not None:
                on_fault(path, fault)
            continue
        named = [(m.upper(), path_item.raw(m)) for m in (*METHODS, *_LATER_METHODS)]
        more = path_item.raw("additionalOperations")
        named += more.raw_items() if more is not None and isinstance(more.value, dict) else ()
        for method, found in named:
            if found is None:
                continue
            try:
                node = found.overlaid()
                node.mapping()
                if method.lower() not in METHODS and node.is_true(TOOL_MARK):
                    reason = f"the method {method} is called by nobody here"
                    fix = f"leave it unmarked; those that are called: {', '.join(METHODS).upper()}"
                    raise node.invalid(reason, fix)
            except DocumentInvalid as fault:
                if on_fault is not None:
                    on_fault(f"{method} {path}", fault)
            else:
                yield Operation(root.document, path, method, node, path_item, root, schemas)


def check_document(root: DocumentNode) -> None:
    """Refuse an unsupported version, and values that JSON does not have.

    The check visits every value of the document.

    Raises:
        DocumentInvalid: with the version found, if any.
    """
    if (fault := find_defect(root.value)) is not None:
        raise DocumentInvalid(root.document, format_pointer(fault.path), fault.reason)
    check_version(root)


def check_version(root: DocumentNode, file: str = "FILE") -> None:
    """Refuse a document of an unsupported version.

    Raises:
        DocumentInvalid: with the version found, if any, and a command that converts it.
    """
    mapping = root.mapping()
    if openapi_version(mapping) is not None:
        return
    if (old := mapping.get("swagger")) is not None and "openapi" not in mapping:
        path = PurePath(file)
        converted = shlex.quote(str(path.with_name(f"{path.stem}.openapi.json")))
        raise root.invalid(
            f"it is a document of Swagger {old}, and OpenAPI 3.0, 3.1 or 3.2 is wanted",
            f"convert it: npx --yes swagger2openapi --patch --outfile {converted} "
            f"{shlex.quote(file)}",
        )
    found = mapping.get("openapi")
    written = f"it is {found!r}" if found is not None else "the key 'openapi' is missing"
    raise root.invalid(f"an OpenAPI 3.0, 3.1 or 3.2 document is wanted; {written}")


class SkippedOperation(Record):
    """An operation that was left out of a catalog, so that the others can be called."""

    document: str
    operation: str = Field(description="its operationId, else its method and path")
    pointer: str = Field(description="RFC 6901 pointer to the fault, overlays applied")
    reason: str
    remedy: str = _REMEDY
    file: str | None = Field(default=None, description="the file with the fault, if known")
    line: int | None = Field(default=None, description="from 1, in that file")
    personal: tuple[str, ...] = Field(
        default=(), description="inputs that the document declares as personal"
    )

    @property
    def place(self) -> str:
        """Place of the fault: file and line if known, and the pointer."""
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        return " ".join(part for part in (file, self.pointer or "/") if part)

    def __str__(self) -> str:
        return (
            f"{self.operation} of {self.document} is skipped: {self.reason} (at {self.place}); "
            f"{self.remedy}"
        )


class UnreadFile(Record):
    """A file of a folder that was left out, so that the other documents can be used."""

    document: str = Field(description="name of its document")
    file: str
    reason: str
    remedy: str = "correct it, or move it out of the folder"

    def __str__(self) -> str:
        return f"{self.file} is left out: {self.reason}; {self.remedy}"


def unread(document: str, file: str, fault: DocumentUnreadable | DocumentInvalid) -> UnreadFile:
    """Return the unreadable file of a document, with the fault as its reason."""
    stated = {"document": document, "file": file, "reason": fault.reason}
    if isinstance(fault, DocumentUnreadable) or not fault.remedy:
        return UnreadFile(**stated)
    return UnreadFile(**stated, remedy=fault.remedy)


def skipped(
    operation: str, fault: DocumentInvalid, personal: tuple[str, ...] = ()
) -> SkippedOperation:
    """Return the skipped operation of that label, with the fault and its personal inputs."""
    return SkippedOperation(
        document=fault.document,
        operation=operation,
        pointer=fault.pointer,
        reason=fault.reason,
        remedy=fault.remedy or _REMEDY,
        personal=personal,
    )
