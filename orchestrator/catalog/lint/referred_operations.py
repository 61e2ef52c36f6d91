"""Operations that are references: OpenAPI knows none, and some providers write them."""

from collections.abc import Iterator

from orchestrator.catalog.operations import METHODS
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import reference_of


def referred_operations(root: DocumentNode) -> dict[tuple[str, str], DocumentNode]:
    """What is meant by each operation that is a reference, by path and method."""
    return {
        (path, method): node
        for path, item in _path_items(root)
        for method in METHODS
        if (written := item.raw(method)) is not None and reference_of(written.value) is not None
        for node in _meant(written)
    }


def spelled_out(content: JsonObject, meant: dict[tuple[str, str], DocumentNode]) -> JsonObject:
    """The document with those operations in place of their references."""
    paths = content.get("paths")
    if not meant or not isinstance(paths, dict):
        return content
    whole = dict(paths)
    for (path, method), node in meant.items():
        item = whole[path]
        whole[path] = {**(item if isinstance(item, dict) else {}), method: node.value}
    return {**content, "paths": whole}


def _path_items(root: DocumentNode) -> Iterator[tuple[str, DocumentNode]]:
    paths = root.raw("paths")
    for path, item in paths.raw_items() if paths is not None else ():
        if isinstance(item.value, dict):
            yield path, item


def _meant(written: DocumentNode) -> Iterator[DocumentNode]:
    try:
        yield written.overlaid()
    except DocumentInvalid:
        # What leads nowhere is skipped, and told there.
        return
