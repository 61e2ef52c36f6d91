"""Which statuses the document of a tool declares for its answers."""

from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode

GONE: Final = frozenset({404, 410})
"""Statuses of HTTP that say that nothing is there."""


def declares_gone(catalog: Catalog, tool: Tool) -> bool:
    """Whether an answer that nothing is there is one of those declared."""
    return not declared_statuses(catalog, tool).isdisjoint(map(str, GONE))


def declared_statuses(catalog: Catalog, tool: Tool) -> frozenset[str]:
    """As the document writes them: `200`, `4XX`, `default`; none for a tool without a document."""
    document = catalog.documents.get(tool.document)
    if document is None:
        return frozenset()
    root = DocumentNode.of(tool.document, document)
    try:
        responses = root.at("paths", tool.path, tool.method.lower(), "responses")
    except DocumentInvalid:
        return frozenset()
    return frozenset(responses.mapping()) if responses is not None else frozenset()
