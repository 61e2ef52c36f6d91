"""Arazzo documents from files and texts, with the Arazzo documents that they refer to."""

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from orchestrator.arazzo.arazzo_document import ArazzoDocument, parse_document
from orchestrator.catalog.source import parse_object, read_object
from orchestrator.core.errors import DocumentUnreadable
from orchestrator.core.record import JsonObject

LARGEST_BYTES: Final = 2**21
"""Size of a document, as a file or a text."""
_MOST_LINKED: Final = 20


def load_document(path: str | Path) -> tuple[ArazzoDocument, dict[str, str | ArazzoDocument]]:
    """Read a document from a file, and the Arazzo documents that it refers to by relative paths.

    Returns:
        The document, and the others by the URL that refers to them, as `bind` takes them.

    Raises:
        DocumentUnreadable: one of them is neither YAML nor JSON, or too large.
        DocumentInvalid: one is no Arazzo document that can run here.
    """
    content, linked = load_contents(path)
    document = parse_document(Path(path).name, content)
    return document, {url: parse_document(url, one) for url, one in linked.items()}


def load_contents(path: str | Path) -> tuple[JsonObject, dict[str, JsonObject]]:
    """Read the same documents as JSON objects, with references between them unchanged.

    Raises: as `load_document`.
    """
    file = Path(path)
    content = _read(file)
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
            linked[source.url] = _read(other)
            waiting.append((other, linked[source.url]))
    return content, linked


def _read(path: Path) -> JsonObject:
    if path.exists() and path.stat().st_size > LARGEST_BYTES:
        raise DocumentUnreadable(str(path), f"it has more than {LARGEST_BYTES:,} bytes")
    return read_object(path)


def content_of(name: str, text: str) -> JsonObject:
    """Return a document's text, YAML or JSON, as a JSON object.

    Raises:
        DocumentUnreadable: it is neither, or too large.
    """
    if len(text) > LARGEST_BYTES:
        raise DocumentUnreadable(name, f"it has more than {LARGEST_BYTES:,} characters")
    return parse_object(name, text)
