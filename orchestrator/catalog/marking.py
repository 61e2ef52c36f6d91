"""What is said of documents in which no operation is marked as a tool yet."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from orchestrator.catalog.operations import METHODS, TOOL_MARK
from orchestrator.catalog.suggest.overlay_text import target_of
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible

_EXAMPLE = ("paths", "/orders", "get")


def unmarked(
    documents: Mapping[str, JsonObject], paths: Sequence[PurePath | str] = ()
) -> str | None:
    """That nothing is marked, the lines that mark a tool, and the command that proposes them.

    Several lines; None where an operation is marked, whatever with, and of no documents at all.

    Args:
        documents: by name, overlays applied.
        paths: the files that they were read from, to be named in the command.
    """
    found = [(name, place) for name, d in documents.items() for place in _places(d)]
    if not documents or any(
        TOOL_MARK in _operation(documents[name], place) for name, place in found
    ):
        return None
    reads = [(name, place) for name, place in found if place[-1] == "get"]
    name, place = next(iter(reads or found), ("", _EXAMPLE))
    files = [str(path) for path in paths if PurePath(path).stem == name]
    counted = f"{len(found)} operation{'' if len(found) == 1 else 's'}"
    return "\n".join(
        (
            f"nothing is marked as a tool yet: {counted}, none with {TOOL_MARK}. An overlay marks:",
            "  actions:",
            f"    - target: {visible(target_of(place))}",
            f"      update: {{ {TOOL_MARK}: true }}",
            "or have one proposed, for you to edit: orchestrator tools suggest "
            f"{visible(files[0]) if files else 'DOC'} --out overlay.yaml",
        )
    )


def _places(document: JsonObject) -> Iterator[tuple[str, ...]]:
    """Where the operations of a document stand, whatever else is wrong with it."""
    listed = document.get("paths")
    for path, item in listed.items() if isinstance(listed, dict) else ():
        for method in METHODS if isinstance(item, dict) else ():
            if isinstance(item, dict) and isinstance(item.get(method), dict):
                yield ("paths", path, method)


def _operation(document: JsonObject, place: tuple[str, ...]) -> JsonObject:
    found: object = document
    for step in place:
        found = found[step] if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}
