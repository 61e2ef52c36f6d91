"""The digest that names a catalog: of its compiled tools and of its documents."""

import hashlib
from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.catalog.tool import SCHEMA_FIELDS
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import canonical_object, canonical_text


def content_digest(documents: JsonObject, tools: JsonObject) -> str:
    """Hex SHA-256 of the canonical JSON (RFC 8785) of `{documents, tools}`.

    Args:
        documents: parsed, by name.
        tools: compiled, by name, as `Tool.as_json` gives them.
    """
    digest = hashlib.sha256()
    for piece in _pieces(documents, tools):
        digest.update(piece.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _pieces(documents: JsonObject, tools: JsonObject) -> Iterator[str]:
    """The canonical text, a tool at a time: all of it at once may be hundreds of megabytes."""
    yield f'{{"documents":{canonical_text(documents)},"tools":{{'
    writer = _ToolWriter()
    for index, name in enumerate(sorted(tools, key=lambda name: name.encode("utf-16-be"))):
        yield f"{',' if index else ''}{canonical_text(name)}:{writer.text(tools[name])}"
    yield "}}"


class _ToolWriter:
    """Writes each schema that tools share once.

    It is known again by the identity of the object, which the caller keeps alive.
    """

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def text(self, tool: JsonValue) -> str:
        assert isinstance(tool, dict)
        return canonical_object(tool, self._field)

    def _field(self, name: str, value: JsonValue) -> str:
        if name in SCHEMA_FIELDS and isinstance(value, dict):
            return canonical_object(value, self._keyword)
        return canonical_text(value)

    def _keyword(self, keyword: str, value: JsonValue) -> str:
        if keyword in ("$defs", "properties") and isinstance(value, dict):
            return canonical_object(value, self._shared)
        return canonical_text(value)

    def _shared(self, _: str, schema: JsonValue) -> str:
        known = self._known.get(id(schema))
        if known is None:
            known = self._known[id(schema)] = canonical_text(schema)
        return known
