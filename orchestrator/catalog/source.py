"""File access of the catalog: documents and overlays from files and folders, and their lines."""

import json
import json.decoder
import re
import shlex
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml

from orchestrator.catalog.bundle import bundle
from orchestrator.catalog.mcp_documents import McpListing
from orchestrator.catalog.operations import SkippedOperation, UnreadFile, check_version, unread
from orchestrator.catalog.overlay import IdleAction, apply_overlays, parse_overlay
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import DocumentInvalid, DocumentUnreadable, UsageError
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import find_defect
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import FILES_KEY, format_pointer, parse_pointer

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_JSON: Any = json.decoder
_scanned: Any = _JSON.JSONDecoder().scan_once


class SourceLine(NamedTuple):
    """A place that an editor can open."""

    file: str
    line: int | None = None
    """From 1; None if unknown."""

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class _Wanted:
    """A tree of the pointers' steps, each with its line once the parser reaches it."""

    def __init__(self) -> None:
        self.inside: dict[str, _Wanted] = {}
        self.line: int | None = None


def find_lines(text: str, pointers: Iterable[str]) -> dict[str, int]:
    """Return the line, from 1, of each pointer into a YAML or JSON text, if known.

    A place that an overlay added gets the line of the value around it.
    """
    asked = {pointer: parse_pointer(pointer) for pointer in pointers}
    wanted = _Wanted()
    for steps in asked.values():
        here = wanted
        for step in steps:
            here = here.inside.setdefault(step, _Wanted())
    start = _space(text, 0)
    is_found = False
    if text[start : start + 1] in ("{", "["):
        with suppress(IndexError, RecursionError, StopIteration, ValueError):
            _JsonLines(text).note(start, wanted, start)
            is_found = True
    if not is_found:
        try:
            # JSON is YAML, except for tabs before a line.
            events: Iterator[Any] = yaml.parse(text.replace("\t", " "), Loader=_LOADER)
            event = next(events)
            while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                event = next(events)
            if isinstance(event, yaml.StreamEndEvent):
                return {}
            _note_yaml(events, event, wanted, event.start_mark.line)
        except (yaml.YAMLError, RecursionError):
            return {}
    lines: dict[str, int] = {}
    for pointer, steps in asked.items():
        here, reached = wanted, wanted.line
        for step in steps:
            here = here.inside[step]
            if here.line is None:
                break
            reached = here.line
        if reached is not None:
            lines[pointer] = reached
    return lines


def _space(text: str, at: int) -> int:
    return int(_JSON.WHITESPACE.match(text, at).end())


