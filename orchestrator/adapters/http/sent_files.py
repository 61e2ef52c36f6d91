"""The files of a call: read from the mission's files, and checked against its contract."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Protocol

from orchestrator.adapters.http.endpoint import Endpoint
from orchestrator.catalog.file_inputs import (
    FilePlace,
    file_places,
    size_problems,
    with_files_written,
)
from orchestrator.catalog.inputs import is_multipart
from orchestrator.catalog.tool import Tool
from orchestrator.core.received_files import FILE, ReceivedFile
from orchestrator.core.record import JsonObject


class FileStore(Protocol):
    """Files that missions received, by handle."""

    def keep(
        self, mission_id: str, content: bytes, *, content_type: str = "", name: str = ""
    ) -> ReceivedFile:
        """Store a file, or raise StateMissing; equal bytes keep their first description."""
        ...

    def read(self, mission_id: str, handle: str) -> tuple[ReceivedFile, bytes] | None:
        """Return a file and its bytes, or None; raise StateMissing if it cannot be read now."""
        ...


_ANY = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Media types that say nothing about the content."""


@dataclass(frozen=True)
class SentFiles:
    """The files of a call by their handles, and the reasons why some cannot be sent."""

    found: Mapping[str, tuple[ReceivedFile, bytes]] = field(default_factory=dict, repr=False)
    problems: tuple[str, ...] = ()

    @property
    def received(self) -> tuple[ReceivedFile, ...]:
        """Descriptions of the files, without their bytes."""
        return tuple(received for received, _ in self.found.values())

    def in_text(self, tool: Tool, arguments: JsonObject) -> JsonObject:
        """Return the arguments with the content of files that are sent as text, in base64."""

        def written(place: FilePlace) -> str:
            content = self.found[place.handle][1]
            match place.form:
                case "base64":
                    return base64.b64encode(content).decode()
                case "base64url":
                    return base64.urlsafe_b64encode(content).decode()
                case _:
                    return place.handle

        return with_files_written(tool, arguments, written) if self.found else arguments


def find_files(
    endpoint: Endpoint, arguments: JsonObject, files: FileStore | None, *, mission_id: str
) -> SentFiles:
    """Return the files whose handles are in the arguments of a call.

    A mission can send only files that it received itself.

    Raises:
        StateMissing: the store cannot be read now.
    """
    found: dict[str, tuple[ReceivedFile, bytes]] = {}
    problems: list[str] = []
    for place in file_places(endpoint.tool, arguments):
        kept = found.get(place.handle)
        if kept is None and files is not None and mission_id:
            kept = files.read(mission_id, place.handle)
        if kept is None:
            problems.append(
                f"{place.name} names a file that this mission has not received, or that is no "
                f"longer kept; give the handle that an answer of this mission has as {FILE!r}"
            )
            continue
        found[place.handle] = kept
        problems += [*size_problems(place, kept[0]), *_type_problems(endpoint, place, kept[0])]
    return SentFiles(found, tuple(dict.fromkeys(problems)))


def _type_problems(endpoint: Endpoint, place: FilePlace, received: ReceivedFile) -> Iterator[str]:
    """Yield a sentence if the type of a file is not declared for its place."""
    if place.form != "bytes" or received.content_type in _ANY:
        return
    declared = endpoint.tool.body_content_type or ""
    if is_multipart(declared):
        field = endpoint.encoding.get(place.path[-1], {})
        declared = str(field.get("contentType") or "*/*")
    types = [one.partition(";")[0].strip().lower() for one in declared.split(",")]
    if _ANY.isdisjoint(types) and not any(fnmatchcase(received.content_type, t) for t in types):
        file = received.name or "the file"
        yield f"{place.name} takes {', '.join(types)}, and {file} is {received.content_type}"
