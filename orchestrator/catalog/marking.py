"""What is said of documents in which no operation is marked as a tool yet."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from orchestrator.catalog.operations import METHODS, TOOL_MARK
from orchestrator.catalog.suggest.overlay_text import target_of
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import number_of, visible
from orchestrator.json_schema.document import DocumentNode


def unmarked(
    documents: Mapping[str, JsonObject], paths: Sequence[PurePath | str] = ()
) -> str | None:
    """That nothing is marked, the lines that mark a tool, and the command that proposes them.

    Several lines, or one where no operation is described; None where an operation is marked,
    whatever with, and of no documents at all.

    Args:
        documents: by name, overlays applied.
        paths: the files that they were read from, to be named in the command.
    """
    found = [node for name, d in documents.items() for node in _operations(name, d)]
    if not documents or any(node.raw(TOOL_MARK) is not None for node in found):
        return None
    if not found:
        named = ", ".join(map(visible, documents))
        return f"{named}: no operation is described, none can be a tool"
    reads = [node for node in found if node.path[-1] == "get"]
    first = (reads or found)[0]
    name, place = first.document, first.path
    files = [str(path) for path in paths if PurePath(path).stem == name]
    operations = number_of(len(found), "operation")
    return "\n".join(
        (
            f"nothing is marked as a tool yet: {operations}, none with {TOOL_MARK}. An overlay "
            "marks:",
            "  actions:",
            f"    - target: {visible(target_of(place))}",
            f"      update: {{ {TOOL_MARK}: true }}",
            "or have one proposed, for you to edit: orchestrator tools suggest "
            f"{visible(files[0]) if files else 'DOC'} --out overlay.yaml",
        )
    )


def _operations(name: str, document: JsonObject) -> Iterator[DocumentNode]:
    """The operations of a document where they stand, be it in another file, whatever is wrong."""
    paths = DocumentNode.of(name, document).raw("paths")
    for _, written in paths.raw_items() if paths and isinstance(paths.value, dict) else ():
        try:
            item = written.overlaid()
        except DocumentInvalid:
            continue
        for method in METHODS:
            if (found := item.raw(method)) is not None and isinstance(found.value, dict):
                yield found