class _JsonLines:
    """Reads a JSON text; values without a pointer are skipped at the speed of the parser."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted, self._line = 0, 1

    def note(self, at: int, wanted: _Wanted, begins: int) -> int:
        """Note the line of the value at a position and of its parts; return its end."""
        text = self._text
        self._line += text.count("\n", self._counted, begins)
        self._counted = begins
        wanted.line = self._line
        if not wanted.inside or text[at] not in "{[":
            return int(_scanned(text, at)[1])
        is_object = text[at] == "{"
        at, index = _space(text, at + 1), 0
        while text[at] != ("}" if is_object else "]"):
            begins, key = at, str(index)
            if is_object:
                key, at = _JSON.scanstring(text, at + 1)
                at = _space(text, _space(text, at) + 1)  # past the colon
            inner = wanted.inside.get(key)
            end = int(_scanned(text, at)[1]) if inner is None else self.note(at, inner, begins)
            at, index = _space(text, end), index + 1
            at = _space(text, at + 1) if text[at] == "," else at
        return at + 1


def _note_yaml(events: Iterator[Any], event: Any, wanted: _Wanted | None, line: int) -> None:
    """Note the line of the value that begins with an event, and of its parts, but of no alias."""
    if wanted is not None:
        wanted.line = line + 1
    kind = type(event)
    if kind not in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
        return
    if wanted is None or not wanted.inside:
        depth = 1
        while depth:
            kind = type(next(events))
            if kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
                depth += 1
            elif kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
                depth -= 1
    elif kind is yaml.MappingStartEvent:
        while type(key := next(events)) is not yaml.MappingEndEvent:
            inner = wanted.inside.get(key.value) if type(key) is yaml.ScalarEvent else None
            _note_yaml(events, next(events), inner, key.start_mark.line)
    else:
        index = 0
        while type(item := next(events)) is not yaml.SequenceEndEvent:
            _note_yaml(events, item, wanted.inside.get(str(index)), item.start_mark.line)
            index += 1


SUFFIXES = frozenset({".json", ".yaml", ".yml"})
_MAX_MEGABYTES = 100
_MEGABYTE = 2**20
_ADDRESS = re.compile(r"(https?|ftp):/{1,2}(.+)", re.IGNORECASE | re.DOTALL)
"""A single slash is enough, because no file path has two in a row."""
_CONTRACT_SCHEMA = Path(__file__).parents[1] / "specs" / "x-orchet.schema.json"
"""Located next to the packages, both in a checkout and installed."""


class Sources(NamedTuple):
    """Documents read from files, overlays applied."""

    documents: dict[str, JsonObject]
    files: dict[str, Path]
    """Path of each document by its name, and of each overlay by its file name."""
    idle: tuple[IdleAction, ...]
    """Overlay actions that changed nothing."""
    unread: tuple[UnreadFile, ...] = ()
    """Unreadable files of folders, which were left out."""


def read_sources(
    paths: Iterable[str | Path], overlays: Sequence[str | Path] = (), mcp: Sequence[McpListing] = ()
) -> Sources:
    """Read documents by name, self-contained and with the overlays applied.

    An unreadable file of a folder is left out if another document can be read. The tools of MCP
    servers become documents; a server that could not be listed is left out likewise.

    Raises:
        DocumentUnreadable: a path is missing, or a file is neither JSON nor YAML.
        DocumentInvalid: a file is not a document of a supported version, or an overlay is at fault.
        UsageError: no document was found.
    """
    found = _read(paths, may_be_empty=bool(mcp))
    unlisted = list(found.unread)
    idle: list[IdleAction] = []
    for listing in mcp:
        if listing.fault:
            unlisted.append(listing.left_out)
        elif listing.server in found.documents:
            raise UsageError(
                f"a document is called {listing.server!r} like an MCP server: rename one of them"
            )
        else:
            found.documents[listing.server] = listing.document
            idle += listing.idle
    own = [_on_disk(path) for path in overlays]
    parsed = [parse_overlay(f.name, read_object(f)) for f in own]
    # An overlay of an unreadable file changes nothing; only the file is reported.
    left_out = [one.document for one in unlisted]
    extending = [
        overlay
        for overlay in parsed
        if any(map(overlay.is_for, found.documents)) or not any(map(overlay.is_for, left_out))
    ]
    overlaid = apply_overlays(found.documents, extending)
    return found._replace(
        documents=overlaid.documents,
        files=found.files | {f.name: f for f in own},
        idle=(*idle, *overlaid.idle),
        unread=tuple(unlisted),
    )


def file_versions(paths: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return path, time and size of each file of these paths, folders with all below them."""
    found = (sorted(path.rglob("*")) if path.is_dir() else [path] for path in paths)
    stats = [(str(one), one.stat()) for group in found for one in group if one.is_file()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


def document_names(paths: Iterable[Path]) -> tuple[str, ...]:
    """Return the names of the documents in files and folders, without reading them."""
    files = (_files_in(path) if path.is_dir() else [path] for path in paths)
    return tuple(file.stem for group in files for file in group)


def overlays_for(
    paths: Iterable[str | Path], overlays: Sequence[Path]
) -> tuple[tuple[Path, ...], tuple[tuple[Path, str], ...]]:
    """Return the overlays for a document of these paths, and the others with their targets.

    Raises:
        DocumentUnreadable: a path is missing, or a file is neither JSON nor YAML.
        DocumentInvalid: an overlay is at fault.
    """
    found = _find([_on_disk(path) for path in paths])
    # An unreadable document keeps its overlays.
    documents = [one.document if isinstance(one, UnreadFile) else one[0].stem for one in found]
    fitting: list[Path] = []
    others: list[tuple[Path, str]] = []
    for path in overlays:
        overlay = parse_overlay(path.name, read_object(path))
        if any(map(overlay.is_for, documents)):
            fitting.append(path)
        else:
            others.append((path, overlay.extends or ""))
    return tuple(fitting), tuple(others)


def find_source_lines(
    files: Mapping[str, Path], wanted: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], SourceLine]:
    """Return file and line of places, by document and JSON pointer, for documents with files.

    Parts that come from other files are located in those files.
    """
    inside: dict[Path, dict[tuple[str, str], str]] = defaultdict(dict)
    for document, pointer in wanted:
        if document not in files:
            continue
        file, steps = files[document], parse_pointer(pointer)
        is_elsewhere = len(steps) > 1 and steps[0] == FILES_KEY
        file = file.parent / steps[1] if is_elsewhere else file
        at = format_pointer(steps[2:]) if is_elsewhere else pointer
        inside[file][document, pointer] = at
    found: dict[tuple[str, str], SourceLine] = {}
    for file, places in inside.items():
        lines: dict[str, int] = {}
        with suppress(OSError, ValueError):  # the file has changed since, or was never readable
            lines = find_lines(_read_text(file), set(places.values()))
        found |= {place: SourceLine(str(file), lines.get(at)) for place, at in places.items()}
    return found


