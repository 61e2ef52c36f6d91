"""What was to be read and cannot be: operations of documents, files of folders; each is told."""

from pydantic import Field

from orchestrator.core.errors import DocumentInvalid, DocumentUnreadable
from orchestrator.core.record import Record

_REMEDY = "correct this place, in the document or by an overlay"


class SkippedOperation(Record):
    """An operation that was left out of a catalog, so that the others can be called."""

    document: str
    operation: str = Field(description="its operationId, else its method and path")
    pointer: str = Field(description="RFC 6901 pointer to what is wrong, overlays applied")
    reason: str
    remedy: str = _REMEDY
    file: str | None = Field(default=None, description="the file with what is wrong, if known")
    line: int | None = Field(default=None, description="from 1, in that file")
    personal: tuple[str, ...] = Field(
        default=(), description="inputs whose values it says are personal, whatever else is wrong"
    )

    @property
    def place(self) -> str:
        """Where the reason stands: file and line as far as they are known, and the pointer."""
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        return " ".join(part for part in (file, self.pointer or "/") if part)

    def __str__(self) -> str:
        return (
            f"{self.operation} of {self.document} is skipped: {self.reason} (at {self.place}); "
            f"{self.remedy}"
        )


class UnreadFile(Record):
    """A file of a folder that was left out, so that the documents beside it can be used."""

    document: str = Field(description="what its document is called")
    file: str
    reason: str
    remedy: str = "correct it, or move it out of the folder"

    def __str__(self) -> str:
        return f"{self.file} is left out: {self.reason}; {self.remedy}"


def unread(document: str, file: str, fault: DocumentUnreadable | DocumentInvalid) -> UnreadFile:
    """The file of that document, left out for this fault."""
    told = {"document": document, "file": file, "reason": fault.reason}
    if isinstance(fault, DocumentUnreadable) or not fault.remedy:
        return UnreadFile(**told)
    return UnreadFile(**told, remedy=fault.remedy)


def skipped(
    operation: str, fault: DocumentInvalid, personal: tuple[str, ...] = ()
) -> SkippedOperation:
    """The operation of that label, left out for this fault; with its personal inputs, if known."""
    return SkippedOperation(
        document=fault.document,
        operation=operation,
        pointer=fault.pointer,
        reason=fault.reason,
        remedy=fault.remedy or _REMEDY,
        personal=personal,
    )
