"""Arazzo documents from files and texts, with the Arazzo documents that they refer to."""

import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from orchestrator.arazzo.arazzo_document import ArazzoDocument, parse_document
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import DocumentUnreadable
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import find_defect
from orchestrator.json_schema.references import format_pointer

LARGEST_BYTES: Final = 2**21
"""Size of a document, as a file or a text."""
_MOST_LINKED: Final = 20


def read_text_document(name: str, text: str) -> ArazzoDocument:
    """Read a document from its text, YAML or JSON.

    Raises:
        DocumentUnreadable: it is neither, or too large.
        DocumentInvalid: it is no Arazzo document that can run here.
    """
    return parse_document(name, content_of(name, text))


def load_document(path: str | Path) -> tuple[ArazzoDocument, dict[str, str | ArazzoDocument]]:
    """Read a document from a file, and the Arazzo documents that it refers to by relative paths.

    Returns:
        The document, and the others by the URL that refers to them, as `bind` takes them.

    Raises: as `read_text_document`.
    """
    content, linked = load_contents(path)
    document = parse_document(Path(path).name, content)
    return document, {url: parse_document(url, one) for url, one in linked.items()}


def load_contents(path: str | Path) -> tuple[JsonObject, dict[str, JsonObject]]:
    """Read the same documents as JSON objects, with references between them unchanged.

    Raises: as `read_text_document`.
    """
    file = Path(path)
    content = content_of(file.name, _read(file))
    linked: dict[str, JsonObject] = {}
    files: dict[str, Path] = {}
    waiting = [(file, content)]
    while waiting:
        at, holder = waiting.pop()
        for source in parse_document(at.name, holder).sources:
            is_local = not urlsplit(source.url).scheme
            if source.type != "arazzo" or not is_local:
                continue
            other = (at.parent / unquote(urlsplit(source.url).path)).resolve()
            if files.setdefault(source.url, other) != other:
                reason = f"{source.url} is another file here than in a document that refers to it"
                raise DocumentUnreadable(str(at), reason)
            if source.url in linked:
                continue
            if len(linked) == _MOST_LINKED:
                reason = f"with it, more than {_MOST_LINKED} documents refer to each other"
                raise DocumentUnreadable(str(at), reason)
            linked[source.url] = content_of(other.name, _read(other))
            waiting.append((other, linked[source.url]))
    return content, linked


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise DocumentUnreadable(str(path), f"it has more than {LARGEST_BYTES:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DocumentUnreadable(str(path), error.strerror or "it cannot be opened") from error
    except UnicodeDecodeError as error:
        raise DocumentUnreadable(str(path), "it is not text in UTF-8") from error


def _json(text: str) -> Any:
    """Return the value of JSON, which may have tabs that YAML does not take; None for others."""
    try:
        return json.loads(text) if text.lstrip()[:1] == "{" else None
    except ValueError:
        return None


def content_of(name: str, text: str) -> JsonObject:
    """Return a document's text, YAML or JSON, as a JSON object.

    Raises:
        DocumentUnreadable: it is neither, or too large.
    """
    if len(text) > LARGEST_BYTES:
        raise DocumentUnreadable(name, f"it has more than {LARGEST_BYTES:,} characters")
    try:
        value: Any = _json(text)
        if value is None:
            value = load_yaml(text)
    except RecursionError as error:
        raise DocumentUnreadable(name, "it is nested too deep") from error
    except ValueError as error:
        raise DocumentUnreadable(name, str(error)) from error
    if not isinstance(value, dict):
        raise DocumentUnreadable(name, "it holds no object; an Arazzo document is one")
    if (fault := find_defect(value)) is not None:
        place = format_pointer(fault.path) or "/"
        raise DocumentUnreadable(name, f"{fault.reason} at {place}")
    return value