def located(
    skipped: Iterable[SkippedOperation], files: Mapping[str, Path]
) -> tuple[SkippedOperation, ...]:
    """Return the skipped operations, with file and line where they are known."""
    listed = list(skipped)
    lines = find_source_lines(files, ((s.document, s.pointer) for s in listed))
    return tuple(
        one.model_copy(update={"file": place.file, "line": place.line})
        if (place := lines.get((one.document, one.pointer))) is not None
        else one
        for one in listed
    )


@cache
def read_contract_schema() -> JsonObject:
    """Return the published JSON Schema of the extensions, specs/x-orchet.schema.json.

    Raises:
        DocumentUnreadable: the file is not in the project's folder.
    """
    return read_object(_CONTRACT_SCHEMA)


def _read(paths: Iterable[str | Path], *, may_be_empty: bool) -> Sources:
    """Return parsed documents and their files, by the stem of the file, without overlays.

    In a folder, files with other suffixes and files that are not OpenAPI documents, such as
    overlays and shared schemas, are ignored. A file that is named must be a document.
    """
    asked = [_on_disk(path) for path in paths]
    documents: dict[str, JsonObject] = {}
    files: dict[str, Path] = {}
    left_out: list[UnreadFile] = []
    for found in _find(asked):
        if isinstance(found, UnreadFile):
            left_out.append(found)
            files.setdefault(found.document, Path(found.file))
            continue
        file, parsed = found
        if file.stem in documents:
            raise DocumentInvalid(file.stem, "", f"another document is called so: rename {file}")
        left = _MAX_MEGABYTES * _MEGABYTE

        def read_part(path: Path) -> JsonObject:
            """Read a file of the document, up to the size limit in total."""
            nonlocal left
            try:
                left -= path.stat().st_size
            except OSError as error:
                raise _unreadable(path, error) from error
            if left < 0:
                reason = f"with it, the files of the document hold more than {_MAX_MEGABYTES} MB"
                raise DocumentUnreadable(str(path), reason)
            return read_object(path)

        documents[file.stem] = bundle(parsed, at=file, read=read_part)
        files[file.stem] = file
    if not documents and not may_be_empty:
        named = ", ".join(str(path) for path in asked) or "nothing"
        why = "".join(f"; {one}" for one in left_out)
        raise UsageError(
            f"no OpenAPI document found in {named}; name a file or a folder of them{why}"
        )
    return Sources(documents, files, (), tuple(left_out))


