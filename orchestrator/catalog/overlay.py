"""OpenAPI Overlay 1.0: contracts added to documents that other people own."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from pathlib import PurePath, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import jsonpath_rfc9535
from jsonpath_rfc9535 import JSONPathError
from pydantic import Field, JsonValue

from orchestrator.catalog.operations import METHODS, TOOL_MARK
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import number_of, visible
from orchestrator.json_schema.document import DocumentNode

_Path = tuple[str | int, ...]

_VERSION = re.compile(r"1\.0\.\d+")
_OVERLAY_FIELDS = frozenset({"overlay", "info", "extends", "actions"})
_INFO_FIELDS = frozenset({"title", "version"})
_ACTION_FIELDS = frozenset({"target", "description", "update", "remove"})
_LATER_FIELDS = {"copy": "came with Overlay 1.1; write what it would copy under `update`"}


class OverlayAction(Record):
    """A change to every place that the target selects."""

    target: str = Field(description="an RFC 9535 JSONPath, e.g. $.paths['/book'].post")
    update: JsonValue = None
    remove: bool = False
    acts: bool = Field(default=True, description="False when it has neither update nor remove")


class Overlay(Record):
    """An ordered list of changes."""

    name: str = Field(description="of its file, for errors")
    extends: str | None = Field(default=None, description="the document that it extends; None: all")
    actions: tuple[OverlayAction, ...]

    def is_for(self, document: str) -> bool:
        """Return True if it extends a document of that name, which is the stem of its file."""
        if self.extends is None:
            return True
        return PurePosixPath(unquote(urlsplit(self.extends).path)).stem == document


class IdleAction(Record):
    """An action that changed nothing in any document."""

    overlay: str
    pointer: str = Field(description="RFC 6901 pointer into the overlay")
    reason: str

    def __str__(self) -> str:
        return f"{self.overlay} at {self.pointer}: {self.reason}"


class Overlaid(NamedTuple):
    """Documents with their overlays applied."""

    documents: dict[str, JsonObject]
    idle: tuple[IdleAction, ...]
    """Actions that changed nothing, which the standard allows and the author rarely intends."""


def parse_overlay(name: str, content: JsonObject) -> Overlay:
    """Read an overlay document.

    Raises:
        DocumentInvalid: it is not an Overlay 1.0 document, or a target is not a JSONPath.
    """
    root = DocumentNode.of(name, content)
    version = root.require("overlay")
    if not _VERSION.fullmatch(version.text()):
        raise version.invalid(f"an Overlay 1.0 document is wanted; it is {version.text()!r}")
    _refuse_unknown(root, _OVERLAY_FIELDS)
    info = root.require("info")
    _refuse_unknown(info, _INFO_FIELDS)
    for field in ("title", "version"):
        info.require(field).text()
    actions: list[OverlayAction] = []
    written: list[JsonValue] = []
    listed = root.require("actions")
    for place in listed.raw_elements():
        if place.value in written:
            first = written.index(place.value)
            raise place.invalid(f"it repeats the action /actions/{first}, to which it would add")
        written.append(place.value)
        _refuse_unknown(place, _ACTION_FIELDS)
        target, remove, update = place.require("target"), place.raw("remove"), place.raw("update")
        try:
            jsonpath_rfc9535.compile(target.text())
        except JSONPathError as error:
            reason = " ".join(str(error).split())
            raise target.invalid(f"{target.text()!r} is no JSONPath: {reason}") from error
        if remove is not None and not isinstance(remove.value, bool):
            raise remove.invalid("remove is true or false")
        removes = remove is not None and remove.value is True
        changed = update.value if update is not None else None
        acts = removes or update is not None
        actions.append(
            OverlayAction(target=target.text(), update=changed, remove=removes, acts=acts)
        )
    if not actions:
        raise listed.invalid("an overlay has at least one action")
    return Overlay(name=name, extends=root.text_at("extends"), actions=tuple(actions))


def _refuse_unknown(place: DocumentNode, known: frozenset[str]) -> None:
    """Refuse a field that Overlay 1.0 does not have, because it would have no effect."""
    for field in place.mapping():
        if field not in known and not field.startswith("x-"):
            listed = ", ".join(sorted(known))
            reason = _LATER_FIELDS.get(field, f"is no field of Overlay 1.0 here: {listed}")
            raise place.invalid(f"{field!r} {reason}")


def apply_overlays(documents: Mapping[str, JsonObject], overlays: Iterable[Overlay]) -> Overlaid:
    """Return the documents with the overlays applied in order, without changing the originals.

    Raises:
        DocumentInvalid: an overlay extends an absent document, or does not fit the place that it
            selects.
    """
    result = dict(documents)
    idle: list[IdleAction] = []
    for overlay in overlays:
        meant = [name for name in result if overlay.is_for(name)]
        if not meant:
            raise DocumentInvalid(
                overlay.name,
                "/extends",
                f"no document {overlay.extends!r} was loaded, only {', '.join(result) or 'none'}; "
                "name the file of its document there, or leave extends out",
            )
        for index, action in enumerate(overlay.actions):
            acted = False
            for name in meant:
                found = jsonpath_rfc9535.compile(action.target).find(result[name])
                paths = [*dict.fromkeys(node.location for node in found)] if action.acts else []
                if action.remove:
                    # Removing the outer place removes a nested one as well; in a list, the last
                    # place is removed first.
                    selected = {*paths}
                    paths = [p for p in paths if not any(p[:n] in selected for n in range(len(p)))]
                    paths.sort(key=lambda p: [(isinstance(s, int), s) for s in p], reverse=True)
                acted = acted or bool(paths)
                try:
                    for path in paths:
                        change = partial(_changed_by, action, path[-1] if path else None)
                        at = path[:-1] if action.remove else path
                        result[name] = _changed(result[name], at, change)
                except ValueError as error:
                    raise DocumentInvalid(overlay.name, f"/actions/{index}", str(error)) from error
            if not acted:
                reason = f"{action.target} selects nothing in {', '.join(meant)}"
                if not action.acts:
                    reason = "it has neither update nor remove: true, so it changes nothing"
                pointer = f"/actions/{index}"
                idle.append(IdleAction(overlay=overlay.name, pointer=pointer, reason=reason))
    return Overlaid(result, tuple(idle))


def _changed_by(action: OverlayAction, last: str | int | None, value: Any) -> Any:
    """Return a copy of the target with the update, or of the target's holder without it."""
    if action.remove:
        if last is None:
            raise ValueError("the whole document cannot be removed")
        left: Any = copy(value)
        gone = left.pop(last)
        if isinstance(value, list) and not isinstance(gone, dict | list):
            kind = _kind(gone)
            raise ValueError(
                f"{kind} in a list cannot be removed alone; remove the list and add another"
            )
        return left
    if isinstance(value, list):
        return [*value, action.update]
    if not isinstance(value, dict):
        raise ValueError(
            f"{action.target} selects {_kind(value)}; select the object that holds it, and update "
            "its property"
        )
    if not isinstance(action.update, dict):
        raise ValueError(
            f"{action.target} selects an object, which {_kind(action.update)} does not fit: "
            "an update of an object is an object"
        )
    return _merged(value, action.update)


