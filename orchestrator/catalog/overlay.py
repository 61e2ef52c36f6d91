"""OpenAPI Overlay 1.0: contracts added to documents that one does not own."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import jsonpath_rfc9535
from jsonpath_rfc9535 import JSONPathError, JSONPathQuery
from pydantic import Field, JsonValue

from orchestrator.catalog.node import Node
from orchestrator.errors import DocumentInvalid
from orchestrator.record import JsonObject, Record

_Path = tuple[str | int, ...]


class OverlayAction(Record):
    """One change to every place that the target selects."""

    target: str = Field(description="an RFC 9535 JSONPath, e.g. $.paths['/book'].post")
    update: JsonValue = None
    remove: bool = False


class Overlay(Record):
    """An ordered list of changes."""

    name: str = Field(description="of its file, for errors")
    extends: str | None = Field(default=None, description="the document it is meant for; None: all")
    actions: tuple[OverlayAction, ...]

    def is_for(self, document: str) -> bool:
        """Whether it is meant for a document of that name."""
        return self.extends is None or PurePosixPath(self.extends).stem == document


def parse_overlay(name: str, content: JsonObject) -> Overlay:
    """Read an overlay document.

    Raises:
        DocumentInvalid: it is not an Overlay 1.0 document, or a target is no JSONPath.
    """
    root = Node.of(name, content)
    version = root.require("overlay")
    if not version.text().startswith("1.0."):
        raise version.invalid(f"an Overlay 1.0 document is wanted; it is {version.text()!r}")
    extends = root.at("extends")
    return Overlay(
        name=name,
        extends=extends.text() if extends is not None else None,
        actions=tuple(_parse_action(action) for action in root.require("actions").raw_elements()),
    )


def _parse_action(action: Node) -> OverlayAction:
    target, remove = action.require("target"), action.at("remove")
    _compile_path(target.text(), target)
    update = action.raw("update")
    return OverlayAction(
        target=target.text(),
        update=update.value if update is not None else None,
        remove=remove is not None and remove.value is True,
    )


def _compile_path(target: str, place: Node) -> JSONPathQuery:
    try:
        return jsonpath_rfc9535.compile(target)
    except JSONPathError as error:
        raise place.invalid(f"{target!r} is no JSONPath: {error}") from error


def apply_overlays(
    documents: Mapping[str, JsonObject], overlays: Iterable[Overlay]
) -> dict[str, JsonObject]:
    """The documents with the overlays applied in order; the ones given are not changed.

    Raises:
        DocumentInvalid: an overlay is for a document that is not there, or does not fit the place
            that it selects.
    """
    result = dict(documents)
    for overlay in overlays:
        meant = [name for name in result if overlay.is_for(name)]
        if not meant:
            raise DocumentInvalid(
                overlay.name, "/extends", f"no document {overlay.extends!r} was loaded"
            )
        for name in meant:
            result[name] = apply_overlay(result[name], overlay)
    return result


def apply_overlay(document: JsonObject, overlay: Overlay) -> JsonObject:
    """One document with one overlay applied; the document given is not changed.

    A target that selects nothing changes nothing, as the standard says.

    Raises:
        DocumentInvalid: the update does not fit the place that its target selects.
    """
    result: JsonValue = document
    for index, action in enumerate(overlay.actions):
        for path in _selected(result, action):
            try:
                result = _removed(result, path) if action.remove else _updated(result, path, action)
            except ValueError as error:
                pointer = f"/actions/{index}"
                raise DocumentInvalid(overlay.name, pointer, str(error)) from error
    assert isinstance(result, dict)
    return result


def _selected(document: JsonValue, action: OverlayAction) -> list[_Path]:
    """Where the target leads; of a list the last first, so that removing keeps the others."""
    assert isinstance(document, dict)
    nodes = jsonpath_rfc9535.compile(action.target).find(document)
    paths = dict.fromkeys(node.location for node in nodes)
    return list(reversed(paths)) if action.remove else list(paths)


def _updated(value: JsonValue, path: _Path, action: OverlayAction) -> JsonValue:
    if path:
        return _with_child(value, path, _updated(_child(value, path[0]), path[1:], action))
    if isinstance(value, list):
        return [*value, action.update]
    if isinstance(value, dict) and isinstance(action.update, dict):
        return _merged(value, action.update)
    raise ValueError(f"{action.target} selects something that this update does not fit")


def _removed(value: JsonValue, path: _Path) -> JsonValue:
    if not path:
        raise ValueError("the whole document cannot be removed")
    if len(path) > 1:
        return _with_child(value, path, _removed(_child(value, path[0]), path[1:]))
    if isinstance(value, list):
        return [item for index, item in enumerate(value) if index != path[0]]
    assert isinstance(value, dict)
    return {key: item for key, item in value.items() if key != path[0]}


def _child(value: JsonValue, step: str | int) -> JsonValue:
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    assert isinstance(value, dict)
    return value[str(step)]


def _with_child(value: JsonValue, path: _Path, child: JsonValue) -> JsonValue:
    """A copy of the container in which the first step of the path leads to `child`."""
    if isinstance(value, list):
        return [child if index == path[0] else item for index, item in enumerate(value)]
    assert isinstance(value, dict)
    return {**value, str(path[0]): child}


def _merged(target: JsonObject, update: JsonObject) -> JsonObject:
    """Objects merged recursively, lists appended to, all else replaced."""
    merged = dict(target)
    for key, value in update.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[key] = _merged(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            merged[key] = [*known, *value]
        elif not (value is None and isinstance(known, dict | list)):
            # A bare `components:` in an overlay is a place left empty, not a wish to delete.
            merged[key] = value
    return merged