def _on_disk(path: str | Path) -> Path:
    """Return the path; refuse a web address, because nothing is fetched."""
    found = _ADDRESS.match(str(path))
    if found is None:
        return Path(path)
    scheme, rest = found.groups()
    name = PurePosixPath(rest.split("?")[0]).name
    file = name if PurePosixPath(name).suffix in SUFFIXES else "openapi.json"
    fetched = f"curl -fL -o {shlex.quote(file)} {shlex.quote(f'{scheme}://{rest}')}"
    reason = f"it is an address, and only files are read; fetch it, and name that file: {fetched}"
    raise DocumentUnreadable(f"{scheme}://{rest}", reason)


def _unreadable(path: Path, error: OSError) -> DocumentUnreadable:
    return DocumentUnreadable(str(path), error.strerror or "it cannot be opened")


def read_object(path: Path) -> JsonObject:
    """Return the JSON or YAML object in a file; dates stay strings.

    Raises:
        DocumentUnreadable: the file is missing, is neither JSON nor YAML, or has no object.
    """
    try:
        text = _read_text(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise DocumentUnreadable(str(path), "it is not text in UTF-8") from error
    except ValueError as error:
        raise DocumentUnreadable(str(path), str(error)) from error
    return parse_object(str(path), text)


def parse_object(name: str, text: str) -> JsonObject:
    """Return the object of a text, which is JSON or YAML; dates stay strings.

    Raises:
        DocumentUnreadable: it is neither, or has no object.
    """
    if not text.strip():
        raise DocumentUnreadable(name, "it is empty")
    try:
        value = _parsed_value(text, is_json=name.endswith(".json"))
    except RecursionError as error:
        raise DocumentUnreadable(name, "it is nested too deep") from error
    except ValueError as error:
        raise DocumentUnreadable(name, str(error)) from error
    if not isinstance(value, dict):
        raise DocumentUnreadable(name, "it holds no object; a document is one")
    if (fault := find_defect(value)) is not None:
        place = format_pointer(fault.path) or "/"
        raise DocumentUnreadable(name, f"{fault.reason} at {place}")
    return value


def _parsed_value(text: str, *, is_json: bool) -> Any:
    """Return the value of JSON or YAML; JSON may have tabs, which YAML refuses."""

    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, value in pairs:
            if name in result:
                raise ValueError(f"the key {name!r} is there twice")
            result[name] = value
        return result

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number")

    try:
        if is_json or text.lstrip().startswith("{"):
            return json.loads(text, object_pairs_hook=without_repeats, parse_constant=refuse)
    except ValueError:
        if is_json:
            raise
    return load_yaml(text)


def _read_text(path: Path) -> str:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is no file")
    if found.st_size > _MAX_MEGABYTES * _MEGABYTE:
        raise ValueError(
            f"it holds {found.st_size / _MEGABYTE:.0f} MB, and at most {_MAX_MEGABYTES} MB are read"
        )
    return path.read_text(encoding="utf-8-sig")


def _find(paths: Iterable[Path]) -> Iterator[tuple[Path, JsonObject] | UnreadFile]:
    """Yield named files, and files of folders that are documents or unreadable.

    Raises:
        DocumentUnreadable, DocumentInvalid: a named file is at fault.
    """
    for path in paths:
        if not path.is_dir():
            parsed = read_object(path)
            check_version(DocumentNode.of(path.stem, parsed), str(path))
            yield path, parsed
            continue
        for file in _files_in(path):
            try:
                parsed = read_object(file)
                if "openapi" in parsed or "swagger" in parsed:
                    check_version(DocumentNode.of(file.stem, parsed), str(file))
                    yield file, parsed
            except (DocumentUnreadable, DocumentInvalid) as fault:
                yield unread(file.stem, str(file), fault)


def _files_in(folder: Path) -> list[Path]:
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise _unreadable(folder, error) from error
    return [file for file in found if file.suffix in SUFFIXES and not file.is_dir()]
