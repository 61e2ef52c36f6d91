"""The digest that names a catalog: of its compiled tools and of its documents."""

import hashlib
from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.catalog.tool import SCHEMA_FIELDS
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import canonical_object, canonical_text


def content_digest(documents: JsonObject, tools: JsonObject) -> str:
    """Hex SHA-256 of the canonical JSON (RFC 8785) of `{documents, tools}`, both by name.

    Tools are as `Tool.as_json` gives them.
    """
    digest = hashlib.sha256()
    for piece in _pieces(documents, tools):
        digest.update(piece.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _pieces(documents: JsonObject, tools: JsonObject) -> Iterator[str]:
    """The canonical text, a tool at a time: all of it at once may be hundreds of megabytes."""
    yield f'{{"documents":{canonical_text(documents)},"tools":{{'
    known: dict[int, str] = {}

    def shared(_: str, schema: JsonValue) -> str:
        """Written once: it is known again by its identity, and the caller keeps it alive."""
        if id(schema) not in known:
            known[id(schema)] = canonical_text(schema)
        return known[id(schema)]

    def keyword(name: str, value: JsonValue) -> str:
        if name in ("$defs", "properties") and isinstance(value, dict):
            return canonical_object(value, shared)
        return canonical_text(value)

    def field(name: str, value: JsonValue) -> str:
        if name in SCHEMA_FIELDS and isinstance(value, dict):
            return canonical_object(value, keyword)
        return canonical_text(value)

    for index, name in enumerate(sorted(tools, key=lambda name: name.encode("utf-16-be"))):
        tool = tools[name]
        assert isinstance(tool, dict)
        yield f"{',' if index else ''}{canonical_text(name)}:{canonical_object(tool, field)}"
    yield "}}"