def _changed(value: Any, path: _Path, change: Callable[[Any], Any]) -> Any:
    """Return a copy of the value, changed at the end of the path."""
    if not path:
        return change(value)
    copied = copy(value)
    copied[path[0]] = _changed(value[path[0]], path[1:], change)
    return copied


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return {"dict": "an object", "list": "a list", "str": "a string"}.get(
        type(value).__name__, "a number"
    )


def _merged(target: JsonObject, update: JsonObject) -> JsonObject:
    """Merge objects recursively, append to lists, replace everything else."""
    merged = dict(target)
    for key, value in update.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[key] = _merged(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            merged[key] = [*known, *value]
        elif not (value is None and isinstance(known, dict | list)):
            # A bare `components:` in an overlay is an empty place, not a request to delete.
            merged[key] = value
    return merged


def target_of(place: tuple[str, ...]) -> str:
    """Return a JSONPath to a place of the document: `$.paths['/orders'].post`."""
    steps = ["$"]
    for step in place:
        escaped = json.dumps(step, ensure_ascii=False)[1:-1].replace("'", "\\'")
        escaped = escaped.replace('\\"', '"')
        is_name = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", step)
        steps.append(f".{step}" if is_name else f"['{escaped}']")
    return "".join(steps)


def unmarked(
    documents: Mapping[str, JsonObject], paths: Sequence[PurePath | str] = ()
) -> str | None:
    """Return advice for documents without any marked operation, else None.

    The advice has the lines that mark a tool and the command that proposes them, or one line if no
    operation is described.

    Args:
        documents: by name, overlays applied.
        paths: their files, for the command in the advice.
    """
    found: list[DocumentNode] = []
    for name, document in documents.items():
        items = DocumentNode.of(name, document).raw("paths")
        for _, written in items.raw_items() if items and isinstance(items.value, dict) else ():
            with suppress(DocumentInvalid):  # malformed paths are skipped
                item = written.overlaid()
                nodes = [item.raw(method) for method in METHODS]
                found += [n for n in nodes if n is not None and isinstance(n.value, dict)]
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
