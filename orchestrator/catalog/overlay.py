"""OpenAPI Overlay 1.0: contracts added to documents that other people own."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    return Overlay(
        name=name,
        extends=root.text_at("extends"),
        actions=_parse_actions(root.require("actions")),
    )


def _parse_actions(listed: DocumentNode) -> tuple[OverlayAction, ...]:
    actions: list[OverlayAction] = []
    written: list[JsonValue] = []
    for place in listed.raw_elements():
        if place.value in written:
            first = written.index(place.value)
            raise place.invalid(f"it repeats the action /actions/{first}, to which it would add")
        written.append(place.value)
        actions.append(_parse_action(place))
    if not actions:
        raise listed.invalid("an overlay has at least one action")
    return tuple(actions)


def _parse_action(action: DocumentNode) -> OverlayAction:
    _refuse_unknown(action, _ACTION_FIELDS)
    target, remove, update = action.require("target"), action.raw("remove"), action.raw("update")
    try:
        jsonpath_rfc9535.compile(target.text())
    except JSONPathError as error:
        reason = " ".join(str(error).split())
        raise target.invalid(f"{target.text()!r} is no JSONPath: {reason}") from error
    if remove is not None and not isinstance(remove.value, bool):
        raise remove.invalid("remove is true or false")
    removes = remove is not None and remove.value is True
    return OverlayAction(
        target=target.text(),
        update=update.value if update is not None else None,
        remove=removes,
        acts=removes or update is not None,
    )


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
        done: set[int] = set()
        for name in meant:
            result[name], acted = _applied(result[name], overlay)
            done |= acted
        idle += _idle(overlay, done, meant)
    return Overlaid(result, tuple(idle))


def _idle(overlay: Overlay, done: set[int], documents: list[str]) -> list[IdleAction]:
    return [
        IdleAction(
            overlay=overlay.name,
            pointer=f"/actions/{index}",
            reason=f"{action.target} selects nothing in {', '.join(documents)}"
            if action.acts
            else "it has neither update nor remove: true, so it changes nothing",
        )
        for index, action in enumerate(overlay.actions)
        if index not in done
    ]


def _applied(document: JsonObject, overlay: Overlay) -> tuple[JsonObject, set[int]]:
    """Return the document after all actions, and the indexes of actions that selected anything."""
    result: Any = document
    acted: set[int] = set()
    for index, action in enumerate(overlay.actions):
        for path in _selected(result, action):
            acted.add(index)
            try:
                if not action.remove:
                    result = _changed(result, path, partial(_updated, action))
                elif path:
                    result = _changed(result, path[:-1], partial(_without, path[-1]))
                else:
                    raise ValueError("the whole document cannot be removed")
            except ValueError as error:
                raise DocumentInvalid(overlay.name, f"/actions/{index}", str(error)) from error
    return result, acted


def _selected(document: JsonObject, action: OverlayAction) -> list[_Path]:
    """Return the places of the target; for removals in a list, the last place first."""
    nodes = jsonpath_rfc9535.compile(action.target).find(document) if action.acts else ()
    paths = dict.fromkeys(node.location for node in nodes)
    if not action.remove:
        return list(paths)
    # Removing the outer place removes a nested one as well.
    outer = [path for path in paths if not any(path[:n] in paths for n in range(len(path)))]
    return sorted(outer, key=_indexes, reverse=True)


def _indexes(path: _Path) -> tuple[tuple[bool, int, str], ...]:
    return tuple((True, step, "") if isinstance(step, int) else (False, 0, step) for step in path)


def _changed(value: Any, path: _Path, change: Callable[[Any], Any]) -> Any:
    """Return a copy of the value, changed at the end of the path."""
    if not path:
        return change(value)
    copied = copy(value)
    copied[path[0]] = _changed(value[path[0]], path[1:], change)
    return copied


def _updated(action: OverlayAction, value: JsonValue) -> JsonValue:
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


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return {"dict": "an object", "list": "a list", "str": "a string"}.get(
        type(value).__name__, "a number"
    )


def _without(step: str | int, holder: Any) -> Any:
    gone = holder[step]
    if isinstance(holder, list) and not isinstance(gone, dict | list):
        raise ValueError(
            f"{_kind(gone)} in a list cannot be removed alone; remove the list and add another"
        )
    left = copy(holder)
    del left[step]
    return left


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
    return "$" + "".join(
        f".{step}" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", step) else f"[{_step(step)}]"
        for step in place
    )


def _step(step: str) -> str:
    escaped = json.dumps(step, ensure_ascii=False)[1:-1].replace("'", "\\'").replace('\\"', '"')
    return f"'{escaped}'"


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
    """Yield the operations of a document, also from other files, and skip malformed paths."""
    paths = DocumentNode.of(name, document).raw("paths")
    for _, written in paths.raw_items() if paths and isinstance(paths.value, dict) else ():
        try:
            item = written.overlaid()
        except DocumentInvalid:
            continue
        for method in METHODS:
            if (found := item.raw(method)) is not None and isinstance(found.value, dict):
                yield found
