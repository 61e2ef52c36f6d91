"""Files that missions received: handles replace their bytes except in the store and on the wire.

`file:sha256-...` names the bytes by their digest, so that one handle always means the same content.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Final

from pydantic import Field, JsonValue

from orchestrator.core.record import JsonObject, Record

FILE: Final = "file"
"""The property of an answer that holds a handle."""
PREFIX: Final = "file:sha256-"
_HANDLE: Final = re.compile(rf"{PREFIX}[0-9a-f]{{64}}")


class ReceivedFile(Record):
    """A file from a provider's answer, without its bytes."""

    handle: str
    content_type: str = Field(default="", description="media type; empty if unknown")
    size_bytes: int
    name: str = Field(default="", description="the provider's file name, without a folder")

    @classmethod
    def described_by(cls, answer: JsonValue) -> "ReceivedFile | None":
        """Return the file in an answer of the form of `as_answer`; None for other answers."""
        handle = answer.get(FILE) if isinstance(answer, dict) else None
        size = answer.get("bytes") if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or not isinstance(size, int) or not is_file_handle(handle):
            return None
        return cls(
            handle=str(handle),
            content_type=str(answer.get("content_type") or ""),
            size_bytes=size,
            name=str(answer.get("name") or ""),
        )

    def as_answer(self) -> JsonObject:
        """Return the object that replaces the bytes in an answer."""
        named: JsonObject = {"name": self.name} if self.name else {}
        kind = self.content_type or None
        return {FILE: self.handle, **named, "content_type": kind, "bytes": self.size_bytes}

    def __str__(self) -> str:
        kind = self.content_type or "of unknown type"
        parts = [self.name, kind, f"{self.size_bytes:,} bytes", f"SHA-256 {digest_of(self.handle)}"]
        return ", ".join(filter(None, parts))


ANSWER_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "description": "a file, which is kept",
    "properties": {
        FILE: {"type": "string", "description": "its handle"},
        "name": {"type": "string"},
        "content_type": {"type": ["string", "null"]},
        "bytes": {"type": "integer"},
    },
    "required": ["content_type", "bytes"],
}
"""The schema of a file in an answer; a file that is too large has no handle."""


def handle_of_bytes(content: bytes) -> str:
    """Return the handle of exactly these bytes."""
    return PREFIX + hashlib.sha256(content).hexdigest()


def is_file_handle(value: object) -> bool:
    """Return True if the value is the handle of a file."""
    return isinstance(value, str) and _HANDLE.fullmatch(value) is not None


def digest_of(handle: str) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return handle.removeprefix(PREFIX)


def file_handles_in(value: JsonValue) -> tuple[str, ...]:
    """Return the file handles that are whole strings anywhere in a value, each once."""
    return tuple(dict.fromkeys(_handles(value)))


def _handles(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        if is_file_handle(value):
            yield value
    elif isinstance(value, dict):
        for held in value.values():
            yield from _handles(held)
    elif isinstance(value, list):
        for held in value:
            yield from _handles(held)
